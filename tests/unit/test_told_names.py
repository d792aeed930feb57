"""Names and notes as people read them: in effects, and in the cards of Browser's guide."""

from grantpath import cypher
from grantpath.cypher.catalogue import parameters_of
from grantpath.engine.answers.access_effects import AccessEffect, AccessShare


def test_an_effect_names_the_names_of_its_type_first() -> None:
    share = AccessShare(users=("user:ann",), objects=("table:a.b.c",), below=())
    names = ("get_credential", "get_owner", "list_tags_for_object", "load_table", "select_from_table")
    effect = AccessEffect(
        effect="lose",
        names=names,
        type="table",
        by=(),
        users=1,
        objects=1,
        pairs=1,
        place="table:a.b.c",
        shares=(share,),
    )
    assert effect.sentence() == "user:ann loses load_table, select_from_table, get_owner and 2 more on table:a.b.c"
    assert effect.names == names


def test_a_note_about_a_parameter_is_whole() -> None:
    notes = {each.name: each.note for each in parameters_of(cypher.load("check_by_name").text)}
    assert notes["subject"] == "with an active role 'user:bob as role:analyst'"
    assert notes["object"].endswith("if several roots have it 'table:hr.public.staff in metalake:ml'")
