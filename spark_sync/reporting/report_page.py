"""`grantpath report`: one HTML page about a snapshot and its bulk answers, which needs no network."""

import base64
import hashlib
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from grantpath.graph.errors import GrantpathError, InvalidInput
from grantpath.graph.files.private_files import create_private
from grantpath.graph.files.remote_path import AnyPath
from grantpath.spark_sync.bulk.condition_answers import condition_answers
from grantpath.spark_sync.bulk.idle_grants import Idle, idle_grants
from grantpath.spark_sync.bulk.users_by_principal import UsersByPrincipal
from grantpath.spark_sync.reporting import report_grants
from grantpath.spark_sync.reporting.group_access import GROUPS, GroupAccess
from grantpath.spark_sync.reporting.report_changes import Changes, comparison, utc
from grantpath.spark_sync.reporting.report_contents import Contents
from grantpath.spark_sync.reporting.report_figures import Figures
from grantpath.spark_sync.reporting.report_templates import environment, static
from grantpath.spark_sync.session.snapshot import Snapshot

TOP = 100  # rows of a table
TITLES = {  # of the sections, in the order of the page: what a reviewer acts on comes first
    "glance": "At a glance",
    "since": "",  # names the older revision; only with `since`
    "exposed": "Most exposed objects",
    "widest": "Widest users",
    "idle": "Dead and shadowed grants",
    "owners": "Objects without an owner",
    "groups": "Groups and roles",
    "totals": "Totals",
    "levels": "Exposure by level",
    "containers": "",  # names the type of the containers
    "reach": "Distribution of reach",
    "names": "Names",
    "left-out": "What this page leaves out",
}


@dataclass(frozen=True)
class SnapshotReport:
    """A summary of the page that `report` wrote."""

    file: Path
    bytes: int
    revision: int
    users: int
    grants: int
    dead: int  # ALLOW and DENY grants without effect for existing users and objects
    shadowed: int  # ALLOW grants that a DENY cancels for each of their users
    since: int | None = None  # the revision of the older snapshot, if there is one
    gained: int | None = None  # users that gained access since then; None if the policy changed meanwhile
    lost: int | None = None  # users that lost access


def report(snapshot: AnyPath | str, out: Path, top: int = TOP, since: AnyPath | str | None = None) -> SnapshotReport:
    """Writes a page about a snapshot into the new file `out`, closed to other users. `top`: the rows of a table.

    `since`: an older snapshot of the root; the page shows what changed since then. It needs no bulk answers. If the
    policy changed meanwhile, the page compares only facts. Raises InvalidInput if the snapshot has no bulk answers or
    cannot be read, `since` cannot be read, is newer, or of another root or policy, or `out` exists or cannot be
    created; GrantpathError if it cannot be written.
    """
    try:
        if out.exists():
            raise _exists(out)
    except OSError as error:
        raise _not_written(out, error) from error
    source = Snapshot(snapshot)
    compared = None if since is None else comparison(Snapshot(since), source)
    answers = condition_answers(source)
    holders = UsersByPrincipal(source, answers.users)
    idle = idle_grants(source, answers, holders)
    groups = GroupAccess(source, answers, holders)
    contents = Contents(source, answers, Figures(source, answers), holders, idle, groups, top)
    changes = None if compared is None else Changes(contents, compared)
    page = _page(contents, changes).encode()
    _write(out, page)
    moved = (changes.gained, changes.lost) if changes and changes.comparison.of_one_policy else ()
    reasons = np.bincount(idle.reason, minlength=len(Idle) + 1).tolist()
    shadowed = reasons[Idle.SHADOWED]
    return SnapshotReport(
        out,
        len(page),
        source.meta.revision,
        contents.figures.user_count,
        idle.grants,
        sum(reasons) - shadowed,
        shadowed,
        None if changes is None else changes.before.meta.revision,
        *(pairs.users.entities for pairs in moved),
    )


def _write(out: Path, page: bytes) -> None:
    """Writes the file completely or not at all."""
    fresh = out.with_name(f".{out.name}.{os.getpid()}.new")
    try:
        with create_private(fresh) as file:
            file.write(page)
        os.link(fresh, out)
    except FileExistsError:
        raise _exists(out) from None
    except OSError as error:
        raise _not_written(out, error) from error
    finally:
        with suppress(OSError):  # if the path cannot exist, this fails too, and would replace the error
            fresh.unlink(missing_ok=True)


def _exists(out: Path) -> InvalidInput:
    return InvalidInput(f"{out} already exists; name a new file, or remove it")


def _not_written(out: Path, error: OSError) -> GrantpathError:
    return GrantpathError(f"{out} cannot be written ({error.strerror}); name another file with --out")


def _page(contents: Contents, changes: Changes | None) -> str:
    """The whole page. Its Content-Security-Policy allows only its own style and script, and no request."""
    style, script = static("report.css"), static("report.js")
    rules = [
        "default-src 'none'",
        f"style-src '{_digest(style)}'",
        f"script-src '{_digest(script)}'",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    meta, matrix = contents.source.meta, contents.matrix_condition
    titles = TITLES | {"containers": f"Exposure by {contents.container_noun}"}
    if changes:
        titles["since"] = f"Changes since revision {changes.before.meta.revision:,}"
    else:
        del titles["since"]
    of_groups = None if matrix is None else contents.answers.conditions[matrix]
    return (
        environment()
        .get_template("page.html")
        .render(
            security="; ".join(rules),
            style=style,
            script=script,
            meta=meta,
            mirrored=utc(contents.source),
            titles=titles,
            contents=contents,
            changes=changes,
            grants=report_grants.grant_parts(contents),
            dead=report_grants.dead(contents),
            shadowed=report_grants.shadowed(contents),
            owners=report_grants.Owners(contents),
            group_limit=GROUPS,
            matrix_type=of_groups and of_groups.type,
            matrix_name=of_groups and of_groups.names[0],
            left_out=report_grants.left_out(contents),
        )
    )


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
