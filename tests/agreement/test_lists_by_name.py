"""Lists, explanations and remedies by name: the lists and paths equal those of Authorizer, and the remedies work."""

from collections.abc import Mapping
from typing import Any

import pytest

from grantpath import cypher

from ..conftest import Closing, Tenants
from ..support.by_name import by_name, object_words
from ..support.random_world import random_checks
from ..support.sizes import size
from ..support.tiers import others_slow
from ..support.twin import POLICIES, Twin

pytestmark = pytest.mark.trust


@pytest.mark.parametrize("policy", others_slow(POLICIES))
def test_lists_by_name_agree_with_python(module_tenant: Tenants, closing: Closing, policy: str) -> None:
    twin = Twin(module_tenant, policy, "lists by name", 80)
    graph, different, asked, found = twin.graph, list[str](), 0, 0
    checks = random_checks(twin.world, twin.rng, size(400, 40))
    checks.sort(
        key=lambda check: not twin.world.check(*check)
    )  # those that are answered yes first: their lists are long
    for subject, name, on, seconds, role in checks[: size(80, 6)] + checks[-size(20, 2) :]:
        type_ = on.partition(":")[0]
        wanted = list(graph.who(name, on, with_=seconds))
        which = list(graph.which(type_, subject, name, with_=seconds, as_role=role))
        words = {"operation": name, "object": object_words(graph, on, seconds)}
        [row] = cypher.load("who_by_name").run(graph.store.read, **words)
        acting = subject + (f" as {role}" if role else "")
        words = {"subject": acting, "operation": name, "type": object_words(graph, type_, seconds)}
        [other] = cypher.load("which_by_name").run(graph.store.read, **words)
        asked, found = asked + 2, found + len(wanted) + len(which)
        for what, one, python in ((f"who {name} {on}", row, wanted), (f"which {type_} {subject} {name}", other, which)):
            if one["answer"] != python:
                different.append(f"{what} {seconds}: {python}, by name {dict(one)}")
    closing(f"lists by name, {policy}: {asked} lists with {found} entries, {len(different)} different")
    assert different == []
    assert found > asked // 3


@pytest.mark.parametrize("policy", others_slow(POLICIES))
def test_explanations_and_remedies_by_name_are_correct(module_tenant: Tenants, closing: Closing, policy: str) -> None:
    """An allowed check has the paths of Python; the statements of a remedy, once made, allow a refused check."""
    twin = Twin(module_tenant, policy, "remedies by name", 80)
    graph, different, yes, made = twin.graph, list[str](), 0, 0
    for check in random_checks(twin.world, twin.rng, size(150, 16)):
        subject, name, on, seconds, role = check
        python = graph.explain(subject, name, on, with_=seconds, as_role=role)
        row = by_name(graph, "explain_by_name", *check)
        if row["allowed"] is not bool(python):
            different.append(f"{check}: {bool(python)}, by name {row['reason']}")
        if wrong := _wrong_paths(row, subject):
            different.append(f"{check}: {wrong}, by name {dict(row)}")
        yes += bool(python)
        remedy = by_name(graph, "remedy_by_name", *check)["remedy"]
        if remedy:
            made += 1
            problems = [problem for problem in graph.given(remedy) if problem]
            if python or problems or not graph.check(subject, name, on, with_=seconds, as_role=role):
                different.append(f"{check}: {remedy} {problems}")
    closing(f"by name, {policy}: {yes} explanations of a yes, {made} remedies made, {len(different)} wrong")
    assert different == []
    assert yes


def _wrong_paths(row: Mapping[str, Any], subject: str) -> list[Any]:
    """The paths that do not lead from the subject along memberships to a grantee, and along its grant to a reason."""
    wrong = []
    for membership, granted, *_ in row["paths"]:
        grantee, edge, place = granted
        line = f"{grantee['ref']} {'owns' if edge == 'OWNS' else f'has {edge} '}"
        said = any(each.startswith(line) and place["ref"] in each for each in row["because"])
        if membership[0]["ref"] != subject or membership[-1]["ref"] != grantee["ref"] or not said:
            wrong.append([membership, granted])
    return wrong
