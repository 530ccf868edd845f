from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

from tests.dependency.helpers import SMALL, sentence
from treewright import load
from treewright.corpora import Sentence, builtin_corpus
from treewright.dependency import DependencyParser, check_trees, system_names
from treewright.dependency.systems import find_system
from treewright.errors import ConfigError, CorpusError
from treewright.learners import LEARNERS, DAgger, Exploration

pytestmark = pytest.mark.jit  # test_task.py has what runs interpreted too

QUICK = {"name": "exploration", "passes": 3}


def make_parser(**settings):
    settings = {"learner": QUICK, "features": SMALL, "bits": 12, **settings}
    return DependencyParser(**settings)


@pytest.fixture(scope="module")
def corpus():
    return builtin_corpus(train=200, dev=40, test=40)


@pytest.fixture(scope="module")
def parser(corpus):
    return make_parser().fit(corpus[0], dev=corpus[1])


def crossing():
    """A hearing is scheduled on the issue today: the first clause reaches over the second."""
    words = ["A", "hearing", "is", "scheduled", "on", "the", "issue", "today"]
    labels = ["det", "nsubj", "aux", "root", "case", "det", "nmod", "obl"]
    tags = ["DET", "NOUN", "AUX", "VERB", "ADP", "DET", "NOUN", "NOUN"]
    return sentence(words, [2, 4, 4, 0, 7, 7, 2, 4], labels, tags)


@pytest.mark.parametrize(
    ("system", "mode"),
    [*((system, "fast") for system in system_names()), ("arc-hybrid", "accurate"), ("swap", "accurate")],
)
def test_every_system_learns_the_built_in_corpus(corpus, system, mode):
    train, dev, test = corpus
    parser = make_parser(system=system, mode=mode).fit(train, dev=dev)
    parsed = parser.parse(test)
    check_trees(parsed)
    scores = parser.evaluate(test)
    assert scores.las > 0.6
    assert parser.card_["scores"]["dev LAS"] == pytest.approx(max(p.score for p in parser.history_))
    for before, after in zip(test, parsed, strict=True):
        assert [t[:5] + t[7:] for t in before] == [t[:5] + t[7:] for t in after]
        assert before.comments == after.comments


@pytest.mark.parametrize(
    ("learner", "mode"),
    [*((name, "fast") for name in LEARNERS if name != "imitation"), ("dagger", "accurate"), ("lols", "accurate")],
)
def test_every_learner_learns(corpus, learner, mode):
    focused = {} if LEARNERS[learner]().roll_out == "none" else {"focus": 3}
    parser = make_parser(learner={"name": learner, "passes": 2, **focused}, mode=mode).fit(corpus[0][:60])
    assert parser.evaluate(corpus[2]).las > 0.35


@pytest.mark.parametrize("learner", ["early-update", "max-violation"])
def test_beam_training_learns(corpus, learner):
    parser = make_parser(learner={"name": learner, "passes": 4}, beam=4).fit(corpus[0], dev=corpus[1])
    assert parser.evaluate(corpus[2]).las > 0.6


def test_beam_training_needs_a_beam(corpus):
    with pytest.raises(ConfigError, match="beam must be at least 2"):
        make_parser(learner="max-violation").fit(corpus[0][:5])


def test_a_greedy_parser_may_search_with_a_beam(parser, corpus):
    greedy = parser.evaluate(corpus[2]).las
    wider = DependencyParser.__new__(DependencyParser)
    wider.__dict__ |= {**parser.__dict__, "beam": 4}
    assert abs(wider.evaluate(corpus[2]).las - greedy) < 0.1


def test_the_same_seed_gives_the_same_model(corpus, parser, tmp_path):
    again = make_parser().fit(corpus[0], dev=corpus[1], jobs=2)
    assert np.array_equal(again.policy_.weights, parser.policy_.weights)
    other = make_parser(seed=1).fit(corpus[0], dev=corpus[1])
    assert not np.array_equal(other.policy_.weights, parser.policy_.weights)


def test_arcs_alone_are_those_of_sentences(parser, corpus):
    parsed = parser.parse(corpus[2])
    assert parser.arcs(corpus[2]) == [([t.head for t in s], [t.deprel for t in s]) for s in parsed]
    assert parser.arcs(corpus[2], jobs=2) == parser.arcs(iter(corpus[2]))


def test_a_model_file_has_the_settings_that_were_used(parser, tmp_path):
    loaded = load(parser.save(tmp_path / "parser.tw"))
    assert isinstance(loaded, DependencyParser)
    assert loaded.get_params()["system"] == "arc-hybrid"
    assert loaded.get_params()["learner"]["update"]["margin"] == 30.0


def test_crossing_arcs_are_learned_and_found_again():
    """Without a warning and without dropping a sentence: by lifting, and by swapping."""
    treebank = [crossing()] * 12 + [sentence(["Dogs", "bark"], [2, 0], ["nsubj", "root"], ["NOUN", "VERB"])] * 12
    for system in ("arc-hybrid", "arc-eager", "arc-standard", "swap"):
        parser = make_parser(system=system, learner={**QUICK, "passes": 8}).fit(treebank)
        assert parser.evaluate(treebank).las == 1.0, system


class Reached(Exception):
    """Training would begin."""


def test_a_learner_that_leaves_the_path_of_a_static_oracle_gets_a_warning(corpus, monkeypatch):
    """And no other does: swap has an estimate, and exploration that follows only moves without cost stays on it."""

    def reached(*arguments, **settings):
        raise Reached

    def begin(learner, **settings):
        with pytest.raises(Reached):
            make_parser(learner=learner, **settings).fit(corpus[0][:10])

    monkeypatch.setattr("treewright.learners.train", reached)
    with pytest.warns(UserWarning, match=r"'exploration' leaves: choose learner 'supervised', or oracle 'dynamic'"):
        begin("exploration", oracle="static")
    alone = replace(find_system("arc-hybrid"), name="alone", costs=None, least_loss=None)
    for learner in ("dagger", "aggravate"):
        with pytest.warns(UserWarning, match="or another system"):
            begin(learner, system=alone)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        begin("exploration", system="swap")
        begin({"name": "exploration", "p": 1.0}, oracle="static")
        begin("supervised", oracle="static")


def test_rare_liftings_keep_the_plain_label():
    parser = make_parser().fit([crossing()] * 2)
    assert not any("↑" in label for label in parser.labels_)
    check_trees(parser.parse([crossing()]))


def test_one_word_and_no_word(parser, corpus):
    [(heads, labels)] = parser.arcs([["Stop"]])
    assert (heads, labels) == ([0], ["root"])
    assert parser.arcs([[]]) == [([], [])]
    assert parser.arcs([]) == []
    alone = make_parser().fit([sentence(["Stop"], [0]), sentence(["Go"], [0])])
    assert alone.arcs([["Stop", "now", "please"]])[0][0].count(0) == 1


def test_labels_that_training_never_saw_count_as_errors(parser, corpus):
    strange = [
        s.with_tree([t.head for t in s], ["weird" if t.deprel == "det" else t.deprel for t in s]) for s in corpus[2]
    ]
    assert parser.evaluate(strange).las < parser.evaluate(corpus[2]).las
    assert parser.evaluate(strange).uas == parser.evaluate(corpus[2]).uas


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"system": "arc-magic"}, "system cannot be 'arc-magic'"),
        ({"mode": "slow"}, "mode cannot be 'slow'"),
        ({"oracle": "delphi"}, "oracle cannot be 'delphi'"),
        ({"beam": 0}, "beam must be"),
        ({"bits": 40}, "bits must be"),
        ({"label_weight": 2.0}, "label_weight must be"),
        ({"features": "poor"}, "features cannot be 'poor'"),
        ({"features": {"shapes": []}}, "'moves' and 'labels'"),
        ({"features": ["s0.nothing"]}, "in the template"),
        ({"learner": "guess"}, "learner cannot be 'guess'"),
    ],
)
def test_bad_settings_are_said(corpus, settings, message):
    with pytest.raises(ConfigError, match=message):
        make_parser(**settings).fit(corpus[0][:5])


@pytest.mark.parametrize(
    ("heads", "message"),
    [([2, 1], "root"), ([0, 0], "root"), ([1, 0], "own head|itself"), ([3, 0], "outside|range"), ([2, None], "head")],
)
def test_what_is_no_tree_is_said(heads, message):
    bad = Sentence.from_words(["a", "b"])
    tokens = tuple(t._replace(head=h, deprel="x") for t, h in zip(bad.tokens, heads, strict=True))
    bad = Sentence(tokens, path="bad.conllu", line=7)
    with pytest.raises(CorpusError, match=message) as error:
        make_parser().fit([bad])
    assert "bad.conllu" in str(error.value)


def test_learners_say_more_than_their_name():
    assert DependencyParser()._make_learner() == Exploration(
        k=0, passes=12, update={"name": "perceptron", "margin": 30.0}
    )
    assert DependencyParser(mode="fast").resolved_config()["learner"]["passes"] == 20
    assert DependencyParser(learner=DAgger())._make_learner() == DAgger()
    assert DependencyParser(learner={"name": "dagger", "update": "arow"})._make_learner() == DAgger()


def test_real_treebanks(real_data):
    """A slice of English, with all it has; the whole is in the benchmarks."""
    from treewright.corpora import load_corpus

    train = load_corpus(real_data("ud-english-ewt/train.conllu"))[:1500]
    dev = load_corpus(real_data("ud-english-ewt/dev.conllu"))[:300]
    parser = make_parser(bits=16, learner={**QUICK, "passes": 5}).fit(train, dev=dev)
    assert parser.evaluate(dev).las > 0.6


def test_the_settings_that_were_used_can_be_read():
    assert DependencyParser().resolved_config()["bits"] == 19
    assert DependencyParser(mode="fast").resolved_config()["bits"] == 20
    assert DependencyParser(bits=12).resolved_config()["bits"] == 12
    regressed = {"learner": "lols", "mode": "fast"}
    assert DependencyParser(**regressed).resolved_config()["bits"] == 22
    assert DependencyParser(**regressed, bits=18).resolved_config()["bits"] == 18
    assert DependencyParser(learner={"name": "lols", "update": "perceptron"}, mode="fast")._bits == 20
    assert DependencyParser(learner="lols")._bits == 19
    assert DependencyParser(learner="policy-gradient", mode="fast")._bits == 20
