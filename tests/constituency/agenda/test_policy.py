"""Learned priorities: learning pays, the parser uses what was learned, and what cannot be used is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.constituency.naive import table_of
from treewright.constituency import ConstituencyParser, LatentGrammar, Markovisation
from treewright.constituency.agenda.environment import AgendaEnvironment
from treewright.constituency.agenda.features import CHAIN, FEATURES, INSIDE, LENGTH
from treewright.constituency.agenda.parser import AgendaParser
from treewright.constituency.agenda.policy import AgendaPolicy, make_priority_learner
from treewright.constituency.agenda.priorities import Priorities, label_classes
from treewright.constituency.grammar.pcfg import Grammar
from treewright.corpora import builtin_corpus, clean_tree, corpus_hash, load_corpus
from treewright.errors import ConfigError, CorpusError, ModelError
from treewright.learners.rl_training import train_rl

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
@pytest.mark.parametrize(
    ("name", "gain"),
    [("on-policy", 5.0), ("apprenticeship", 3.0), ("I-", 1.5), ("I+", 1.5), ("D-", 1.0), ("D+", 1.0)],
)
def test_every_learner_earns_more_than_a_star_on_sentences_that_it_has_not_seen(a_star, corpus, name, gain):
    """The weights of the last pass, without any choice among passes, strengths and thresholds."""
    λ, (made, imitates) = 1e-2, make_priority_learner({"name": name, "passes": 5})
    learn, test = (environment_of(a_star, part, tradeoff=λ) for part in (corpus.dev[:20], corpus.test))
    trained, everything = train_rl(made, learn.but(imitates=imitates), seed=1), np.arange(len(test))
    before, after = (test.run(θ, everything) for θ in (test.initial(), trained.weights))
    assert after.reward.mean() > before.reward.mean() + gain
    assert after.time.mean() < before.time.mean() - 100 * gain / 2
    assert after.accuracy.mean() > before.accuracy.mean() - 2.0


@pytest.mark.jit
def test_policy_gradient_without_an_oracle_hardly_learns(a_star, corpus):
    """§3.3: it moves, and in the right direction, but far less than with the oracle's help."""
    learn, test = (environment_of(a_star, part, tradeoff=1e-2) for part in (corpus.dev[:20], corpus.test))
    alone, helped = (
        train_rl(make_priority_learner({"name": name, "passes": 5})[0], learn, seed=1).weights
        for name in ("policy-gradient", "I+")
    )
    rewards = [test.run(θ, np.arange(len(test))).reward.mean() for θ in (test.initial(), alone, helped)]
    assert rewards[0] < rewards[1] < rewards[2]


@pytest.mark.jit
def test_pass_and_strength_are_chosen_by_the_reward_on_the_other_half(a_star, corpus):
    environment = environment_of(a_star, corpus.dev[:12], tradeoff=1e-2)
    learned, again = (AgendaPolicy.learn(environment, max_gap=math.inf, seed=1) for _ in range(2))
    other = environment.some(range(1, 12, 2))
    parses = learned.policy.parse(a_star._agenda, other.packed)
    assert learned.reward == pytest.approx(other.judge(parses, np.arange(6)).reward.mean())
    assert learned.reward > other.run(other.initial(), np.arange(6)).reward.mean() + 3.0
    best = max(learned.history, key=lambda row: row.score)
    assert learned.as_dict()["pass"] == best.iteration
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
    for weights in (np.append(arrays["weights"], [0.0, 0.0, 0.0]), arrays["weights"][:30]):
        assert AgendaPolicy.from_arrays({**arrays, "weights": weights}).weights.tolist() == arrays["weights"].tolist()
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
    parser = ConstituencyParser(learner={"name": "max-margin", "passes": 2}, rewards="rules").fit(corpus.train)
    assert parser.grammar_.weights[len(parser.grammar_.binary) :].max() > 0.0  # also those of unary rules
    wanted = [best.score for [best] in parser.parse_k_best(corpus.test, 1)]
    agenda, words = parser.tune_speed(corpus.dev, None)._agenda, [list(s.forms) for s in corpus.test]
    found = agenda.parse(agenda.pack(words, [parser._rows(each, ()) for each in words]), agenda.a_star())
    assert agenda.a_star()[LENGTH] < 0.0 < agenda.a_star()[CHAIN]
    assert found.scores == pytest.approx(wanted, abs=1e-4)


@pytest.mark.slow
def test_tuning_the_speed_of_a_parser(corpus):
    parser = ConstituencyParser(learner=ML, decoder="max-rule").fit(corpus.train[:20])
    with pytest.raises(ConfigError, match="goes with decoder 'viterbi'"):
        parser.tune_speed(corpus.dev, 1e-3)
    assert parser.search == "cky"
    parser = ConstituencyParser(learner=ML).fit(corpus.train[:20])
    parser.tune_speed(corpus.dev[:4], 1e-3, learner={"name": "on-policy", "passes": 1})
    assert (parser.search, parser.tradeoff) == ("agenda", 1e-3)
    assert all(each.pops > 0 for each in parser.analyse(corpus.test[:2]))


@pytest.mark.jit
def test_the_card_of_a_tuned_parser_is_that_of_the_tuned_parser(corpus, tmp_path):
    """Scores, corpora, the learner and the measure of time are those after tuning, also in the model file."""
    train, dev, test = corpus.train[:20], corpus.dev[:6], corpus.test[:4]
    parser = ConstituencyParser(learner=ML).fit(train, dev=test)
    before = parser.card_
    parser.tune_speed(dev, 0.5, learner={"name": "I+", "passes": 1}, time="pushes", max_gap=2.0, dev=test)
    card = ConstituencyParser.load(parser.save(tmp_path / "model.tw")).card_
    assert card["scores"] == {"dev F1": parser.evaluate(test).f1}
    assert card["scores"]["dev F1"] < before["scores"]["dev F1"]  # such a price, and such a threshold, cost accuracy
    hashes = {"train": corpus_hash(train), "dev": corpus_hash(test), "priorities": corpus_hash(dev)}
    assert card["corpora"] == hashes
    about = card["priorities"]
    assert (about["learner"]["name"], about["learner"]["passes"]) == ("I+", 1)
    assert (about["time"], about["tradeoff"], about["max_gap"], about["sentences"]) == ("pushes", 0.5, 2.0, 6)
    parser.tune_speed(dev, None)
    assert parser.card_["scores"] == {"dev F1": parser.evaluate(dev).f1}
    assert parser.card_["priorities"] == {"search": "agenda", "max_gap": None}
    parser.tune_speed(dev, 1e-3, learner={"name": "on-policy", "passes": 1}, time="seconds")
    assert parser.card_["priorities"]["learner"]["name"] == "on-policy"
    assert min(parser.card_["priorities"]["seconds"]) >= 0.0 < max(parser.card_["priorities"]["seconds"])


@pytest.mark.slow
def test_searches_that_learn_nothing(exact, corpus, tmp_path):
    sentences, wanted = corpus.test[:6], [s.tree for s in exact.parse(corpus.test[:6])]
    deep = ConstituencyParser(learner=ML, search="ida-star", max_gap=0.01).fit(corpus.train)
    loaded = ConstituencyParser.load(deep.save(tmp_path / "deep.tw"))
    once = ConstituencyParser(learner=ML, search="agenda", max_gap=0.01).fit(corpus.train)
    assert sum(each.covered for each in once.analyse(sentences)) > 0  # all trees are pruned
    assert not any(each.covered for each in deep.analyse(sentences))  # and found when Δ has grown
    assert loaded.analyse(sentences) == deep.analyse(sentences)
    trace = deep.trace(sentences[0])
    assert trace.result == {"tree": str(deep.parse(sentences[:1])[0].tree)}
    assert trace.decisions[-1].action == f"TOP[0:{len(sentences[0])}]"
    guided = ConstituencyParser(learner=ML, search="ha-star").fit(corpus.train)
    loaded = ConstituencyParser.load(guided.save(tmp_path / "guided.tw"))
    assert [each.sentence.tree for each in guided.analyse(sentences)] == wanted
    assert loaded.analyse(sentences) == guided.analyse(sentences)
    assert all(0 < each.pops < each.pushes for each in guided.analyse(sentences))
    pruned = ConstituencyParser(learner=ML).fit(corpus.train)
    pruned.tune_speed(corpus.dev[:5], None, search="ha-star", max_gap=0.5)
    assert pruned.card_["priorities"] == {"search": "ha-star", "max_gap": 0.5}
    pops = [sum(each.pops for each in parser.analyse(sentences)) for parser in (pruned, guided)]
    assert pops[0] < pops[1]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"search": "depth-first"}, "one of: cky, agenda, ida-star, ha-star"),
        ({"search": "ida-star", "tradeoff": 1e-5}, "set search to 'agenda'"),
        ({"search": "ha-star", "prune": 0.1}, "goes with decoder 'viterbi' and without prune"),
        ({"search": "agenda", "time": "pushes"}, "time .*set tradeoff"),
        ({"search": "agenda", "priority_learner": "I+"}, "priority_learner .*set tradeoff"),
        ({"search": "agenda", "tradeoff": 1e-5, "time": "years"}, "one of: pops, pushes, seconds"),
        ({"search": "agenda", "tradeoff": 1e-5, "priority_learner": "magic"}, "'magic'.*one of: on-policy, I"),
        ({"search": "agenda", "tradeoff": -1e-5}, "tradeoff must .* at least 0 and at most 1, not -1e-05"),
        ({"search": "agenda", "tradeoff": math.nan}, "at least 0"),
        ({"search": "agenda", "tradeoff": math.inf}, "at least 0"),
        ({"search": "agenda", "decoder": "max-rule"}, "goes with decoder 'viterbi'"),
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
