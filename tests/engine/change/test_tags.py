"""Tags of objects: changes of them, what they are stored as, and what cannot be tagged."""

from pathlib import Path

import pytest

from grantpath.engine import Authorizer, Invalid, Refused, Unknown
from grantpath.engine.policy.policy import load
from grantpath.engine.transfer import exporter, importer
from grantpath.graph.errors import InvalidPolicy

from ...conftest import Tenants
from ...support.with_replica import content, with_replica

TABLE, SCHEMA = "table:hr.public.staff", "schema:hr.public"
FACTS = [
    *(
        "owner user:admin of metalake:ml",
        "add catalog:hr",
        f"add {SCHEMA}",
        f"add {TABLE}",
        "add table:hr.public.orders",
    ),
    *("add tag:pii", "add tag:open", "member user:bob of group:staff", "add user:lee"),
    *(f"allow {name} on catalog:hr to group:staff" for name in ("USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE")),
]
MINE = """policy: mine
extends: lakehouse
"""


@pytest.fixture
def auth(tenant: Tenants) -> Authorizer:
    return tenant("lakehouse", FACTS)


def readable(auth: Authorizer, subject: str = "user:bob") -> list[str]:
    return list(auth.which("table", subject, "SELECT_TABLE"))


def test_a_copy_and_the_past_follow_tags_and_grants_on_them(auth: Authorizer) -> None:
    copy = with_replica(auth)
    for text in (
        "deny SELECT_TABLE on tag:pii to group:staff",
        f"tag {SCHEMA} with tag:pii",
        f"tag {TABLE} with tag:open",
        "allow SELECT_TABLE on tag:open to user:lee",
        f"untag {SCHEMA} from tag:pii",
        f"tag {TABLE} with tag:pii",
        "rename tag:pii to personal",
        "revoke deny SELECT_TABLE on tag:personal from group:staff",
        "drop tag:open",
        "drop schema:hr.public",
    ):
        before, was = auth.revision_now(), [readable(auth), readable(auth, "user:lee")]
        auth.change(text)
        assert [readable(copy), readable(copy, "user:lee")] == [readable(auth), readable(auth, "user:lee")], text
        past = [list(auth.which("table", who, "SELECT_TABLE", as_of=before)) for who in ("user:bob", "user:lee")]
        assert past == was, text
        assert content(copy) == content(with_replica(auth)), text


def test_tagging_is_one_entry_with_its_fact_and_is_repeated_without_effect(auth: Authorizer) -> None:
    done = auth.tag(TABLE, with_="tag:pii", id="once")
    assert auth.tag(TABLE, with_="tag:pii", id="once").already
    assert auth.tag(TABLE, with_="tag:pii").id is None
    assert auth.tag(TABLE, with_="tag:open", dry_run=True).added == [f"tag {TABLE} with tag:open"]
    entry = next(iter(auth.log(limit=1, object="tag:pii")))
    assert (entry.statement, entry.revision) == (f"tag {TABLE} with tag:pii", done.revision)
    dry = auth.drop("tag:pii", dry_run=True)
    assert f"tag {TABLE} with tag:pii" in dry.removed
    auth.untag(TABLE, from_="tag:pii")
    assert auth.untag(TABLE, from_="tag:pii").id is None


def test_show_lists_the_tags_of_an_object_and_what_a_tag_is_on(auth: Authorizer) -> None:
    auth.change_all([f"tag {TABLE} with tag:pii", f"tag {SCHEMA} with tag:pii", f"tag {TABLE} with tag:open"])
    of_table, of_tag = auth.show(TABLE), auth.show("tag:pii")
    assert (of_table.tags, of_table.counts.tags, of_table.tagged) == (("tag:open", "tag:pii"), 2, ())
    assert (of_tag.tagged, of_tag.counts.tagged, of_tag.tags) == ((SCHEMA, TABLE), 2, ())
    assert auth.show("tag:pii", as_of=auth.revision_now()).tagged == of_tag.tagged
    found = auth.question("what_has_a_tag", tag="tag:pii", type="table").answer
    assert sorted((row["object"], row["place"]) for row in found) == [
        ("table:hr.public.orders", SCHEMA),
        (TABLE, SCHEMA),
        (TABLE, TABLE),
    ]


def test_a_plan_says_whom_a_tag_opens_and_closes(auth: Authorizer) -> None:
    auth.deny("SELECT_TABLE", on="tag:pii", to="group:staff")
    auth.allow("SELECT_TABLE", on="tag:pii", to="user:lee")
    plan = auth.plan([f"tag {TABLE} with tag:pii"])
    assert plan.effects is not None
    found = {(each.effect, user) for each in plan.effects.effects for share in each.shares for user in share.users}
    assert found == {("lose", "user:bob"), ("gain", "user:lee")}
    assert {by for each in plan.effects.effects for by in each.by if "SELECT" in by} == {
        "allow SELECT_TABLE on tag:pii to user:lee",
        "deny SELECT_TABLE on tag:pii to group:staff",
    }


def test_reasons_paths_remedies_and_revocations_name_the_tag(auth: Authorizer) -> None:
    auth.change_all([f"tag {SCHEMA} with tag:pii", "deny SELECT_TABLE on tag:pii to group:staff"])
    denied = auth.explain("user:bob", "SELECT_TABLE", TABLE)
    [path] = denied.paths
    assert path.endswith(f"-DENY SELECT_TABLE-> tag:pii <-TAGGED- {SCHEMA} <-CHILD_OF- {TABLE}")
    assert denied.missing == [
        f"DENY SELECT_TABLE on a tag of {SCHEMA} to group:staff wins: "
        "revoke deny SELECT_TABLE on tag:pii from group:staff"
    ]
    auth.change_all(denied.remedy)
    assert auth.check("user:bob", "SELECT_TABLE", TABLE)
    auth.change_all(
        ["revoke allow SELECT_TABLE on catalog:hr from group:staff", "allow SELECT_TABLE on tag:pii to user:bob"]
    )
    allowed = auth.check("user:bob", "SELECT_TABLE", TABLE)
    assert allowed.because == [f"user:bob has ALLOW SELECT_TABLE on a tag of {SCHEMA}"]
    revocation = auth.revocation("user:bob", "SELECT_TABLE", TABLE)
    assert (revocation.statements, revocation.proved_smallest) == (
        ("revoke allow SELECT_TABLE on tag:pii from user:bob",),
        True,
    )


def test_a_batch_sees_the_tags_that_its_earlier_statements_made(auth: Authorizer) -> None:
    given = ["allow MODIFY_TABLE on tag:open to user:lee", "allow USE_CATALOG on catalog:hr to user:lee"]
    auth.change_all([*given, "allow USE_SCHEMA on catalog:hr to user:lee", "owner user:lee of tag:pii"])
    with pytest.raises(Refused):
        auth.tag(TABLE, with_="tag:pii", by="user:lee")
    auth.change_all([f"tag {TABLE} with tag:open", f"tag {TABLE} with tag:pii"], by="user:admin")
    auth.untag(TABLE, from_="tag:pii", by="user:lee")
    untagged = [f"untag {TABLE} from tag:open", f"tag {TABLE} with tag:pii"]
    assert auth.check("user:lee", "alter_table", TABLE)
    auth.change("owner user:lee of tag:open")
    with pytest.raises(Refused, match="statement 1: "):  # the first statement takes away the right to the second
        auth.change_all(untagged, by="user:lee")
    assert auth.check("user:lee", "alter_table", TABLE)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("tag metalake:ml with tag:pii", "metalake:ml cannot be tagged with tag:pii: a metalake is not one of catalog"),
        ("tag tag:pii with tag:open", "tag:pii cannot be tagged with tag:open"),
        (f"tag {TABLE} with {SCHEMA}", f"{SCHEMA} is not a tag: tags are of type tag or policy"),
        ("allow CREATE_TABLE on tag:pii to user:bob", "CREATE_TABLE cannot be granted on tag:pii"),
        (f"tag {TABLE} with tag:a.b", "a tag has 1 segment"),
        (f"tag {TABLE} with tag=tag:pii", "is not a statement|type"),
        (f"tag {TABLE}", "is not a statement"),
    ],
)
def test_what_cannot_be_tagged_is_named_with_the_rule(auth: Authorizer, text: str, says: str) -> None:
    before = auth.revision_now()
    with pytest.raises(Invalid, match=says):
        auth.change(text)
    assert auth.revision_now() == before


def test_a_tag_or_an_object_that_does_not_exist_is_named(auth: Authorizer) -> None:
    with pytest.raises(Unknown, match=r"tag:pi does not exist.*tag:pii"):
        auth.tag(TABLE, with_="tag:pi")
    with pytest.raises(Unknown, match=r"table:hr.public.stuff does not exist"):
        auth.tag("table:hr.public.stuff", with_="tag:pii")


def test_tables_and_dumps_have_tags(auth: Authorizer, tenant: Tenants, tmp_path: Path) -> None:
    auth.change_all([f"tag {SCHEMA} with tag:pii", "deny SELECT_TABLE on tag:pii to group:staff"])
    exporter.dump(auth, tmp_path / "dump")
    assert (tmp_path / "dump" / "tags.csv").read_text() == f"object,tag\n{SCHEMA},tag:pii\n"
    other = tenant("lakehouse", [])
    importer.load(other, tmp_path / "dump")
    assert readable(other) == readable(auth) == []
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "tags.csv").write_text(f"object,tag\n{TABLE},tag:open\n{TABLE},tag:none\n")
    with pytest.raises(Invalid, match=r"tags.csv:3: tag:none does not exist.*list it in objects"):
        importer.load(other, tmp_path / "more")
    (tmp_path / "more" / "tags.csv").write_text(f"object,tag\n{TABLE},tag:open\n")
    report = importer.load(other, tmp_path / "more", replace=True, only=["tags"], consent=True)
    assert report.rows["tags"] == 1
    assert other.show(TABLE).tags == ("tag:open",) and other.show(SCHEMA).tags == ()
    assert readable(other) == ["table:hr.public.orders", TABLE]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("tags: {tag: {on: role}}", "tags.tag: role is a subject type"),
        ("tags: {tag: {on: policy}, policy: {on: catalog}}", "a policy is itself a tag"),
        ("tags: {metalake: {on: catalog}}", "tags.metalake: metalake is the root type"),
        ("tags: {tag: {on: catalogue}}", "the type 'catalogue' is unknown"),
        ("changes: {tag: {role: everyone}}", "a role cannot be tagged"),
        (
            'changes: {tag: {"catalog, schema, table, topic, fileset, model": {if: everyone, with: {of: tag}}}}',
            "is tagged with policy or tag",
        ),
    ],
)
def test_a_policy_that_tags_what_cannot_be_tagged_is_refused(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "mine.yaml").write_text(MINE + text)
    with pytest.raises(InvalidPolicy, match=says):
        load(str(tmp_path / "mine.yaml"))
