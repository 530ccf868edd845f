"""``treewright experiment``: compare learners and settings on corpora, and report."""

from __future__ import annotations

import contextlib
import shlex
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from treewright.cli.console import Bar, make_table, print_json, several, stdout
from treewright.cli.outcomes import BAD_INPUT, exit_code, note
from treewright.errors import ConfigError

if TYPE_CHECKING:
    from treewright.corpora import Sentence
    from treewright.experiments import Experiment, Job, Progress
    from treewright.experiments.results import Results
    from treewright.experiments.running import Executor

__all__ = ["app"]

_TASKS = {"conllu": "dependency", "ptb": "constituency", "amr": "amr", "tabular": "tagging"}


class RunOrReport(TyperGroup):
    """Two commands, of which the first one needs no name: ``experiment FILE`` and ``experiment report FILE``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert the name of the command if it was omitted."""
        if args and args[0] not in (*self.commands, "-h", "--help"):
            args = ["run", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=RunOrReport,
    help="""Compare learners and settings on corpora: run an experiment, and report on it.

    The word run may be left out; `treewright experiment run --help` lists its options.

    Examples:
      treewright experiment comparison.toml
      treewright experiment comparison.toml --dry-run
      treewright experiment report comparison.toml
      treewright experiment --quick train.conllu --dev dev.conllu --test test.conllu --learners supervised,dagger,lols
    """,
    no_args_is_help=True,
    rich_markup_mode="rich",
)

File = Annotated[Path | None, typer.Argument(help="The experiment, a TOML file.", metavar="FILE", show_default=False)]
StorePath = Annotated[
    Path | None,
    typer.Option("--store", help="The SQLite file for the results.", metavar="FILE", show_default="FILE.sqlite"),
]
Small = Annotated[
    bool, typer.Option("--small", help="Run what the table [small] of the file says: a test of the machinery.")
]
AnyCode = Annotated[bool, typer.Option("--any-code", help="Results of other versions of Treewright count, too.")]
Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        help="Run on a Dask cluster: local:4 (processes on this machine), tcp://host:port (a scheduler), or "
        "module:object (e.g. a cluster of dask-jobqueue).",
        metavar="CLUSTER",
    ),
]


@app.command("run")
def run(
    file: File = None,
    store: StorePath = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List the jobs and estimate the time; run nothing.")
    ] = False,
    cluster: Cluster = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Threads for each job.", min=1)] = 1,
    job: Annotated[str | None, typer.Option("--job", help="Run only the job with this key.", metavar="KEY")] = None,
    small: Small = False,
    any_code: AnyCode = False,
    quick: Annotated[
        Path | None,
        typer.Option("--quick", help="No file: compare --learners on this training corpus.", metavar="TRAIN"),
    ] = None,
    dev: Annotated[Path | None, typer.Option(help="--quick: development data, to choose the best pass.")] = None,
    test: Annotated[Path | None, typer.Option(help="--quick: what is scored.")] = None,
    learners: Annotated[
        str, typer.Option(help="--quick: the learners, separated by commas; the first one is the baseline.")
    ] = "supervised,dagger,lols",
    task: Annotated[
        str | None,
        typer.Option(help="--quick: the task.", show_default="dependency; constituency for .ptb, amr for .amr"),
    ] = None,
    seeds: Annotated[int, typer.Option(help="--quick: the number of seeds.", min=1)] = 1,
    passes: Annotated[int | None, typer.Option(help="--quick: passes over the corpus.", min=1)] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a job, and one at the end.")] = False,
) -> None:
    """Run the jobs of an experiment whose results are not there yet, and show a table.

    Results go to one file as they come. After Ctrl-C, or if the process is killed, the same
    command continues. A job that fails is reported, and the others continue.

    Examples:
      treewright experiment comparison.toml
      treewright experiment comparison.toml --dry-run
      treewright experiment comparison.toml --cluster local:4
      treewright experiment --quick train.conllu --dev dev.conllu --test test.conllu --learners supervised,dagger,lols
    """
    from treewright.experiments import Store, run_experiment

    experiment, path = _experiment(file, store, small, quick, dev, test, learners, task, seeds, passes)
    if dry_run:
        _show_jobs(experiment, path, any_code)
        return
    shown = not (quiet or as_json)
    with Store.open(path) as opened, contextlib.ExitStack() as stack:
        others = {code: n for code, n in opened.codes().items() if code != _code()}
        if others and not any_code and shown:
            told = ", ".join(f"{n} of {code}" for code, n in others.items())
            note(f"note: {path} has results of other versions of the code ({told}); --any-code takes them, too")
        executor = _executor(experiment, cluster, jobs, path, stack)
        bar = stack.enter_context(Bar(shown=shown))
        done = 0

        def tell(progress: Progress) -> None:
            nonlocal done
            done = progress.done
            _tell(progress, bar, as_json=as_json, quiet=quiet)

        try:
            bar.begin("starting", 1)
            summary = run_experiment(experiment, opened, executor, only=job, any_code=any_code, report=tell)
        except KeyboardInterrupt as interruption:
            bar.hide()
            again = shlex.join(["treewright", *sys.argv[1:]])
            note(
                f"interrupted; {several(done, 'result')} of this run and all earlier ones are in {path}. "
                f"To go on:\n  {again}"
            )
            raise typer.Exit(exit_code(interruption)) from None
    _show_results(experiment, path, summary, any_code, quiet=quiet, as_json=as_json)
    if summary.failed:
        raise typer.Exit(BAD_INPUT)


@app.command("report")
def report(
    file: Annotated[Path, typer.Argument(help="The experiment, a TOML file.", metavar="FILE")],
    store: StorePath = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="The name of the pages, without a suffix.", metavar="NAME", show_default="FILE"
        ),
    ] = None,
    small: Small = False,
    any_code: AnyCode = False,
) -> None:
    """Write the results of an experiment as a web page and as Markdown.

    The page has tables with intervals over sentences and seeds, differences to the baseline
    with p-values, learning curves, Pareto plots, and the settings of every number.

    Example:
      treewright experiment report comparison.toml --out results
    """
    from treewright.experiments import Store, read_experiment
    from treewright.experiments.report import write_report
    from treewright.experiments.results import gather

    experiment = read_experiment(file, small=small)
    path = store or _store_of(file, small)
    command = shlex.join(["treewright", "experiment", str(file), *(["--small"] if small else [])])
    with Store.open(path, write=False) as opened:
        results = gather(experiment, opened, any_code=any_code)
    if not any(result.jobs for result in results.cells.values()):
        raise ConfigError(
            f"{path}: no results of this experiment yet, with this version of the code ({_code()}); run it first, or "
            "add --any-code for those of other versions"
        )
    written = write_report(results, out or _store_of(file, small).with_suffix(""), command)
    note(", ".join(map(str, written)))


# ---- running


def _code() -> str:
    from treewright.experiments import code_version

    return code_version()


def _store_of(file: Path, small: bool) -> Path:
    return file.with_suffix(".small.sqlite" if small else ".sqlite")


def _experiment(
    file: Path | None,
    store: Path | None,
    small: bool,
    quick: Path | None,
    dev: Path | None,
    test: Path | None,
    learners: str,
    task: str | None,
    seeds: int,
    passes: int | None,
) -> tuple[Experiment, Path]:
    from treewright.experiments import read_experiment

    if (file is None) == (quick is None):
        raise ConfigError("name an experiment, a TOML file, or a training corpus with --quick")
    if file is not None:
        return read_experiment(file, small=small), store or _store_of(file, small)
    assert quick is not None
    if test is None:
        raise ConfigError("a test corpus is missing: add --test TEST")
    names = [name.strip() for name in learners.split(",") if name.strip()]
    if not names:
        raise ConfigError("--learners names no learner; see treewright learners")
    return _quick(quick, dev, test, names, task, seeds, passes), store or Path("treewright-quick.sqlite")


def _quick(
    train: Path, dev: Path | None, test: Path, learners: list[str], task: str | None, seeds: int, passes: int | None
) -> Experiment:
    """The experiment of a command line: learners on one corpus."""
    from treewright.corpora.reading import format_of
    from treewright.experiments import Document, experiment_of

    files = {"train": train, "dev": dev, "test": test}
    values = {
        "title": f"Learners on {train.name}",
        "task": task or _TASKS.get(format_of(train) or "", "dependency"),
        "seeds": seeds,
        "learners": learners,
        "learner": {} if passes is None else {"passes": passes},
        "corpora": {train.stem: {part: str(path) for part, path in files.items() if path is not None}},
    }
    return experiment_of(Document(values, None, "--quick"), Path.cwd())


def _executor(experiment: Experiment, cluster: str | None, jobs: int, store: Path, stack: Any) -> Executor:
    if cluster is None:
        from treewright.experiments import OneProcess

        return OneProcess(experiment.corpora, jobs, store.with_name(store.name + ".checkpoints"))
    from treewright.cluster import DaskExecutor, connect

    client = stack.enter_context(connect(cluster))
    executor = DaskExecutor(client, experiment.corpora, jobs)
    stack.callback(executor.close)
    return executor


def _tell(progress: Progress, bar: Bar, *, as_json: bool, quiet: bool) -> None:
    job, name, outcome = progress.job, progress.description, progress.outcome
    if as_json:
        scores = {part: found["main"] for part, found in outcome.result.get("scores", {}).items()}
        told = {"event": "job", "key": job.key, "job": name, "seconds": outcome.seconds, "scores": scores}
        print_json(
            {**told, "error": outcome.error, "done": progress.done, "total": progress.total, "left": progress.left}
        )
        return
    if quiet:
        return
    bar.hide()
    left = "" if progress.left is None else f", {_time(progress.left)} left"
    if outcome.error is not None:
        note(f"failed: {name}: {outcome.error}")
    else:
        scores_text = ", ".join(f"{part} {100 * s['main']:.2f}" for part, s in outcome.result["scores"].items())
        note(f"{progress.done} of {progress.total}: {name}: {scores_text} ({outcome.seconds:.1f} s{left})")
    bar.update(f"{progress.done} of {progress.total} jobs", progress.done, progress.total)


def _time(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}"


# ---- output


def _show_jobs(experiment: Experiment, path: Path, any_code: bool) -> None:
    from treewright.experiments import Job, Store
    from treewright.experiments.jobs import described
    from treewright.experiments.schedule import Durations, needed

    digests = {name: source.digest() for name, source in experiment.corpora.items()}
    outcomes: dict[str, Any] = {}
    ran: list[tuple[Job, float]] = []
    if path.is_file():
        with Store.open(path, write=False) as store:
            outcomes = {k: o for k, o in store.outcomes(None if any_code else _code()).items() if o.error is None}
            ran = [(Job.from_dict(job), seconds) for job, seconds in store.durations()]
    durations = Durations(ran, _counter(experiment))
    wanted = needed(experiment, digests, outcomes)
    rows, descriptions = [], described(wanted.jobs)
    for job in wanted.jobs:
        estimate = durations.estimate(job)
        rows.append((descriptions[job.key], job.key, "?" if estimate is None else f"{estimate:.1f}"))
    console = stdout()
    if rows:
        console.print(make_table(None, ("job", "key", "seconds"), rows, left=2))
    whole = durations.left(wanted.jobs, 1)
    known = "unknown: no similar job has run yet" if whole is None else f"about {_time(whole)} on one core"
    if whole and not ran:
        known += ", by the speed of another machine"
    later = f", and at most {wanted.later} that depend on what is chosen" if wanted.later else ""
    kept = f"{several(len(outcomes), 'result')} in the store"
    console.print(f"{several(len(wanted.jobs), 'job')} to run{later}; {kept}; time: {known}")


def _counter(experiment: Experiment) -> Callable[[Job], int | None]:
    """A function that counts the training sentences of a job. It reads a corpus only if the size does not say it."""
    from treewright.experiments.corpora import select

    @cache
    def sentences(corpus: str) -> list[Sentence]:
        source = experiment.corpora[corpus]
        return replace(source, parts={"train": source.parts["train"]}).read()["train"]

    def count(job: Job) -> int | None:
        if job.size is not None:
            return job.size
        if job.corpus not in experiment.corpora:
            return None  # of an earlier version of the file
        parts = {"train": sentences(job.corpus)}
        return len(select(parts, max_length=job.max_length, fold=job.fold)["train"])

    return count


def _show_results(
    experiment: Experiment, path: Path, summary: Any, any_code: bool, *, quiet: bool, as_json: bool
) -> None:
    from treewright.experiments import Store
    from treewright.experiments.results import gather

    with Store.open(path, write=False) as opened:
        results = gather(experiment, opened, any_code=any_code)
    if as_json:
        failed = [{"key": job.key, "job": str(job), "error": error} for job, error in summary.failed]
        print_json({"event": "done", "ran": summary.ran, "failed": failed, "store": str(path), "rows": _rows(results)})
        return
    if summary.failed:
        job, error = summary.failed[0]
        several_failed = f"{several(len(summary.failed), 'job')} failed; the same command tries them again"
        note(f"error: {several_failed}. {job}: {error}" if quiet else several_failed)
    if quiet:
        return
    rows = [
        (
            row["system"],
            row["corpus"],
            row["size"],
            row["part"],
            f"{100 * row['score']:.2f} [{100 * row['low']:.2f}, {100 * row['high']:.2f}]",
            "" if row["p"] is None else f"{100 * row['difference']:+.2f}",
            "" if row["p"] is None else f"{row['p']:.3f}",
            f"{row['seconds']:.2f}",
        )
        for row in _rows(results)
    ]
    if not rows:
        return
    heads = ("", "corpus", "size", "part", "score [95 %]", f"− {experiment.baseline}", "p (Holm)", "CPU s")
    stdout().print(make_table(experiment.title, heads, rows, left=4))
    note(f"The results are in {path}.")


def _rows(results: Results) -> list[dict[str, Any]]:
    rows = []
    for cell, result in results.cells.items():
        if not result.jobs:
            continue
        for part in results.experiment.report:
            interval, compared = result.interval(part), results.compared(cell, part)
            rows.append(
                {
                    "system": cell.label,
                    "task": cell.task,
                    "corpus": cell.corpus,
                    "size": "all" if cell.size is None else str(cell.size),
                    "part": part,
                    "score": interval.value,
                    "low": interval.low,
                    "high": interval.high,
                    "difference": None if compared is None else compared[0].difference,
                    "p": None if compared is None else compared[1],
                    "seconds": result.mean("train", "CPU seconds"),
                    "chosen": result.chosen,
                }
            )
    return rows
