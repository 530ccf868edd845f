"""Jobs, their results, and what is chosen on development data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.experiments.conftest import TINY
from treewright.corpora import builtin_corpus
from treewright.estimators import estimator_class
from treewright.experiments import (
    Document,
    OneProcess,
    Store,
    experiment_of,
    read_experiment,
    run_experiment,
    run_job,
    running,
)
from treewright.experiments.corpora import select
from treewright.experiments.probes import PROBES
from treewright.experiments.report import report_page, write_report
from treewright.experiments.results import gather
from treewright.experiments.schedule import Durations, needed
from treewright.learners.measured import expected_seconds
from treewright.metrics import holm, replicate_interval
from treewright.tagging import Tagger


class Interrupting(OneProcess):
    """Ends like Ctrl-C after some jobs."""

    most = 1

    def run(self, jobs):
        for number, each in enumerate(super().run(jobs)):
            if number == self.most:
                raise KeyboardInterrupt
            yield each


def test_a_job_is_a_training_and_its_scores(tiny):
    experiment = read_experiment(tiny)
    cell = next(iter(experiment.cells()))
    job = experiment.jobs(cell, {}, {"toy": "a"})[1]
    outcome = run_job(job, experiment.corpora["toy"].read())
    train, dev, test = builtin_corpus(train=6, dev=3, test=5)
    tagger = Tagger(bits=8, learner={"name": "supervised", "passes": 1}, seed=1).fit(train, dev)
    assert outcome.result["scores"]["test"]["main"] == tagger.evaluate(test).accuracy
    right, words = outcome.counts["test"].sum(axis=0)
    assert right / words == tagger.evaluate(test).accuracy
    assert outcome.result["sentences"] == {"train": 6, "dev": 3, "test": 5}
    assert [row["score"] for row in outcome.result["passes"]] == [row.score for row in tagger.history_]


@pytest.mark.parametrize(
    ("task", "learner"), [("tagging", {"name": "supervised", "passes": 3}), ("constituency", "maximum-likelihood")]
)
def test_few_sentences_come_first(task, learner, monkeypatch):
    """So that compilation does not count, also for learners without passes."""
    fitted, make = [], estimator_class(task)
    fit = make.fit

    def recorded(self, train, *others, **options):
        fitted.append((len(train), self.learner))
        return fit(self, train, *others, **options)

    monkeypatch.setattr(make, "fit", recorded)
    monkeypatch.setattr(running, "_COMPILED", set())
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "0")
    document = {"task": task, "corpora": {"toy": {"train": 25, "test": 5}}, "seeds": 2}
    document["rows"] = {"one": {"learner": learner}}
    experiment = experiment_of(Document(document, None, "few.toml"), Path())
    parts = experiment.corpora["toy"].read()
    for job in needed(experiment, {"toy": "a"}, {}).jobs:
        run_job(job, parts)
    assert [sentences for sentences, _ in fitted] == [20, 25, 25]  # once for both seeds
    passes = [learner.get("passes") for _, learner in fitted]
    assert passes == ([2, 3, 3] if task == "tagging" else [None, None, None])


def test_interrupted_work_goes_on(tiny, tmp_path):
    experiment = read_experiment(tiny)
    with Store.open(tmp_path / "a.sqlite") as store:
        with pytest.raises(KeyboardInterrupt):
            run_experiment(experiment, store, Interrupting(experiment.corpora))
        assert len(store.outcomes()) == 1
    with Store.open(tmp_path / "a.sqlite") as store:
        seen = []
        summary = run_experiment(experiment, store, OneProcess(experiment.corpora), report=seen.append)
        assert (summary.ran, summary.known) == (3, 1)
        assert [progress.done for progress in seen] == [1, 2, 3]
        assert seen[0].left > 0
        assert seen[-1].left == 0
        assert run_experiment(experiment, store, OneProcess(experiment.corpora)).ran == 0
        whole = store.outcomes()
    with Store.open(tmp_path / "b.sqlite") as store:
        run_experiment(experiment, store, OneProcess(experiment.corpora, checkpoints=tmp_path / "checkpoints"))
        once = store.outcomes()
    assert whole.keys() == once.keys()
    for key in whole:
        assert np.array_equal(whole[key].counts["test"], once[key].counts["test"])
    assert not (tmp_path / "checkpoints").exists()  # only what is unfinished stays


def test_an_interrupted_job_goes_on_after_its_last_pass(tmp_path):
    path = tmp_path / "passes.toml"
    path.write_text(TINY.replace("passes = 1", "passes = 3"))
    experiment = read_experiment(path)
    parts = experiment.corpora["toy"].read()
    job = experiment.jobs(next(iter(experiment.cells())), {}, {"toy": "a"})[0]

    def stop(row):
        if row.iteration == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        job.estimator().fit(parts["train"], parts["dev"], report=stop, checkpoint=tmp_path / "checkpoint")
    resumed = run_job(job, parts, checkpoint=tmp_path / "checkpoint")
    whole = run_job(job, parts)
    assert resumed.result["train"]["resumed"]
    assert not whole.result["train"]["resumed"]
    assert np.array_equal(resumed.counts["test"], whole.counts["test"])
    assert [row["score"] for row in resumed.result["passes"]] == [row["score"] for row in whole.result["passes"]]
    assert not (tmp_path / "checkpoint").exists()


def test_a_failed_job_does_not_stop_the_others(tmp_path):
    path = tmp_path / "fails.toml"
    corpora = "[corpora.few]\ntrain = 0\ntest = 2\n\n[corpora.toy]"
    path.write_text(TINY.replace("seeds = 2", "seeds = 1").replace("[corpora.toy]", corpora))
    experiment = read_experiment(path)
    with Store.open(tmp_path / "a.sqlite") as store:
        summary = run_experiment(experiment, store, OneProcess(experiment.corpora))
        assert summary.ran == 4
        assert {job.corpus for job, _ in summary.failed} == {"few"}
        assert all("train" in error for _, error in summary.failed)
        results = gather(experiment, store)
    assert len(results.failed) == 2
    page = report_page(results, "command")
    assert "Jobs that failed" in page.to_markdown()


@pytest.mark.slow
def test_choices_are_made_on_dev(tmp_path):
    path = tmp_path / "choose.toml"
    text = TINY.replace("seeds = 2", "seeds = 2\nreport = ['test', 'train']")
    path.write_text(text + '[rows.tuned]\nlearner = "supervised"\nchoose = { bits = [1, 10], min_count = [1, 2] }\n')
    for by, tuning in (("grid", 4), ("in-turn", 3)):
        path.write_text(path.read_text().partition("[choosing]")[0] + f'[choosing]\nby = "{by}"\n')
        experiment = read_experiment(path)
        with Store.open(tmp_path / f"{by}.sqlite") as store:
            run_experiment(experiment, store, OneProcess(experiment.corpora))
            results = gather(experiment, store)
        tuned = next(result for cell, result in results.cells.items() if cell.row == "tuned")
        best = max(tuned.tried, key=lambda name: tuned.tried[name])
        assert len(tuned.tried) == tuning
        assert ", ".join(f"{key} = {value}" for key, value in tuned.chosen.items()) == best
        assert [job.params["bits"] for job, _ in tuned.jobs] == [tuned.chosen["bits"]] * 2
        assert results.missing == 0
        assert set(tuned.jobs[0][1].counts) == {"train", "dev", "test"}


def test_folds(tmp_path):
    parts = {"train": builtin_corpus(train=9, dev=0, test=0).train}
    folds = [select(parts, fold=(k, 3, 0)) for k in range(3)]
    tested = [sentence for fold in folds for sentence in fold["test"]]
    assert sorted(map(str, tested)) == sorted(map(str, parts["train"]))
    assert folds[0]["dev"] == folds[1]["test"]
    assert all(len(fold["train"]) == 3 for fold in folds)
    path = tmp_path / "folds.toml"
    path.write_text(TINY.replace("seeds = 2", "seeds = 1\nfolds = 3"))
    experiment = read_experiment(path)
    with Store.open(tmp_path / "a.sqlite") as store:
        assert run_experiment(experiment, store, OneProcess(experiment.corpora)).ran == 6
        results = gather(experiment, store)
    [first, _] = results.cells.values()
    [counts] = first.replicates("test")
    assert len(counts) == 6  # each sentence once
    page = report_page(results, "command")
    assert "Kolmogorov" in page.to_markdown()
    assert page.to_html().count("<svg") == page.to_html().count("viewBox=")  # they shrink on narrow screens


def test_the_report_has_what_was_measured(tiny, tmp_path):
    tiny.write_text(TINY.replace("seeds = 2", "seeds = 2\nsizes = [3, 6]") + "[paper]\nexploration = { 6 = 97.3 }\n")
    experiment = read_experiment(tiny)
    with Store.open(tmp_path / "a.sqlite") as store:
        run_experiment(experiment, store, OneProcess(experiment.corpora))
        results = gather(experiment, store)
    html, markdown = write_report(results, tmp_path / "out", "treewright experiment tiny.toml")
    text = markdown.read_text()
    cells = list(results.cells)
    for result in results.cells.values():
        interval = replicate_interval(result.replicates("test"))
        assert f"{100 * interval.value:.2f} [{100 * interval.low:.2f}, {100 * interval.high:.2f}]" in text
        for job, _ in result.jobs:
            assert f"treewright experiment tiny.toml --job {job.key}" in text
    raw = {c: results.compared(c, "test")[0].p for c in cells if c.row == "exploration"}
    assert {c: results.compared(c, "test")[1] for c in raw} == holm(raw)
    assert results.compared(cells[0], "test") is None  # the baseline itself
    assert "97.3" in text
    assert text.count("97.3") == 2  # beside its row, and in the table by size
    assert (tmp_path / "out-figures" / "1.svg").read_text().startswith("<svg")
    page = html.read_text()
    assert page.count("<svg") == page.count("viewBox=") == len(list((tmp_path / "out-figures").iterdir()))
    assert "http" not in page.replace("http://www.w3.org", "")
    assert page.count('<div class="table"><table>') == page.count("<table>") > 0  # wide ones scroll, not the page


def test_estimates(tiny):
    experiment = read_experiment(tiny)
    jobs = needed(experiment, {"toy": "a"}, {}).jobs
    assert Durations().left(jobs, 1) is None  # the number of sentences is unknown
    known = Durations([(jobs[0], 4.0)])
    assert known.estimate(jobs[1]) == 4.0
    assert known.left(jobs, 2) == 8.0
    by_size = Durations([(jobs[0], 4.0)], lambda job: 100 if job == jobs[0] else 300)
    task = jobs[0].task
    measured = [expected_seconds(task, job.learner) for job in jobs]
    times = measured[2] / measured[0]  # another learner, which the package has measured
    assert [by_size.estimate(job) for job in jobs] == pytest.approx([4.0, 4.0, 12.0 * times, 12.0 * times])
    first = Durations(count=lambda job: 1000)  # nothing has run: the package was measured elsewhere
    passes = jobs[0].params["learner"]["passes"]
    assert first.estimate(jobs[0]) == passes * expected_seconds(task, jobs[0].learner)
    assert first.estimate(replace(jobs[0], task="lemmatization")) is None


def test_things_that_are_measured_in_several_ways_have_a_table(tiny, tmp_path, monkeypatch):
    found = {"slow: F": 0.5, "slow: seconds": 2.0, "quick: F": 0.25, "quick: seconds": 1.0, "plain": 7.0}
    monkeypatch.setitem(PROBES, "several", lambda estimator, parts: found)
    text = TINY.replace("seeds = 2", 'seeds = 1\nprobes = ["several"]')
    tiny.write_text(text + '[paper.exploration]\n"quick: F" = 0.3\n')
    experiment = read_experiment(tiny)
    with Store.open(tmp_path / "a.sqlite") as store:
        run_experiment(experiment, store, OneProcess(experiment.corpora))
        text = report_page(gather(experiment, store), "command").to_markdown()
    assert "| supervised F | supervised seconds | exploration F | exploration seconds | paper F |" in text
    assert "| slow | 0.5 | 2 | 0.5 | 2 |  |\n| quick | 0.25 | 1 | 0.25 | 1 | 0.3 |" in text
    assert "| ms a sentence | plain |" in text
