"""The command `question`: the questions of the catalogue, in groups; or the answer to one of them."""

from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grantpath.cypher.catalogue import CatalogueQuestion, catalogue
from grantpath.engine.cli.context import CommandContext, command
from grantpath.engine.cli.list_formats import Format, ListFormat, show_as, wanted
from grantpath.engine.cli.output import emit, note, out, show_table, styled
from grantpath.graph.errors import InvalidInput
from grantpath.graph.messages import cell_text, short, to_second

if TYPE_CHECKING:
    from grantpath.engine.inspection.models import CatalogueAnswer

PANEL = "Look"
NARROW = 20  # columns; text is not broken to fit in fewer
Name = Annotated[str | None, typer.Argument(metavar="NAME", help="a question of the catalogue; omit it to list them")]
Values = Annotated[
    list[str] | None, typer.Argument(metavar="PARAMETER=VALUE", help="its parameters, e.g. subject=user:bob")
]
Limit = Annotated[int | None, typer.Option(min=1, max=10_000, metavar="N", help="the maximum number of rows")]


def register(app: typer.Typer) -> None:
    """Adds the command."""
    command(app, PANEL, "grantpath question who_is_in_a_group group=role:analyst")(question)


def question(
    session: CommandContext, name: Name = None, values: Values = None, limit: Limit = None, format_: Format = None
) -> None:
    """List the questions of the catalogue, or answer one of them.

    The catalogue has reviews of what is stored, such as grants that have no effect. They decide nothing: for a
    decision, use check, who or which.
    """
    form = wanted(session.json, format_)
    if name is None:
        if form not in (None, ListFormat.json):
            raise InvalidInput(
                f"--format {form.value} is for the answer to a question; name one, or list the questions with --json"
            )
        _list_questions(as_json=form is ListFormat.json)
        return
    from grantpath.engine.inspection.catalogue_answer import require_known, require_question

    given = dict(map(_pair, values or []))
    if len(given) < len(values or []):
        raise InvalidInput("a parameter is given twice; give each once")
    require_known(require_question(name), given)  # a wrong one must not be taken for another argument of the method
    with session.open() as authorizer:
        found = authorizer.question(name, limit=limit, **given)
    if show_as(form, found, lambda: _show(found)):
        _notes(found)


def _pair(text: str) -> tuple[str, str]:
    key, sign, value = text.partition("=")
    if not sign or not key:
        raise InvalidInput(f"{short(repr(text))} is not PARAMETER=VALUE; write e.g. subject=user:bob")
    return key, value


def _list_questions(as_json: bool) -> None:
    from grantpath.engine.cli.fitted_cells import broken  # it needs rich, which is slow to load

    every = list(catalogue().values())
    if as_json:
        emit({"answer": [_described(each) for each in every], "complete": True})
        return
    width, console = max(len(each.name) for each in every), out()
    for group, questions in groupby(every, key=lambda each: each.group):
        console.print(styled(group, "bold"))
        for each in questions:
            head = styled(f"  {each.name:<{width}}  ")
            room = console.width - head.cell_len
            text = broken(styled(each.text, "dim"), room) if room > NARROW else styled(each.text, "dim")
            for at, line in enumerate(text.split()):
                console.print(head if at == 0 else " " * head.cell_len, line, sep="")
    note("ask one with `grantpath question NAME PARAMETER=VALUE`; without its parameters, it says what it needs")


def _described(asked: CatalogueQuestion) -> dict[str, Any]:
    parameters = {each.name: {"example": each.example, "note": each.note} for each in asked.parameters.values()}
    words = {"name": asked.name, "group": asked.group, "question": asked.text, "leaves_out": asked.omits}
    return {**words, "parameters": parameters, "columns": asked.columns}


def _show(found: "CatalogueAnswer") -> None:
    kinds = catalogue()[found.question.name].columns
    rows = [[cell_text(row[head], time=to_second) for head in kinds] for row in found.answer]
    show_table(list(kinds), rows, numbers={head for head, kind in kinds.items() if kind == "INTEGER"})


def _notes(found: "CatalogueAnswer") -> None:
    """Prints why there are no rows, and what the answer leaves out."""
    if found.reason is not None:
        note(found.reason, "yellow")
    more = "" if found.complete else "; there are more, raise --limit"
    omits = catalogue()[found.question.name].omits
    note(f"{len(found.answer):,} at revision {found.revision}{more}. Left out: {omits}", partial=not found.complete)
