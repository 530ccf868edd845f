from __future__ import annotations

import json
import os
import threading

import pytest

from treewright.corpora import load_corpus


def test_keeps_everything_but_the_column(run, model, data):
    gold = load_corpus(data / "test.conllu")
    result = run("parse", model, data / "test.conllu")
    rows = [line.split("\t") for line in result.stdout.splitlines() if line and line[0] != "#"]
    expected = [token for sentence in gold for token in sentence]
    assert [row[1] for row in rows] == [token.form for token in expected]
    assert [row[4] for row in rows] == [token.xpos for token in expected]
    assert [row[7] for row in rows] == [token.deprel for token in expected]
    right = sum(row[3] == token.upos for row, token in zip(rows, expected, strict=True))
    assert right > 0.5 * len(rows)


def test_output_has_the_format_of_the_input(run, model):
    assert run("parse", model, "-", input="Time flies .\n").stdout.count("/") == 3
    assert run("parse", model, input="Time flies .\n").stdout.startswith("Time/")
    lines = run("parse", model, "-", input="Time\nflies\n\n").stdout.splitlines()
    assert [line.split("\t")[0] for line in lines] == ["Time", "flies", ""]
    row = "1\tTime\ttime\t_\t_\t_\t_\t_\t_\tA=b\n\n"
    columns = run("parse", model, "-", input="# a = b\n" + row).stdout.splitlines()[1].split("\t")
    assert (columns[2], columns[9]) == ("time", "A=b")
    assert columns[3] != "_"


def test_formats(run, model, data, tmp_path):
    tokens = json.loads(run("parse", model, "-", "-f", "json", input="Time flies .\n").stdout)["tokens"]
    assert [token["form"] for token in tokens] == ["Time", "flies", "."]
    assert all(token["upos"].isupper() for token in tokens)
    assert run("parse", model, "-", "-f", "conllu", input="Time flies .\n").stdout.startswith("1\tTime\t_\t")
    out = tmp_path / "out.tsv"
    assert run("parse", model, data / "test.conllu", "-o", out).stdout == ""
    assert load_corpus(out)[0].forms == load_corpus(data / "test.conllu")[0].forms
    as_given = run("parse", model, "-", "--input-format", "text", input="Time\nflies\n").stdout
    assert len(as_given.splitlines()) == 2


def test_unknown_formats(run, model):
    assert "choose one of" in run("parse", model, "-", "-f", "xml", input="a\n", code=2).stderr
    assert "choose one of" in run("parse", model, "-", "--input-format", "xml", input="a\n", code=2).stderr


def test_words_that_text_cannot_hold(run, model):
    row = "1\tNew York\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
    assert "--format conllu" in run("parse", model, "-", "-f", "text", input="# a = b\n" + row, code=2).stderr


def test_jobs(run, model, data):
    assert (
        run("parse", model, data / "train.conllu", "-j", 3).stdout == run("parse", model, data / "train.conllu").stdout
    )


def test_an_error_leaves_no_output(run, model, data, tmp_path):
    bad, out = tmp_path / "bad.conllu", tmp_path / "out.conllu"
    bad.write_text((data / "test.conllu").read_text() + "1\tcut")
    out.write_text("precious")
    message = run("parse", model, bad, "-o", out, code=2).stderr
    assert f"{bad}:" in message
    assert out.read_text() == "precious"
    assert sorted(os.listdir(tmp_path)) == ["bad.conllu", "out.conllu"]


def test_may_replace_its_own_input(run, model, data, tmp_path):
    file = tmp_path / "x.conllu"
    file.write_text((data / "test.conllu").read_text())
    expected = run("parse", model, file).stdout
    run("parse", model, file, "-o", file)
    assert file.read_text() == expected


def test_answers_before_the_end_of_the_input(start, model):
    with start("parse", model, "-") as process:
        process.stdin.write(b"Time flies .\nI see\n")
        process.stdin.flush()
        assert process.stdout.readline().startswith(b"Time/")
        assert process.stdout.readline().startswith(b"I/")
        process.stdin.write(b"Stop !\n")
        process.stdin.flush()
        assert process.stdout.readline().startswith(b"Stop/")
        process.stdin.close()
        assert process.wait(timeout=30) == 0


@pytest.mark.skipif(os.name == "nt", reason="pipes break in other ways there")
def test_a_reader_that_goes_away(start, model, tmp_path):
    file = tmp_path / "long.txt"
    file.write_text("Time flies .\n" * 2_000)  # the output is longer than the buffer of a pipe
    with start("parse", model, file, "-f", "conllu") as process:
        assert process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == 141
    with start("learners") as process:  # a table, which is printed in another way
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == 141


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_disk_full(run, model, data):
    message = run("parse", model, data / "test.conllu", "-o", "/dev/full", code=1).stderr
    assert message == "error: no space left on device\n"


@pytest.mark.jit
def test_a_very_long_sentence(run, model):
    words = ["Time", "flies"] * 5000
    result = run("parse", model, "-", input=" ".join(words) + "\n")
    assert [pair.partition("/")[0] for pair in result.stdout.split()] == words


@pytest.mark.jit
@pytest.mark.skipif(not hasattr(os, "wait4"), reason="asks the system how much memory was used")
def test_memory_does_not_grow(start, model):
    """A thousand times the input needs the same memory, but for what the allocator likes to keep."""

    def peak(repeat: int) -> int:
        with start("parse", model, "-", "-f", "tabular") as process:
            reader = threading.Thread(target=process.stdout.read)
            reader.start()
            for _ in range(repeat):
                process.stdin.write(b"Time flies like an arrow .\n" * 100)
            process.stdin.close()
            reader.join(timeout=120)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            assert process.returncode == 0
        return usage.ru_maxrss

    assert peak(1000) < 1.25 * peak(1)


@pytest.mark.parametrize("args", [(), ("--input-format", "text"), ("--format", "json")])
def test_empty_standard_input_is_nothing_to_do(run, model, args):
    assert run("parse", model, "-", *args, input="").output == ""


def test_empty_standard_input_is_no_test_corpus(run, model):
    assert "it is empty" in run("evaluate", model, "-", input="", code=2).stderr
    assert "no sentence" in run("parse", model, "-", input="\n", code=2).stderr
