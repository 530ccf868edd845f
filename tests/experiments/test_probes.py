"""What papers report of a trained model besides its score."""

from __future__ import annotations

import pytest

from treewright.corpora import builtin_corpus
from treewright.dependency import DependencyParser
from treewright.errors import ConfigError
from treewright.experiments.probes import PROBES
from treewright.tagging import Tagger

PARTS = builtin_corpus(train=6, dev=3, test=3)._asdict()


def test_off_path():
    settings = {"features": "basic", "bits": 10, "learner": {"name": "supervised", "passes": 1}}
    parser = DependencyParser(**settings).fit(PARTS["train"])
    found = PROBES["off-path"](parser, PARTS)
    share, on, off = found.values()
    assert 0 < share < 1
    assert 0 < on < 1
    assert 0 <= off < 1
    perfect = PROBES["off-path"](parser, {"train": PARTS["train"][:1]})
    losses = 1 - parser.evaluate(PARTS["train"][:1]).las
    assert (perfect["errors on the path"] > 0) == (losses > 0)


@pytest.mark.parametrize("name", [name for name in PROBES if name != "training-loss"])
def test_probes_say_what_they_are_for(name):
    tagger = Tagger(bits=8, learner={"name": "supervised", "passes": 1}).fit(PARTS["train"][:2])
    with pytest.raises(ConfigError, match=name):
        PROBES[name](tagger, PARTS)


def test_loss_in_training():
    tagger = Tagger(bits=8, learner={"name": "dagger", "passes": 3}).fit(PARTS["train"])
    found = PROBES["training-loss"](tagger, PARTS)
    assert found == {"loss in training": tagger.history_[-1].loss}
    assert found["loss in training"] < tagger.history_[0].loss


@pytest.mark.slow
def test_probes_of_meaning_graphs():
    from treewright.amr import AMRParser, score_smatch

    parser = AMRParser(bits=10, learner={"name": "supervised", "passes": 1}).fit(PARTS["train"])
    found = PROBES["naive-smatch"](parser, PARTS)
    exact = [f for _, _, f in score_smatch(PARTS["dev"], parser.predict(PARTS["dev"])).by_sentence()]
    assert found["mean Smatch"] == pytest.approx(sum(exact) / len(exact))
    assert 0 < found["mean naive"] <= 1
    assert -1 <= found["correlation"] <= 1
    assert -1 <= found["correlation from"] <= found["correlation to"] <= 1
    made = PROBES["expert"](parser, PARTS)
    scores = score_smatch(PARTS["train"], parser.by_expert(PARTS["train"]))
    assert (made["expert F1"], made["expert F1 from"], made["expert F1 to"]) == (scores.f1, *scores.interval)
    assert 0.5 < made["expert F1"] <= 1
    climbed = PROBES["hill-climbing"](parser, PARTS)
    assert (
        len(climbed) == 24
    )  # five variants with four starts and with one, the best mapping, naive Smatch; two numbers
    best = score_smatch(PARTS["train"], parser.by_expert(PARTS["train"]), exact=True)
    assert climbed["exact: F"] == pytest.approx(best.f1)
    smatch = [value for name, value in climbed.items() if name.endswith(": F") and not name.startswith("naive")]
    assert 0.5 < min(smatch) <= max(smatch) == climbed["exact: F"]


@pytest.mark.slow
def test_probe_of_agendas():
    from treewright.constituency import ConstituencyParser

    parser = ConstituencyParser("v1h0", learner="maximum-likelihood", search="agenda").fit(PARTS["train"])
    found = PROBES["agenda"](parser, PARTS)
    analyses = parser.analyse(PARTS["test"])
    assert found["pops"] == sum(each.pops for each in analyses) / 3 > 0
    assert found["pushes"] == sum(each.pushes for each in analyses) / 3 >= found["pops"]
