"""The page in a real browser: each test clicks through what the page promises."""

from __future__ import annotations

import json
import os
import re
import runpy
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, unquote

import pytest

from tests.server.browser import ARGUMENTS, CHROMIUM

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")

pytestmark = [
    pytest.mark.jit,
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed: apt-get install chromium"),
]

TEXT = "the man saw the dog with the telescope"
SCRIPT = "<script>window.hacked=1</script><img src=x onerror='window.hacked=1'>"


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield found
        found.close()


@pytest.fixture
def page(browser, served) -> Iterator[object]:
    context = browser.new_context(viewport={"width": 1000, "height": 900}, accept_downloads=True)
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    found = context.new_page()
    found.set_default_timeout(30_000)
    problems: list[str] = []
    found.on("pageerror", lambda error: problems.append(str(error)))
    found.on("console", lambda message: problems.append(message.text) if "Content Security" in message.text else None)
    outside: list[str] = []
    found.on(
        "request",
        lambda request: None if request.url.startswith((served.url, "blob:")) else outside.append(request.url),
    )
    yield found
    context.close()
    assert problems == []
    assert outside == []  # nothing comes from another host


def _open(page, served, **view) -> None:
    page.goto("about:blank")
    page.goto(f"{served.url}/#{quote(json.dumps(view))}")
    page.wait_for_selector("body[data-ready]")


def _steps(page, served, layer: str, **view) -> None:
    _open(page, served, tab="steps", text=view.pop("text", TEXT), layer=layer, **view)
    page.wait_for_selector("#viewer .tw-where")


def _until(page, condition: str) -> None:
    """Wait for a condition. The page's own policy forbids what Playwright would do for it."""
    end = time.monotonic() + 30
    while not page.evaluate(condition):
        assert time.monotonic() < end, condition
        page.wait_for_timeout(30)


def _at(page) -> int:
    return int(page.inner_text("#viewer .tw-where").split()[1])


def test_text_gives_all_layers(page, served):
    _open(page, served)
    page.fill("#text", "She reads. " + TEXT)
    page.click("#go")
    page.wait_for_selector("#s2")
    for layer in ("dependency", "constituency", "amr"):
        assert page.locator(f"#s2 [data-layer={layer}] svg").count() == 1
    tokens = page.locator("#s2 .tokens li")
    assert tokens.count() == 8
    assert tokens.nth(2).inner_text().split("\n") == ["saw", "VERB · VBD", "see"]
    assert page.locator(".contents li").all_inner_texts() == ["She reads.", TEXT]  # a table of contents
    assert page.inner_text("#s2 h2").startswith("2.")


def test_control_and_enter_send_the_text(page, served):
    _open(page, served)
    page.fill("#text", "She reads.")
    page.press("#text", "Enter")
    assert page.input_value("#text") == "She reads.\n"
    page.press("#text", "Control+Enter")
    page.wait_for_selector("#s1")
    page.click("#tab-steps")
    page.press("#text", "Control+Enter")
    page.wait_for_selector("#viewer .tw-where")


def _rows(served) -> list[list[str]]:
    """The words of the sentence as the bundled model parses them, in the columns of CoNLL-U."""
    lines = served.post("/api/parse", {"text": TEXT}).json()["conllu"].split("\n")
    return [line.split("\t") for line in lines if line[:1].isdigit()]


def test_hovering_a_word_lights_it_up_in_every_layer(page, served):
    _open(page, served, text=TEXT)
    page.hover("#s1 .tokens li:nth-child(5)")  # dog
    lit = "#s1 [data-layer={}] .tw-lit"
    arcs = [(int(row[0]), int(row[6])) for row in _rows(served)]
    assert page.locator(lit.format("dependency") + ".tw-link").count() == sum(5 in arc for arc in arcs) >= 2
    labels = page.locator(lit.format("constituency") + ".tw-node > .tw-label").all_text_contents()
    assert {"NP", "VP", "S"} <= set(labels)
    assert [each.strip() for each in page.locator(lit.format("amr") + ".tw-node").all_text_contents()] == ["dog"]
    page.hover("h1")
    assert page.locator(".tw-lit").count() == 0
    page.focus("#s1 .tokens li:nth-child(5)")  # the same with the keyboard
    assert page.locator(lit.format("amr")).count() > 0


@pytest.mark.parametrize(
    ("format", "beginning"),
    [("conllu", "# newpar"), ("json", "{"), ("brackets", "("), ("penman", "# ::"), ("svg", "<svg")],
)
def test_downloads_and_copies(page, served, format, beginning, tmp_path):
    _open(page, served, text=TEXT)
    with page.expect_download() as found:
        page.locator(f"[data-download={format}]").first.click()
    path = tmp_path / "file"
    found.value.save_as(path)
    text = path.read_text(encoding="utf-8")
    assert text.startswith(beginning)
    page.locator(f"[data-copy={format}]").first.click()
    _until(page, "document.getElementById('status').textContent.endsWith('copied')")
    assert page.evaluate("navigator.clipboard.readText()") == text


def test_steps_by_slider_keys_and_play(page, served):
    _steps(page, served, "dependency")
    assert _at(page) == 0
    page.click("h1")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    assert _at(page) == 1
    page.keyboard.press("End")
    end = _at(page)
    assert end == 24  # two moves and a label for each word
    page.keyboard.press("Home")
    assert _at(page) == 0
    page.locator("#viewer input[type=range]").fill("5")
    assert _at(page) == 5
    page.select_option("#viewer .tw-speed", "8")
    page.click("#viewer .tw-play")
    _until(page, f"document.querySelector('#viewer .tw-where').textContent.includes('step {end} of')")
    assert page.inner_text("#viewer .tw-play") in ("Pause", "Play")


def test_transitions_show_stack_buffer_arcs_and_bars(page, served):
    _steps(page, served, "dependency", step=10)
    assert page.locator("#viewer .tw-stack li").all_inner_texts() == ["root", "saw"]
    assert page.locator("#viewer .tw-buffer li").all_inner_texts() == ["dog", "with", "the", "telescope"]
    assert page.locator("#viewer .tw-state svg path").count() == 3
    chosen = page.locator("#viewer .tw-action.tw-chosen")
    assert "SHIFT" in chosen.inner_text()
    assert "%" in chosen.inner_text()
    assert chosen.locator(".tw-bar i").count() == 2
    page.keyboard.press("ArrowLeft")  # a label
    page.click("#viewer .tw-more")
    assert page.locator("#viewer .tw-action").count() > 30


def test_gold_gives_costs_and_the_first_error_is_a_key_away(page, served):
    rows = _rows(served)
    rows[7][6:8] = ["3", "obl"] if rows[7][6] == "5" else ["5", "nmod"]  # the other attachment of the telescope
    gold = "".join("\t".join(row) + "\n" for row in rows) + "\n"
    _open(page, served, tab="steps", text=TEXT, layer="dependency")
    page.click("#gold-details summary")
    page.fill("#gold", gold)
    page.click("#steps-form .main")
    page.wait_for_selector("#viewer .tw-first-error")
    page.click("h1")
    page.keyboard.press("e")
    assert "error" in page.inner_text("#viewer .tw-chosen")
    assert "cost" in page.inner_text("#viewer .tw-chosen .tw-pays")
    assert page.locator("#viewer .tw-zero").count() >= 1
    assert page.inner_text("#viewer .tw-expert").startswith("expert:")
    page.check("#follow")
    page.click("#steps-form .main")
    _until(page, "document.querySelector('#viewer .tw-first-error')?.textContent === 'no error'")


@pytest.mark.parametrize(
    ("layer", "gold"),
    [("constituency", "(S (NP (DT the) (NN dog)) (VP (VBZ barks)))"), ("amr", "(b / bark-01 :ARG0 (d / dog))")],
)
def test_gold_in_brackets_and_penman(page, served, layer, gold):
    _steps(page, served, layer, text="the dog barks", gold=gold)
    assert page.locator("#viewer .tw-first-error").count() == 1
    assert page.locator("#viewer .tw-cost").first.inner_text().startswith("cost")


def test_a_chart_fills_width_by_width_with_back_pointers(page, served):
    _steps(page, served, "constituency", kind="chart", step=9)
    full = page.locator("#viewer .cell:not(.empty)")
    assert full.count() == 10  # all single words, and two cells of two
    page.keyboard.press("End")
    assert page.locator("#viewer .cell.empty").count() == 0
    page.click('#viewer [data-cell="2 8"]')
    table = page.inner_text("#viewer .tw-items")
    assert "inside" in table
    assert "outside" in table
    page.locator("#viewer .tw-pointer", has_text="VP").first.click()
    assert page.locator("#viewer .cell.back").count() >= 1
    page.click('#viewer [data-cell="0 6"]')
    assert "pruned" in page.inner_text("#viewer .tw-items")
    assert "^" not in page.inner_text("#viewer")
    assert "@" not in page.inner_text("#viewer")
    page.check("#viewer .tw-full input")
    assert "~" in page.inner_text("#viewer .tw-items")


def test_an_agenda_pops_by_priority(page, served):
    _steps(page, served, "constituency", model="agenda", text="she sees it .")
    assert page.locator("#kind option").all_inner_texts() == ["the agenda", "the tree from the top", "the chart"]
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    pops = page.locator("#viewer .tw-pops li").all_inner_texts()
    assert len(pops) == 4
    assert all("[" in each for each in pops)
    assert "priority" in page.inner_text("#viewer .tw-measures")
    agenda = page.locator("#viewer .tw-agenda li").all_inner_texts()
    assert agenda[0] == pops[-1]  # it has the highest priority
    priorities = [float(each.rsplit(maxsplit=1)[1].replace("\u2212", "-")) for each in agenda[:-1]]
    assert priorities == sorted(priorities, reverse=True)
    assert re.fullmatch(r"and \d+ more", agenda[-1])
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    assert "inside" in page.inner_text("#viewer .tw-why")
    page.click("#viewer .tw-pops li:last-child button")  # the root: its back-pointer is over the same words
    assert re.fullmatch(r"TOP\[0:4\] ← \w+\[0:4\]", page.inner_text("#viewer .tw-from"))
    assert page.get_attribute("#viewer .cell.back", "data-cell") == "0 4"
    page.select_option("#kind", "chart")
    page.click("#steps-form .main")
    _until(page, "document.querySelectorAll('#viewer .tw-pops').length === 0")
    assert page.locator("#viewer .cell").count() == 10


def test_a_derivation_grows_from_the_top_with_plain_symbols(page, served):
    _steps(page, served, "constituency", step=8)
    text = page.inner_text("#viewer .tw-state")
    assert "man" in text
    assert "telescope" not in text
    assert "~" not in text


def test_a_graph_grows_and_shrinks(page, served):
    _steps(page, served, "amr")
    count = page.locator("#viewer .tw-state rect")
    first = count.count()
    sizes = [first]
    for _ in range(22):
        page.keyboard.press("ArrowRight")
        sizes.append(count.count())
    assert first == 8  # the words of the dependency tree
    assert sizes[-1] == 4  # the concepts
    assert len(set(sizes)) > 2


def test_other_layers_have_steps_too(page, served):
    _steps(page, served, "words", step=2)
    assert "|" in page.inner_text("#viewer .tw-context")
    _steps(page, served, "upos", step=3)
    assert page.inner_text("#viewer .tw-chip.tw-now") == "the"
    _steps(page, served, "lemma", step=3)
    assert "see" in page.inner_text("#viewer .tw-state")


@pytest.mark.parametrize(("layer", "step"), [("dependency", 17), ("constituency", 8), ("amr", 2), ("upos", 2)])
def test_what_if_another_action_were_taken(page, served, layer, step):
    _steps(page, served, layer, step=step)
    others = page.locator("#viewer .tw-action:not(.tw-chosen) button")
    if others.count() == 0:  # go to the next step with a choice
        while page.locator("#viewer .tw-action:not(.tw-chosen) button").count() == 0:
            page.click("#viewer .tw-next")
    name = others.first.get_attribute("data-action")
    others.first.click()
    page.wait_for_selector("#back-to-model")
    assert page.locator("#viewer .tw-chosen button").get_attribute("data-action") == name
    assert page.locator("#viewer .tw-difference h4").all_inner_texts() == ["The model", "What if"]
    assert page.inner_text("#viewer .tw-count")
    assert not re.search(r"[~@^]", page.inner_text("#prefix"))  # symbols are shown plainly
    page.click("#viewer .tw-next")  # it goes on from there, and the difference stays
    assert page.locator("#viewer .tw-difference h4").count() == 2
    if layer == "dependency":
        assert page.locator("#viewer .tw-difference .only-a, #viewer .tw-difference .only-b").count() > 0
    page.click("#back-to-model")
    page.wait_for_selector("#prefix[hidden]", state="attached")


def test_a_doubled_constituent_is_a_difference(page, served):
    _open(page, served)
    count, only_a, only_b = page.evaluate(
        """async () => {
            const { drawDifference } = await import("/static/viewer/viewer.js");
            const trace = (tree) => ({ kind: "derivation", words: ["it"], result: { tree } });
            const found = drawDifference(trace("(NP (PRP it))"), trace("(NP (NP (PRP it)))"));
            const marked = (name) => found[2].querySelectorAll(name).length;
            return [found[1].textContent, marked(".only-a"), marked(".only-b")];
        }"""
    )
    assert (count, only_a) == ("1 differ", 0)
    assert only_b > 0


def test_a_trace_that_replaces_another_has_the_keys_alone(page, served):
    _open(page, served)
    assert page.evaluate(
        """async () => {
            const { mountViewer } = await import("/static/viewer/viewer.js");
            const step = { state: { position: 0, labels: [] }, candidates: [], chosen: null };
            const trace = { kind: "tags", words: ["it"], steps: [step, step], metadata: {} };
            const told = [], place = document.createElement("div");
            document.body.append(place);
            for (const name of ["old", "new"]) mountViewer(place, trace, { onStep: () => told.push(name) });
            document.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight" }));
            return told;
        }"""
    ) == ["new"]


def test_plain_actions_of_a_derivation_can_be_told_apart(page, served):
    _open(page, served)
    assert page.evaluate(
        """async () => {
            const { shownAction } = await import("/static/viewer/viewer.js");
            const actions = ["NP -> NP~", "NP -> [] NP~", "NP^S -> [QP] NP~", "S~ -> NP VP at 2"];
            return actions.map((each) => shownAction({ kind: "derivation" }, each));
        }"""
    ) == ["NP, no unary rule", "NP → NP", "NP → QP NP", "S → NP VP at 2"]


def test_why_lists_features_with_weights(page, served):
    _steps(page, served, "dependency", step=3)
    assert "s0" in page.inner_text("#viewer .tw-for")
    assert page.locator("#viewer .tw-why .tw-features tr").count() > 5


def test_a_beam_has_a_lineage(page, served):
    _open(page, served, tab="steps", text=TEXT, layer="dependency")
    page.fill("#beam", "4")
    page.click("#steps-form .main")
    page.wait_for_selector("#viewer .tw-lineage svg")
    assert "Beam of 4" in page.inner_text("#viewer .tw-lineage")
    assert page.locator("#viewer .tw-lineage rect").count() > 40


def test_the_two_attachments_side_by_side_with_their_scores(page, served):
    _open(page, served, text="It rains. " + TEXT)
    button = page.locator("#s2 [data-layer=constituency] [data-trees]")
    button.click()
    trees = page.locator("#s2 .trees > div")
    _until(page, "document.querySelectorAll('#s2 .trees > div').length === 2")
    assert [each.split()[:2] for each in trees.locator("p").all_inner_texts()] == [["1.", "score"], ["2.", "score"]]
    one, two = (each.bounding_box() for each in trees.all())
    assert one["y"] == two["y"]
    assert one["x"] + one["width"] <= two["x"]
    drawn = [each.inner_html() for each in trees.locator("svg").all()]
    assert len(set(drawn)) == 2
    button.click()  # again: they are replaced
    _until(page, "document.querySelectorAll('#s2 .trees').length === 1")


@pytest.mark.parametrize("width", [400, 1000])
def test_a_comparison_is_seen_as_a_whole(page, served, width):
    page.set_viewport_size({"width": width, "height": 800})
    text = (
        "The old man who lives in the small house near the river saw the young dog of his neighbour with the telescope"
    )
    _open(page, served, tab="compare", text=f"{text} .", b="worse", compareLayer="dependency")
    page.click("#compare-form .main")
    page.wait_for_selector("#comparison svg .only-a")
    places = page.locator("#comparison .tw-scroll").all()
    assert len(places) == 2
    assert all(place.evaluate("each => each.scrollWidth <= each.clientWidth") for place in places)
    words = places[0].locator("text:not(.l)").all_text_contents()
    assert " ".join(words) == f"{text} ."
    assert page.evaluate(_OVERLAPS) == []


def test_compare_on_text_and_on_an_uploaded_treebank(page, served, tmp_path):
    _open(page, served, tab="compare", text="She saw the dog that the man with the telescope had seen. " + TEXT)
    page.select_option("#model-b", "worse")
    page.click("#compare-form .main")
    page.wait_for_selector("#comparison li")
    counts = [int(each.get_attribute("data-count")) for each in page.locator("#comparison li").all()]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > 0
    first = page.locator("#comparison li").first
    assert first.locator("table.differs th").all_inner_texts()[1:3] == ["english", "worse"]
    assert " of " in first.locator("table.differs .only-a").first.inner_text()
    assert first.locator("svg .only-a").count() == first.locator("svg .only-b").count() > 0
    treebank = served.post("/api/parse", {"text": "She saw the dog that the man had seen. It rains."}).json()["conllu"]
    (tmp_path / "gold.conllu").write_text(treebank, encoding="utf-8")
    page.set_input_files("#treebank", tmp_path / "gold.conllu")
    page.select_option("#compare-layer", "dependency")
    page.click("#compare-form .main")
    page.wait_for_selector("#comparison-summary")
    assert "100.00 (" in page.inner_text("#comparison table")
    gaps = [int(each.get_attribute("data-gap")) for each in page.locator("#comparison li").all()]
    assert gaps == sorted(gaps, reverse=True)
    page.select_option("#compare-layer", "lemma")
    page.click("#compare-form .main")
    page.wait_for_selector("#comparison h2:has-text('lemma')")
    assert "100.00 (100.00 to 100.00)" in page.locator("#comparison table").first.inner_text()


def test_a_link_holds_the_whole_view(page, served, browser):
    _steps(page, served, "constituency", sentence=1, text="It rains. " + TEXT)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.click("#copy-link")
    _until(page, "document.getElementById('status').textContent === 'Link copied'")
    link = page.evaluate("navigator.clipboard.readText()")
    held = json.loads(unquote(link.partition("#")[2]))
    assert (held["tab"], held["layer"], held["sentence"], held["step"]) == ("steps", "constituency", 1, 2)
    state = page.inner_text("#viewer .tw-state")
    page.goto("about:blank")
    page.goto(link)
    page.wait_for_selector("body[data-ready]")
    assert _at(page) == 2
    assert page.inner_text("#viewer .tw-state") == state


def test_a_link_to_a_comparison_shows_it(page, served):
    _open(page, served, tab="compare", text="She saw the dog. It rains.", b="worse")
    assert page.locator("#comparison li").count() == 2


def test_a_link_that_is_opened_in_the_same_window(page, served):
    _open(page, served, text="It rains.")
    link = quote(json.dumps({"tab": "steps", "text": TEXT, "layer": "dependency", "step": 3}))
    page.goto(f"{served.url}/#{link}")  # only the part after # differs, so the browser itself loads nothing
    page.wait_for_selector("#viewer .tw-where")
    assert _at(page) == 3
    assert page.input_value("#text") == TEXT


def test_steps_of_a_text_that_was_not_analysed_before(page, served):
    _open(page, served, tab="steps")
    page.fill("#text", f"It rains. {TEXT}")
    page.click("#steps-form .main")
    page.wait_for_selector("#viewer .tw-where")
    assert page.locator("#sentence option").all_inner_texts() == ["1", "2"]
    page.select_option("#sentence", index=1)
    page.click("#steps-form .main")
    _until(page, "document.getElementById('viewer').textContent.includes('telescope')")
    assert page.input_value("#sentence") == "1"


@pytest.mark.parametrize("search", ["cky", "agenda"])
def test_a_grammar_by_hand(page, served, search):
    _open(page, served, tab="grammar")
    page.fill("#rules", "S -> NP VP\nNP -> 'she' | NP PP [0.2]\nVP -> V NP | VP PP\nPP -> P NP\nV -> saw\nP -> with")
    page.fill("#grammar-text", "she saw she with she")
    page.select_option("#search", search)
    page.click("#grammar-form .main")
    _until(page, "document.querySelectorAll('#grammar-trees figure').length === 2")
    scores = page.locator("#grammar-trees p").all_inner_texts()
    assert all("score" in each for each in scores)
    _until(page, "document.querySelectorAll('#grammar-viewer .cell').length === 15")
    page.keyboard.press("End")
    if search == "agenda":
        pops = page.locator("#grammar-viewer .tw-pops li button")
        pops.last.click()
        assert re.match(r"S\[0:5\] ← NP\[0:\d\] \+ VP\[\d:5\]$", page.inner_text("#grammar-viewer .tw-from"))
        assert page.locator("#grammar-viewer .cell.back").count() == 2
        page.click("#grammar-viewer .tw-first")
        assert page.locator("#grammar-viewer .tw-agenda li").count() > 1
    page.fill("#rules", "S -> NP")
    page.fill("#grammar-text", "she")
    page.click("#grammar-form .main")
    page.wait_for_selector("#status.error")
    assert "she" in page.inner_text("#status")


def test_light_dark_and_phone(page, served):
    _open(page, served, text=TEXT)
    paper = "getComputedStyle(document.body).backgroundColor"
    colours = set()
    for _ in range(3):
        page.click("#theme")
        colours.add((page.inner_text("#theme"), page.evaluate(paper)))
    assert len({colour for _, colour in colours}) == 2
    for width in (400, 1000, 1800):
        page.set_viewport_size({"width": width, "height": 800})
        steps = {"tab": "steps", "text": TEXT, "step": 3}
        for view in ({"text": TEXT}, {**steps, "layer": "dependency"}, {**steps, "layer": "upos"}, {"tab": "grammar"}):
            _open(page, served, **view)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (width, view)


@pytest.mark.parametrize("words", [5, 25, 80])
def test_texts_do_not_overlap(page, served, words):
    text = " ".join((TEXT + " and then she left the old house").split() * 8)
    text = " ".join(text.split()[:words])
    for width in (400, 1000):
        page.set_viewport_size({"width": width, "height": 800})
        steps = {"tab": "steps", "text": text, "step": words}
        layers = ("dependency", "amr") if width == 400 else ("constituency",)
        for view in ({"text": text}, *({**steps, "layer": layer} for layer in layers)):
            _open(page, served, **view)
            assert page.evaluate(_OVERLAPS) == [], (width, view["text"][:20])


_OVERLAPS = """() => [...document.querySelectorAll('svg')].flatMap((svg) => {
  const texts = [...svg.querySelectorAll('text')].filter((text) => text.textContent.trim());
  const boxes = texts.map((text) => [text.textContent, text.getBoundingClientRect()]);
  const found = [];
  for (let i = 0; i < boxes.length; i++) for (let j = i + 1; j < boxes.length; j++) {
    const [a, b] = [boxes[i][1], boxes[j][1]];
    const x = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const y = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    if (x > 3 && y > 5) found.push(`${boxes[i][0]} / ${boxes[j][0]}`);
  }
  return found.slice(0, 5);
})"""


def test_scripts_in_any_field_stay_text(page, served, worse_model):
    _open(page, served, text=SCRIPT, gold=SCRIPT)
    page.click("#tab-steps")
    page.click("#steps-form .main")
    page.wait_for_selector("#status.error")
    page.fill("#gold", "")
    page.click("#steps-form .main")
    page.wait_for_selector("#viewer .tw-where")
    page.click("#tab-compare")
    page.click("#compare-form .main")
    page.wait_for_selector("#comparison li")
    _open(page, served, tab="grammar", rules=f"S -> '{SCRIPT.split()[0]}'", grammarText=SCRIPT.split()[0])
    page.wait_for_selector("#grammar-trees svg")
    page.fill("#rules", SCRIPT)
    page.click("#grammar-form .main")
    page.wait_for_selector("#status.error")
    assert page.evaluate("window.hacked") is None
    for name in ("model", "layer", "kind", "beam", "a", "b", "tab", "search"):
        _open_quietly(page, served, {"text": "It rains.", "tab": "steps", name: SCRIPT})
        assert page.evaluate("window.hacked") is None


def _open_quietly(page, served, view) -> None:
    page.goto("about:blank")
    page.goto(f"{served.url}/#{quote(json.dumps(view))}")
    _until(page, "document.body.dataset.ready || document.querySelector('#status.error')")


def test_everything_is_reached_by_the_keyboard(page, served):
    _open(page, served, text="It rains.")
    names = set()
    page.keyboard.press("Tab")
    for _ in range(40):
        names.add(
            page.evaluate(
                "document.activeElement.id || document.activeElement.className || document.activeElement.tagName"
            )
        )
        page.keyboard.press("Tab")
    assert {"tab-analyse", "tab-steps", "copy-link", "theme", "text", "model", "go"} <= names


def test_an_error_is_told_and_the_page_goes_on(page, served):
    _open(page, served, tab="steps")
    page.fill("#text", "word " * 300)
    page.click("#steps-form .main")
    page.wait_for_selector("#status.error")
    assert "300" in page.inner_text("#status")
    page.fill("#text", "It rains.")
    page.click("#steps-form .main")
    page.wait_for_selector("#viewer .tw-where")


def test_the_api_page_lists_the_routes(page, served):
    page.goto(served.url + "/docs")
    page.wait_for_selector("section h2")
    assert "POST /api/parse" in page.locator("h2").all_inner_texts()


def test_files_of_a_trace_open_without_a_server(page, served, tmp_path):
    from treewright.reports import trace_html
    from treewright.tracing import Trace

    body = {"text": TEXT, "layer": "dependency", "explain": True}
    trace = Trace.from_json(served.post("/api/trace", body).json()["trace"])
    file = Path(os.fspath(tmp_path)) / "trace.html"
    file.write_text(trace_html([trace, trace], title=SCRIPT), encoding="utf-8")
    other = page.context.browser.new_page()
    requests: list[str] = []
    other.on("request", lambda request: requests.append(request.url))
    other.goto(file.as_uri())
    other.wait_for_selector(".tw-where")
    other.keyboard.press("End")
    assert other.locator(".tw-where").all_inner_texts() == ["step 24 of 24", "step 0 of 24"]
    other.locator(".tw-next").last.click()
    other.keyboard.press("ArrowRight")  # keys are for the viewer that was used last
    assert other.locator(".tw-where").all_inner_texts() == ["step 24 of 24", "step 2 of 24"]
    assert other.evaluate("window.hacked") is None
    assert requests == [file.as_uri()]
    other.close()


def test_pages_that_the_documentation_embeds(browser, tmp_path):
    root = Path(__file__).resolve().parents[2]
    runpy.run_path(str(root / ".mkdocs" / "steps.py"))["write"](tmp_path)
    texts = {path.stem: path.read_text(encoding="utf-8") for path in (root / "docs").glob("*.md")}
    embedded = {task: re.findall(r'<iframe src="\.\./steps/([\w-]+)\.html"', text) for task, text in texts.items()}
    assert all(embedded[task] for task in ("dependency", "constituency", "amr", "tutorial"))
    assert {name for names in embedded.values() for name in names} == {path.stem for path in tmp_path.iterdir()}
    page = browser.new_page(viewport={"width": 700, "height": 640})
    for path in tmp_path.iterdir():
        page.goto(path.as_uri())
        page.wait_for_selector(".tw-where")
        page.keyboard.press("End")
        at, of = re.fullmatch(r"step (\d+) of (\d+)", page.inner_text(".tw-where")).groups()
        assert at == of != "0", path.name
        assert page.evaluate("document.documentElement.scrollWidth") <= 700, path.name
    page.close()
    first = texts["index"].index("images/layer-words.svg")
    assert first < texts["index"].index("## ")  # pictures of the layers come before the table of links
