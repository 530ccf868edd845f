"""A few words are answered at once, without the compiler; the compiler works for the next time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path

import pytest

compile_module = import_module("treewright.cli.compile")

PARSE = """
import sys, time
from treewright.cli import main
from treewright.cli.verbs import VERBS
from treewright.search.compiling import compilations, work

begun, command = [], sys.argv[1]
compilations.listeners.append(begun.append)
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
used = {command, "compile"} if work.interpreted else {command}
unwanted = ["learners", "corpora.builtin", *(f"cli.{module}" for verb, module in VERBS.items() if verb not in used)]
unwanted = [*(f"treewright.{name}" for name in unwanted), "numba", "pydantic"]
print(sum(begun), [name for name in unwanted if name in sys.modules], file=sys.stderr)
"""


def command(cache: Path, *arguments: object, text: str | None = None, when: str = "") -> tuple[str, str]:
    """Run a command in a process of its own; returns its output, and what was compiled and imported."""
    environment = {k: v for k, v in os.environ.items() if k not in ("TREEWRIGHT_COMPILE", "NUMBA_DISABLE_JIT")}
    environment |= {"NUMBA_CACHE_DIR": str(cache), "TMPDIR": str(cache)}
    environment |= {"TREEWRIGHT_COMPILE": when} if when else {}
    done = subprocess.run(
        [sys.executable, "-c", PARSE, *map(str, arguments)],
        input=text,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr.splitlines()[-1]


@pytest.mark.jit
def test_few_words_are_interpreted_while_another_process_compiles(model, tmp_path):
    cold, about = command(tmp_path, "parse", model, text="The dog sees a cat .\n")
    assert about == "0 []"
    for _ in range(600):
        if list(tmp_path.glob("*greedy_pass*.kernel")):
            break
        time.sleep(0.1)
    assert len(list(tmp_path.glob("treewright-*"))) == 1
    warm, about = command(tmp_path, "parse", model, text="The dog sees a cat .\n")
    assert about == "0 []"
    assert warm == cold


@pytest.mark.jit
def test_many_words_are_compiled_for(model, tmp_path):
    text = "The dog sees a cat .\n" * 30
    found, about = command(tmp_path, "parse", model, text=text)
    assert about == "1 ['numba']"
    again, about = command(tmp_path, "parse", model, text=text)
    assert about == "0 []"
    assert again == found


@pytest.mark.jit
def test_compiled_ahead_nothing_is_left_to_compile(model, data, tmp_path):
    command(tmp_path, "compile", model)
    for arguments in (
        ("parse", model, data / "test.conllu"),
        ("evaluate", model, data / "test.conllu"),
        ("trace", data / "test.conllu", "--model", model, "--sentence", "1"),
    ):
        _, about = command(tmp_path, *arguments, when="now")
        assert about.startswith("0 "), arguments


ONCE = """
import json, sys
from treewright.cli import main
from treewright.search import compiling, native

commands, known = json.loads(sys.argv[1]), json.loads(sys.argv[2])
used, find, keep = set(), native.find, native.keep

def found(name, digest, layout):
    file = native.file_name(name, digest, layout)
    code = find(name, digest, layout) if known is None or file in known else None
    used.update([file] if code is not None else [])
    return code

def kept(name, digest, layout, code):
    used.add(native.file_name(name, digest, layout))
    keep(name, digest, layout, code)

def refuse(self, key, arguments):
    raise AssertionError(f"{self._name} would be compiled")

native.find, native.keep = found, kept
if known is not None:
    compiling.Kernel._compile = refuse
for command in commands:
    sys.argv[1:] = command
    try:
        main()
    except SystemExit as end:
        assert not end.code, (command, end.code)
print(json.dumps(sorted(used)), file=sys.stderr)
"""
MADE = {
    "tagging": ("conllu", ("--column", "xpos", "--iterations", 1)),
    "dependency": ("conllu", ("--mode", "fast", "--iterations", 1)),
    "constituency": ("ptb", ()),
    "latent": ("ptb", ("--cycles", 1)),
    "amr": ("amr", ("--iterations", 1)),
    "pipeline": ("conllu", ("--passes", 1)),
}


def kernels(commands: list[list[object]], known: list[str] | None = None) -> list[str]:
    """The kernels that commands use in a process of their own; if some are ``known``, there are no others."""
    environment = {k: v for k, v in os.environ.items() if k not in ("TREEWRIGHT_COMPILE", "NUMBA_DISABLE_JIT")}
    texts = [json.dumps([[str(word) for word in words] for words in commands]), json.dumps(known)]
    done = subprocess.run(
        [sys.executable, "-c", ONCE, *texts], env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stderr.splitlines()[-1])


@pytest.mark.jit
@pytest.mark.parametrize("kind", MADE)
def test_after_a_training_nothing_is_left_to_compile(kind, data, tmp_path):
    suffix, settings = MADE[kind]
    train, test, model = data / f"train.{suffix}", data / f"test.{suffix}", tmp_path / "model.tw"
    trees = ["--trees", data / "test.conllu"] if kind == "amr" else []
    given = ["--trees", data / "train.conllu"] if kind == "amr" else []
    made = kernels([["train", kind, train, *given, *settings, "--out", model, "--quiet"]])
    assert made
    few = (data / "test.conllu").read_text().split("\n\n")[0] + "\n\n"
    _, about = command(tmp_path / "empty", "parse", model, text=few, when="later")
    assert about == "0 []"  # nothing compiled, and neither learners nor other commands imported
    commands = [
        ["parse", model, data / "train.conllu", "--out", tmp_path / "parsed", "--quiet"],  # too many words to interpret
        ["evaluate", model, test, *trees],
        ["trace", test, *trees, "--model", model, "--sentence", "1"],
    ]
    if kind not in ("tagging", "pipeline"):
        commands.append(["compare", model, model, test, *trees])
    if kind in ("constituency", "latent"):
        odd = tmp_path / "odd.txt"
        odd.write_text(". . .\n" * 100)  # no grammar has a tree
        for options in ([data / "test.conllu", "--k-best", "2"], [odd, "--input", "tokens"]):
            commands.append(["parse", model, *options, "--out", tmp_path / "parsed.ptb", "--quiet"])
    assert kernels(commands, made)


@pytest.mark.jit
def test_the_bundled_model_is_compiled_with_its_two_best_trees():
    made = kernels([["compile", "english", "--quiet"]])
    text = Path(__file__).with_name("trees.py")  # any file with too many words to interpret
    options = ["--input", "lines", "--k-best", "2", "--out", os.devnull, "--quiet"]
    assert kernels([["parse", "english", text, *options]], made)


@pytest.mark.parametrize("options", ["conllu", "ptb", "penman", "ptb --k-best 2"])
def test_the_bundled_model_answers_at_once_and_imports_no_learners(options, tmp_path):
    words = ["parse", "english", "--format", *options.split()]
    found, about = command(tmp_path, *words, text="Don't stop him!\n", when="later")
    assert about == "0 []"
    assert "stop" in found


def test_a_few_graphs_are_compared_at_once(tmp_path):
    (tmp_path / "gold.amr").write_text("(w / want-01 :ARG0 (b / boy))\n")
    (tmp_path / "parsed.amr").write_text("(w / want-01 :ARG1 (b / boy))\n")
    found, about = command(tmp_path, "smatch", tmp_path / "gold.amr", tmp_path / "parsed.amr")
    assert found == "F-score: 0.75\n"
    assert about == "0 []"


def test_the_expert_makes_a_few_graphs_at_once(data, tmp_path):
    for suffix in ("amr", "conllu"):
        first, *_ = (data / f"test.{suffix}").read_text().split("\n\n")
        (tmp_path / f"one.{suffix}").write_text(first + "\n\n")
    found, about = command(tmp_path, "expert", tmp_path / "one.amr", "--trees", tmp_path / "one.conllu", "--json")
    assert json.loads(found)["f1"] > 0.5
    assert about == "0 []"


def test_models_are_looked_for_before_the_first_of_them_is_compiled(run, model, tmp_path, monkeypatch):
    monkeypatch.setattr(compile_module, "make_ready", lambda *_: pytest.fail("a model was compiled"))
    assert "nix.tw" in run("compile", model, tmp_path / "nix.tw", code=2).stderr


@pytest.mark.parametrize("trouble", ["no folder", "clock set back"])
def test_compiling_ahead_is_never_in_the_way(model, tmp_path, monkeypatch, trouble):
    started = []
    monkeypatch.setattr(compile_module.subprocess, "Popen", lambda *what, **how: started.append(what))
    monkeypatch.setattr("treewright.search.compiling.work.interpreted", True)
    monkeypatch.delenv("TREEWRIGHT_COMPILE", raising=False)
    if trouble == "no folder":
        monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path / "missing"))
        compile_module.compile_in_background([model])
        assert not started
        return
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    compile_module.compile_in_background([model])
    compile_module.compile_in_background([model])
    assert len(started) == 1
    [mark] = tmp_path.iterdir()
    os.utime(mark, (time.time() + 9e6,) * 2)
    compile_module.compile_in_background([model])
    assert len(started) == 2
