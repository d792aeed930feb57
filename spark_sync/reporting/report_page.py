"""`grantpath report`: one HTML page about a snapshot and its bulk answers, which needs no network."""

import base64
import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from grantpath.graph.errors import GrantpathError, InvalidInput
from grantpath.graph.files.private_files import create_private
from grantpath.graph.files.remote_path import AnyPath
from grantpath.spark_sync.bulk.condition_answers import condition_answers
from grantpath.spark_sync.bulk.idle_grants import Idle, idle_grants
from grantpath.spark_sync.bulk.users_by_principal import UsersByPrincipal
from grantpath.spark_sync.reporting import report_grants, report_sections
from grantpath.spark_sync.reporting.report_figures import Figures
from grantpath.spark_sync.reporting.report_markup import Markup, element, name
from grantpath.spark_sync.reporting.report_sections import Contents, Section
from grantpath.spark_sync.session.snapshot import Snapshot

TOP = 100  # rows of a table


@dataclass(frozen=True)
class SnapshotReport:
    """A summary of the page that `report` wrote."""

    file: Path
    bytes: int
    revision: int
    users: int
    grants: int
    dead: int  # grants that give access to no existing user
    shadowed: int  # ALLOW grants that a DENY cancels for each of their users


def report(snapshot: AnyPath | str, out: Path, top: int = TOP) -> SnapshotReport:
    """Writes a page about a snapshot into the new file `out`, closed to other users. `top`: the rows of a table.

    Raises InvalidInput if the snapshot has no bulk answers or cannot be read, or `out` exists or cannot be created;
    GrantpathError if it cannot be written.
    """
    if out.exists():
        raise InvalidInput(f"{out} already exists; name a new file, or remove it")
    source = Snapshot(snapshot)
    answers = condition_answers(source)
    holders = UsersByPrincipal(source, answers.users)
    idle = idle_grants(source, answers, holders)
    contents = Contents(source, answers, Figures(source, answers), holders, idle, top)
    page = _page(contents).encode()
    _write(out, page)
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
    )


def _write(out: Path, page: bytes) -> None:
    """Writes the file completely or not at all."""
    fresh = out.with_name(f".{out.name}.{os.getpid()}.new")
    try:
        with create_private(fresh) as file:
            file.write(page)
        os.link(fresh, out)
    except FileExistsError:
        raise InvalidInput(f"{out} already exists; name a new file, or remove it") from None
    except OSError as error:
        raise GrantpathError(f"{out} cannot be written ({error.strerror}); name another file with --out") from error
    finally:
        fresh.unlink(missing_ok=True)


def _page(contents: Contents) -> str:
    """The whole page. Its Content-Security-Policy allows only its own style and script, and no request."""
    style, script = _static("report.css"), _static("report.js")
    rules = "; ".join(
        [
            "default-src 'none'",
            f"style-src '{_digest(style)}'",
            f"script-src '{_digest(script)}'",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
    meta = contents.source.meta
    sections = list(_sections(contents))
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=rules),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", f"Access report: {meta.root}, revision {meta.revision}"),
        element("style", style),
    )
    links = [element("a", each.title, href=f"#{each.key}") for each in sections]
    created = meta.created.replace("T", " ").replace("+00:00", " UTC")
    about = f"revision {meta.revision:,}, policy {meta.policy}, mirrored {created}"
    body = element(
        "body",
        element(
            "header",
            element("p", "Access report", class_="kind"),
            element("h1", name(meta.root)),
            element("p", about),
        ),
        element("nav", *links, aria_label="Sections"),
        element("main", *(each.markup() for each in sections)),
        element("script", script),
    )
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def _sections(contents: Contents) -> Iterator[Section]:
    yield report_sections.totals(contents)
    yield report_sections.levels(contents)
    yield report_sections.containers(contents)
    yield report_sections.reach(contents)
    yield report_sections.names(contents)
    yield report_sections.widest(contents)
    yield report_sections.exposed(contents)
    yield report_grants.idle(contents)
    yield report_grants.left_out(contents)


def _static(file: str) -> Markup:
    """A file of the package, which is not escaped: it contains no characters that would end its element."""
    return Markup(Path(__file__).with_name(file).read_text(encoding="utf-8"))


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
