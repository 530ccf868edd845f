import json

import pytest

GOLD = "# ::id 1\n(w / want-01 :ARG0 (b / boy) :polarity -)\n\n# ::id 2\n(d / dog :mod (r / red))\n"
PREDICTED = "(w / want-01 :ARG0 (b / girl))\n\n(d / dog :mod (r / red) :quant 2)\n"
# 3 of 5 and 4 triples, 4 of 4 and 5


@pytest.fixture
def files(tmp_path):
    paths = [tmp_path / name for name in ("gold.txt", "parsed.amr")]
    for path, text in zip(paths, (GOLD, PREDICTED), strict=True):
        path.write_text(text)
    return paths


def test_scores(run, files):
    assert run("smatch", *files).stdout == "F-score: 0.78\n"
    assert run("smatch", *files, "--significant", 4).stdout == "F-score: 0.7778\n"
    assert run("smatch", *files, "--exact", "-r", 0).stdout == "F-score: 0.78\n"
    each = run("smatch", *files, "--pr", "--ms").stdout.split("\n")
    assert each[:3] == ["Precision: 0.75", "Recall: 0.60", "F-score: 0.67"]
    assert each[3:6] == ["Precision: 0.80", "Recall: 1.00", "F-score: 0.89"]


def test_other_sentences_are_a_warning(run, files):
    gold, parsed = files
    parsed.write_text(GOLD.replace("::id 2", "::id 7"))
    with pytest.warns(UserWarning, match="sentence 2 is '7', and '2' in the gold file"):
        assert run("smatch", gold, parsed).stdout == "F-score: 1.00\n"


def test_in_the_order_of_the_package(run, files):
    gold, parsed = files
    assert (
        run("smatch", "-f", parsed, gold, "--pr", "--ms").stdout == run("smatch", gold, parsed, "--pr", "--ms").stdout
    )


def test_breakdown_and_json(run, files):
    text = run("smatch", *files, "--breakdown").stdout
    assert text.startswith("F-score: 0.78\n\n")
    assert "negation             0.00    0.00  0.00     1" in text
    found = json.loads(run("smatch", *files, "--json", "--ms", "--exact", "--breakdown").stdout)
    assert found["f1"] == pytest.approx(7 / 9)
    assert found["proved"] == 1
    assert [part["name"] for part in found["breakdown"]][:2] == ["unlabelled", "no-sense"]
    assert [round(scores[2], 2) for scores in found["sentence_scores"]] == [0.67, 0.89]


def test_standard_input(run, files):
    assert run("smatch", "-", files[1], input=GOLD).stdout == "F-score: 0.78\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(w / want-01\n", "bad.amr:1: not a graph in PENMAN notation"),
        ("(w / want-01)\n\n(a / b :ARG0 (a / c))\n", "bad.amr:3: the variable 'a' has more than one concept"),
        ("(w / want-01)\n", "bad.amr has 1"),
        ("", "bad.amr: no graph in it"),
    ],
)
def test_bad_files(run, files, tmp_path, text, message):
    bad = tmp_path / "bad.amr"
    bad.write_text(text)
    said = run("smatch", files[0], bad, code=2).stderr
    assert message in said
    assert "Traceback" not in said


def test_bad_commands(run, files):
    assert "two files are needed" in run("smatch", files[0], code=2).stderr
    assert "name the files once" in run("smatch", files[0], "-f", *files, code=2).stderr
    assert "only one of the two" in run("smatch", "-", "-", code=2).stderr
    assert "there is no such file" in run("smatch", files[0], "nix.amr", code=2).stderr
