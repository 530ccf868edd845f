"""Make the screenshots of the workbench: five for the documentation, and each view at several sizes to be looked at.

Run it from the root of the repository: ``python docs/images/screenshots.py``. It needs Chromium and the extras
``serve`` and ``test``. Those for the documentation go to ``docs/images``, the others to ``build/screenshots``
(one size is dark). The second model is the bundled one with a part of its weights missing.
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
COMPARED = "The horse raced past the barn fell."
WIDTHS = (400, 1000, 1800)
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]


def views(text: str, words: int) -> dict[str, dict[str, Any]]:
    """Each view of the page, by name."""
    steps = {"tab": "steps", "text": text}
    found: dict[str, dict[str, Any]] = {
        "analyse": {"text": text},
        "dependency": {**steps, "layer": "dependency", "step": words},
        "constituency": {**steps, "layer": "constituency", "step": words},
        "amr": {**steps, "layer": "amr", "step": words},
        "tags": {**steps, "layer": "upos", "step": words // 2},
        "words": {**steps, "layer": "words", "step": words // 2},
        "compare": {"tab": "compare", "text": text, "b": "worse"},
    }
    if words <= 40:
        found["chart"] = {**steps, "layer": "constituency", "kind": "chart", "step": 3 * words}
        found["beam"] = {**steps, "layer": "dependency", "beam": "4", "step": words}
        found["pops"] = {**steps, "model": "agenda", "layer": "constituency", "step": 12 * words}
    if words <= 10:
        found["what-if"] = {**steps, "layer": "dependency", "prefix": ["SHIFT", "SHIFT", "SHIFT"], "step": 2}
        found["gold"] = {**steps, "layer": "constituency", "gold": GOLD, "step": 3}
        found["grammar"] = {"tab": "grammar", "step": 20}
        found["agenda"] = {"tab": "grammar", "search": "agenda", "step": 12}
    return found


#: of the first five words
GOLD = "(NP (NP (DT The) (JJ old) (NN man)) (SBAR (WHNP (WP who)) (S (VP (VBZ lives)))))"


def shoot(page: Page, url: str, view: dict[str, Any], path: Path) -> None:
    """Take a picture of a view."""
    page.goto("about:blank")
    page.goto(f"{url}/#{quote(json.dumps(view))}")
    page.wait_for_selector("body[data-ready]", timeout=120_000)
    if view.get("tab") == "compare":
        page.click("#compare-form .main")
        page.wait_for_selector("#comparison li", timeout=120_000)
    if page.locator(".tw-pops:visible button").count():
        page.locator(".tw-pops:visible button").last.click()  # its back-pointer
    path.parent.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=path, full_page=True)


def worse() -> Path:
    """The bundled model with a dependency parser that has forgotten a part of its weights, to compare with."""
    import treewright

    model = treewright.load("english")
    policy = model.parser.policy_
    weights = policy.weights.copy()
    weights[:, ::3] = 0
    object.__setattr__(policy, "weights", weights)
    ALL.mkdir(parents=True, exist_ok=True)
    return model.save(ALL / "worse.tw")


def agenda() -> Path:
    """A small grammar that is parsed with an agenda."""
    from treewright.constituency import ConstituencyParser
    from treewright.corpora import builtin_corpus

    parser = ConstituencyParser(learner="maximum-likelihood", search="agenda")
    return parser.fit(builtin_corpus(train=200, dev=0, test=0)[0]).save(ALL / "agenda.tw")


def main() -> None:
    """Start a server and a browser, and take all pictures; names of views on the command line choose some."""
    command = [sys.executable, "-m", "treewright", "serve", "english", str(worse()), str(agenda()), "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    url = server.stdout.readline().split()[-1]
    wanted = sys.argv[1:]
    try:
        while True:
            try:
                urlopen(f"{url}/health", timeout=10)
                break
            except OSError:
                time.sleep(0.2)
        with sync_playwright() as driver:
            found = shutil.which("chromium") or shutil.which("chromium-browser")
            browser = driver.chromium.launch(executable_path=found, args=ARGUMENTS)
            page = browser.new_page(viewport={"width": 1000, "height": 700})
            for name, view in SHOWN.items():
                if not wanted or name in wanted:
                    shoot(page, url, view, HERE / f"workbench-{name}.png")
            for words in (5, 25, 80):
                for name, view in views(" ".join(LONG[:words]), words).items():
                    if wanted and name not in wanted:
                        continue
                    for width in WIDTHS:
                        page.emulate_media(color_scheme="dark" if words == 25 and width == 1000 else "light")
                        page.set_viewport_size({"width": width, "height": 900})
                        shoot(page, url, view, ALL / f"{name}-{words}-{width}.png")
            browser.close()
    finally:
        server.terminate()
        server.wait()


#: the pictures of the documentation
SHOWN: dict[str, dict[str, Any]] = {
    "analyse": {"text": SHORT},
    "steps": {"tab": "steps", "text": SHORT, "layer": "dependency", "step": 7},
    "chart": {"tab": "steps", "text": SHORT, "layer": "constituency", "kind": "chart", "step": 35},
    "compare": {"tab": "compare", "text": COMPARED, "b": "worse"},
    "grammar": {"tab": "grammar", "step": 35},
}


if __name__ == "__main__":
    main()
