"""The switches of the parser: rules, features, joint choices, punctuation, similar lemmas, unseen words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.amr.little_corpus import SENTENCES, read
from tests.amr.transition_twin import expert_trajectory
from treewright.amr import AMRParser, score_smatch
from treewright.amr.encoding import Example
from treewright.amr.features import GROUP_NAMES
from treewright.amr.preparation import tree_words
from treewright.amr.replacement import learn_replacements, with_replacements
from treewright.amr.transitions import ACTIONS, STEPS
from treewright.amr.unseen import bins_of
from treewright.errors import ConfigError, CorpusError
from treewright.models import read_model

# ReplaceHead merges the preposition
IN_LONDON = "Dogs dog NOUN 2 nsubj\nsleep sleep VERB 0 root\nin in ADP 2 prep\nLondon London PROPN 3 pobj\n"
CORPUS = [*SENTENCES, *read(IN_LONDON + "= (s / sleep-01 :ARG0 (d / dog) :location (l / london))")]


def expert_states(**settings):
    """The states that the expert goes through on the small corpus, with their instances and the task."""
    parser = AMRParser(**settings)
    _, encoder, examples = parser._encoded(CORPUS)
    packed, _ = encoder.pack(examples, parser._options(open_to_gold=True))
    encoder.collect(packed, (expert_trajectory(packed, i) for i in range(len(examples))))
    packed, own = encoder.pack(examples, parser._options())
    graphs = []
    found = []
    for i, example in enumerate(examples):
        path = expert_trajectory(packed, i)
        found += [(packed.instance(i), state, action) for state, action in zip(path.states, path.actions, strict=False)]
        graphs.append(encoder.graph(path.states[-1], example.words, own[i]))
    return packed.plain().task, found, graphs


def features(task, x, state, action):
    out = np.zeros(task.max_features, np.int32)
    size = int(task.features(x, state, out))
    extra = np.zeros(task.max_features, np.int32)
    return out[:size].tolist(), extra[: int(task.action_features(x, state, action, extra))].tolist()


# ---- one choice, or two


def test_joint_choices_lead_to_the_same_graphs_in_fewer_steps():
    _, staged, one = expert_states()
    _, joint, two = expert_states(joint=True)
    assert one == two
    assert score_smatch(CORPUS, two).f1 == 1.0
    assert len(joint) < 0.7 * len(staged)
    assert {int(state.registers[ACTIONS]) for _, state, _ in staged} == {
        int(state.registers[ACTIONS]) for _, state, _ in joint
    }


def test_steps_are_twice_the_actions_where_choices_are_staged():
    _, joint, _ = expert_states(joint=True, reentrance=False)
    assert all(state.registers[STEPS] == state.registers[ACTIONS] for _, state, _ in joint)
    _, staged, _ = expert_states(reentrance=False)
    last = [state for _, state, _ in staged]
    assert max(state.registers[STEPS] / max(state.registers[ACTIONS], 1) for state in last) >= 1.5


def test_joint_features_depend_on_the_action_and_not_on_the_number_of_a_node():
    task, states, _ = expert_states(joint=True)
    x, state, _ = states[0]
    assert features(task, x, state, 0)[0] == []
    out = np.zeros(task.n_actions, np.int32)
    actions = out[: int(task.actions(x, state, out))].tolist()
    seen = [frozenset(features(task, x, state, action)[1]) for action in actions]
    assert all(not one & two for k, one in enumerate(seen) for two in seen[:k])


# ---- groups of features


@pytest.mark.slow
def test_without_a_group_its_features_are_missing_and_no_others():
    task, states, _ = expert_states()
    every = [features(task, *each) for each in states]
    gone = {}
    for group in GROUP_NAMES:
        task, others, _ = expert_states(without=group)
        found = [features(task, *each) for each in others]
        missing = 0
        for (one, own), (two, fewer) in zip(every, found, strict=True):
            kept = [each for each in one if each in set(two)]
            assert two == kept
            assert fewer == [each for each in own if each in set(fewer)]
            missing += len(one) + len(own) - len(two) - len(fewer)
        gone[group] = missing
    assert all(gone.values()), gone
    task, others, _ = expert_states(without=",".join(GROUP_NAMES))
    total = sum(len(one) + len(own) for one, own in every)
    left = sum(len(one) + len(own) for one, own in (features(task, *each) for each in others))
    # a feature of paths and concepts together is gone with either
    assert total - sum(gone.values()) <= left < total / 1.5


def test_groups_are_named_in_any_order_and_checked():
    assert AMRParser(without=" words,actions ")._options()[-1] == AMRParser(without="actions,words")._options()[-1] == 3
    with pytest.raises(ConfigError, match=r"without.*verbs.*among actions"):
        AMRParser(without="verbs").fit(SENTENCES)


# ---- rules


def test_rules_reach_the_transitions():
    assert AMRParser()._options()[6:9] == [3, False, False]
    assert AMRParser(swap="thesis", insert="thesis", joint=True)._options()[6:9] == [2, True, True]
    with pytest.raises(ConfigError, match=r"swap.*strict, thesis, node"):
        AMRParser(swap="never").fit(SENTENCES)


def test_the_expert_keeps_the_insert_rule_of_the_thesis():
    """Two persons near each other cannot both be inserted; by our rule they can."""
    text = """
Tom Tom PROPN 2 nmod
brother brother NOUN 0 root
= (p / person :ARG0-of (h / have-01 :ARG1 (p2 / person :name (n / name :op1 "Tom"))))
"""
    [sentence] = read(text)
    alignment = {"h": (1,), ("n", ":op1", '"Tom"'): (0,)}
    given = replace(sentence, graph=replace(sentence.graph, alignments=alignment))
    ours, theirs = (
        trace.result["graph"]
        for trace in (AMRParser(aligner="given", insert=rule).trace_expert(given) for rule in ("word", "thesis"))
    )
    assert ours.count("person") == 2
    assert theirs.count("person") == 1


# ---- punctuation


def test_punctuation_is_kept_on_demand():
    assert [word.form for word in tree_words(SENTENCES[7])] == ["Go"]
    assert [word.form for word in tree_words(SENTENCES[7], punctuation=True)] == ["Go", "!"]
    _, _, graphs = expert_states(punctuation=True)
    assert score_smatch(CORPUS, graphs).f1 == 1.0


# ---- similar lemmas


def test_vectors_and_lists(tmp_path):
    seen = {"leave": 1, "dog": 1, "cat": 2}
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("leave 1 0\nvacate 0.9 0.1\ndog 0 1\npuppy 0.1 5\ncat -1 -1\n")
    assert learn_replacements(vectors, seen) == {"vacate": "leave", "puppy": "dog"}
    listed = tmp_path / "words.txt"
    listed.write_text("vacate empty leave\npuppy whelp\n\ncat dog\n")
    assert learn_replacements(listed, seen) == {"vacate": "leave"}
    vectors.write_text("leave 1 0\n\nvacate 0.9\n")
    with pytest.raises(CorpusError, match=r"vectors\.txt.*3.*2 numbers"):
        learn_replacements(vectors, seen)
    vectors.write_text("\n")
    with pytest.raises(CorpusError, match="no words"):
        learn_replacements(vectors, seen)


def test_a_stand_in_has_the_features_of_its_lemma_and_the_concepts_of_the_word():
    parser = AMRParser()
    _, encoder, examples = parser._encoded(SENTENCES)
    packed, _ = encoder.pack(examples, parser._options(open_to_gold=True))
    encoder.collect(packed, (expert_trajectory(packed, i) for i in range(len(examples))))
    words = tree_words(read("puppies puppy NOUN 0 root")[0])
    [plain, replaced] = [with_replacements(words, table) for table in ({}, {"puppy": "dog"})]
    assert plain == words
    packed, own = encoder.pack([Example(plain), Example(replaced)], parser._options())
    one, two = packed.instance(0), packed.instance(1)
    assert one.keys.tolist() == [0]
    assert two.keys.tolist() == [encoder.keys["dog"]]
    assert one.realised.tolist() == two.realised.tolist()
    assert one.candidates.tolist() == two.candidates.tolist()  # forms: the lemma of the word itself
    assert own[0] == own[1]


# ---- what training has not seen


def test_bins_by_what_is_unseen():
    graphs = [one.graph for one in SENTENCES[:4]]
    scores = score_smatch(graphs, [graphs[0], graphs[1], graphs[0], graphs[3]])
    found = list(bins_of("words", [0.0, 0.05, 0.5, 1.0], scores))
    assert [(each.above, each.most, each.sentences) for each in found] == [(0.0, 0.0, 1), (0.0, 0.1, 1), (0.3, 1.0, 2)]
    assert [round(each.f1, 2) for each in found[:2]] == [1.0, 1.0]
    matched, sizes = sum(scores.matched[2:]), sum(scores.gold[2:]) + sum(scores.predicted[2:])
    assert found[2].f1 == 2 * matched / sizes < 1.0


# ---- the expert by itself


def test_the_expert_is_traced_without_a_model():
    trace = AMRParser().trace_expert(SENTENCES[0])
    actions = [step.action for step in trace.steps if step.action]
    assert actions[0] == "Delete"
    assert "NextEdge(:ARG0)" in actions
    assert actions.count("Reentrance") == 1
    assert all(step.choice.cost == 0.0 for step in trace.steps if step.action)
    graph = type(SENTENCES[0].graph).from_penman(trace.result["graph"])
    assert score_smatch([SENTENCES[0]], [graph]).f1 == 1.0
    joint = AMRParser(joint=True).trace_expert(SENTENCES[0])
    assert len(joint.steps) < len(trace.steps)
    with pytest.raises(CorpusError, match="without a graph"):
        AMRParser().trace_expert(replace(SENTENCES[0], graph=None))


@pytest.mark.jit
def test_switches_are_learned_with_and_saved(tmp_path):
    listed = tmp_path / "similar.txt"
    listed.write_text("puppy dog\n")
    parser = AMRParser(
        learner={"name": "dagger", "passes": 2},
        bits=12,
        joint=True,
        swap="thesis",
        insert="thesis",
        punctuation=True,
        without="words,paths",
        similar=listed,
    ).fit(SENTENCES)
    parser.save(tmp_path / "amr.tw")
    again = AMRParser.load(tmp_path / "amr.tw")
    assert (again.joint, again.swap, again.insert, again.punctuation) == (True, "thesis", "thesis", True)
    assert again.replacements_ == {"puppy": "dog"}
    assert again.parse(SENTENCES) == parser.parse(SENTENCES)
    assert again.evaluate(SENTENCES).unseen[0].sentences == len(SENTENCES)


@pytest.mark.jit
def test_a_model_from_before_the_settings_has_the_old_rules(tmp_path):
    AMRParser(learner={"name": "supervised", "passes": 1}, bits=10, swap="node").fit(SENTENCES[:3]).save(
        tmp_path / "new.tw"
    )
    model = read_model(tmp_path / "new.tw")
    new = ("joint", "swap", "insert", "punctuation", "without", "similar")
    params = {name: value for name, value in model.config["params"].items() if name not in new}
    old = AMRParser.from_model(replace(model, config={**model.config, "params": params}))
    assert (old.swap, old.insert, old.joint, old.punctuation, old.without) == ("node", "word", False, False, "")
