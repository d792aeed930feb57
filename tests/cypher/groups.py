"""The files of cypher/ by the test that breaks them, and those without mutants, with the reason."""

from pathlib import Path

from grantpath import cypher

DECIDING = ("check", "who", "which", "which_below", "explain", "remedy", "privilege")


def _in(*folders: str) -> list[str]:
    cypher_folder = Path(str(cypher.__file__)).parent
    return sorted(file.stem for folder in folders for file in (cypher_folder / folder).glob("*.cypher"))


UNBROKEN = {
    **dict.fromkeys(
        ("tenant_state", "mirror_entities", "mirror_members", "mirror_grants", "mirror_size", "mirror_bound"),
        "test_small_reads.py holds its rows to the oracle's facts, next to a tenant with the same names",
    ),
    **dict.fromkeys(
        (
            *("effective_principals", "entity_exists", "list_tenants", "log_tail", "revision", "similar_names"),
            *("owned_objects", "tenant_policy", "tenant_sizes"),
        ),
        "test_small_reads.py has its rows",
    ),
    **dict.fromkeys(
        ("log", "refusals"),
        "test_log_filters.py holds it to all entries, filtered in Python; tests/engine/change/test_audit_log.py",
    ),
    **dict.fromkeys(
        ("log_deltas", "delta_part"),
        "tests/engine/change/test_recorded_deltas.py holds what it reads to the facts before and after each change",
    ),
    "renames": "tests/engine/change/test_former_names.py follows entities through renames and moves by it",
    "schema": "its constraints are there as long as the server: what it says twice it does once",
    "write_policy_graph": "tests/engine/tenants/test_policy_graph.py holds what it writes to the policy, node by node",
    "read_policy_graph": "the same test reads by it what edits by hand have changed",
    **dict.fromkeys(
        _in("questions"),
        "tests/cypher/questions and tests/engine/answers/test_questions_to_the_policy.py hold each to oracles",
    ),
    **dict.fromkeys(_in("browser"), "tests/agreement/test_by_name.py and test_lists_by_name.py hold each to Python"),
    **dict.fromkeys(_in("inspection"), "tests/engine/inspection holds each to the facts of random tenants"),
    **dict.fromkeys(_in("guard"), "tests/trust pauses, kills and cuts off the writers that send it"),
    **dict.fromkeys(_in("server"), "tests/engine/cli/test_doctor.py holds each to the server that it starts"),
    "replica_proof": "tests/engine/facts/copy holds copies that follow by it to the graph, change by change",
}
# those that write, and those that decide what is written
WRITING = [file for file in _in("changes", "history", "load", "tenants", "dump") if file not in (*DECIDING, *UNBROKEN)]
