"""Breaks every rule of the interval kernel on purpose; a comparison with brute force must detect each mutant.

A mutant whose text is no longer in its file fails, so that the list stays up to date.
"""

import sys
import types
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from ..conftest import Closing
from . import test_intervals as kernel
from . import test_positions as positions
from .interval_mutants import MUTANTS, Mutant

pytestmark = pytest.mark.slow

PACKAGE = "grantpath.engine.facts.kernel"
MODULES = (  # each imports those before it
    "intervals",
    "interval_sets",
    "tree_order",
    "principals",
    "folding",
    "fact_table",
)


def broken(mutant: Mutant, patch: pytest.MonkeyPatch) -> None:
    """Installs the mutated module, and imports again the modules that use it."""
    at = MODULES.index(mutant.module)
    for name in MODULES[at:]:
        original = import_module(f"{PACKAGE}.{name}")
        text = Path(str(original.__file__)).read_text(encoding="utf-8")
        if name == mutant.module:
            assert mutant.old in text, f"{mutant.what}: {name}.py no longer has {mutant.old!r}"
            text = text.replace(mutant.old, mutant.new)
        module = types.ModuleType(original.__name__)
        module.__file__ = original.__file__
        patch.setitem(sys.modules, module.__name__, module)
        patch.setattr(sys.modules[PACKAGE], name, module, raising=False)
        exec(compile(text, str(original.__file__), "exec"), module.__dict__)
    for tests in (kernel, positions):
        for name in [each for each in vars(tests) if not each.startswith("__")]:
            own = vars(tests)[name]
            for module_name in MODULES:
                module = sys.modules[f"{PACKAGE}.{module_name}"]
                if own is not module and getattr(own, "__module__", None) == module.__name__ and hasattr(module, name):
                    patch.setattr(tests, name, getattr(module, name))
        if hasattr(tests, "intervals"):
            patch.setattr(tests, "intervals", sys.modules[f"{PACKAGE}.intervals"])


def suite(patch: pytest.MonkeyPatch) -> list[Callable[[], None]]:
    """The fast comparisons, the most sensitive ones first."""

    def kernel_of(seed: int) -> Callable[[], None]:
        return lambda: kernel.test_kernel_agrees_with_reading_each_fact(seed, patch)

    def one_role(seed: int) -> Callable[[], None]:
        return lambda: kernel.test_subject_acts_with_one_role_at_a_time(seed)

    return [
        positions.test_merging_keeps_the_covered_positions,
        positions.test_union_and_within_agree_with_sets,
        positions.test_numbering_is_in_tree_order,
        positions.test_builtin_subjects_are_marked,
        kernel.test_every_counts_each_type_separately,
        *(one_role(seed) for seed in range(4)),
        *(kernel_of(seed) for seed in range(40)),
    ]


def noticed(tests: list[Callable[[], None]]) -> bool:
    """Does a comparison fail, with a wrong answer or an error?"""
    for test in tests:
        try:
            test()
        except Exception:  # a mutant may raise anything
            return True
    return False


@pytest.mark.parametrize("module", MODULES)
def test_unbroken_copy_passes(module: str) -> None:
    """Otherwise the comparisons might fail for every copy."""
    with pytest.MonkeyPatch.context() as patch:
        broken(Mutant("nothing", module, "import", "import"), patch)
        for test in suite(patch):
            test()


def test_every_mutant_is_killed(closing: Closing) -> None:
    survivors, names = [], MUTANTS
    for mutant in names:
        with pytest.MonkeyPatch.context() as patch:
            broken(mutant, patch)
            if not noticed(suite(patch)):
                survivors.append(f"{mutant.module}: {mutant.what}")
    closing(
        f"interval mutants: {len(names) - len(survivors)} of {len(names)} killed: " + "; ".join(m.what for m in names)
    )
    assert {mutant.module for mutant in names} == set(MODULES)
    assert not survivors, survivors


def test_every_mutant_matches_its_file() -> None:
    for mutant in MUTANTS:
        module: ModuleType = import_module(f"{PACKAGE}.{mutant.module}")
        text = Path(str(module.__file__)).read_text(encoding="utf-8")
        assert mutant.old in text and mutant.old != mutant.new, f"{mutant.what}: {mutant.module}.py has changed"
