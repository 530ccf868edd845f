from __future__ import annotations

import json

import pytest

from tests.cli.trees import SMALL, conllu
from treewright.corpora import load_corpus
from treewright.dependency import compare_dependencies
from treewright.metrics import holm

GOLD = [conllu("a:2:x b:0:root c:2:y"), conllu("a:0:root b:1:y")] * 10
WORSE = [conllu("a:0:root b:1:x c:2:y"), conllu("a:0:root b:1:z")] * 10
BETTER = [conllu("a:2:z b:0:root c:2:y"), conllu("a:0:root b:1:y")] * 10


@pytest.fixture
def files(tmp_path):
    paths = [tmp_path / f"{name}.conllu" for name in ("worse", "better", "gold")]
    for path, sentences in zip(paths, (WORSE, BETTER, GOLD), strict=True):
        path.write_text("".join(sentences))
    return paths


def compared(run, files, *options):
    return json.loads(run("compare", *files, "--json", *options).stdout)


def test_agrees_with_the_library(run, files):
    worse, better, gold = map(load_corpus, files)
    for measure in ("las", "uas"):
        expected = compare_dependencies(gold, worse, better, measure=measure)
        found = compared(run, files, "--measure", measure)
        assert found["difference"] == expected.difference > 0
        assert found["interval"] == list(expected.interval)
        assert (found["p_bootstrap"], found["p_randomization"]) == (expected.p_bootstrap, expected.p_randomization)
        assert (found["a_name"], found["b_name"], found["gold"]) == tuple(map(str, files))


def test_many(run, files, tmp_path):
    worse, better, gold = files
    best = tmp_path / "best.conllu"
    best.write_text("".join(GOLD))
    found = compared(run, [worse, better, best, gold])
    assert found["baseline"] == str(worse)
    pairs = [compared(run, [worse, other, gold]) for other in (better, best)]
    assert [row["name"] for row in found["rows"]] == [str(better), str(best)]
    for row, pair in zip(found["rows"], pairs, strict=True):
        assert row["difference"] == pair["difference"]
        assert row["p_bootstrap"] == pair["p_bootstrap"]
    corrected = holm({k: pair["p_randomization"] for k, pair in enumerate(pairs)})
    assert [row["p_randomization_holm"] for row in found["rows"]] == list(corrected.values())
    table = run("compare", worse, better, best, gold).stdout.splitlines()
    assert len(table) == 4
    assert f"{100 * found['rows'][1]['b']:.2f}" in table[3]
    assert "twice" in run("compare", worse, better, better, gold, code=2).stderr
    assert "two or more" in run("compare", worse, gold, code=2).stderr


def test_table(run, files):
    text = run("compare", *files).stdout
    for word in ("LAS %", "B − A", "+40.00", "95% interval", "paired bootstrap", "approximate randomization",
                 "error reduction", "B is better"):  # fmt: skip
        assert word in text
    assert "UAS %" in run("compare", *files, "--measure", "uas").stdout


def test_the_other_way_round(run, files):
    worse, better, gold = files
    assert compared(run, (better, worse, gold))["difference"] == -compared(run, files)["difference"]
    assert "−" in run("compare", better, worse, gold).stdout


def test_without_errors_there_is_nothing_to_reduce(run, files):
    worse, _, gold = files
    assert compared(run, (gold, worse, gold))["error_reduction"] is None
    assert "A makes no errors" in run("compare", gold, worse, gold).stdout


def test_options(run, files, tmp_path):
    other = tmp_path / "subtypes.conllu"
    other.write_text("".join(GOLD).replace("\tx\t", "\tx:s\t"))
    pair = (files[2], other, files[2])
    assert compared(run, pair)["difference"] < 0
    assert compared(run, pair, "--no-subtypes")["difference"] == 0
    assert compared(run, files, "--no-punctuation")["tokens"] == 50
    assert compared(run, files, "--samples", 99)["p_bootstrap"] == 0.01
    assert compared(run, files, "--seed", 1)["difference"] == compared(run, files)["difference"]


@pytest.mark.jit
def test_models(run, tmp_path):
    run("corpus", tmp_path, "--train", 60, "--dev", 0, "--test", 10)
    for name, iterations in (("short", 1), ("long", 3)):
        run("train", "dependency", tmp_path / "train.conllu", "-o", tmp_path / name, *SMALL, "-n", iterations)
    test = tmp_path / "test.conllu"
    found = compared(run, (tmp_path / "short", tmp_path / "long", test))
    scores = json.loads(run("evaluate", tmp_path / "long", test, "--json").stdout)
    assert found["b"] == scores["las"]
    against_gold = compared(run, (tmp_path / "long", test, test))
    assert (against_gold["a"], against_gold["b"]) == (scores["las"], 1.0)


def test_taggers(run, model, data, tmp_path):
    test = data / "test.conllu"
    scores = json.loads(run("evaluate", model, test, "--json").stdout)
    found = compared(run, (model, test, test))
    assert (found["measure"], found["a"], found["b"]) == ("accuracy", scores["accuracy"], 1.0)
    assert (found["tokens"], found["sentences"]) == (scores["tokens"], scores["sentences"])
    parsed = tmp_path / "parsed.conllu"
    run("parse", model, test, "--out", parsed)
    assert compared(run, (parsed, test, test), "--column", "upos") == {**found, "a_name": str(parsed)}
    table = tmp_path / "gold.tsv"
    table.write_text("a\tX\nb\tY\n")
    assert compared(run, (table, table, table))["b"] == 1.0


def test_labels_and_parsers_do_not_mix(run, model, data, tmp_path):
    test = data / "test.conllu"
    run("train", "dependency", data / "train.conllu", "-o", tmp_path / "parser.tw", *SMALL, "-n", 1)
    message = run("compare", model, tmp_path / "parser.tw", test, code=2).stderr
    assert "is about tagging, and" in message
    assert "about dependency: give two of the same kind" in message
    message = run("compare", model, test, test, "--column", "xpos", code=2).stderr
    assert "is about the column upos, and --column about xpos" in message
    assert "column" in run("compare", test, test, test, "--column", "head", code=2).stderr
    message = run("compare", model, test, test, "--measure", "las", code=2).stderr
    assert "there is no measure 'las' for tagging; choose accuracy" in message


def test_only_taggers_and_parsers(run, data, tmp_path):
    test = data / "test.conllu"
    run("train", "lemmatization", data / "train.conllu", "-o", tmp_path / "lemmas.tw", "-n", 1)
    message = run("compare", tmp_path / "lemmas.tw", test, test, code=2).stderr
    assert "a model for lemmatization; only taggers and parsers can be compared" in message


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        (GOLD[:-1], GOLD, "gold.conllu:68: the gold annotation goes on here, after the 19 sentence(s) of the A one"),
        (GOLD, GOLD + GOLD[:1], "b.conllu:71: the B annotation goes on here"),
        (
            GOLD,
            [conllu("a:0"), *GOLD[1:]],
            "b.conllu:1: sentence 1 has 1 word(s) in the B annotation and 3 in the gold",
        ),
        ([GOLD[0], conllu("a:0 z:1"), *GOLD[2:]], GOLD, "a.conllu:6: word 2 of sentence 2 is 'z' in the A annotation"),
        (GOLD, [conllu("a:_ b:0 c:2"), *GOLD[1:]], "b.conllu:1: word 1 of sentence 1 has no head in the B annotation"),
    ],
)
def test_other_sentences(run, files, tmp_path, a, b, said):
    paths = tmp_path / "a.conllu", tmp_path / "b.conllu"
    for path, sentences in zip(paths, (a, b), strict=True):
        path.write_text("".join(sentences))
    message = run("compare", *paths, files[2], code=2).stderr
    assert said in message
    assert message.count("\n") == 1


def test_mistakes(run, files):
    assert "there is no measure 'f1'" in run("compare", *files, "--measure", "f1", code=2).stderr
    assert "only one of the three" in run("compare", "-", "-", files[2], code=2).stderr
    missing = run("compare", "nix.conllu", *files[1:], code=2).stderr
    assert missing.startswith("error: nix.conllu: ")


def test_standard_input(run, files):
    piped = run("compare", "-", *files[1:], "--json", input=files[0].read_text())
    assert json.loads(piped.stdout)["difference"] == compared(run, files)["difference"]


def test_a_model_in_the_place_of_the_gold_annotation(run, files, model):
    said = run("compare", files[2], model, model, code=2).stderr
    assert said.startswith(f"error: {model} is a model, and the gold annotation comes last: treewright compare {model}")
    assert said.endswith(f"{model} {files[2]}\n")
    said = run("compare", *files[:2], model, code=2).stderr  # which of the two is the gold one cannot be known
    assert said == f"error: {model} is a model, and the gold annotation comes last\n"
