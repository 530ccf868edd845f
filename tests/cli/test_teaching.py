"""What lectures show: grammars by hand, two readings side by side, and traces as pages."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

TELESCOPE = "the man saw the dog with the telescope"
TOY = """
S -> NP VP
NP -> Det N [3] | NP PP [1]
VP -> V NP | VP PP
PP -> P NP
Det -> the
N -> man | dog | telescope
V -> saw
P -> with
"""
LECTURES = Path(__file__).resolve().parents[2] / "docs" / "lectures.conllu"


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    (tmp_path / "toy.cfg").write_text(TOY, encoding="utf-8")
    return tmp_path / "toy.cfg"


def test_a_grammar_by_hand(run, toy, tmp_path):
    both = run("parse", "--grammar", toy, "--k-best", 2, input=TELESCOPE + "\n").stdout.split("\n")
    assert "(VP (VP (V saw)" in both[0]
    assert "(NP (NP (Det the) (N dog)) (PP" in both[1]
    found = run("parse", "--grammar", toy, "--search", "agenda", "-f", "json", input=TELESCOPE + "\n").stdout
    [tree] = json.loads(found)["trees"]
    assert tree["score"] == pytest.approx(-5.545, abs=0.001)
    (tmp_path / "text.txt").write_text(f"{TELESCOPE}\nthe dog saw the man\n", encoding="utf-8")
    run("parse", "--grammar", toy, tmp_path / "text.txt", "--k-best", 2, "--out", tmp_path / "trees.html")
    page = (tmp_path / "trees.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 3
    assert page.count("<figcaption>") == 3
    assert re.findall(r'<a href="#(s\d)">', page) == ["s1", "s2"]
    assert [f">{number}. " in page for number in (1, 2)] == [True, True]


@pytest.mark.parametrize(
    ("arguments", "input", "fact"),
    [
        ((), "the cat\n", "cat"),
        ((), "the man\n", "no tree"),
        (("-f", "conllu"), "the man saw the dog\n", "conllu"),
        (("--search", "magic"), "the man saw the dog\n", "magic"),
        (("--search", "agenda", "--k-best", "2"), "the man saw the dog\n", "--k-best"),
    ],
)
def test_mistakes_with_a_grammar(run, toy, arguments, input, fact):
    result = run("parse", "--grammar", toy, *arguments, input=input, code=2)
    assert fact in result.stderr


def test_neither_model_nor_grammar(run):
    assert "--grammar" in run("parse", code=2).stderr


@pytest.mark.jit
@pytest.mark.slow
def test_two_readings_with_the_bundled_model(run, tmp_path):
    both = run("parse", "english", "--k-best", 2, input=TELESCOPE + "\n").stdout.split("\n")
    attached = ["(NP (DT the) (NN dog)) (PP" in both[0], "(NP (NP (DT the) (NN dog)) (PP" in both[1]]
    assert attached == [True, True]
    assert not re.search(r"\((\w+) \(\1 [^)]*\)+$", both[0])  # no S over S
    page = run("parse", "english", "--k-best", 2, "--format", "html", input=TELESCOPE + "\n").stdout
    scores = [float(score) for score in re.findall(r"score (-?[\d.]+)", page)]
    assert len(scores) == 2
    assert scores == sorted(scores, reverse=True)


def test_traces_as_a_page(run, tmp_path):
    run("trace", LECTURES, "--sentence", "flight", "--html", tmp_path / "one.html")
    page = (tmp_path / "one.html").read_text(encoding="utf-8")
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in page
    data = json.loads(re.search(r'id="traces">(.*?)</script>', page, re.S)[1])
    assert data[0]["words"] == ["book", "the", "flight", "through", "houston"]
    run("trace", LECTURES, "--html", tmp_path / "all.html")
    page = (tmp_path / "all.html").read_text(encoding="utf-8")
    assert page.count('<li><a href="#trace-') == page.count('<div id="trace-') > 3


@pytest.mark.jit
@pytest.mark.slow
def test_traces_of_a_pipeline(run, tmp_path):
    text = run("trace", "--model", "english", "--text", "Time flies.", "--layer", "constituency", "--kind", "chart")
    assert "Time flies ." in text.stdout
    run("trace", "--model", "english", "--text", "Time flies.", "--explain", "--html", tmp_path / "why.html")
    assert '"features"' in (tmp_path / "why.html").read_text(encoding="utf-8")
    run("trace", "--model", "english", "--text", "Time flies.", "--beam", 4, "--html", tmp_path / "beam.html")
    assert '"lineage"' in (tmp_path / "beam.html").read_text(encoding="utf-8")
    assert "nothing" in run("trace", "--model", "english", "--text", "Hi", "--layer", "nothing", code=2).stderr
    assert "--kind" in run("trace", "--model", "english", "--text", "Hi", "--kind", "chart", code=2).stderr


def test_traces_of_a_grammar_by_hand(run, toy, tmp_path):
    chart = run("trace", "--grammar", toy, "--text", TELESCOPE).stdout
    assert "S -5.545" in chart
    pops = run("trace", "--grammar", toy, "--text", TELESCOPE, "--kind", "pops").stdout
    assert "S[0:8]" in pops.splitlines()[-1]
    run("trace", "--grammar", toy, "--text", TELESCOPE, "--html", tmp_path / "chart.html")
    assert '"kind":"chart"' in (tmp_path / "chart.html").read_text(encoding="utf-8")
    assert "--kind" in run("trace", "--grammar", toy, "--text", "the man", "--kind", "magic", code=2).stderr
    assert "--grammar" in run("trace", "--grammar", toy, "--text", "the man", "--explain", code=2).stderr


def test_options_for_models(run):
    assert "--model" in run("trace", LECTURES, "--explain", code=2).stderr
    assert "--beam" in run("trace", LECTURES, "--beam", 4, code=2).stderr


def test_serve_needs_models_that_there_are(run, tmp_path):
    assert "nothing.tw" in run("serve", tmp_path / "nothing.tw", code=2).stderr
