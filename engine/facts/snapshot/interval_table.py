"""The snapshot's table `intervals`: the facts of principals, with effect, privilege and type as columns."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from grantpath.engine.facts.kernel.fact_table import FactTable
from grantpath.engine.facts.kernel.intervals import Ints
from grantpath.engine.policy.facts import Fact, FactKind
from grantpath.graph.files.bounded_parquet import codes

EFFECTS = (FactKind.ALLOW, FactKind.DENY, FactKind.OWNS, FactKind.TAGGED)
WITHOUT_PRIVILEGE = (FactKind.OWNS.value, FactKind.TAGGED.value)


def interval_columns(facts: FactTable) -> dict[str, Any]:
    """The columns of `intervals`, in the order of the facts. The privilege of an ownership and of a tag is empty."""
    return {
        "holder": facts.principal,
        "effect": _words([fact.kind.value for fact in facts.keys], facts.key),
        "privilege": _words(["".join(fact.privileges) for fact in facts.keys], facts.key),
        "type": _words([fact.place for fact in facts.keys], facts.key),
        "start": facts.place,
        "last": facts.numbering.last[facts.place],
    }


def keys_of(table: pa.Table) -> tuple[Ints, tuple[Fact, ...]]:
    """For each row of `intervals`, the number of its fact, and the facts. Raises ValueError for an unknown effect, or
    a privilege that is missing or not allowed."""
    columns = [codes(table[name]) for name in ("effect", "privilege", "type")]
    size = [max(len(values), 1) for _, values in columns]
    combined = np.zeros(len(table), np.int64)
    for (number, _), values in zip(columns, size, strict=True):
        combined = combined * values + number.to_numpy().astype(np.int64)
    hashed = pa.array(combined).dictionary_encode()  # faster than sorting
    found, number_of = np.unique(hashed.dictionary.to_numpy(), return_inverse=True)
    effects, privileges, types = (values.to_pylist() for _, values in columns)
    facts = [
        _fact(effects[at // (size[1] * size[2])], privileges[at // size[2] % size[1]], types[at % size[2]])
        for at in found.tolist()
    ]
    return number_of[hashed.indices.to_numpy()].astype(np.int64), tuple(facts)


def _fact(effect: str, privilege: str, type_: str) -> Fact:
    if effect not in (kind.value for kind in EFFECTS):
        raise ValueError(f"{effect!r} is not an effect; the effects are {', '.join(kind.value for kind in EFFECTS)}")
    if bool(privilege) == (effect in WITHOUT_PRIVILEGE):
        raise ValueError(
            f"{effect} with the privilege {privilege!r}; ALLOW and DENY have one, OWNS and TAGGED have none"
        )
    return Fact.parse(f"{effect} {privilege} {type_}" if privilege else f"{effect} {type_}")


def _words(values: list[str], key: Ints) -> pa.Array:
    """The value of each row, as a dictionary without duplicates."""
    distinct: npt.NDArray[np.str_]
    distinct, number = np.unique(np.array(values, np.str_), return_inverse=True)
    return pa.DictionaryArray.from_arrays(pa.array(number[key], pa.int32()), pa.array(distinct.tolist(), pa.string()))
