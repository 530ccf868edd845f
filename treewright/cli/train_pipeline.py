"""``treewright train pipeline``: train every component for which a treebank has annotation, in one command."""

from __future__ import annotations

import shutil
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treewright.cli.compile import make_ready
from treewright.cli.console import Bar, print_json, size_text, stdout
from treewright.cli.locking import locked
from treewright.cli.outcomes import exit_code, finished_otherwise, note
from treewright.cli.output import check_out, check_overwritten
from treewright.cli.streams import load
from treewright.cli.tasks import TASKS
from treewright.cli.tasks.base import percent
from treewright.cli.tasks.pipeline import score_table
from treewright.errors import ConfigError

if TYPE_CHECKING:
    from treewright.learners import Pass

__all__ = ["train_pipeline"]


def train_pipeline(
    train: Annotated[Path, typer.Argument(help="The treebank to learn from.", metavar="TRAIN")],
    dev: Annotated[Path | None, typer.Option("--dev", help="A treebank to choose by, and to score.")] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the model goes.")] = Path("model.tw"),
    without: Annotated[
        list[str] | None,
        typer.Option("--without", help="Leave out a component: tokenizer, tagger, lemmatizer or parser."),
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option(
            help="Parts of the treebank that are tagged by a tagger of the others; 1: none.", min=1, show_default="5"
        ),
    ] = None,
    policy: Annotated[
        str,
        typer.Option(
            help="linear, or an encoder that tags and parses: small, medium or large. It is trained with PyTorch."
        ),
    ] = "linear",
    vectors: Annotated[Path | None, typer.Option(help="Encoders: a text file of fixed word vectors.")] = None,
    device: Annotated[
        str | None, typer.Option(help="Encoders: the device for training: auto, cpu or cuda.", show_default="auto")
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(
            help="Trainings of the tagger and of the parser, with different seeds; their weights are averaged.",
            min=1,
            show_default="2",
        ),
    ] = None,
    mode: Annotated[
        str | None, typer.Option(help="The parser's transitions: fast or accurate.", show_default="fast")
    ] = None,
    features: Annotated[
        str | None, typer.Option(help="What the parser looks at: full, rich or basic.", show_default="full")
    ] = None,
    passes: Annotated[
        int | None, typer.Option("--passes", "-n", help="Passes of each component.", min=1, show_default="its own")
    ] = None,
    seed: Annotated[int, typer.Option(help="The seed of all random numbers.", min=0)] = 0,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Threads.", min=1)] = 1,
    resume: Annotated[bool, typer.Option("--resume", help="Go on after the last stage that was finished.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """Train a pipeline on a treebank: tokenizer, tagger, lemmatizer and dependency parser, in one model file.

    A component is left out where the treebank lacks what it learns from: words without
    spaces between them, tags, lemmas, or trees. The parser learns from gold and from
    predicted tags. With an encoder, one component predicts tags and trees. After Ctrl-C,
    the same command with --resume continues.

    Examples:
      treewright train pipeline train.conllu --dev dev.conllu --out language.tw
      treewright parse language.tw text.txt > analysis.conllu
      treewright evaluate language.tw test.conllu --raw
      treewright train pipeline train.conllu --dev dev.conllu --policy medium --out encoded.tw
    """
    from treewright.models import read_model

    linear = {"mode": mode, "features": features, "folds": folds, "runs": runs}
    encoder = {"vectors": vectors, "device": device}
    left_out = set(without or ())
    _check_policy(policy, linear, encoder, left_out)
    check_out(out)
    check_overwritten(out, train, dev)
    checkpoint = out.with_name(out.name + ".checkpoint")
    shown = not (quiet or as_json)
    corpus = load(str(train), "conllu", shown=shown)
    dev_corpus = None if dev is None else load(str(dev), "conllu", shown=shown)
    trainer = _trainer(left_out, policy, passes, seed, linear, encoder)
    if resume and out.exists() and not checkpoint.exists():
        if not trainer.has_made(read_model(out, arrays=False, expect_task="pipeline").card, corpus, dev_corpus):
            raise finished_otherwise(out)
        note(f"{out} is finished: there is nothing to resume. Without --resume it is trained again")
        return
    started = time.perf_counter()
    with warnings.catch_warnings(), locked(out), Bar(shown=shown) as bar:
        if quiet:
            warnings.simplefilter("ignore")
        watch = _Watch(bar, shown, as_json)
        trainer.jobs = jobs
        trainer.checkpoint, trainer.resume = checkpoint, resume
        trainer.stage, trainer.report, trainer.progress = watch.stage, watch.report, watch.progress
        try:
            pipeline = trainer.train(corpus, dev_corpus)
        except KeyboardInterrupt as interruption:
            bar.hide()
            note(
                f"interrupted; the stages that are finished are in {checkpoint}. The same command with --resume goes on"
            )
            raise typer.Exit(exit_code(interruption)) from None
        pipeline.save(out)
        shutil.rmtree(checkpoint, ignore_errors=True)
        make_ready(TASKS["pipeline"], pipeline)
    seconds = time.perf_counter() - started
    if as_json:
        print_json({"event": "done", "model": str(out), "seconds": seconds, "card": pipeline.card})
    elif not quiet:
        console = stdout()
        if dev_corpus is not None and pipeline.tokenizer is not None:
            console.print("\nFrom the raw text of the development data:\n")
            console.print(score_table(pipeline.evaluate(dev_corpus, raw=True, jobs=jobs)))
        console.print(f"\n{out} ({size_text(out.stat().st_size)}), trained in {seconds:.0f} s")


def _check_policy(policy: str, linear: dict[str, Any], encoder: dict[str, Any], without: set[str]) -> None:
    """Raise an error for a setting that the policy does not use."""
    if policy == "linear":
        problem, unused = "is a setting of policies with an encoder: choose a policy other than linear", encoder
    else:
        problem, unused = f"is a setting of linear policies, and {policy} is an encoder: leave it out", linear
    for name, value in unused.items():
        if value is not None:
            raise ConfigError(problem, setting=name, value=str(value))
    if policy != "linear" and without & {"tagger", "parser"}:
        raise ConfigError(
            f"cannot leave out tagger or parser with the policy {policy}, which tags and parses in one component",
            setting="without",
        )


def _trainer(
    without: set[str],
    policy: str,
    passes: int | None,
    seed: int,
    linear: dict[str, Any],
    encoder: dict[str, Any],
) -> Any:
    from treewright.pipeline import PipelineTrainer
    from treewright.pipeline.training import encoded_parser, pipeline_parser
    from treewright.text import Lemmatizer, MorphTagger, Tokenizer

    given = {name: value for name, value in {**linear, **encoder, "passes": passes}.items() if value is not None}
    training = {name: given.pop(name) for name in ("folds", "runs") if name in given}
    learner: Any = {"name": "exploration", **({} if passes is None else {"passes": passes})}
    if policy != "linear":  # one component for tags and trees
        without = without | {"tagger"}
    makers: dict[str, Callable[[], Any]] = {
        "tokenizer": lambda: Tokenizer(learner=learner, seed=seed),
        "tagger": lambda: MorphTagger(learner=learner, seed=seed),
        "lemmatizer": lambda: Lemmatizer(learner=learner, seed=seed),
        "parser": lambda: (
            pipeline_parser(seed=seed, **given) if policy == "linear" else encoded_parser(policy, seed=seed, **given)
        ),
    }
    for name in without - makers.keys():
        raise ConfigError(f"there is no component {name!r} to leave out; there are: {', '.join(makers)}")
    components: dict[str, Any] = {name: None if name in without else make() for name, make in makers.items()}
    return PipelineTrainer(**components, **training)


class _Watch:
    """Reports stages and passes."""

    def __init__(self, bar: Bar, shown: bool, as_json: bool) -> None:
        self._bar, self._shown, self._as_json, self._stage = bar, shown, as_json, ""

    def stage(self, name: str, text: str) -> None:
        """Report that a stage begins."""
        self._stage = name
        self._bar.hide()
        if self._as_json:
            print_json({"event": "stage", "stage": name, "text": text})
        elif self._shown:
            stdout().print(f"{name}: {text}", markup=False)

    def report(self, row: Pass) -> None:
        """Report a pass."""
        self._bar.hide()
        if self._as_json:
            print_json({"event": "pass", "stage": self._stage, "pass": row.iteration, "score": row.score})
        elif self._shown:
            score = "" if row.score is None else f"  dev {percent(row.score)}{' ★' if row.best else ''}"
            stdout().print(f"  pass {row.iteration}  loss {row.loss:.4f}{score}  {row.seconds:.1f} s", markup=False)

    def progress(self, stage: str, done: int, total: int) -> None:
        """Update the progress bar of the stage."""
        self._bar.update(f"{self._stage}: {stage}", done, max(total, 1))
