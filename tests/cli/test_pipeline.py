"""From a treebank to a pipeline and from raw text to every layer, by commands."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
import warnings

import pytest

from tests.text.bank import treebank
from treewright.cli.parse import looks_untokenized
from treewright.corpora import Sentence, builtin_corpus, load_corpus, write_amr, write_conllu, write_ptb
from treewright.loading import load
from treewright.text.raw import raw_text

pytestmark = pytest.mark.jit  # all components learn, with tables of the usual size

SMALL = ["--folds", "2", "--runs", "1", "--features", "basic", "--passes", "3"]
TEXT = "The dogs didn't see the cats!\r\n\r\nThe birds saw the dogs. The cats heard the dogs."


@pytest.fixture(scope="module")
def bank(tmp_path_factory):
    path = tmp_path_factory.mktemp("bank") / "train.conllu"
    write_conllu(treebank(), path)
    return path


@pytest.fixture(scope="module")
def pipeline(bank, run):
    out = bank.with_name("language.tw")
    result = run("train", "pipeline", bank, "--dev", bank, "--out", out, *SMALL)
    assert "tokenizer" in result.stdout
    assert "LAS" in result.stdout
    assert not list(out.parent.glob("*.checkpoint*")) + list(out.parent.glob("*.lock"))
    return out


@pytest.fixture(scope="module")
def text(bank):
    path = bank.with_name("text.txt")
    path.write_bytes(TEXT.encode())
    return path


def test_raw_text_to_conllu_and_back(run, pipeline, text):
    out = text.with_suffix(".conllu")
    run("parse", pipeline, text, "--out", out)
    found = load_corpus(out)
    assert raw_text(found) == TEXT
    assert [len(s) for s in found] == [8, 6, 6]
    assert found[0].column("upos")[:5] == ("DET", "NOUN", "AUX", "PART", "VERB")
    assert found[0].column("lemma")[3] == "not"
    assert run("parse", pipeline, "-", input=TEXT).stdout == out.read_text()


def test_empty_input(run, pipeline, tmp_path):
    empty = tmp_path / "empty.txt"
    empty.touch()
    for content in ("", " \n\n"):
        empty.write_text(content)
        with pytest.warns(UserWarning, match=r"empty\.txt: there is no text in it"):
            assert run("parse", pipeline, empty).stdout == ""
    assert run("parse", pipeline, "-", input="").stdout == ""
    page = run("parse", pipeline, "-", "--format", "html", input="").stdout
    assert page.startswith("<!DOCTYPE html>")
    assert page.endswith("</html>\n")


def test_the_name_of_the_output_says_a_format_that_there_is(run, pipeline, text, tmp_path):
    said = run("parse", pipeline, text, "--out", tmp_path / "x.pdf", code=2).stderr
    assert "x.pdf" in said
    assert all(suffix in said for suffix in (".conllu", ".html", ".json", "--format"))
    run("parse", pipeline, text, "--format", "json", "--out", tmp_path / "x.pdf")  # whoever wants it so
    assert json.loads((tmp_path / "x.pdf").read_text().splitlines()[0])


def test_its_components_are_a_table(run, pipeline):
    shown = run("info", pipeline).stdout
    rows = [line.split() for line in shown[shown.index("components") :].splitlines()[2:] if line.strip()]
    assert [row[:2] for row in rows] == [
        [task, "exploration"] for task in ("tokenization", "morphology", "lemmatization", "dependency")
    ]
    assert all(row[3] in ("kB", "MB") and 0 < float(row[4]) <= 100 for row in rows)
    assert "{" not in shown
    assert "has no grammar" in run("grammar", pipeline, code=2).stderr


def test_what_is_compiled_already_is_said(run, pipeline):
    run("compile", pipeline)
    assert run("compile", pipeline).stderr == f"{pipeline}: everything is compiled already\n"
    assert run("compile", pipeline, "--quiet").stderr == ""


def test_the_grammar_of_the_bundled_model(run):
    assert "NP" in run("grammar", "english", "--top", 5).stdout


def test_other_inputs(run, pipeline, text, bank):
    lines = run("parse", pipeline, "-", "--input", "lines", input="The dogs\nsaw the cats").stdout
    assert lines.count("# sent_id") == 2
    tokens = run("parse", pipeline, "-", "--input", "tokens", input="The dogs saw the cats .\n").stdout
    assert tokens.count("\n") == 7
    assert run("parse", pipeline, bank).stdout.count("# newpar") == 20
    guessed = run("parse", pipeline, "-", input=bank.read_text()).stdout
    assert guessed.count("# newpar") == 20
    assert "choose one of" in run("parse", pipeline, text, "--input", "words", code=2).stderr


def test_json_page_and_layers_that_there_are_not(run, pipeline, text):
    rows = run("parse", pipeline, text, "--format", "json").stdout.splitlines()
    assert [json.loads(row)["text"] for row in rows][1] == "The birds saw the dogs."
    page = run("parse", pipeline, text, "--format", "html").stdout
    assert page.count("<svg") == 3
    assert "2. The birds saw the dogs.</h2>" in page
    assert "The birds" in run("parse", pipeline, text, "--format", "text").stdout
    assert "no constituency layer" in run("parse", pipeline, text, "--format", "ptb", code=2).stderr


def test_a_page_of_a_pipeline_without_trees_has_tables_of_words(run, pipeline, tmp_path, text):
    tags = tmp_path / "tags.tw"
    load(pipeline).without("dependency").save(tags)
    page = run("parse", tags, text, "--format", "html").stdout
    assert page.count("<table") == 3
    assert "<tr><th>word</th><th>lemma</th><th>upos</th>" in page
    assert "<td>dogs</td><td>dog</td><td>NOUN</td>" in page


def test_scores_from_raw_text(run, pipeline, bank):
    scores = json.loads(run("evaluate", pipeline, bank, "--raw", "--json").stdout)
    assert scores["Words"]["f1"] == 1.0
    assert "LAS" in run("evaluate", pipeline, bank).stdout


@pytest.mark.parametrize("text", ["", " ", "\n" * 10_000, "\ufeff"])
def test_text_without_words_gives_nothing(run, pipeline, text):
    assert run("parse", pipeline, "-", "--input", "text", input=text).stdout == ""


def test_white_space_on_standard_input_is_a_text_without_words(run, pipeline):
    assert run("parse", pipeline, "-", input="   \n\n").stdout == ""


def test_annotation_of_the_corpus_is_not_taken_for_the_models(run, pipeline, bank, tmp_path):
    wrong = [sentence.with_column("upos", ["X"] * len(sentence)) for sentence in load_corpus(bank)]
    write_conllu(wrong, tmp_path / "wrong.conllu")
    scores = json.loads(run("evaluate", pipeline, tmp_path / "wrong.conllu", "--json").stdout)
    assert scores["UPOS"]["f1"] == 0.0
    assert scores["Words"]["f1"] == 1.0


def test_multiword_tokens_are_given_with_the_words(run, pipeline, bank):
    """The text of the treebank is `didn't`; its words are `did` and `n't`."""
    assert "-" in "".join(row.partition("\t")[0] for s in load_corpus(bank) for _, row in s.extras)
    scores = json.loads(run("evaluate", pipeline, bank, "--json").stdout)
    assert (scores["Tokens"]["f1"], scores["Words"]["f1"]) == (1.0, 1.0)
    assert load(pipeline).evaluate(bank)["Tokens"].f1 == 1.0


def test_a_pipeline_shows_layers_that_it_has_and_needs_something_to_compare_with(run, pipeline, tmp_path):
    assert "'amr'" in run("trace", "--model", pipeline, "--text", "The dogs", "--layer", "amr", code=2).stderr
    (tmp_path / "bare.ptb").write_text("(S (NN dogs))\n")
    assert "nothing to compare with" in run("evaluate", pipeline, tmp_path / "bare.ptb", code=2).stderr


def test_bytes_that_are_no_text_are_named_by_their_line_and_offset(run, pipeline, tmp_path):
    path = tmp_path / "latin.txt"
    path.write_bytes(b"The dogs\ncaf" + b"\xe9 saw")
    error = run("parse", pipeline, path, code=2).stderr
    assert f"{path}:2: " in error
    assert "0xe9" in error
    assert "offset 12" in error


@pytest.mark.parametrize(("text", "line", "offset"), [("\0" * 5, 1, 0), ("The dogs\nsaw\0", 2, 12)])
def test_zero_bytes_are_named_by_their_offset(run, pipeline, tmp_path, text, line, offset):
    path = tmp_path / "zeros.txt"
    path.write_text(text)
    for source, options in ((path, {}), ("-", {"input": text})):
        error = run("parse", pipeline, source, code=2, **options).stderr
        assert f":{line}: " in error
        assert "zero byte" in error
        assert f"offset {offset}" in error


@pytest.mark.parametrize(
    ("content", "fact"), [(gzip.compress(b"The dogs saw the cat."), "zcat"), ("The dogs".encode("utf-16"), "UTF-16")]
)
def test_files_that_are_no_text_are_named_by_their_kind(run, pipeline, tmp_path, content, fact):
    path = tmp_path / "text"
    path.write_bytes(content)
    assert fact in run("parse", pipeline, path, "--input", "text", code=2).stderr


def test_the_model_comes_before_the_text(run, pipeline, tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("The dogs saw the cat.")
    assert "the model first" in run("parse", path, pipeline, code=2).stderr


def test_offsets_of_bytes_that_are_no_text_count_from_the_beginning(run, pipeline, tmp_path):
    path = tmp_path / "late.txt"
    late = "The dogs saw the caté.\n\n".encode() * 4000  # more than is read at once
    path.write_bytes(late + b"\xff")
    error = run("parse", pipeline, path, code=2).stderr
    assert f"{path}:8001: " in error
    assert f"byte 0xff at offset {len(late):,}" in error
    path.write_bytes(late + "€".encode()[:2])  # a character that is cut off
    assert f"offset {len(late):,}" in run("parse", pipeline, path, "--input", "lines", code=2).stderr


def test_a_line_of_ten_megabytes(run, pipeline, tmp_path):
    path, out = tmp_path / "long.txt", tmp_path / "long.conllu"
    line = " ".join(["The", "dogs", "b" * 2000, "saw", "the", "cats."] * 4950)
    path.write_text(line)
    assert len(line) > 10_000_000
    run("parse", pipeline, path, "--out", out)
    found = load_corpus(out)
    assert raw_text(found) == line
    last = found[-1].tokens[-1].misc
    assert f":{len(line)}" in last


@pytest.mark.parametrize("text", ["הכלב ראה, חתול!", "หมาเห็นแมว", "👩‍🚀👩‍🚀 oḱ?", "字"])
def test_every_layer_of_a_script_that_training_never_saw(pipeline, text):
    found = list(load(pipeline).stream([text]))
    assert raw_text(found) == text
    for sentence in found:
        for token in sentence.tokens:
            begin, end = map(int, re.search(r"TokenRange=(\d+):(\d+)", token.misc).groups())
            assert text[begin:end] == token.form
            assert "_" not in (token.upos, token.lemma)
            assert token.head is not None


def test_a_finished_training_is_not_made_again(run, pipeline, bank):
    before = pipeline.stat().st_mtime_ns
    again = ("train", "pipeline", bank, "--dev", bank, "--out", pipeline, *SMALL, "--resume")
    assert "nothing to resume" in run(*again).stderr
    assert "nothing to resume" in run(*again, "--jobs", "2").stderr
    assert pipeline.stat().st_mtime_ns == before


def test_a_finished_training_with_other_data_or_settings_is_an_error(run, pipeline, bank, tmp_path):
    before = pipeline.stat().st_mtime_ns
    write_conllu(treebank()[:40], tmp_path / "other.conllu")
    given = ("--out", pipeline, *SMALL, "--resume")
    for other in (
        (tmp_path / "other.conllu", "--dev", bank),
        (bank, "--dev", tmp_path / "other.conllu"),
        (bank,),
        (bank, "--dev", bank, "--seed", "1"),
        (bank, "--dev", bank, "--folds", "3"),
        (bank, "--dev", bank, "--without", "parser"),
    ):
        assert "other data or settings" in run("train", "pipeline", *given, *other, code=2).stderr
    tagger = next(c for c in load(pipeline).components if c.task == "morphology").save(tmp_path / "tags.tw")
    assert "morphology" in run("train", "pipeline", bank, "--out", tagger, "--resume", code=2).stderr
    assert pipeline.stat().st_mtime_ns == before


def test_components_that_there_are_not(run, bank):
    assert "tokenizer, tagger" in run("train", "pipeline", bank, "--without", "cook", code=2).stderr
    assert "does not exist" in run("train", "pipeline", bank, "--out", bank.parent / "no" / "x.tw", code=2).stderr


@pytest.mark.parametrize(
    ("policy", "option", "value"),
    [
        ("linear", "vectors", "vectors.txt"),
        ("linear", "device", "cpu"),
        ("small", "mode", "fast"),
        ("small", "features", "rich"),
        ("small", "runs", "3"),
        ("small", "folds", "4"),
        ("small", "without", "tagger"),
        ("small", "without", "parser"),
    ],
)
def test_settings_that_the_policy_does_not_use_are_refused(run, bank, tmp_path, policy, option, value):
    out = tmp_path / "x.tw"
    error = run("train", "pipeline", bank, "--out", out, "--policy", policy, f"--{option}", value, code=2).stderr
    assert f"{option} " in error
    assert policy in error
    assert not out.exists()


def test_two_trainings_of_one_model_are_refused(run, bank, tmp_path):
    from treewright.cli.locking import locked

    with locked(tmp_path / "x.tw"):
        error = run("train", "pipeline", bank, "--out", tmp_path / "x.tw", code=2).stderr
    assert "another training" in error


def test_text_for_a_model_without_a_tokenizer_is_warned_of(run, pipeline, tmp_path):
    tagger = next(c for c in load(pipeline).components if c.task == "morphology").save(tmp_path / "tags.tw")
    with pytest.warns(UserWarning, match="not tokenized"):
        run("parse", tagger, "-", input="Mr. Smith, who left, came back.\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run("parse", tagger, "-", "--input", "tokens", input="Mr. Smith, who left, came back.\n")
    with pytest.warns(UserWarning, match="not tokenized"):
        run("trace", "--model", tagger, "--text", "Mr. Smith, who left, came back.")
    tokenizer = load(pipeline).tokenizer.save(tmp_path / "tokens.tw")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run("trace", "--model", tokenizer, "--text", "Mr. Smith, who left, came back.")
        run("trace", "--model", pipeline, "--text", "Mr. Smith, who left, came back.")
    assert looks_untokenized([Sentence.from_words(["Mr.", "Smith,", "who", "left,", "came", "back."])])
    assert not looks_untokenized([Sentence.from_words(["Mr.", "Smith", ",", "who", "left", ",", "came", "back", "."])])
    assert not looks_untokenized([Sentence.from_words(["She", "came", "back"])])


def test_a_lemmatizer_alone_warns_of_words_without_tags(run, pipeline, bank, tmp_path):
    lemmatizer = next(c for c in load(pipeline).components if c.task == "lemmatization").save(tmp_path / "lemmas.tw")
    with pytest.warns(UserWarning, match=r"no tags \(upos and xpos and feats\).*tag them first, or use a pipeline"):
        run("parse", lemmatizer, "-", input="The dogs saw the cats .\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run("parse", lemmatizer, bank)


def test_trees_of_the_input_are_kept_and_it_is_said(run, pipeline, bank, tmp_path):
    with pytest.warns(UserWarning, match=r"train\.conllu has dependency trees.*keeps.*--input tokens"):
        copied = run("parse", pipeline, bank).stdout
    assert copied == bank.read_text(encoding="utf-8")
    words = tmp_path / "words.conllu"
    write_conllu([Sentence.from_words(sentence.forms) for sentence in treebank()], words)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run("parse", pipeline, words)


def test_trees_and_graphs_of_a_pipeline_are_scored(run, tmp_path):
    sentences = builtin_corpus(train=1, dev=1, test=4).test
    english = load("english")
    found = [english([sentence.forms]).sentences[0].sentence for sentence in sentences]
    kinds = (".ptb", write_ptb, "ptb", "constituents"), (".amr", write_amr, "penman", "meaning graphs")
    for suffix, write, format, said in kinds:
        gold, parsed = tmp_path / f"gold{suffix}", tmp_path / f"parsed{suffix}"
        write(sentences, gold)
        write(found, parsed)
        expected = json.loads(run("evaluate", parsed, gold, "--json").stdout)
        scores = json.loads(run("evaluate", "english", gold, "--json").stdout)
        assert 0.2 < scores["f1"] < 1.0
        assert scores["f1"] == expected["f1"]
        with pytest.warns(UserWarning, match=f"gold{suffix} has {said}.*keeps.*--input tokens"):
            run("parse", "english", gold, "--format", format)


def test_a_tokenizer_alone_is_scored_from_raw_text(run, bank):
    out = bank.with_name("tokens.tw")
    run("train", "tokenization", bank, "--out", out, "--passes", "2")
    scores = json.loads(run("evaluate", out, bank, "--raw", "--json").stdout)
    assert scores["Tokens"]["f1"] > 0.9
    tagger = bank.with_name("tags.tw")
    run("train", "morphology", bank, "--out", tagger, "--passes", "1")
    assert "without a tokenizer" in run("evaluate", tagger, bank, "--raw", code=2).stderr


def test_a_file_that_is_read_is_not_overwritten(run, bank, pipeline, text, tmp_path):
    copy = tmp_path / "copy.conllu"
    copy.write_bytes(bank.read_bytes())
    link = tmp_path / "link.conllu"
    link.symlink_to(copy)
    for command in (
        ("train", "pipeline", copy, "--out", copy),
        ("train", "pipeline", bank, "--dev", copy, "--out", link),
        ("train", "dependency", copy, "--out", copy),
        ("train", "tagging", bank, "--dev", copy, "--out", copy),
        ("parse", pipeline, text, "--out", text),
        ("parse", pipeline, text, "--out", pipeline, "--format", "conllu"),
    ):
        assert "would overwrite it" in run(*command, code=2).stderr
    assert copy.read_bytes() == bank.read_bytes()
    assert text.read_bytes() == TEXT.encode()


def test_paragraphs_from_a_pipe_are_not_waited_for(pipeline):
    command = [sys.executable, "-m", "treewright", "parse", str(pipeline), "--format", "json"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as process:
        process.stdin.write("The dogs saw the cats.\n\nThe cats")
        process.stdin.flush()
        assert "dogs" in process.stdout.readline()  # while the second paragraph is incomplete
        process.stdin.write(" heard the dogs.")
        process.stdin.close()
        assert "heard" in process.stdout.read()


def test_layers_that_a_side_lacks_have_no_score(run, bank, tmp_path):
    bare = tmp_path / "bare.conllu"
    write_conllu([sentence.bare() for sentence in treebank()], bare)
    scores = json.loads(run("evaluate", bare, bank, "--raw", "--json").stdout)
    assert scores["Words"]["f1"] == 1.0
    assert {scores[name]["f1"] for name in ("UPOS", "UFeats", "AllTags", "Lemmas", "UAS", "LAS", "BLEX")} == {None}
    assert "–" in next(line for line in run("evaluate", bare, bank, "--raw").stdout.splitlines() if "LAS" in line)
