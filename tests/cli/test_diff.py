"""How meaning graphs differ, and drawings of them."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

GOLD = """# ::id a.1
# ::snt The boy wants to go .
(w / want-01 :ARG0 (b / boy) :ARG1 (g / go-02 :ARG0 b))

# ::id a.2
(d / dog :quant 2)
"""
PREDICTED = "(x / want-01 :ARG0 (y / girl) :ARG1 (z / go-02))\n\n(d / dog :quant 2)\n"


@pytest.fixture
def files(tmp_path):
    paths = [tmp_path / name for name in ("gold.amr", "parsed.txt")]
    for path, text in zip(paths, (GOLD, PREDICTED), strict=True):
        path.write_text(text)
    return paths


def test_text(run, files):
    assert run("diff", *files).stdout.splitlines() == [
        "a.1   Smatch 0.77",
        "The boy wants to go .",
        "  top: w / want-01",
        "  w / want-01",
        "      :ARG0 b / boy",
        "      :ARG1 g / go-02",
        "- b / boy",
        "+ b / girl",
        "  g / go-02",
        "-     :ARG0 b / boy",
        "",
        "a.2   Smatch 1.00",
        "  top: d / dog",
        "  d / dog",
        "      :quant 2",
        "",
    ]
    brief = run("diff", *files, "--brief").stdout
    assert brief.splitlines()[2:] == ["- b / boy", "+ b / girl", "  g / go-02", "-     :ARG0 b / boy", ""]


def test_one_sentence_and_standard_input(run, files):
    assert run("diff", files[0], "-", "-n", "a.2", input=PREDICTED).stdout.startswith("a.2   Smatch 1.00\n")
    assert run("diff", *files, "-n", 2).stdout == run("diff", *files, "-n", "a.2").stdout


def test_json(run, files):
    first, second = map(json.loads, run("diff", *files, "--format", "json").stdout.splitlines())
    assert (first["id"], first["matched"], first["gold"], first["predicted"]) == ("a.1", 5, 7, 6)
    assert [edge["side"] for edge in first["edges"]] == ["both", "both", "gold"]
    assert second["f1"] == 1.0


def test_drawings(run, files, tmp_path):
    out = tmp_path / "difference.svg"
    run("diff", *files, "-n", 1, "--out", out)
    svg = out.read_text()
    assert ElementTree.fromstring(svg).tag.endswith("svg")
    assert "− boy" in svg
    assert "tw-thread" in svg  # the words are aligned
    run("diff", *files, "--brief", "--out", tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text().count("<svg") == 1
    run("diff", *files, "-f", "svg", "--out", tmp_path / "all")
    assert len(list((tmp_path / "all").iterdir())) == 2


def test_align_draws_too(run, files, tmp_path):
    gold = tmp_path / "one.amr"
    gold.write_text(GOLD.split("\n\n")[0] + "\n")
    svg = run("align", gold, "--format", "svg").stdout
    assert svg.count('class="tw-thread"') == 3
    assert run("align", gold, "--format", "penman").stdout.startswith("# ::id a.1\n# ::snt The boy wants to go .\n(w")
    values = json.loads(run("align", gold, "--format", "json").stdout)
    assert values["nodes"][1] == {"node": "b", "label": "boy", "words": [1]}
    run("align", gold, "--format", "html", "--out", tmp_path / "page.html")
    assert "<figure>" in (tmp_path / "page.html").read_text()
    assert "there is no format 'png'" in run("align", gold, "--format", "png", code=2).stderr
    assert "--out needs a format" in run("align", gold, "--out", tmp_path / "x", code=2).stderr


def test_bad_commands(run, files, tmp_path):
    assert "there is no format 'pdf'" in run("diff", *files, "--out", tmp_path / "x.pdf", code=2).stderr
    assert "only one of the two" in run("diff", "-", "-", code=2).stderr
    assert "there is no sentence '3'" in run("diff", *files, "-n", 3, code=2).stderr
    files[1].write_text("(a / b)\n")
    assert "has 2 graphs, and" in run("diff", *files, code=2).stderr
    assert "has 1 graph, and" in run("diff", *reversed(files), code=2).stderr
    several = run("diff", files[0], files[0], "-f", "svg", code=2).stderr
    assert "svg" in several
    assert "several" in several
