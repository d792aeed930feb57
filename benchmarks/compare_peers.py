"""Measures grantpath beside other authorization systems: one estate, the same questions, one run, checked answers."""

import argparse
import importlib
import sys
from collections.abc import Iterator

from estates import SEED, estate_files
from figures import print_progress
from generate import Size
from peers import grantpath_peer, report
from peers.estate import draw_changes, read_facts, read_questions
from peers.grantpath_peer import CypherPeer, ReplicaPeer
from peers.interface import NotInstalled, Peer
from peers.measuring import BATCH, Measured, Work, measure
from peers.oracle import PlainAnswers

ROOT = "metalake:bench-peers"
CHECKS, BATCHES, LISTS, CHANGES = 1_000, 10, 20, 40
PEERS = {
    "casbin": "CasbinPeer",
    "cedar": "CedarPeer",
    "openfga": "OpenFgaPeer",
    "spicedb": "SpiceDbPeer",
    "cerbos": "CerbosPeer",
    "ranger": "RangerPeer",
}  # in the module NAME_peer


def main() -> None:
    options = _arguments()
    size = peers_size(options.users)
    directory = estate_files(f"peers-{options.users}", size, print_progress)
    facts = read_facts(directory, ROOT)
    questions = read_questions(directory, CHECKS + BATCHES * BATCH + LISTS, SEED)
    work = Work(
        facts,
        questions[:CHECKS],
        [questions[at : at + BATCH] for at in range(CHECKS, CHECKS + BATCHES * BATCH, BATCH)],
        questions[-LISTS:],
        draw_changes(facts, CHANGES, SEED),
        options.seconds,
    )
    columns = list(compare(work, options.peers))
    counts = f"{len(facts.users()):,} users, {len(facts.tables()):,} tables, {len(facts.grants):,} grants"
    print(f"{counts}, {len(facts.members):,} memberships\n\n{report.table(columns)}\n\n{report.set_ups(columns)}")
    if any(figure.wrong for each in columns if "grantpath" in each.name for figure in each.figures.values()):
        sys.exit(1)


def peers_size(users: int) -> Size:
    """As many tables as users, twice as many grants; groups are nested, and roles are in roles."""
    return Size(
        users=users,
        groups=users // 20 or 1,
        roles=users // 10 or 1,
        schemas=users // 200 or 1,
        tables=20,
        grants=users * 2,
        policy="lakehouse",
        nested=True,
        root=ROOT.partition(":")[2],
    )


def compare(work: Work, names: list[str]) -> Iterator[Measured]:
    """The measurements: first those of grantpath, whose database is used for the bare round trips, then the others."""
    grantpath_peer.drop(ROOT)
    with CypherPeer() as ours:
        print_progress(ours.name)
        yield measure(ours, work, ours.bare, PlainAnswers(work.facts))
        for peer in [ReplicaPeer(), *map(peer_named, names)]:
            print_progress(peer.name)
            try:
                with peer:
                    yield measure(peer, work, ours.bare, PlainAnswers(work.facts))
            except NotInstalled as reason:
                yield Measured(peer.name, peer.set_up, missing=str(reason))
            except Exception as error:  # the other systems are still measured
                yield Measured(peer.name, peer.set_up, missing=f"failed: {' '.join(str(error).split())[:200]}")
    grantpath_peer.drop(ROOT)


def peer_named(name: str) -> Peer:
    """A system that is not started yet. Its module imports the system's package only in `load`."""
    found: Peer = getattr(importlib.import_module(f"peers.{name}_peer"), PEERS[name])()
    return found


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=1_000, help="users; as many tables, twice as many grants")
    parser.add_argument("--seconds", type=float, default=10.0, help="the longest time for each kind of question")
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=list(PEERS), help="the systems beside grantpath")
    return parser.parse_args()


if __name__ == "__main__":
    main()
