"""``treewright demo``: analyse a paragraph of text with the bundled model, and train a small tagger."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tempfile
import time
from itertools import chain, count
from pathlib import Path
from typing import Annotated, Any

import typer

from treewright.cli.console import Bar, make_table, patience_while_compiling, size_text, stdout
from treewright.cli.tasks import TASKS
from treewright.cli.train import PassReport

__all__ = ["demo"]

_TEXT = "The boy wants to go. Don't stop him! She said that he'd found the old house in Paris."
_WORDS = "She can fish near the can ."
_PAGE = Path("demo.html")
_NEXT = """  treewright demo "Time flies like an arrow. Fruit flies like a banana."
  echo "Don't stop him!" | treewright parse english
  treewright corpus data
  treewright train tagging data/train.conllu --dev data/dev.conllu --out model.tw
  treewright evaluate model.tw data/test.conllu
  echo "She can see the can ." | treewright parse model.tw
  treewright learners
"""


def demo(
    text: Annotated[str, typer.Argument(help="English text to analyse.")] = _TEXT,
    learner: Annotated[str, typer.Option("--learner", "-l", help="See treewright learners.")] = "dagger",
    train: Annotated[int, typer.Option(help="Sentences to learn from.", min=1)] = 2000,
    passes: Annotated[int, typer.Option("--passes", "-n", help="Passes over them.", min=1)] = 5,
) -> None:
    """Analyse English text with the bundled model; then train a tagger on the built-in corpus and score it.

    The drawings of the text go to demo.html, or to demo-2.html and so on if there are other
    files with these names. The first run compiles, which takes some seconds; later runs do not.

    Examples:
      treewright demo
      treewright demo "Time flies like an arrow. Fruit flies like a banana."
    """
    from treewright.errors import ConfigError
    from treewright.learners import make_learner

    if not text.split():
        raise ConfigError('the text has no words: try treewright demo "Don\'t stop him!"')
    settings = make_learner({"name": learner, "passes": passes})
    _analyse(text)
    _train(settings, learner, train)


def _analyse(text: str) -> None:
    """Print every layer of a text, and write the drawings."""
    from treewright.bundled import bundled_models
    from treewright.loading import load
    from treewright.search.compiling import at_once

    console = stdout()
    if "english" not in bundled_models():
        console.print("No English model is bundled with this installation.\n")
        return
    with patience_while_compiling():
        started = time.perf_counter()
        english = load("english")
        loaded = time.perf_counter()
        document = english(text)
        first = time.perf_counter()
        with at_once(0):  # do not compile now what was interpreted the first time
            english(text)
        again = time.perf_counter()
    task = TASKS["pipeline"]
    write = task.writer(english, "text")
    for analysis in document:
        console.print(write(analysis.sentence), markup=False, end="")
        rows = [(t.form, t.lemma, t.upos, t.xpos, t.feats) for t in analysis.sentence]
        console.print(make_table(None, ("word", "lemma", "upos", "xpos", "feats"), rows, left=5))
        console.print()
    page = _free_name(_PAGE, document.to_html())
    document.show(page)
    words = sum(len(analysis.words) for analysis in document)
    console.print(
        f"Loaded in {loaded - started:.1f} s; analysed in {first - loaded:.1f} s the first time and in "
        f"{again - first:.1f} s the next ({words} words). The drawings are in {page}.\n",
        markup=False,
    )


def _free_name(path: Path, content: str) -> Path:
    """The path, or one with a number if there is a file with other contents: nobody named this file."""
    names = chain([path], (path.with_stem(f"{path.stem}-{n}") for n in count(2)))
    return next(name for name in names if not name.exists() or name.read_bytes() == content.encode())


def _train(settings: Any, learner: str, train: int) -> None:
    """Train a tagger on the built-in corpus, and label a sentence."""
    from treewright.corpora.builtin import builtin_corpus
    from treewright.errors import TreewrightError
    from treewright.tagging import Tagger, majority_baseline, score_tagging

    words = _WORDS.split()
    console = stdout()
    corpus = builtin_corpus(train=train)
    sizes = ", ".join(f"{name} {len(part):,}" for name, part in corpus._asdict().items())
    console.print(f"A tagger for the built-in corpus ({sizes} sentences), learned by {learner}:\n", markup=False)
    with Bar() as bar:
        report = PassReport(TASKS["tagging"], settings, corpus.train, bar, quiet=False, as_json=False)
        tagger = Tagger(learner=settings, bits=16).fit(
            corpus.train, corpus.dev, report=report, progress=report.progress
        )
    scores = tagger.evaluate(corpus.test)
    guess = majority_baseline(corpus.train, corpus.test)
    baseline = score_tagging(corpus.test, guess, known=tagger.knows)
    rows = [
        (
            name,
            f"{100 * s.accuracy:.2f}",
            f"{100 * s.interval[0]:.2f} – {100 * s.interval[1]:.2f}",
            f"{100 * s.exact:.2f}",
        )
        for name, s in (("most frequent label", baseline), (learner, scores))
    ]
    console.print("\nOn the test sentences:\n")
    console.print(make_table(None, ("", "accuracy", "95% interval", "exact match"), rows))
    labelled = tagger.tag([words])
    console.print("\nA sentence:\n")
    labels = labelled[0].column("upos")
    unknown = ["" if tagger.knows(word) else "not in the corpus" for word in words]
    console.print(make_table(None, ("word", "label", ""), list(zip(words, labels, unknown, strict=True)), left=3))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "demo.tw")
        tagger.save(path)
        again = Tagger.load(path)
        size = path.stat().st_size
        if again.tag([words]) != labelled or again.tag(corpus.test) != tagger.tag(corpus.test):
            raise TreewrightError(
                "the saved model gives other labels than the one that was trained: please report this"
            )
    console.print(f"\nSaved ({size_text(size)}), loaded again: the same labels on every sentence.")
    console.print(f"\nWhat to try next:\n{_next_commands()}", markup=False)


def _next_commands() -> str:
    """Return the commands as they work here; ``treewright`` may be in a virtual environment that is not active."""
    if shutil.which("treewright"):
        return _NEXT
    programs = Path(sys.prefix, "bin")
    if (programs / "activate").exists() and (programs / "treewright").exists():
        here = Path.cwd()
        programs = programs.relative_to(here) if programs.is_relative_to(here) else programs
        return f"  . {shlex.quote(str(programs / 'activate'))}\n{_NEXT}"
    python = shlex.quote(os.path.basename(sys.executable) or "python")
    return _NEXT.replace("treewright ", f"{python} -m treewright ")
