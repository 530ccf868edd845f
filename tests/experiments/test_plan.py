"""What is checked before anything runs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.experiments.conftest import TINY
from treewright.errors import ConfigError, CorpusError, TreewrightError
from treewright.experiments import read_experiment


def test_the_grid(tmp_path):
    path = tmp_path / "grid.toml"
    path.write_text(TINY.replace("seeds = 2", "seeds = [3, 5]\nsizes = [2, 'all']") + "[grid]\nmin_count = [1, 2]\n")
    experiment = read_experiment(path)
    cells = list(experiment.cells())
    assert len(cells) == 8  # 2 sizes × 2 learners × 2 values
    assert {cell.size for cell in cells} == {2, None}
    jobs = [job for cell in cells for job in experiment.jobs(cell, {}, {"toy": "digest"})]
    assert len({job.key for job in jobs}) == len(jobs) == 16
    assert {job.seed for job in jobs} == {3, 5}
    assert {job.params["min_count"] for job in jobs} == {1, 2}
    assert {job.params["learner"]["passes"] for job in jobs} == {1}
    assert all(job.parts == ("test",) for job in jobs)


def test_keys_depend_on_everything_but_names(tiny):
    experiment = read_experiment(tiny)
    cell = next(iter(experiment.cells()))
    [first, second] = experiment.jobs(cell, {}, {"toy": "a"})
    [again, _] = read_experiment(tiny).jobs(cell, {}, {"toy": "a"})
    [other, _] = experiment.jobs(cell, {}, {"toy": "b"})
    assert first.key == again.key
    assert len({first.key, second.key, other.key}) == 3
    assert replace(first, held_out=5).key != first.key
    assert type(first).from_dict(first.as_dict()) == first
    old = {name: value for name, value in first.as_dict().items() if name != "held_out"}  # of a store from before it
    assert type(first).from_dict(old) == first


def test_small(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(
        TINY + "[small]\nseeds = 1\n[small.corpora.other]\ntrain = 2\ntest = 2\n[small.learner]\npasses = 3\n"
    )
    experiment = read_experiment(path, small=True)
    assert list(experiment.corpora) == ["other"]
    assert experiment.seeds == (0,)
    assert experiment.settings == {"bits": 8}
    assert experiment.learner == {"passes": 3}
    assert list(read_experiment(path).corpora) == ["toy"]


def test_small_needs_its_table(tiny):
    with pytest.raises(ConfigError, match=r"no table \[small\]"):
        read_experiment(tiny, small=True)


@pytest.mark.parametrize(
    ("change", "line", "facts"),
    [
        (("seeds = 2", "sedes = 2"), 3, ["sedes", "seeds"]),
        (("seeds = 2", "seeds = [1, 1]"), 3, ["seeds", "1, 1"]),
        (("seeds = 2", "seeds = -1"), 3, ["seeds", "-1"]),
        (("seeds = 2", "folds = 1"), 3, ["folds"]),
        (("seeds = 2", 'sizes = ["most"]'), 3, ["sizes", "most"]),
        (('"tagging"', '"juggling"'), 2, ["juggling", "dependency"]),
        (('baseline = "supervised"', 'baseline = "none"'), 4, ["none", "exploration"]),
        (('"exploration"]', '"explore"]'), 5, ["explore", "dagger"]),
        (('"exploration"]', '"max-margin"]'), 5, ["max-margin"]),
        (("bits = 8", "bits = 99"), 13, ["bits", "99"]),
        (("bits = 8", "bytes = 8"), 13, ["bytes", "bits"]),
        (("passes = 1", "passes = 0"), 16, ["passes", "0"]),
        (("train = 6", 'train = "no.conllu"'), 7, ["numbers"]),
        (("test = 5\n", ""), 7, ["toy", "test", "reported"]),
        (("dev = 3", "dve = 3"), 9, ["dve", "dev"]),
        (("dev = 3", "dev = 3\nskip = -1"), 10, ["skip", "-1"]),
    ],
)
def test_errors_have_lines(tmp_path, change, line, facts):
    path = tmp_path / "wrong.toml"
    path.write_text(TINY.replace(*change))
    with pytest.raises(ConfigError) as error:
        read_experiment(path)
    assert f"wrong.toml:{line}:" in str(error.value)
    for fact in facts:
        assert fact in str(error.value)


@pytest.mark.parametrize(
    ("added", "line", "facts"),
    [
        ('[rows.beam]\nlearner = "early-update"\n', 18, ["beam"]),
        ('[rows.x]\nlearner = { name = "lols", beta = "decay:7" }\n', 18, ["beta", "decay:7"]),
        ("[grid]\nbits = [8, 99]\n", 18, ["bits", "99"]),
        ("[grid]\nbits = 8\n", 18, ["bits", "list"]),
        ('[rows.x]\nlearner = "dagger"\nsettings = { bits = 4 }\n[grid]\nbits = [4, 5]\n', 17, ["x", "bits", "grid"]),
        ('[rows.x]\nlearner = "dagger"\nchoose = { "learner.passes" = [1, 0] }\n', 19, ["passes", "0"]),
        ('[choosing]\nby = "magic"\n', 18, ["magic", "grid"]),
        ('[choosing]\ncorpora = ["none"]\n', 18, ["none", "toy"]),
        ("[rows.x]\nlerner = 3\n", 18, ["lerner", "learner"]),
    ],
)
def test_impossible_combinations(tmp_path, added, line, facts):
    path = tmp_path / "wrong.toml"
    path.write_text(TINY + added)
    with pytest.raises(ConfigError) as error:
        read_experiment(path)
    assert f"wrong.toml:{line}:" in str(error.value)
    for fact in facts:
        assert fact in str(error.value)


def test_missing_corpora(tmp_path, monkeypatch):
    path = tmp_path / "missing.toml"
    files = 'train = "no/train.conllu"\ndev = "no/dev.conllu"\ntest = "no/test.conllu"\nnote = "It needs a licence."'
    path.write_text(TINY.replace("train = 6\ndev = 3\ntest = 5", files))
    with pytest.raises(CorpusError) as error:
        read_experiment(path)
    for fact in ("missing.toml:8", "no/train.conllu", "toy", "licence"):
        assert fact in str(error.value)
    monkeypatch.delenv("NO_SUCH_FOLDER", raising=False)
    path.write_text(TINY.replace("train = 6", 'train = "${NO_SUCH_FOLDER}/train.conllu"'))
    with pytest.raises(TreewrightError, match=r"missing\.toml:8: .*NO_SUCH_FOLDER"):
        read_experiment(path)
    path.write_text(path.read_text().replace("dev = 3", 'note = "It needs a licence."\ndev = "d"'))
    with pytest.raises(TreewrightError, match=r"NO_SUCH_FOLDER is not set.*; It needs a licence\."):
        read_experiment(path)
