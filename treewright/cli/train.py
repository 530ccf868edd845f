"""``treewright train TASK``: learn from a corpus and write a model."""

from __future__ import annotations

import inspect
import json
import shlex
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treewright.cli.compile import make_ready
from treewright.cli.config import Config, resolve
from treewright.cli.console import Bar, print_json, size_text, stdout
from treewright.cli.locking import locked
from treewright.cli.outcomes import exit_code, finished_otherwise, note
from treewright.cli.output import check_out, check_overwritten
from treewright.cli.preparing import Parser, Tagger
from treewright.cli.settings import RUNNING, Option, given_options, help_text, option_parameters, with_parameters
from treewright.cli.tasks import TASKS, Task
from treewright.cli.tasks.base import percent
from treewright.cli.values import Command, Group
from treewright.errors import ConfigError, TreewrightError
from treewright.plugins import plugins

if TYPE_CHECKING:
    from treewright.corpora import Sentence
    from treewright.learners import Learner, Pass

__all__ = ["PassReport", "app", "train"]


class TaskCommands(Group):
    """The commands of all tasks; a command gets its options when it is called, because its estimator declares them.

    So ``treewright train --help`` imports no estimator, and no packages of plug-ins.
    """

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all tasks."""
        return list(TASKS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command without options; for a task of an installed package, one that names the package."""
        known = super().get_command(ctx, cmd_name)
        added = plugins("commands").get(cmd_name)
        if known is None and ":" in cmd_name:
            return _stub(cmd_name, "A task of your own.")
        if known is not None or added is None:
            return known
        package = added.dist.name if added.dist else added.value
        return _stub(cmd_name, f"A task of the package {package}.")

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Return the command that is called, with its options."""
        name, command, rest = super().resolve_command(ctx, args)
        if name == "pipeline":
            from treewright.cli.train_pipeline import train_pipeline

            return name, _single(name, train_pipeline), rest
        return name, command if name is None else _command(TASKS[name]), rest


app = typer.Typer(
    cls=TaskCommands,
    help=help_text("""Train a model.

    Example:
      treewright train tagging train.conllu --dev dev.conllu --learner dagger --out model.tw"""),
    no_args_is_help=True,
)

Train = Annotated[Path | None, typer.Argument(help="The corpus to learn from.", metavar="TRAIN", show_default=False)]
ConfigFile = Annotated[
    Path | None,
    typer.Option("--config", "-c", metavar="FILE", help="Settings from a TOML file; the command line wins over it."),
]
PrintConfig = Annotated[
    bool,
    typer.Option("--print-config", help="Print every setting, resolved, as TOML for --config, and exit."),
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on after the last pass that an earlier run finished.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object a line: one a pass, and one at the end.")]
Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        help="Train on shards of TRAIN, one for each worker of a Dask cluster, and mix the weights after each pass: "
        "local:4, tcp://host:port, or module:object. All workers must be able to read TRAIN.",
        metavar="CLUSTER",
    ),
]


def _stub(name: str, help: str) -> Any:
    """A command for the list of commands."""
    return _single(name, lambda: None, help)


def _single(name: str, function: Callable[..., Any], help: str | None = None) -> Any:
    single = typer.Typer(add_completion=False, rich_markup_mode="rich")
    single.command(name, cls=Command, help=help_text(help or function.__doc__))(function)
    return typer.main.get_command(single)


def _command(task: Task) -> Any:
    keyword = partial(inspect.Parameter, kind=inspect.Parameter.KEYWORD_ONLY)
    parameters = [
        keyword("train", annotation=Train, default=None),
        *option_parameters((*RUNNING, *map(Option, task.files)), "Files and running"),
        keyword("config", annotation=ConfigFile, default=None),
        keyword("print_config", annotation=PrintConfig, default=False),
        keyword("resume", annotation=Resume, default=False),
        keyword("quiet", annotation=Quiet, default=False),
        keyword("as_json", annotation=Json, default=False),
        *option_parameters(task.options),
    ]
    if task.has_shards:
        parameters += [keyword("cluster", annotation=Cluster, default=None)]
    if "parser" in task.made_from:
        parameters += [keyword("tagger", annotation=Tagger, default=None)]
        parameters += [keyword("parser", annotation=Parser, default=None)]
    return _single(task.name, with_parameters(partial(_train, task), parameters), task.help)


def _train(task: Task, *, quiet: bool, **given: Any) -> None:
    with warnings.catch_warnings():
        if quiet:
            warnings.simplefilter("ignore")
        train(task, quiet=quiet, **given)


def train(
    task: Task,
    *,
    config: Path | None,
    print_config: bool,
    resume: bool,
    quiet: bool,
    as_json: bool,
    tagger: list[Path] | None = None,
    parser: Path | None = None,
    cluster: str | None = None,
    **given: Any,
) -> None:
    """Train a model for a task, with the settings of the command line and a file."""
    from treewright.learners import checkpoints

    say = _say_nothing if quiet else note
    settings, estimator = resolve(task, given_options(given), config, say=say)
    if print_config:
        print(settings.to_toml())
        return
    train_file, out = _check_files(settings)
    checkpoint = out.with_name(out.name + ".checkpoint")
    shown = not (quiet or as_json)
    column = str(settings.params.get("column", "upos"))
    trees, dev_trees = (
        str(settings.files[name]) if name in settings.files else None for name in ("trees", "dev_trees")
    )
    corpus = [] if cluster else task.read(str(train_file), column=column, trees=trees, shown=shown)
    dev = None if settings.dev is None else task.read(str(settings.dev), column=column, trees=dev_trees, shown=shown)
    parts = [corpus] if dev is None else [corpus, dev]
    models = {"tagger": tagger, "parser": parser}
    parts, pipeline = task.completed(parts, settings.files, models, settings.jobs, say)
    for part in parts[1:] if cluster else parts:  # on a cluster, only workers read the corpus
        task.check_corpus(part)
    corpus, dev = parts[0], None if dev is None else parts[1]
    if resume and out.exists() and not checkpoint.exists():
        _check_finished(out, task, estimator, {"train": corpus, "dev": dev})
        say(f"note: {out} is finished and there is nothing to resume; without --resume it is trained again")
        return
    learner = task.make_learner(settings.params["learner"], dev is not None)
    for remark in task.remarks(estimator, learner, corpus):
        say(f"note: {remark}")
    if dev is None and getattr(learner, "patience", None):
        say("note: --patience has no effect without --dev")
    with locked(out), Bar(shown=shown) as bar:
        learned_from = [sentence for sentence in corpus if task.learns_from(estimator, sentence)]
        report = PassReport(task, learner, learned_from, bar, quiet=quiet, as_json=as_json)
        report.earlier(_finished_passes(checkpoint, resume, say))
        started = time.perf_counter()
        checkpoint.mkdir(exist_ok=True)  # from now on, an existing file of this name is an older model
        try:
            with _saying_so_on_interrupt(say):
                if task.plans or cluster is not None:
                    report.begin()
                keeping = {"report": report, "checkpoint": checkpoint, "resume": resume}
                if cluster is not None:
                    corpus = _fit_on_cluster(estimator, train_file, dev, cluster, settings.jobs, keeping)
                else:
                    estimator.fit(corpus, dev, jobs=settings.jobs, progress=report.progress, **keeping)
                report.show_earlier()  # if nothing was left to do
        except TreewrightError as error:  # nothing was learned; after others, such as a full disk, it can be resumed
            with suppress(OSError):
                checkpoint.rmdir()  # if it is empty
            if isinstance(error, ConfigError):
                raise settings.blame(error) from None
            raise
        except KeyboardInterrupt as interruption:
            bar.hide()
            note(_how_to_resume(report, checkpoint))
            raise typer.Exit(exit_code(interruption)) from None
        if pipeline is not None:
            estimator.companions_ = pipeline.models()
            estimator.lemmas_ = {**(pipeline.lemmas or {}), **estimator.lemmas_}
        estimator.card_ |= task.origin(settings.params)
        if "tagger" in task.made_from:
            from treewright.corpora.columns import filled_columns

            estimator.card_["columns"] = filled_columns(corpus)
        estimator.save(out)
        checkpoints.clear(checkpoint)
        make_ready(task, estimator)
    if advice := task.advice(estimator):
        say(advice)
    learned = task.afterwards(estimator, dev)
    _summarise(estimator, learned, out, time.perf_counter() - started, quiet=quiet, as_json=as_json)


def _fit_on_cluster(
    estimator: Any, train: Path, dev: Any, cluster: str, jobs: int, keeping: dict[str, Any]
) -> list[Sentence]:
    """Train on shards, one for each worker; return some sentences of the corpus."""
    from treewright.cluster import DaskShards, connect
    from treewright.estimators.mixing import cut_file, fit_mixed

    with connect(cluster) as client:
        shards = cut_file(train, sum(client.nthreads().values()))
        fit_mixed(estimator, DaskShards(client, shards), dev, jobs=jobs, **keeping)
    return shards[0].read()[:1000]


def _check_files(settings: Config) -> tuple[Path, Path]:
    """Check everything that can be checked before training."""
    if settings.train is None:
        raise ConfigError('there is no corpus to learn from: name one, or write train = "…" into the configuration')
    if settings.out is None:
        raise ConfigError("where should the model go? Add --out model.tw")
    check_out(settings.out)
    check_overwritten(settings.out, settings.train, settings.dev, *settings.files.values())
    return settings.train, settings.out


def _say_nothing(message: str) -> None:
    """Ignore a note, for --quiet."""


def _check_finished(out: Path, task: Task, estimator: Any, parts: dict[str, list[Sentence] | None]) -> None:
    """Raise an error if a model was trained with other data or settings, as far as its file shows that."""
    from treewright.corpora import corpus_hash
    from treewright.models import read_model

    model = read_model(out, arrays=False, expect_task=task.name)
    same = model.config["params"] == json.loads(json.dumps(estimator.resolved_config()))
    if task.learns_from_all:
        found = model.card.get("corpora", {})
        same = same and all(found.get(name) == corpus_hash(part) for name, part in parts.items() if part)
        same = same and ("dev" in found) == (parts["dev"] is not None)
    if not same:
        raise finished_otherwise(out)


def _finished_passes(checkpoint: Path, resume: bool, say: Callable[[str], None]) -> list[Pass]:
    """The passes in the checkpoint from which training will continue."""
    from treewright.learners import Pass, checkpoints

    state = checkpoint / "state.npz"
    if not resume:
        if state.exists():
            say(f"note: {checkpoint}, left by an earlier training, is replaced; --resume would go on from it")
        return []
    if not state.exists():
        say(f"note: there is nothing to resume in {checkpoint}; training begins with the first pass")
        return []
    return [Pass(**row) for row in checkpoints.history(checkpoint)]


class PassReport:
    """Reports on training: a row for each pass, and progress."""

    def __init__(
        self,
        task: Task,
        learner: Learner,
        corpus: Sequence[Sentence],
        bar: Bar,
        *,
        quiet: bool,
        as_json: bool,
    ) -> None:
        self.passes = learner.passes
        self.finished = 0
        self._earlier: list[Pass] = []
        self._task, self._bar, self._quiet, self._as_json = task, bar, quiet, as_json
        self._uses_beta = learner.uses_beta
        self._tokens = sum(len(sentence) for sentence in corpus)
        self._stages = learner.stages
        self._stages_seen: list[str] = []
        self._console = stdout()
        self._header_printed = False

    def begin(self) -> None:
        """Report the beginning of training, because the first progress may come late."""
        text = f"pass {self.finished + 1} of {self.passes}" if self.passes else "counting"
        self._bar.begin(text, max(self.passes, 1))

    def earlier(self, passes: Sequence[Pass]) -> None:
        """Note the passes of the resumed run. They are reported when it goes on, and not if it cannot be resumed."""
        for row in passes:
            self._finish(row)
        self._earlier = list(passes)

    def show_earlier(self) -> None:
        """Report the passes of the resumed run; JSON output already had them."""
        rows, self._earlier = self._earlier, []
        for row in rows:
            if not self._as_json:
                self._print_row(row)

    def __call__(self, row: Pass) -> None:
        """Report a pass."""
        self.show_earlier()
        self._finish(row)
        if self._as_json:
            print_json({"event": "pass", **asdict(row), "tokens_per_second": self._rate(row)})
        else:
            self._print_row(row)

    def _finish(self, row: Pass) -> None:
        self.finished = row.iteration
        self._stages_seen = []

    def progress(self, stage: str, done: int, total: int) -> None:
        """Move the bar, which spans all passes."""
        self.show_earlier()
        if stage not in self._stages_seen:
            self._stages_seen.append(stage)
        within = (len(self._stages_seen) - 1 + done / max(total, 1)) / self._stages
        text = f"pass {self.finished + 1} of {self.passes}: {stage}"
        self._bar.update(text, self.finished + min(within, 1.0), self.passes)

    def _rate(self, row: Pass) -> float | None:
        """Tokens a second; None on a cluster, where this process does not read the corpus."""
        return round(self._tokens / max(row.seconds, 1e-9), 1) if self._tokens else None

    def _print_row(self, row: Pass) -> None:
        if self._quiet:
            return
        self._bar.hide()
        if not self._header_printed:
            self._header_printed = True
            score = f"dev {self._task.score_name}"
            self._console.print(f"[bold]{'pass':>5} {'β':>6} {'loss':>8} {score:>15}   {'tokens/s':>10} {'seconds':>8}")
        score = "–" if row.score is None else f"{100 * row.score:.2f}"
        best = "★" if row.best and row.score is not None else " "
        beta = f"{row.beta:.3f}" if self._uses_beta else "–"
        rate = self._rate(row)
        speed = "–" if rate is None else f"{rate:,.0f}"
        text = f"{row.iteration:5} {beta:>6} {row.loss:8.4f} {score:>15} {best} {speed:>10} {row.seconds:8.2f}"
        self._console.print(text, style="bold" if best.strip() else None)


def _how_to_resume(report: PassReport, checkpoint: Path) -> str:
    from treewright.learners import checkpoints

    if not report.finished:
        return "interrupted before the first pass was finished; no model was written"
    kept = len(checkpoints.history(checkpoint))  # a state that takes long to write is not stored after each pass
    again = shlex.join(["treewright", *(arg for arg in sys.argv[1:] if arg != "--resume"), "--resume"])
    return (
        f"interrupted after pass {max(report.finished, kept)} of {report.passes}; no model was written. "
        f"Pass {kept} is in {checkpoint}. To go on:\n  {again}"
    )


@contextmanager
def _saying_so_on_interrupt(say: Callable[[str], None]) -> Iterator[None]:
    """Answer Ctrl-C at once: compiled code may need a moment before it stops."""
    before = signal.getsignal(signal.SIGINT)
    usual = before is signal.default_int_handler and threading.current_thread() is threading.main_thread()
    if not usual:  # another handler is installed
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, before)
        say("stopping …")
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _summarise(estimator: Any, learned: str, out: Path, seconds: float, *, quiet: bool, as_json: bool) -> None:
    history: list[Pass] = estimator.history_
    best = next((row.iteration for row in reversed(history) if row.best), len(history))
    scores = estimator.card_["scores"]
    size = out.stat().st_size
    if as_json:
        done = {
            "event": "done",
            "model": str(out),
            "bytes": size,
            "pass": best,
            "scores": scores,
            "seconds": seconds,
        }
        print_json({**done, "config": estimator.resolved_config()})
    elif not quiet:
        passes = f"pass {best} of {len(history)}" if history else ""
        said = [f"{name} {percent(value)}" for name, value in scores.items()]
        parts = [passes, f"then {learned}" if passes and learned else learned, *said, size_text(size)]
        stdout().print(f"{out}: {', '.join(filter(None, parts))}", markup=False)


for _task in TASKS.built_in.values():
    app.command(_task.name, help=help_text(_task.help))(lambda: None)  # for the list of commands
