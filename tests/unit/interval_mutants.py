"""The rules of the interval kernel, each broken by a change of its text."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """A mutant: its description, its module, and the change of the module's text."""

    what: str
    module: str
    old: str
    new: str


MUTANTS = [
    Mutant("drop the `none` half", "intervals", "covered(any_) & ~covered(none) if none", "covered(any_) if none"),
    Mutant("turn the `none` half", "intervals", "covered(any_) & ~covered(none)", "covered(any_) & covered(none)"),
    Mutant("a DENY opens", "intervals", "covered(any_) & ~covered(none)", "covered(any_) | covered(none)"),
    Mutant(
        "forget `none` when atoms are joined", "intervals", "tuple(sorted(codes[fact] for fact in atom.none))", "()"
    ),
    Mutant("a term wants all its atoms", "intervals", "some |= covered", "some &= covered"),
    Mutant("a clause wants any of its terms", "intervals", "every &= some", "every |= some"),
    Mutant("clauses all of them", "intervals", "result |= every", "result &= every"),
    Mutant(
        "forget a clause",
        "intervals",
        "for clause in self.clauses:\n            every",
        "for clause in self.clauses[1:]:\n            every",
    ),
    Mutant(
        "forget a term",
        "intervals",
        "for term in clause:\n                some",
        "for term in clause[1:]:\n                some",
    ),
    Mutant("an interval ends one early", "intervals", "((head + rows.last + 1) << low)", "((head + rows.last) << low)"),
    Mutant(
        "an interval ends one late", "intervals", "((head + rows.last + 1) << low)", "((head + rows.last + 2) << low)"
    ),
    Mutant(
        "turn start and end",
        "intervals",
        "step[2 * key], step[2 * key + 1] = -1, 1",
        "step[2 * key], step[2 * key + 1] = 1, -1",
    ),
    Mutant("two facts are needed", "intervals", "np.int32)[ends] > 0", "np.int32)[ends] > 1"),
    Mutant(
        "forget what ends",
        "intervals",
        "step[2 * key], step[2 * key + 1] = -1, 1",
        "step[2 * key], step[2 * key + 1] = 0, 1",
    ),
    Mutant("the first of equal places ends them", "intervals", "place[1:] != place[:-1]", "place[1:] == place[:-1]"),
    Mutant(
        "all terms are the first one",
        "intervals",
        "self._covered[keys] = counted(self.code, self.ends, keys, ",
        "self._covered[keys] = counted(self.code, self.ends, next(iter(self._covered), keys), ",
    ),
    Mutant("few events are those behind them", "intervals", "ranges(begins[codes], ", "ranges(begins[codes] + 1, "),
    Mutant("an answer one too long", "intervals", "(behind & mask) - 1)", "(behind & mask))"),
    Mutant(
        "merging joins what is apart", "intervals", "start[1:] > furthest[:-1] + 1", "start[1:] > furthest[:-1] + 2"
    ),
    Mutant(
        "merging forgets the key",
        "intervals",
        "(owner[1:] == owner[:-1]) & (key[1:] == key[:-1])",
        "(owner[1:] == owner[:-1])",
    ),
    Mutant(
        "merging forgets the owner",
        "intervals",
        "(owner[1:] == owner[:-1]) & (key[1:] == key[:-1])",
        "(key[1:] == key[:-1])",
    ),
    Mutant(
        "merging takes the last end, not the furthest",
        "intervals",
        "np.maximum.accumulate(last + group * width) - group * width",
        "last",
    ),
    Mutant("runs one too wide", "interval_sets", "np.minimum(high[back], runs[1][at])", "high[back]"),
    Mutant("runs begin too early", "interval_sets", "np.maximum(low[back], runs[0][at])", "low[back]"),
    Mutant(
        "forget all runs but the first",
        "interval_sets",
        'np.maximum(np.searchsorted(runs[0], high, side="left") - first, 0)',
        'np.minimum(np.maximum(np.searchsorted(runs[0], high, side="left") - first, 0), 1)',
    ),
    Mutant(
        "a principal's facts go to the next row",
        "intervals",
        "row = np.repeat(np.arange(len(self.subject)), np.diff(self.offset))",
        "row = np.minimum(np.repeat(np.arange(len(self.subject)), np.diff(self.offset)) + 1, len(self.subject) - 1)",
    ),
    Mutant(
        "the subtree ends one early", "tree_order", "last[open_.pop()] = at - 1", "last[open_.pop()] = max(at - 2, 0)"
    ),
    Mutant("the subtree ends one late", "tree_order", "last[open_.pop()] = at - 1", "last[open_.pop()] = at"),
    Mutant("the parent is the root", "tree_order", "parent[at] = open_[-1]", "parent[at] = open_[0]"),
    Mutant(
        "`above` stops one hop up",
        "tree_order",
        "found[wrong] = self.parent[found[wrong]]",
        "up = self.parent[found[wrong]]; found[wrong] = np.where((up >= 0) & (self.type[up] == wanted), up, -1)",
    ),
    Mutant(
        "every name exists",
        "tree_order",
        "np.fromiter((entity.exists for entity in listed), np.bool_, size)",
        "np.ones(size, np.bool_)",
    ),
    Mutant(
        "nothing came with the policy",
        "tree_order",
        "np.fromiter((entity.builtin for entity in listed), np.bool_, size)",
        "np.zeros(size, np.bool_)",
    ),
    Mutant(
        "sorted by text, not by segments",
        "tree_order",
        "paths = sorted(named)",
        "paths = sorted(named, key=lambda path: '.'.join(name for name, _ in path))",
    ),
    Mutant(
        "a parent that is not listed exists",
        "tree_order",
        "type_ in policy.names.one_segment)\n    return Entity(ref.text, type_, exists=False)",
        "type_ in policy.names.one_segment)\n    return Entity(ref.text, type_)",
    ),
    Mutant(
        "one role acts with another one's holders",
        "principals",
        "held = closure.acting(role)",
        "held = closure.acting(role[::-1])",
    ),
    Mutant(
        "all roles of the subject act in place of one",
        "principals",
        "held = closure.acting(role)",
        "held = closure.acting(subject)",
    ),
    Mutant(
        "forget the last role",
        "principals",
        'np.searchsorted(self.subject, subjects, side="right") - low',
        'np.maximum(np.searchsorted(self.subject, subjects, side="right") - low - 1, 0)',
    ),
    Mutant(
        "holders one short",
        "principals",
        "count = self.offset[subjects + 1] - self.offset[subjects]",
        "count = np.maximum(self.offset[subjects + 1] - self.offset[subjects] - 1, 0)",
    ),
    Mutant(
        "a grant counts on its place alone",
        "fact_table",
        "last = self._numbering.last[start]\n        if fixed",
        "last = start\n        if fixed",
    ),
    Mutant(
        "a grant for EVERY counts below",
        "fact_table",
        "np.full(len(principal), code), place, place)",
        "np.full(len(principal), code), place, self._numbering.last[place])",
    ),
    Mutant(
        "`below` looks at the place itself",
        "fact_table",
        "return principal, np.where(parent < 0, -1, self._above(np.maximum(parent, 0), fact))",
        "return principal, place",
    ),
    Mutant(
        "a second object's fact counts for its tree alone",
        "fact_table",
        "        if fixed is not None:\n            here =",
        "        if False:\n            here =",
    ),
    Mutant("any second object will do", "fact_table", "here = (start <= fixed) & (fixed <= last)", "here = start >= 0"),
    Mutant(
        "HOLDS a name holds anything",
        "fact_table",
        "[refs.index(fact.entity)] if fact.entity in refs else []",
        "range(len(refs))",
    ),
    Mutant(
        "a fact on the last target only is left out",
        "fact_table",
        "self._targets_before[last + 1] > ",
        "self._targets_before[last] > ",
    ),
    Mutant(
        "IS counts for the whole tree",
        "fact_table",
        "(everything if whole else acting.subject)[row]",
        "everything[row]",
    ),
    Mutant("IS any second object", "fact_table", "chosen = np.arange(len(chosen)) == fixed", "pass"),
    Mutant(
        "EVERY counts what does not exist",
        "fact_table",
        "member = self._numbering.exists.copy()",
        "member = np.ones(len(self._numbering), np.bool_)",
    ),
    Mutant(
        "EVERY looks at all types",
        "fact_table",
        "member &= np.isin(self._numbering.type, [self._numbering.types.index(each) for each in fact.types])",
        "pass",
    ),
    Mutant("EVERY is content with one", "fact_table", "full = have == every.need[places % size]", "full = have >= 1"),
    Mutant(
        "EVERY counts a grant twice",
        "fact_table",
        "pairs = distinct(row[useful] * size + at[useful])",
        "pairs = row[useful] * size + at[useful]",
    ),
    Mutant("EVERY of nothing fails", "fact_table", "column = need == 0", "column = need < 0"),
    Mutant("EVERY of any second object", "fact_table", "row = row[start == every.fixed]", "pass"),
    Mutant(
        "forget EXISTS",
        "fact_table",
        "column = self._numbering.exists if fact.kind is FactKind.EXISTS else",
        "column = np.ones(len(self._numbering), np.bool_) if fact.kind is FactKind.EXISTS else",
    ),
    Mutant(
        "EXISTS for BUILTIN",
        "fact_table",
        "self._numbering.exists if fact.kind is FactKind.EXISTS else self._numbering.builtin",
        "self._numbering.exists",
    ),
    Mutant(
        "EXISTS of the target alone",
        "fact_table",
        "above = self._above(targets, fact) if fixed is None else",
        "above = targets if fixed is None else",
    ),
    Mutant(
        "a known DENY is forgotten",
        "folding",
        "if any(known.get(fact) for fact in atom.none):\n            continue",
        "if False:\n            continue",
    ),
    Mutant(
        "a known fact loses its DENY", "folding", "folded.append(Atom((ALL,), none))", "folded.append(Atom((ALL,)))"
    ),
    Mutant("a folded atom loses its DENY", "folding", "folded.append(Atom(any_, none))", "folded.append(Atom(any_))"),
    Mutant(
        "a false term is left out",
        "folding",
        "if not all(terms):\n        return None",
        "terms = [term for term in terms if term]",
    ),
    Mutant("one class speaks for all targets", "fact_table", "within(*answer, runs) if runs else answer", "answer"),
    Mutant(
        "answers are counted one too far",
        "fact_table",
        "asked.before[found.last + 1]",
        "asked.before[np.minimum(found.last + 2, len(asked.before) - 1)]",
    ),
]
