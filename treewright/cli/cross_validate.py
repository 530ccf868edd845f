"""``treewright cross-validate``: scores over the folds of a corpus, for one learner or several."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treewright.cli.config import resolve
from treewright.cli.console import Bar, make_table, print_json, stdout
from treewright.cli.tasks import TASKS, Task
from treewright.cli.tasks.base import percent
from treewright.errors import ConfigError
from treewright.files import atomic_write
from treewright.settings import one_of

if TYPE_CHECKING:
    from treewright.estimators import CrossValidation

__all__ = ["cross_validate"]


def cross_validate(
    task: Annotated[str, typer.Argument(help="What is learned: a task of `treewright train`.", metavar="TASK")],
    corpus: Annotated[Path, typer.Argument(help="The corpus, whose sentences are divided into folds.")],
    learners: Annotated[
        list[str] | None,
        typer.Option("--learner", "-l", help="A learner. May be repeated; the first one is the baseline."),
    ] = None,
    configs: Annotated[
        list[Path] | None,
        typer.Option("--config", "-c", help="Settings from a TOML file. May be repeated.", metavar="FILE"),
    ] = None,
    folds: Annotated[int, typer.Option("--folds", "-k", help="The number of folds.", min=2)] = 10,
    seed: Annotated[int, typer.Option(help="The same seed gives the same folds.", min=0)] = 0,
    dev: Annotated[
        bool, typer.Option("--dev", help="Use the next fold as development data, to choose the best pass.")
    ] = False,
    trees: Annotated[
        str | None, typer.Option("--trees", help="amr: dependency trees of the same sentences.", metavar="FILE")
    ] = None,
    svg: Annotated[Path | None, typer.Option("--svg", help="Draw a box plot into this file.", metavar="FILE")] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Threads.", min=1)] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print the scores as one JSON object.")] = False,
) -> None:
    """Measure how well learners do on sentences that they have not seen, by cross-validation.

    The sentences are divided into folds at random. Each fold is parsed once, by a model
    that learned from the others. The table has the mean over the folds, its deviation and
    its range, and compares every learner with the first one: the share of errors that are
    gone, the folds that were won, and the p-value of a Kolmogorov-Smirnov test.

    Examples:
      treewright cross-validate constituency train.ptb -l maximum-likelihood -l max-margin
      treewright cross-validate tagging train.conllu --folds 5 --svg tagging.svg
      treewright cross-validate dependency train.conllu -c small.toml -c large.toml --json
    """
    from treewright.estimators import cross_validate as run

    if task not in TASKS:
        raise ConfigError(f"TASK {one_of(task, TASKS)}")
    made = _estimators(TASKS[task], learners or [], configs or [])
    sentences = TASKS[task].read(str(corpus), trees=trees, shown=not as_json)
    TASKS[task].check_corpus(sentences)
    found: dict[str, CrossValidation] = {}
    with Bar(shown=not as_json) as bar:
        for k, (name, estimator) in enumerate(made.items()):
            bar.begin(name, folds * len(made))

            def report(fold: int, scores: Any, name: str = name, done: int = k * folds) -> None:
                bar.update(f"{name}: fold {fold} of {folds}", done + fold, folds * len(made))

            found[name] = run(estimator, sentences, folds=folds, seed=seed, dev=dev, jobs=jobs, report=report)
    if svg is not None:
        _draw(found, svg)
    _show(found, as_json)


def _estimators(task: Task, learners: list[str], configs: list[Path]) -> dict[str, Any]:
    """The estimators by the names that the table has for them: learners, then files."""
    if not learners and not configs:
        _, estimator = resolve(task, {}, None)
        return {estimator.resolved_config()["learner"]["name"]: estimator}
    made = {name: resolve(task, {"learner": name}, None)[1] for name in learners}
    for path in configs:
        made[path.stem if path.stem not in made else str(path)] = resolve(task, {}, path)[1]
    return made


def _draw(found: dict[str, CrossValidation], path: Path) -> None:
    from treewright.reports import box_plot_svg

    name = next(iter(found.values())).name
    drawing = box_plot_svg({learner: each.values for learner, each in found.items()}, label=f"{name} over the folds")
    with atomic_write(path) as file:
        file.write(drawing)


def _show(found: dict[str, CrossValidation], as_json: bool) -> None:
    (first, baseline), *others = found.items()
    compared = {name: each.against(baseline) for name, each in others}
    if as_json:
        rows = [
            {
                "name": name,
                **each.as_dict(),
                **({"against": first, **compared[name].as_dict()} if name in compared else {}),
            }
            for name, each in found.items()
        ]
        print_json({"rows": rows}, pretty=True)
        return
    table = []
    for name, each in found.items():
        row = [name, percent(each.mean), percent(each.deviation), f"{percent(each.box.low)}–{percent(each.box.high)}"]
        if name in compared:
            versus = compared[name]
            row += [percent(versus.error_reduction), f"{versus.wins} of {len(each.values)}", f"{versus.test.p:.4f}"]
        table.append((*row, *[""] * (7 - len(row))))
    heads = ("", baseline.name, "deviation", "range", "fewer errors, %", "folds won", "p (KS)")
    stdout().print(
        make_table(None, heads if compared else heads[:4], table if compared else [row[:4] for row in table])
    )
