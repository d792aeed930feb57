"""Probes of remedy.cypher: held groups and roles, cycles, facts of later roles, and descendants that lack a grant."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from .probe import Probe, always
from .probes_marks import answers
from .probes_questions import Twin

NOTHING = {"types": [], "names": [], "joining": [], "roles": [], "places": [], "below": [], "together": True}


@dataclass(frozen=True)
class Around:
    """One column of the answer for a subject, with the parameters that are not empty."""

    subject: str
    column: str
    asked: Mapping[str, Any]
    wanted: list[Any]


def _joining(*pairs: tuple[str, str]) -> list[dict[str, str]]:
    return [{"member": member, "container": container} for member, container in pairs]


def _places(*refs: str) -> list[dict[str, str]]:
    return [{"at": ref.partition(":")[0], "ref": ref} for ref in refs]


def _below(ref: str, type_: str) -> list[dict[str, Any]]:
    return [{"fact": "all", "ref": ref, "types": [type_], "privileges": ["ADMIN"]}]


# through groups, roles and both; by two ways; to itself
CYCLES = _joining(
    *(("group:out", "group:in"), ("role:upper", "role:lower"), ("role:staff", "group:mixed")),
    *(("group:top", "user:diamond"), ("role:wide", "role:wide")),
)
# the wrong way round; in another tenant alone
NO_CYCLES = _joining(("group:in", "group:out"), ("role:service_admin", "user:stranger"))
LAKEHOUSE = [
    Around("user:grouped", "held", {"types": ["user", "group"]}, ["group:in", "group:out"]),
    Around(
        "user:denied",
        "held",
        {"types": ["group", "role"]},
        ["group:bad", "role:lower", "role:banned", "role:upper", "role:wide"],
    ),
    Around("user:former", "held", {"types": ["role"]}, []),
    Around("user:stranger", "held", {"types": ["role"]}, []),  # holds roles in another tenant alone
    Around("user:grouped", "cycles", {"joining": CYCLES + NO_CYCLES}, CYCLES),
    Around(
        "user:grouped",
        "reached",
        {"roles": ["role:lower", "group:mixed"]},
        [
            {"role": "group:mixed", "refs": ["group:mixed", "group:mixed-out", "role:staff"]},
            {"role": "role:lower", "refs": ["role:lower", "role:upper", "role:wide"]},
        ],
    ),
    Around(
        "user:grouped",
        "found",
        {"roles": ["role:lower", "role:banned"], "places": _places("table:c.s.t", "schema:c.s")},
        [
            {"fact": "ALLOW SELECT_TABLE table", "by": ["role:upper"]},
            {"fact": "DENY SELECT_TABLE schema", "by": ["role:banned"]},
        ],
    ),
]
DELTASTREAM = [
    Around(
        "user:u",
        "found",
        {"roles": ["role:one"], "places": _places("relation:d.s.r")},
        [{"fact": "ALLOW SELECT relation", "by": ["role:one"]}, {"fact": "OWNS relation", "by": ["role:one"]}],
    ),
]
HALF, TALL, OTHERS = (
    _below("namespace:half", "dataset"),
    _below("namespace:tall", "program"),
    _below("namespace:n", "dataset"),
)
CDAP = [
    Around("user:part", "inside", {"below": HALF}, [{"fact": "all", "refs": ["dataset:half.two"]}]),
    Around(
        "user:part",
        "inside",
        {"below": HALF, "together": False},
        [{"fact": "all", "refs": ["dataset:half.one", "dataset:half.two"]}],
    ),
    Around("user:reads", "inside", {"below": HALF}, [{"fact": "all", "refs": ["dataset:half.two"]}]),
    Around("user:shallow", "inside", {"below": TALL}, [{"fact": "all", "refs": ["program:tall.a.p"]}]),
    Around("user:none", "inside", {"below": OTHERS}, [{"fact": "all", "refs": ["dataset:n.d"]}]),
]


def probes(lakehouse: Twin, deltastream: Twin, cdap: Twin) -> Iterator[Probe]:
    for world, cases in ((lakehouse, LAKEHOUSE), (deltastream, DELTASTREAM), (cdap, CDAP)):
        for case in cases:
            what = f"{case.column} around {case.subject}"
            yield Probe(what, "remedy", partial(_answered, world, case), always(case.wanted))


def _answered(world: Twin, case: Around) -> list[Any]:
    [row] = answers(world.graph, "remedy", **{**NOTHING, **case.asked, "subject": case.subject})
    column: list[Any] = row[case.column]
    if case.column == "reached":
        column = [{"role": each["role"], "refs": sorted(each["refs"])} for each in column]
    return sorted(column, key=str) if case.column in ("found", "reached") else column  # the others have an order
