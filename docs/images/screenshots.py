"""Make the screenshots of the workbench: four for the documentation, and each view at several sizes to be looked at.

Run it from the root of the repository: ``python docs/images/screenshots.py``. It needs Chromium and the extras
``serve`` and ``test``. Those for the documentation go to ``docs/images``, the others to ``build/screenshots``.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote
from urllib.request import urlopen

from playwright.sync_api import Page, sync_playwright

HERE = Path(__file__).parent
ALL = HERE.parents[1] / "build" / "screenshots"
SHORT = "the man saw the dog with the telescope"
TEXT = (
    "The old man who lives in the small house near the river saw the young dog of his neighbour with the new telescope "
    "that she had bought when the shop in the village was closed because the owner had moved to another town where he "
    "wanted to write a book about the birds that come to the lake every spring , and he told her that he would never "
    "look at the stars again if it rained all night , which nobody believed at all ."
)
LONG = TEXT.split()
WIDTHS = (400, 1000, 1800)


def views(text: str, words: int) -> dict[str, dict[str, Any]]:
    """Each view of the page, by name."""
    steps = {"tab": "steps", "text": text}
    found = {
        "analyse": {"text": text},
        "dependency": {**steps, "layer": "dependency", "step": words},
        "constituency": {**steps, "layer": "constituency", "step": words},
        "amr": {**steps, "layer": "amr", "step": words},
        "tags": {**steps, "layer": "upos", "step": words // 2},
        "compare": {"tab": "compare", "text": text},
    }
    if words <= 40:
        found["chart"] = {**steps, "layer": "constituency", "kind": "chart", "step": 3 * words}
        found["beam"] = {**steps, "layer": "dependency", "beam": "4", "step": words}
    if words <= 10:
        found["grammar"] = {"tab": "grammar", "step": 20}
        found["agenda"] = {"tab": "grammar", "search": "agenda", "step": 12}
    return found


def shoot(page: Page, url: str, view: dict[str, Any], path: Path) -> None:
    """Take a picture of a view."""
    page.goto("about:blank")
    page.goto(f"{url}/#{quote(json.dumps(view))}")
    page.wait_for_selector("body[data-ready]", timeout=120_000)
    path.parent.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=path, full_page=True)


def main() -> None:
    """Start a server and a browser, and take all pictures; names of views on the command line choose some."""
    server = subprocess.Popen(
        [sys.executable, "-m", "treewright", "serve", "--port", "0"], stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    url = server.stdout.readline().split()[-1]
    try:
        while True:
            try:
                urlopen(f"{url}/health", timeout=10)
                break
            except OSError:
                time.sleep(0.2)
        with sync_playwright() as driver:
            found = shutil.which("chromium") or shutil.which("chromium-browser")
            browser = driver.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
            page = browser.new_page(viewport={"width": 1000, "height": 700})
            shoot(page, url, {"text": SHORT}, HERE / "workbench-analyse.png")
            steps = {"tab": "steps", "text": SHORT, "layer": "dependency", "step": 7}
            shoot(page, url, steps, HERE / "workbench-steps.png")
            chart = {"tab": "steps", "text": SHORT, "layer": "constituency", "kind": "chart", "step": 34}
            shoot(page, url, chart, HERE / "workbench-chart.png")
            shoot(page, url, {"tab": "grammar", "step": 30}, HERE / "workbench-grammar.png")
            for words in (5, 25, 80):
                text = " ".join(LONG[:words])
                for name, view in views(text, words).items():
                    if len(sys.argv) > 1 and name not in sys.argv[1:]:
                        continue
                    for width in WIDTHS:
                        page.set_viewport_size({"width": width, "height": 900})
                        shoot(page, url, view, ALL / f"{name}-{words}-{width}.png")
            browser.close()
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
