"""``treewright demo``: from nothing to a tagger in one command."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from treewright.cli.console import Bar, make_table, size_text, stdout
from treewright.cli.tasks import TASKS
from treewright.cli.train import PassReport

__all__ = ["demo"]

_SENTENCE = "She can fish near the can ."
_NEXT = """  treewright demo "The dogs watch the watch ."
  treewright corpus data
  treewright train tagging data/train.conllu --dev data/dev.conllu --out model.tw
  treewright evaluate model.tw data/test.conllu
  echo "She can see the can ." | treewright parse model.tw
  treewright learners
"""


def demo(
    sentence: Annotated[str, typer.Argument(help="A sentence to label, words separated by spaces.")] = _SENTENCE,
    learner: Annotated[str, typer.Option("--learner", "-l", help="See treewright learners.")] = "dagger",
    train: Annotated[int, typer.Option(help="Sentences to learn from.", min=1)] = 2000,
    passes: Annotated[int, typer.Option("--passes", "-n", help="Passes over them.", min=1)] = 5,
) -> None:
    """Train a tagger on the built-in corpus, score it and label a sentence.

    The first run compiles the learner, which takes about 20 seconds; later runs do not.

    Examples:
      treewright demo
      treewright demo "The dogs watch the watch ."
    """
    from treewright.corpora.builtin import builtin_corpus
    from treewright.errors import ConfigError, TreewrightError
    from treewright.learners import make_learner
    from treewright.tagging import Tagger, majority_baseline, score_tagging

    words = sentence.split()
    if not words:
        raise ConfigError('the sentence has no words: try treewright demo "She can see the can ."')
    settings = make_learner({"name": learner, "passes": passes})
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
    console.print("\nYour sentence:\n")
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
    """The commands as they work here; ``treewright`` may be in a virtual environment that is not active."""
    if shutil.which("treewright"):
        return _NEXT
    programs = Path(sys.prefix, "bin")
    if (programs / "activate").exists() and (programs / "treewright").exists():
        here = Path.cwd()
        programs = programs.relative_to(here) if programs.is_relative_to(here) else programs
        return f"  . {shlex.quote(str(programs / 'activate'))}\n{_NEXT}"
    python = shlex.quote(os.path.basename(sys.executable) or "python")
    return _NEXT.replace("treewright ", f"{python} -m treewright ")
