"""Takes the picture of docs/report.md, in headless Chromium: python -m tests.support.report_picture

It needs Chromium, and neither a server nor Spark: the demo's company is small enough for Python.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import sync_playwright

from grantpath.engine.cli.admin.demo_data import POLICY, ROOT, estate
from grantpath.spark_sync.reporting.report_page import report

from ..oracle import Oracle, oracle
from . import tiers
from .browser_desk import FLAGS
from .pictures import FOLDER
from .plain_access import write_access, write_snapshot

WIDTH = 1140


def demo_company() -> Oracle:
    """The facts of the demo."""
    tables = estate()
    made = oracle(POLICY, ROOT.partition(":")[2])
    facts = [f"add {row['ref']}" for row in [*tables["subjects"], *tables["objects"]]]
    facts += [f"member {row['member']} of {row['of']}" for row in tables["members"]]
    facts += [f"owner {row['owner']} of {row['object']}" for row in tables["owners"]]
    facts += ["{effect} {privilege} on {object} to {subject}".format(**row) for row in tables["grants"]]
    for fact in facts:
        if made.given(fact) != "done":
            raise ValueError(fact)
    return made


def main() -> None:
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        snapshot = write_access(write_snapshot(demo_company(), Path(folder) / "demo"))
        file = report(snapshot, Path(folder) / "demo.html").file
        browser = playwright.chromium.launch(executable_path=tiers.chromium(), args=FLAGS)
        page = browser.new_page(viewport={"width": WIDTH, "height": 900})
        page.goto(file.as_uri())
        section = page.locator("#exposed").bounding_box()  # the picture ends below the most exposed objects
        assert section
        height = section["y"] + section["height"] + 12
        page.screenshot(
            path=FOLDER / "report.png", full_page=True, clip={"x": 0, "y": 0, "width": WIDTH, "height": height}
        )
        browser.close()


if __name__ == "__main__":
    main()
