"""Learned priorities: learning pays, the parser uses what was learned, and what cannot be used is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.constituency.naive import table_of
from treewright.constituency import ConstituencyParser, LatentGrammar, Markovisation
from treewright.constituency.agenda.environment import AgendaEnvironment
from treewright.constituency.agenda.features import FEATURES, INSIDE, LENGTH
from treewright.constituency.agenda.parser import AgendaParser
from treewright.constituency.agenda.policy import LEARNERS, AgendaPolicy
from treewright.constituency.agenda.priorities import Priorities, label_classes
from treewright.constituency.grammar.pcfg import Grammar
from treewright.corpora import builtin_corpus, clean_tree, load_corpus
from treewright.errors import ConfigError, CorpusError, ModelError

ML = "maximum-likelihood"


@pytest.fixture(scope="module")
def corpus():
    return builtin_corpus(train=60, dev=40, test=20)


@pytest.fixture(scope="module")
def exact(corpus):
    return ConstituencyParser(learner=ML).fit(corpus.train)


@pytest.fixture(scope="module")
def a_star(corpus):
    return ConstituencyParser(learner=ML, search="agenda").fit(corpus.train)


def environment_of(parser, sentences, **settings):
    trees = [clean_tree(sentence.tree) for sentence in sentences]
    words = [list(sentence.forms) for sentence in sentences]
    rows = [parser._rows(each, ()) for each in words]
    return AgendaEnvironment(parser._agenda, words, rows, trees, **settings)


# ---- learning


@pytest.mark.jit
def test_every_learner_is_at_least_as_good_as_a_star(a_star, corpus):
    """On the half that chooses, for A*₀ is one of the choices; and there is something to win."""
    environment = environment_of(a_star, corpus.dev[:12], tradeoff=1e-2)
    before = environment.some(range(1, 12, 2)).run(environment.initial(), np.arange(6)).reward.mean()
    for name in LEARNERS:
        learned = AgendaPolicy.learn(environment, learner={"name": name, "passes": 2}, max_gap=math.inf, seed=1)
        assert learned.reward >= before, name
        assert 0.0 <= learned.strength <= 1.0
        assert len(learned.history) == 2
        assert max(row.score for row in learned.history) <= learned.reward
    again = AgendaPolicy.learn(environment, learner={"name": name, "passes": 2}, max_gap=math.inf, seed=1)
    assert (again.policy.weights == learned.policy.weights).all()


@pytest.mark.jit
def test_learned_priorities_pop_less(a_star, corpus):
    environment = environment_of(a_star, corpus.dev, tradeoff=1e-3)
    learned = AgendaPolicy.learn(environment, seed=1)
    test = environment_of(a_star, corpus.test)
    policies = (AgendaPolicy.a_star(a_star._agenda), learned.policy)
    before, after = (policy.parse(a_star._agenda, test.packed) for policy in policies)
    right = [test.judge(parses, np.arange(len(test))).accuracy.sum() / test.gold.sum() for parses in (before, after)]
    assert after.pops.sum() < before.pops.sum() / 2
    assert right[1] > right[0] - 0.1


@pytest.mark.jit
def test_time_can_be_pushes_or_seconds(a_star, corpus):
    for time, seconds in (("pushes", None), ("seconds", (1e-6, 1e-7))):
        environment = environment_of(a_star, corpus.dev[:10], tradeoff=1e-3, time=time, seconds=seconds)
        learned = AgendaPolicy.learn(environment, learner={"name": "on-policy", "passes": 1}, max_gap=8.0)
        assert learned.policy.max_gap == 8.0


def test_what_cannot_be_learned(a_star, corpus):
    environment = environment_of(a_star, corpus.dev[:4])
    with pytest.raises(ConfigError, match="learner cannot be 'magic'; it is one of: on-policy"):
        AgendaPolicy.learn(environment, learner="magic")
    with pytest.raises(CorpusError, match="no sentences"):
        AgendaPolicy.learn(environment.some([]))
    with pytest.raises(CorpusError, match="no gold trees"):
        AgendaPolicy.learn(environment.but(trees=None))
    for weights in (np.full(FEATURES, math.nan), np.zeros(3)):
        with pytest.raises(ConfigError, match="all of them numbers"):
            AgendaPolicy(a_star._agenda.priorities, weights)
    with pytest.raises(ConfigError, match="0 or more"):
        AgendaPolicy(a_star._agenda.priorities, a_star.priority_.weights, -1.0)
    arrays = {**a_star.priority_.to_arrays(), "weights": np.full(FEATURES, math.inf)}
    with pytest.raises(ModelError, match="damaged"):
        AgendaPolicy.from_arrays(arrays)


def test_weights_of_features_that_have_left_the_library_are_ignored_if_nothing_was_learned_for_them(a_star):
    arrays = a_star.priority_.to_arrays()
    older = {**arrays, "weights": np.append(arrays["weights"], [0.0, 0.0, 0.0])}
    assert AgendaPolicy.from_arrays(older).weights.tolist() == arrays["weights"].tolist()
    with pytest.raises(ModelError, match="damaged"):
        AgendaPolicy.from_arrays({**arrays, "weights": np.append(arrays["weights"], [0.0, 0.5, 0.0])})


# ---- the parser


def test_with_inside_scores_the_agenda_finds_what_cky_finds(exact, a_star, corpus):
    sentences = corpus.test[:8]
    for ours, theirs in zip(a_star.parse_k_best(sentences, 1), exact.parse_k_best(sentences, 1), strict=True):
        assert ours[0].score == pytest.approx(theirs[0].score)
    found, wanted = a_star.parse(sentences), exact.parse(sentences)
    assert [s.tree for s in found] == [s.tree for s in wanted]
    assert all(0 < each.pops <= each.pushes for each in a_star.analyse(sentences))
    assert all(each.pops == each.pushes == 0 for each in exact.analyse(sentences))


@pytest.mark.jit
def test_fit_learns_priorities_on_dev_or_on_what_is_held_out(corpus, tmp_path):
    for dev in (corpus.dev, None):
        parser = ConstituencyParser(learner=ML, search="agenda", tradeoff=1e-3).fit(corpus.train, dev=dev)
        assert np.count_nonzero(parser.priority_.weights) > 5
        scores = parser.evaluate(corpus.test, jobs=2)
        loaded = ConstituencyParser.load(parser.save(tmp_path / "model.tw"))
        assert loaded.evaluate(corpus.test) == scores
        assert loaded.analyse(corpus.test[:5]) == parser.analyse(corpus.test[:5])
        assert (loaded.search, loaded.tradeoff) == ("agenda", 1e-3)
    assert ("dev F1" in parser.card_["scores"]) == (dev is not None)


@pytest.mark.jit
def test_rewards_of_rules_may_be_positive(corpus):
    """Inside scores of learned weights may rise from parts to wholes; A*₀ takes that into account."""
    parser = ConstituencyParser(learner={"name": "max-margin", "passes": 2}).fit(corpus.train)
    wanted = parser.evaluate(corpus.test).f1
    agenda = parser.tune_speed(corpus.dev, None)._agenda
    assert (agenda.a_star()[LENGTH] < 0.0) == (agenda.grammar.weights.max() > 0.0)
    assert parser.evaluate(corpus.test).f1 >= wanted - 0.05


def test_tuning_the_speed_of_a_parser(corpus):
    parser = ConstituencyParser(learner=ML, decoder="max-rule").fit(corpus.train[:20])
    with pytest.raises(ConfigError, match="goes with decoder 'viterbi'"):
        parser.tune_speed(corpus.dev, 1e-3)
    assert parser.search == "cky"
    parser = ConstituencyParser(learner=ML).fit(corpus.train[:20])
    parser.tune_speed(corpus.dev[:4], 1e-3, learner={"name": "on-policy", "passes": 1})
    assert (parser.search, parser.tradeoff) == ("agenda", 1e-3)
    assert all(each.pops > 0 for each in parser.analyse(corpus.test[:2]))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"search": "depth-first"}, "one of: cky, agenda"),
        ({"search": "agenda", "tradeoff": -1e-5}, "tradeoff must .* at least 0 and at most 1, not -1e-05"),
        ({"search": "agenda", "tradeoff": math.nan}, "at least 0"),
        ({"search": "agenda", "tradeoff": math.inf}, "at least 0"),
        ({"search": "agenda", "decoder": "max-rule"}, "goes with decoder 'viterbi'"),
        ({"search": "agenda", "max_gap": 5.0}, "leave out prune and max_gap"),
        ({"tradeoff": 1e-5}, "set search to 'agenda'"),
    ],
)
def test_settings_that_do_not_go_together(settings, message, corpus):
    with pytest.raises(ConfigError, match=message):
        ConstituencyParser(**settings).fit(corpus.train)


def test_too_few_sentences_to_hold_some_out(corpus):
    with pytest.raises(CorpusError, match="give dev, or 20 sentences"):
        ConstituencyParser(learner=ML, search="agenda", tradeoff=1e-5).fit(corpus.train[:15])


# ---- no parse


def bare(grammar, tags):
    """A parser of one word, with tags, and features that know nothing."""
    classes = label_classes(grammar)[1]
    empty = np.zeros((len(classes) + 1, len(classes)))
    priorities = Priorities(classes, classes, empty, empty, [])
    return AgendaParser(grammar, table_of([tags]), priorities)


def test_a_grammar_that_derives_nothing():
    """The agenda is empty before there is a parse: words keep their tags, and nothing hangs."""
    grammar = Grammar.from_rules([("S", "x", "y", -1.0, 1.0)], [("TOP", "S", (), -1.0, 1.0)])
    parser = bare(grammar, [(grammar.number["x"], -1.0)])
    packed = parser.pack([["a", "a", "a"]], [np.zeros(3, np.int32)])
    for weights in (parser.a_star(), np.full(FEATURES, 1e300)):
        parses = parser.parse(packed, weights)
        assert not parses.whole[0]
        assert [tree.label for tree in grammar.trees(parses.derivations[0], ["a"] * 3)] == ["x"] * 3
        assert parses.pops[0] == 3
    environment = AgendaEnvironment(parser, [["a"] * 3], [np.zeros(3, np.int32)], None)
    assert len(environment.pops(environment.initial(), 0)) == 3


def test_a_sentence_with_no_parse_under_pruning():
    """The better constituent of a span leads nowhere: with Δ = 0 the other one is pruned, and pieces are returned."""
    rules = [("A", "x", "x", -1.0, 1.0), ("B", "x", "x", -2.0, 1.0), ("S", "B", "x", -1.0, 1.0)]
    grammar = Grammar.from_rules(rules, [("TOP", "S", (), -1.0, 1.0)])
    parser = bare(grammar, [(grammar.number["x"], -1.0)])
    packed = parser.pack([["a", "a", "a"]], [np.zeros(3, np.int32)])
    assert parser.parse(packed, parser.a_star()).whole[0]
    pruned = parser.parse(packed, parser.a_star(), max_gap=0.0)
    assert not pruned.whole[0]
    assert len(grammar.trees(pruned.derivations[0], ["a"] * 3)) == 2
    for Δ in (0.0, 0.5):
        assert parser.parse(packed, parser.a_star(), max_gap=Δ, growth=2.0).whole[0]  # IDA*₀ tries again


def test_pops_have_a_bound_whatever_the_weights(a_star, corpus):
    words = list(corpus.test[0].forms)
    packed = a_star._agenda.pack([words], [a_star._rows(words, ())])
    weights = np.zeros(FEATURES)
    weights[INSIDE] = -1.0  # the worst first
    assert a_star._agenda.parse(packed, weights).pops[0] <= a_star._agenda.bound(len(words))
    assert a_star._agenda.parse(packed, weights, most_pops=7).pops[0] == 7


# ---- more


def test_pops_are_traced(a_star, exact, corpus):
    sentence = corpus.test[0]
    trace = a_star.trace(sentence, sentence)
    [parsed] = a_star.analyse([sentence])
    assert trace.kind == "pops"
    assert trace.result == {"tree": str(parsed.sentence.tree)}
    steps = trace.decisions
    assert len(steps) == len(trace.steps) - 1 == parsed.pops
    assert steps[-1].action == f"TOP[0:{len(sentence)}]"
    assert steps[-1].state["used"]
    priorities = [step.choice.score for step in steps]
    assert priorities == sorted(priorities, reverse=True)
    for step in steps:
        item, features = step.state["item"], {each.name: each for each in step.choice.features}
        assert sum(each.share for each in step.choice.features) == pytest.approx(step.choice.score, abs=1e-6)
        assert step.measures["inside"] == pytest.approx(features["inside"].value if "inside" in features else 0.0)
        assert step.action == f"{item['symbol']}[{item['start']}:{item['end']}]"
        assert step.correct is not None or item["symbol"].startswith("@") or item["symbol"] == "TOP"
    assert sum(step.state["used"] for step in steps) < len(steps)
    assert a_star.trace(sentence, kind="derivation").result == trace.result
    with pytest.raises(ConfigError, match="search='agenda'"):
        exact.trace(sentence, kind="pops")
    with pytest.raises(CorpusError, match="without words"):
        a_star.trace([])


@pytest.mark.jit
def test_the_agenda_of_a_latent_grammar(corpus):
    trees = [Markovisation(1, 0).binarise(clean_tree(sentence.tree)) for sentence in corpus.train]
    latent = LatentGrammar.from_treebank(trees).split(np.random.default_rng(0))
    parser = AgendaParser.of_latent(latent, trees)
    words = [list(sentence.forms) for sentence in corpus.test[:3]]
    parses = parser.parse(parser.pack(words, [latent.rows(each) for each in words]), parser.a_star())
    assert parses.whole.all()
    found = [parser.grammar.tree(nodes, each) for nodes, each in zip(parses.derivations, words, strict=True)]
    assert [list(tree.leaves()) for tree in found] == words


@pytest.mark.jit
def test_on_the_wall_street_journal(real_data):
    train, dev, test = (real_data(f"ptb-wsj-sample/{part}.ptb") for part in ("train", "dev", "test"))
    parser = ConstituencyParser(learner=ML, search="agenda", max_length=12).fit(train)
    short = [sentence for sentence in load_corpus(test) if len(sentence) <= 12]
    before, pops = parser.evaluate(short).f1, sum(each.pops for each in parser.analyse(short))
    parser.tune_speed(dev, 1e-5)
    after = parser.evaluate(short).f1
    assert sum(each.pops for each in parser.analyse(short)) < 0.6 * pops
    assert after > before - 0.04
