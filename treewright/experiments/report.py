"""The report of an experiment: tables, curves, Pareto plots, and the settings behind every number."""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from treewright.experiments.page import Page
from treewright.experiments.results import CellResult, Results
from treewright.files import atomic_write
from treewright.metrics import error_reduction, kolmogorov_smirnov
from treewright.reports.box_plot import box_plot_svg
from treewright.reports.line_plot import Point, plot_svg

__all__ = ["report_page", "write_report"]


def write_report(results: Results, out: Path, command: str) -> list[Path]:
    """Write ``out.html`` and ``out.md`` with its figures; return the paths.

    ``command`` is the command that made the results; the name ``out`` has no suffix.
    """
    page = report_page(results, command, folder=f"{out.name}-figures")
    made = [out.with_name(out.name + ".html"), out.with_name(out.name + ".md")]
    for path, text in zip(made, (page.to_html(), page.to_markdown()), strict=True):
        with atomic_write(path) as file:
            file.write(text)
    folder = out.with_name(page.folder)
    if page.figures:
        folder.mkdir(exist_ok=True)
    for number, svg in enumerate(page.figures, 1):
        with atomic_write(folder / f"{number}.svg") as file:
            file.write(svg)
    return made


def report_page(results: Results, command: str, *, folder: str = "figures") -> Page:
    """Return the report as a page."""
    experiment = results.experiment
    page = Page(experiment.title, folder=folder)
    page.text(experiment.about)
    page.code(command)
    page.text(_origin(results))
    if results.missing:
        page.text(f"Not finished: {results.missing} jobs of this table have no result yet.")
    for task in experiment.tasks:
        for corpus in experiment.corpora:
            if results.of(task, corpus, any_size=True):
                _corpus_section(page, results, task, corpus)
    _choices(page, results)
    if results.failed:
        page.heading("Jobs that failed")
        page.table(["job", "key", "error"], [[str(job), job.key, error] for job, error in results.failed])
    _every_number(page, results, command)
    return page


def _origin(results: Results) -> str:
    experiment = results.experiment
    corpora = ", ".join(f"{name} (digest {source.digest()})" for name, source in experiment.corpora.items())
    when = datetime.datetime.now(datetime.UTC).date().isoformat()
    seeds = ", ".join(map(str, experiment.seeds))
    folds = f" {experiment.folds} folds, whose sentences count together." if experiment.folds else ""
    return (
        f"Made on {when} by Treewright {results.code} from {os.path.basename(experiment.path)}. Corpora: {corpora}. "
        f"Seeds: {seeds}.{folds} Scores are means over seeds; 95 % intervals are a bootstrap over sentences and seeds."
        f" Differences are to {experiment.baseline}: the same sentences and seeds are drawn for both; p-values are "
        "two-sided, with Holm's correction for all comparisons on a corpus."
    )


# ---- a corpus


def _corpus_section(page: Page, results: Results, task: str, corpus: str) -> None:
    experiment = results.experiment
    everything = results.of(task, corpus, any_size=True)
    name = f"{corpus}, {task}" if len(experiment.tasks) > 1 else corpus
    for part in experiment.report:
        score = everything[0].score_name(part)
        page.heading(f"{name}: {score} on {part}")
        if len(experiment.sizes) > 1:
            _by_size(page, results, everything, part)
            _paper_by_size(page, results, everything, part, f"{name}: {score} on {part}, in the paper")
        for size in experiment.sizes:
            found = results.of(task, corpus, size)
            if found:
                if len(experiment.sizes) > 1:
                    page.heading(f"{_size(size)} sentences", 3)
                _details(page, results, found, part)
        _plots(page, results, everything, part, score)


def _size(size: int | None) -> str:
    return "all" if size is None else f"{size:,}"


def _percent(value: float | None, digits: int = 2) -> str:
    return "" if value is None else f"{100 * value:.{digits}f}"


def _with_interval(result: CellResult, part: str) -> str:
    found = result.interval(part)
    return f"{_percent(found.value)} [{_percent(found.low)}, {_percent(found.high)}]"


def _by_size(page: Page, results: Results, found: Sequence[CellResult], part: str) -> None:
    """A row for each system, a column for each size."""
    labels = list(dict.fromkeys(result.cell.label for result in found))
    at = {(result.cell.label, result.cell.size): result for result in found}
    rows = []
    for label in labels:
        cells = [at.get((label, size)) for size in results.experiment.sizes]
        rows.append([label, *("" if each is None else _with_interval(each, part) for each in cells)])
    page.table(["", *(_size(size) for size in results.experiment.sizes)], rows)


def _paper_by_size(page: Page, results: Results, found: Sequence[CellResult], part: str, heading: str) -> None:
    """The same table with the numbers of the paper, if it has any."""
    sizes, paper = results.experiment.sizes, results.experiment.paper
    rows = dict[str, dict[int | None, str]]()
    for result in found:
        rows.setdefault(result.cell.label, {})[result.cell.size] = _paper(paper, result, part)
    if any(number for row in rows.values() for number in row.values()):
        page.heading(heading, 3)
        head = ["", *(_size(size) for size in sizes)]
        page.table(head, [[label, *(row.get(size, "") for size in sizes)] for label, row in rows.items()])


def _details(page: Page, results: Results, found: Sequence[CellResult], part: str) -> None:
    experiment = results.experiment
    probes = list(
        dict.fromkeys(
            (probe, name)
            for result in found
            for _, outcome in result.jobs
            for probe, numbers in outcome.result["probes"].items()
            for name in numbers
        )
    )
    turned = [each for each in probes if ": " in each[1]]
    probes = [each for each in probes if each not in turned]
    head = [
        "",
        "score",
        f"− {experiment.baseline}",
        "p",
        "fewer errors, %",
        "seeds",
        "CPU s, training",
        "ms a sentence",
    ]
    rows = []
    for result in found:
        compared, base = results.compared(result.cell, part), results.baseline(result.cell)
        fewer = ""
        if base is not None:
            before = base.interval(part).value
            fewer = _percent(error_reduction(before, result.interval(part).value), 1) if before < 1 else ""
        parsing, sentences = result.mean("scores", part, "CPU seconds"), result.mean("sentences", part)
        row = [
            result.cell.label,
            _with_interval(result, part) + ("" if result.is_complete else " (unfinished)"),
            "" if compared is None else _difference(compared[0]),
            "" if compared is None else _p(compared[1]),
            fewer,
            str(len({job.seed for job, _ in result.jobs})),
            _number(result.mean("train", "CPU seconds")),
            "" if parsing is None or not sentences else f"{1e3 * parsing / sentences:.2f}",
            *(_number(result.mean("probes", probe, name)) for probe, name in probes),
            _paper(experiment.paper, result, part),
        ]
        rows.append(row)
    page.table([*head, *(name for _, name in probes), "paper"], rows)
    _turned(page, experiment.paper, found, turned)


def _turned(page: Page, paper: dict[str, Any], found: Sequence[CellResult], probes: list[tuple[str, str]]) -> None:
    """A table with a row for each thing that a probe has measured in several ways, such as ``vanilla: seconds``."""
    things = dict.fromkeys(name.partition(": ")[0] for _, name in probes)
    measures = dict.fromkeys(name.partition(": ")[2] for _, name in probes)
    told = next((each for each in paper.values() if isinstance(each, dict)), {})
    columns = {
        each.cell.label: {name: _number(each.mean("probes", probe, name)) for probe, name in probes} for each in found
    }
    columns["paper"] = {name: str(number) for name, number in told.items()}
    if things:
        head = [f"{column} {measure}" for column in columns for measure in measures]
        page.table(
            ["", *head],
            [[t, *(c.get(f"{t}: {measure}", "") for c in columns.values() for measure in measures)] for t in things],
        )


def _difference(compared: Any) -> str:
    low, high = f"{100 * compared.low:+.2f}", f"{100 * compared.high:+.2f}"
    return f"{100 * compared.difference:+.2f} [{low}, {high}]"


def _p(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def _paper(paper: dict[str, Any], result: CellResult, part: str) -> str:
    """The number of the paper: by the row, or by the row and then the part, the size or the value in the grid."""
    value: Any = paper.get(result.cell.row, "")
    labels = [
        part,
        _size(result.cell.size).replace(",", ""),
        result.cell.corpus,
        *(str(v) for _, v in result.cell.grid),
    ]
    while isinstance(value, dict):
        label = next((each for each in labels if each in value), None)
        if label is None:
            return ""
        value = value[label]
    return str(value)


# ---- plots


def _plots(page: Page, results: Results, found: Sequence[CellResult], part: str, score: str) -> None:
    experiment, wanted = results.experiment, results.experiment.plots
    axis = f"{score}, {part}"
    if "sizes" in wanted and len(experiment.sizes) > 1:
        curves = _series(found, lambda r: _point(r.cell.size or r.mean("sentences", "train") or 1.0, r, part))
        page.figure(
            plot_svg(curves, x_label="training sentences", y_label=axis, logarithmic=True), f"Learning curves: {axis}"
        )
    numeric = [key for key, values in experiment.grid.items() if len(values) > 1 and all(map(_is_number, values))]
    if "grid" in wanted and numeric:
        key = numeric[0]
        positive = all(value > 0 for value in experiment.grid[key])
        curves = {}
        for result in found:
            others = [f"{k} = {v}" for k, v in result.cell.grid if k != key]
            name = ", ".join([result.cell.row, *others, *_sized(result, experiment.sizes)])
            curves.setdefault(name, []).append(_point(float(dict(result.cell.grid)[key]), result, part))
        page.figure(plot_svg(curves, x_label=key, y_label=axis, logarithmic=positive), f"{axis} by {key}")
    if "passes" in wanted and part in ("dev", experiment.report[0]):
        curves = {
            _name(result, experiment.sizes): [Point(k, 100 * value) for k, value in enumerate(result.by_pass(), 1)]
            for result in found
            if len(result.by_pass()) > 1
        }
        if curves:
            page.figure(plot_svg(curves, x_label="pass", y_label=f"{score}, dev"), f"{score} on dev after each pass")
    if "pareto" in wanted and len({result.cell.label for result in found}) > 1:
        _pareto(page, results, found, part, axis)
    if "folds" in wanted and experiment.folds:
        _folds(page, results, found, part, axis)


def _pareto(page: Page, results: Results, found: Sequence[CellResult], part: str, axis: str) -> None:
    sizes = results.experiment.sizes
    prices: dict[str, tuple[str, ...]] = {"CPU seconds of training": ("train", "CPU seconds")}
    if "agenda" in results.experiment.probes:
        prices |= {name: ("probes", "agenda", name) for name in ("pops", "pushes", "ms a sentence")}
    for label, path in prices.items():
        points = {
            _name(result, sizes): [_point(price, result, part)]
            for result in found
            if (price := result.mean(*path)) is not None and price > 0
        }
        if len(points) > 1:
            drawing = plot_svg(points, x_label=label, y_label=axis, logarithmic=True, lines=False, front=True)
            page.figure(drawing, f"{axis} by {label}; the dashed line joins what nothing beats in both")


def _folds(page: Page, results: Results, found: Sequence[CellResult], part: str, axis: str) -> None:
    """The box plot over the folds, and Kolmogorov–Smirnov tests against the baseline (Neu & Szepesvári 2009, §6.4)."""
    page.figure(box_plot_svg({r.cell.label: r.values(part) for r in found}, label=f"{axis}, over folds"), "Box plot")
    rows = []
    for result in found:
        base = results.baseline(result.cell)
        if base is None:
            continue
        before, after = base.values(part), result.values(part)
        test = kolmogorov_smirnov(before, after)
        wins = sum(new > old for old, new in zip(before, after, strict=False))
        rows.append([result.cell.label, f"{wins} of {len(after)}", f"{test.statistic:.2f}", _p(test.p)])
    if rows:
        page.table(["", "folds won", "D (Kolmogorov–Smirnov)", "p"], rows)


def _name(result: CellResult, sizes: Sequence[int | None]) -> str:
    return ", ".join([result.cell.label, *_sized(result, sizes)])


def _sized(result: CellResult, sizes: Sequence[int | None]) -> list[str]:
    return [f"{_size(result.cell.size)} sentences"] if len(sizes) > 1 else []


def _series(found: Sequence[CellResult], point: Any) -> dict[str, list[Point]]:
    series: dict[str, list[Point]] = {}
    for result in found:
        series.setdefault(result.cell.label, []).append(point(result))
    return series


def _point(x: float, result: CellResult, part: str) -> Point:
    found = result.interval(part)
    return Point(x, 100 * found.value, 100 * found.low, 100 * found.high)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


# ---- the settings behind the numbers


def _choices(page: Page, results: Results) -> None:
    chosen = [result for result in results.cells.values() if result.tried]
    if not chosen:
        return
    page.heading("What was chosen on development data")
    how = results.experiment.choosing
    all_of = "all combinations" if how.by == "grid" else "one setting after the other"
    page.text(f"Tried: {all_of}; the score is the mean on dev over the seeds {', '.join(map(str, how.seeds))}.")
    rows = [
        [
            ", ".join([result.cell.corpus, _size(result.cell.size), result.cell.label]),
            ", ".join(f"{key} = {value}" for key, value in (result.chosen or {}).items()) or "not yet",
            "; ".join(f"{name}: {_percent(score)}" for name, score in result.tried.items()),
        ]
        for result in chosen
    ]
    page.table(["", "chosen", "dev"], rows)


def _every_number(page: Page, results: Results, command: str) -> None:
    page.heading("Every number")
    page.text(
        "One line a job: its key in the store, its scores, and the seconds that it took. The command repeats a single "
        "job; the settings below are all that it depends on besides the corpus and the code."
    )
    done = [(job, outcome) for result in results.cells.values() for job, outcome in result.jobs]
    rows = [
        [
            str(job),
            job.key,
            ", ".join(f"{part} {_percent(outcome.result['scores'][part]['main'])}" for part in job.parts),
            f"{outcome.seconds:.1f}",
            f"{command} --job {job.key}",
        ]
        for job, outcome in done
    ]
    page.table(["job", "key", "scores", "seconds", "command"], rows)
    for result in results.cells.values():
        if result.jobs:
            job = result.jobs[0][0]
            label = ", ".join([job.task, job.corpus, _size(job.size), result.cell.label])
            settings = {
                "task": job.task,
                "size": job.size,
                "max_length": job.max_length,
                "held_out": job.held_out,
                "params": job.params,
            }
            page.code(json.dumps(settings, ensure_ascii=False, indent=1), f"Settings of {label}")
