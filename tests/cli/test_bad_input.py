"""Bad input of every kind ends with one line and exit code 2, whichever command meets it."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import pytest

from treewright.cli.output import check_out, write_all, write_one_a_file
from treewright.errors import TreewrightError

FILES = {
    "empty": ("x.conllu", b"", "it is empty"),
    "empty, no suffix": ("x", b"", "it is empty"),
    "only blank lines": ("x.conllu", b"\n\n", "no sentence"),
    "missing columns": ("x.conllu", b"1\tTime\tNOUN\n\n", "columns"),
    "wrong encoding": ("x.conllu", "1\tnaïve\t_\tADJ\t_\t_\t_\t_\t_\t_\n\n".encode("latin-1"), "not UTF-8"),
    "utf-16": ("x.conllu", "1\tTime\t_\tADJ\t_\t_\t_\t_\t_\t_\n\n".encode("utf-16"), "UTF-8"),
    "not CoNLL-U": ("x.conllu", b"Dear reader,\nthis is a letter.\n", "columns"),
    "image": ("x.conllu", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "this looks like a binary file, not text"),
    "packed": ("x.conllu", b"\x1f\x8b\x08\x08abc", "zcat FILE | treewright parse MODEL -"),
    "trees": ("x.ptb", b"(S (NP I) (VP see)\n", "has no end"),
    "graphs": ("x.amr", b"(s / see-01\n", "not a graph in PENMAN notation"),
    "binary": ("x.tsv", bytes(range(256)) * 4, ""),
}


@pytest.fixture(params=FILES)
def bad(request, tmp_path):
    name, content, said = FILES[request.param]
    path = tmp_path / name
    path.write_bytes(content)
    return path, said


@pytest.mark.parametrize("verb", ["train", "dev", "evaluate", "parse"])
def test_bad_files(run, model, data, tmp_path, bad, verb):
    path, said = bad
    out = tmp_path / "out"
    commands = {
        "train": ("train", "tagging", path, "-o", out),
        "dev": ("train", "tagging", data / "train.conllu", "--dev", path, "-o", out),
        "evaluate": ("evaluate", model, path),
        "parse": ("parse", model, path, "-o", out),
    }
    result = run(*commands[verb], code=2)
    assert result.stderr.startswith(f"error: {path}")
    assert said in result.stderr
    assert result.stderr.count("\n") == 1
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("verb", ["train", "evaluate", "parse"])
@pytest.mark.parametrize("what", ["missing", "folder"])
def test_no_file(run, model, tmp_path, verb, what):
    path = tmp_path if what == "folder" else tmp_path / "nix.conllu"
    commands = {
        "train": ("train", "tagging", path, "-o", tmp_path / "m"),
        "evaluate": ("evaluate", model, path),
    }
    message = run(*commands.get(verb, ("parse", model, path)), code=2).stderr
    assert message.startswith(f"error: {path}: ")
    assert message.count("\n") == 1


@pytest.mark.parametrize("verb", ["parse", "evaluate", "info"])
@pytest.mark.parametrize("what", ["missing", "folder", "empty", "text", "cut", "changed"])
def test_no_model(run, model, data, tmp_path, verb, what):
    path = tmp_path / "bad.tw"
    content = model.read_bytes()
    if what == "folder":
        path.mkdir()
    elif what != "missing":
        middle = content[:40] + bytes([content[40] ^ 1]) + content[41:]
        path.write_bytes({"empty": b"", "text": b"hello", "cut": content[: len(content) // 2]}.get(what, middle))
    args = (verb, path) if verb == "info" else (verb, path, data / "test.conllu")
    message = run(*args, code=2).stderr
    assert message.startswith(f"error: {path}: ")
    assert message.count("\n") == 1


def test_a_model_for_a_task_of_the_future(run, tmp_path, data):
    from treewright.models import write_model

    path = tmp_path / "m.tw"
    write_model(path, task="juggling", config={}, arrays={}, card={})
    assert "juggling" in run("parse", path, data / "test.conllu", code=2).stderr
    assert "juggling" in run("info", path).stdout


@pytest.mark.parametrize("column", ["nix", "head", "misc2"])
def test_wrong_column(run, data, tmp_path, column):
    args = ("train", "tagging", data / "train.conllu", "-o", tmp_path / "m.tw", "--column", column)
    assert "it is one of: lemma, upos" in run(*args, code=2).stderr


def test_empty_column(run, data, tmp_path):
    args = ("train", "tagging", data / "train.conllu", "-o", tmp_path / "m.tw", "--column", "deps")
    assert "is this the right column?" in run(*args, code=2).stderr


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_no_permission(run, model, data, tmp_path):
    path = tmp_path / "secret.conllu"
    path.write_text((data / "test.conllu").read_text())
    path.chmod(0)
    assert "permission denied" in run("evaluate", model, path, code=2).stderr


def test_too_little_memory(run, data, tmp_path, monkeypatch):
    from treewright.tagging import Tagger

    def fit(*_, **__):
        raise MemoryError

    monkeypatch.setattr(Tagger, "fit", fit)
    args = ("train", "tagging", data / "train.conllu", "-o", tmp_path / "m.tw")
    assert "--bits" in run(*args, code=1).stderr


@pytest.mark.parametrize("place", ["missing folder", "folder"])
@pytest.mark.parametrize("verb", ["train", "train pipeline", "expert", "diff", "trace", "tune-speed"])
def test_an_output_that_cannot_be_written_is_found_before_anything_is_read(run, tmp_path, verb, place):
    nix, out = tmp_path / "nix", tmp_path if place == "folder" else tmp_path / "no" / "x"
    commands = {
        "train": ("train", "tagging", nix, "-o", out),
        "train pipeline": ("train", "pipeline", nix, "-o", out),
        "expert": ("expert", nix, "--trees", nix, "-o", out),
        "diff": ("diff", nix, nix, "-f", "html", "-o", out),
        "trace": ("trace", "--model", nix, "--text", "Time flies .", "--html", out),
        "tune-speed": ("tune-speed", nix, nix, "-o", out),
    }
    message = run(*commands[verb], code=2).stderr
    assert message.startswith(f"error: {out}: ")
    assert message.count("\n") == 1


@pytest.mark.parametrize("suffix", [".svg", ".html"])
def test_an_output_that_cannot_be_written_is_found_before_sentences_are_parsed(tmp_path, suffix):
    def parsed():
        pytest.fail("a sentence was parsed")
        yield

    write = partial(write_one_a_file, format="svg") if suffix == ".svg" else partial(write_all, frame=("", ""))
    with pytest.raises(TreewrightError, match="no/drawing"):
        write(parsed(), str, out=tmp_path / "no" / f"drawing{suffix}")


def test_an_output_may_be_a_device():
    check_out(None)
    check_out(Path(os.devnull))
