"""``--cluster local:4``: four processes of this machine do what one does, to the bit."""

from __future__ import annotations

import logging

import pytest

from tests.experiments.conftest import TINY
from treewright.cli.parse_shards import parse_shard
from treewright.cluster import DaskExecutor, DaskShards, connect
from treewright.cluster.parsing import run_shards, shards_of
from treewright.corpora import builtin_corpus, write_conllu
from treewright.dependency import DependencyParser
from treewright.estimators.mixing import LocalShards, cut_file, fit_mixed
from treewright.experiments import OneProcess, Store, read_experiment, run_experiment
from treewright.tagging import Tagger

pytestmark = pytest.mark.slow

HOW = '{"format": "conllu", "named": "conllu", "input_format": "auto", "k_best": null, "jobs": 1}'
LEARNER = {"name": "exploration", "passes": 2}


@pytest.fixture(scope="module")
def four():
    log = logging.getLogger("distributed.nanny")
    before = log.level
    with connect("local:4") as client:
        assert sorted(client.nthreads().values()) == [1, 1, 1, 1]
        yield client
    assert log.level == before


def test_an_experiment(four, tmp_path):
    (tmp_path / "tiny.toml").write_text(TINY)
    experiment = read_experiment(tmp_path / "tiny.toml")
    found = []
    for name, executor in (("one", OneProcess(experiment.corpora)), ("four", DaskExecutor(four, experiment.corpora))):
        with Store.open(tmp_path / f"{name}.sqlite") as store:
            assert run_experiment(experiment, store, executor).failed == []
            found.append({key: each.counts["test"].tolist() for key, each in store.outcomes().items()})
    assert len(found[0]) == 4
    assert found[0] == found[1]


def test_shards_of_texts(four, tmp_path):
    train, _, test = builtin_corpus(train=8, dev=0, test=10)
    Tagger(bits=8, learner=LEARNER).fit(train).save(tmp_path / "model.tw")
    for k in range(5):
        (tmp_path / f"{k}.txt").write_text("".join(f"{sentence}\n" for sentence in test[2 * k : 2 * k + 2]))
    value = ((("model", "model.tw", (tmp_path / "model.tw").read_bytes()),), HOW)
    made = []
    for name, client in (("one", None), ("four", four)):
        shards = shards_of([tmp_path / f"{k}.txt" for k in range(5)], tmp_path / name, "a")
        assert len(list(run_shards(shards, parse_shard, value, client))) == 5
        made.append(b"".join(shard.result.read_bytes() for shard in shards))
    assert made[0] == made[1] != b""


@pytest.mark.parametrize(
    ("kind", "settings"), [(Tagger, {"bits": 8}), (DependencyParser, {"bits": 10, "features": "basic"})]
)
def test_mixing_of_four_shards(four, tmp_path, kind, settings):
    train, dev, _ = builtin_corpus(train=8, dev=3, test=0)
    write_conllu(train, tmp_path / "train.conllu")
    cut = cut_file(tmp_path / "train.conllu", 4)
    one, other = (
        fit_mixed(kind(learner=LEARNER, **settings), runner, dev)
        for runner in (LocalShards(cut), DaskShards(four, cut))
    )
    assert one.policy_.weights.tobytes() == other.policy_.weights.tobytes()
    assert [row.score for row in one.history_] == [row.score for row in other.history_]
