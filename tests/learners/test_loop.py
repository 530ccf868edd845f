"""The loop that all training runs in, with something to learn that is easy to follow."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace

import numpy as np
import pytest

from treewright.errors import ConfigError
from treewright.learners.checkpoints import Judge
from treewright.learners.loop import Pass, best_score, run, run_weights
from treewright.search.compiling import compilations


class Sum:
    """Adds the number of the pass to a number; the best is kept."""

    def __init__(self):
        self.value, self.best, self.kept = 0, None, []

    def advance(self, iteration):
        self.value += iteration
        return {"beta": 0.5, "loss": 1.0 / iteration, "decisions": iteration, "examples": self.value}

    def current(self):
        return self.value

    def keep(self, score, best):
        self.kept.append((score, best))
        if best:
            self.best = self.value

    def arrays(self, folder):
        (folder / "seen").mkdir(parents=True, exist_ok=True)
        return {"value": np.array(self.value), "best": np.array(self.best)}

    def restore(self, arrays, folder):
        assert (folder / "seen").is_dir()
        self.value, self.best = int(arrays["value"]), int(arrays["best"])


def passes(learnable, iterations=3, **options):
    return run(learnable, iterations, Pass, **{"fingerprint": lambda: {"data": "x"}, **options})


def without_time(history):
    return [replace(row, seconds=0.0) for row in history]


def test_passes_are_counted_and_told():
    told = []
    history = passes(Sum(), report=told.append)
    assert history == told
    assert [(row.iteration, row.beta, row.decisions, row.examples) for row in history] == [
        (1, 0.5, 1, 1), (2, 0.5, 2, 3), (3, 0.5, 3, 6),
    ]  # fmt: skip
    assert all(row.seconds >= 0.0 and row.score is None and row.best for row in history)


def test_the_seconds_of_a_pass_are_without_compilation(monkeypatch):
    now = [0.0]
    for clock in ("perf_counter", "monotonic"):
        monkeypatch.setattr(time, clock, lambda: now[0])

    class Compiling(Sum):
        def advance(self, iteration):
            now[0] += 1.0
            if iteration == 1:
                with compilations.recorded(), compilations.recorded():  # what a function calls is compiled within it
                    now[0] += 60.0
            return super().advance(iteration)

    assert [row.seconds for row in passes(Compiling())] == [1.0, 1.0, 1.0]


def test_without_a_score_the_last_is_the_best():
    learnable = Sum()
    passes(learnable)
    assert learnable.best == 6
    assert learnable.kept == [(None, True)] * 3
    assert best_score([]) is None


def test_with_a_score_the_first_of_the_best_is_kept():
    learnable = Sum()
    history = passes(learnable, 5, evaluate=lambda value: min(value, 6) - 2 * (value == 10))
    assert [row.score for row in history] == [1.0, 3.0, 6.0, 4.0, 6.0]
    assert [row.best for row in history] == [True, True, True, False, False]
    assert learnable.best == 6
    assert best_score(history) == 6.0


@pytest.mark.parametrize(("patience", "made"), [(1, 3), (2, 4), (3, 9), (None, 9)])
def test_patience_ends_training_after_passes_that_are_no_better(patience, made):
    judged = iter([1.0, 2.0, 2.0, 1.0, 3.0, 3.0, 3.0, 4.0, 0.0])
    assert len(passes(Sum(), 9, evaluate=lambda value: next(judged), patience=patience)) == made


def test_patience_counts_the_passes_before_an_interruption(tmp_path):
    judge = Judge({1: 1.0, 3: 2.0, 6: 2.0, 10: 2.0, 15: 9.0}.get, "dev")
    whole = passes(Sum(), 5, evaluate=judge, patience=2)
    passes(Sum(), 3, evaluate=judge, patience=2, checkpoint=tmp_path)
    resumed = passes(Sum(), 5, evaluate=judge, patience=2, checkpoint=tmp_path, resume=True)
    assert len(whole) == 4
    assert without_time(resumed) == without_time(whole)


def test_no_passes():
    learnable = Sum()
    assert passes(learnable, 0) == []
    assert learnable.best is None


@pytest.mark.parametrize("stopped", [1, 2, 3])
def test_what_is_interrupted_goes_on(tmp_path, stopped):
    def stop(row):
        if row.iteration == stopped:
            raise KeyboardInterrupt

    evaluate = Judge(lambda value: math.sin(value), "dev")
    whole, first, second = Sum(), Sum(), Sum()
    wanted = passes(whole, 4, evaluate=evaluate)
    with pytest.raises(KeyboardInterrupt):
        passes(first, 4, evaluate=evaluate, checkpoint=tmp_path / "c", report=stop)
    told = []
    found = passes(second, 4, evaluate=evaluate, checkpoint=tmp_path / "c", resume=True, report=told.append)
    assert without_time(found) == without_time(wanted)
    assert (second.value, second.best) == (whole.value, whole.best)
    assert [row.iteration for row in told] == list(range(stopped + 1, 5))


def test_other_data_and_other_judges_are_refused(tmp_path):
    passes(Sum(), 1, checkpoint=tmp_path, evaluate=Judge(float, "dev"))
    for other in ({"fingerprint": lambda: {"data": "y"}, "evaluate": Judge(float, "dev")}, {"evaluate": None}):
        with pytest.raises(ConfigError, match="belongs to a training with other data or settings"):
            passes(Sum(), 2, checkpoint=tmp_path, resume=True, **other)
    assert len(passes(Sum(), 2, checkpoint=tmp_path, resume=True, evaluate=Judge(float, "dev"))) == 2


def test_without_resuming_a_checkpoint_begins_again(tmp_path):
    passes(Sum(), 3, checkpoint=tmp_path)
    assert [row.iteration for row in passes(Sum(), 1, checkpoint=tmp_path)] == [1]
    assert len(passes(Sum(), 3, checkpoint=tmp_path, resume=True)) == 3


def test_what_a_killed_training_left_is_not_taken_for_ours(tmp_path):
    (tmp_path / "examples-2.npz").write_bytes(b"of another training, whose state was removed already")
    passes(Sum(), 1, checkpoint=tmp_path, resume=True)
    assert not (tmp_path / "examples-2.npz").exists()


def test_a_checkpoint_exists_from_the_beginning(tmp_path):
    seen = []
    passes(Sum(), 1, checkpoint=tmp_path / "c", evaluate=lambda value: seen.append((tmp_path / "c").is_dir()) or 0.0)
    assert seen == [True]


def test_the_fingerprint_is_computed_only_where_it_is_needed(tmp_path):
    asked = []
    passes(Sum(), 1, fingerprint=lambda: asked.append(1) or {})
    assert not asked
    passes(Sum(), 1, fingerprint=lambda: asked.append(1) or {}, checkpoint=tmp_path)
    assert asked == [1]


@dataclass
class Weights:
    θ: np.ndarray

    def weights(self):
        return self.θ

    def arrays(self):
        return {"θ": self.θ}

    def restore(self, arrays):
        self.θ = arrays["θ"]


def test_weights_that_go_on_learning_are_copied(tmp_path):
    def train(passes, **options):
        learned = Weights(np.zeros(2))

        def one_pass(k):
            learned.θ += k
            return {"beta": 0.0, "loss": 0.0, "decisions": 0, "examples": 0}

        best_at_3 = Judge(lambda θ: -abs(float(θ[0]) - 3.0), "dev")
        return run_weights(learned, one_pass, passes, Pass, fingerprint=dict, evaluate=best_at_3, **options)

    whole = train(4)
    assert whole.weights.tolist() == [3.0, 3.0]
    train(1, checkpoint=tmp_path)
    resumed = train(4, checkpoint=tmp_path, resume=True)
    assert resumed.weights.tolist() == [3.0, 3.0]
    assert without_time(resumed.history) == without_time(whole.history)
