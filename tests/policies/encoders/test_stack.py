"""The stack-LSTM: its scores, its three forms (compiled, interpreted, PyTorch), and what it learns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.dependency.helpers import example_system, make_task, pack_trees
from tests.policies.encoders.naive import sigmoid
from treewright import AMRParser, load
from treewright.corpora import Sentence, Token, builtin_corpus
from treewright.dependency import DependencyParser
from treewright.dependency.systems import find_system, system_names
from treewright.errors import ConfigError, TaskError
from treewright.policies.encoders import Architecture, EncodedPolicy, Inputs, UntrainedEncoder
from treewright.policies.encoders.inference import Encoder
from treewright.policies.encoders.parameters import initial_parameters, parameter_shapes
from treewright.search import check_task, decode, trajectory
from treewright.search.checking import _random_walk
from treewright.search.compiling import interpreted
from treewright.search.examples import add_example, new_log, with_room
from treewright.tagging import Tagger

TINY = Architecture(
    encoder="stack-lstm", layers=2, width=6, hidden=5, word=4, letters=3, letter=2, column=2, dropout=0.0
)
TREES = [[2, 0, 2], [0], [0, 1, 2, 3], [5, 1, 2, 2, 0, 5]]


def lstm_output(p, which, vectors):
    """The output of an LSTM after some vectors, one after the other."""
    layers, units = p["lstm"].shape[1], p["lstm"].shape[2] // 2
    for layer in range(layers):
        matrix, h, c, outputs = p["lstm"][which, layer], np.zeros(units), np.zeros(units), []
        for x in vectors:
            gates = np.concatenate([x, h]) @ matrix + p["lstm_bias"][which, layer]
            put, forget, new, give = np.split(gates, 4)
            c = np.vectorize(sigmoid)(forget) * c + np.vectorize(sigmoid)(put) * np.tanh(new)
            h = np.vectorize(sigmoid)(give) * np.tanh(c)
            outputs.append(h)
        vectors = outputs
    return vectors[-1] if vectors else np.zeros(units)


def naive_scores(p, table, structure):
    """Dyer et al.'s equations: compose every arc, read stack, buffer and actions from their beginnings."""
    p = {name: value.astype(np.float64) for name, value in p.items()}
    lists, rest = [], [int(k) for k in structure]
    for width in (1, 1, 3, 1):
        size = width * rest[0]
        lists.append(np.array(rest[1 : 1 + size]).reshape(-1, width).tolist())
        rest = rest[1 + size :]
    assert rest == []
    stack, buffer, arcs, actions = lists
    vector = dict(enumerate(table.astype(np.float64)))
    for head, dependent, relation in arcs:
        parts = np.concatenate([vector[head], vector[dependent], p["relation"][relation]])
        vector[head] = np.tanh(parts @ p["compose"] + p["compose_bias"])
    read = [[vector[k] for [k] in stack], [vector[k] for [k] in buffer], [p["action"][k] for [k] in actions]]
    summary = np.concatenate([lstm_output(p, which, vectors) for which, vectors in enumerate(read)])
    units = np.maximum(summary @ p["summary"] + p["summary_bias"], 0.0)
    return units @ p["output"] + p["output_bias"]


def packed_trees(system, **options):
    """A few trees of a system whose states record how they came about, and a policy with random parameters."""
    task = make_task(system, 3, recording=True, **options)
    packed = pack_trees(task, TREES)
    words = [[f"w{k % 3}" for k in range(len(tree))] for tree in TREES]
    inputs = Inputs.learn(words)
    shapes = parameter_shapes(TINY, inputs, 0, task.n_actions, n_relations=task.n_relations)
    policy = EncodedPolicy(TINY, inputs, (initial_parameters(shapes, 1),))
    return packed.with_words(inputs.read(words)), policy


@pytest.mark.parametrize("staged", [False, True])
@pytest.mark.parametrize("system", [find_system(name) for name in system_names()], ids=lambda system: system.name)
def test_scores_are_those_of_the_equations(system, staged):
    packed, policy = packed_trees(system, staged=staged)
    packed = packed.plain()
    which = np.arange(len(packed))
    scorer = policy.prepare(packed, which)
    kind, scratch, task = scorer.kind.plain(), scorer.kind.scratch(packed.task), packed.task
    table, at = Encoder(policy.architecture, policy.inputs, policy.members[0]).table(packed.words, which)
    states = [(i, state) for i in which for state in trajectory(packed, int(i), policy).states[:-1]]
    order = np.random.default_rng(0).permutation(len(states))  # also where nothing is in common with the last state
    for i, state in [*states, *(states[k] for k in order)]:
        x = packed.instance(int(i))
        n = task.actions(x, state, scratch.actions)
        size = kind.observe(task, x, int(i), state, n, scratch)
        kind.score(scorer.arrays, 0, size, n, scratch)
        expected = naive_scores(policy.members[0], table[at[i] : at[i + 1]], scratch.observed[1:size])
        np.testing.assert_allclose(scratch.scores[:n], expected[scratch.actions[:n]], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("system", system_names())
def test_structures_are_as_declared(system):
    packed, _ = packed_trees(system)
    for i in range(len(packed)):
        assert _random_walk(packed.task.plain(), packed, i, np.random.default_rng(i))


@pytest.mark.parametrize(
    ("wrong", "facts"),
    [
        (lambda out: out.__setitem__(0, 40), "list of the stack"),
        (lambda out: out.__setitem__(1, 9), "stack.*between 0 and n"),
        (lambda out: 3, "list of the"),
    ],
)
def test_a_structure_that_is_not_as_declared_is_found(wrong, facts):
    base = type(make_task("arc-hybrid", recording=True))
    right = base.structure

    class Wrong(base):
        def structure(x, state, out):
            count = right(x, state, out)
            changed = wrong(out)
            return count if changed is None else changed

    report = check_task(Wrong(1), TREES)
    assert len(report.problems) == 1
    assert facts.partition(".*")[0] in report.problems[0]


def test_of_a_mixture_each_member_scores_by_its_own_parameters():
    packed, policy = packed_trees("arc-hybrid")
    packed = packed.plain()
    shapes = parameter_shapes(TINY, policy.inputs, 0, packed.task.n_actions, n_relations=packed.task.n_relations)
    second = initial_parameters(shapes, 2)
    alone = replace(policy, members=(second,))
    both = replace(policy, members=(*policy.members, second), probabilities=(0.0, 1.0))
    np.testing.assert_array_equal(both.decode(packed).states, alone.decode(packed).states)
    assert not np.array_equal(policy.decode(packed).states, alone.decode(packed).states)


# ---- what needs a stack


@pytest.mark.parametrize("estimator", [Tagger, AMRParser])
def test_other_tasks_refuse_it(estimator):
    with pytest.raises(ConfigError, match=r"policy.*stack-LSTM.*dependency parsing"):
        estimator(policy="stack-lstm").fit(builtin_corpus(train=2, dev=0, test=0).train)


def test_a_task_must_have_a_structure():
    packed, policy = packed_trees("arc-hybrid")
    bare = pack_trees(make_task("arc-hybrid", 3), TREES).with_words(packed.words)
    with pytest.raises(TaskError, match=r"'dependency'.*`structure`"):
        UntrainedEncoder(TINY, policy.inputs).trainer(bare, None)


def test_episodes_must_be_linear_in_the_length_of_the_sentence():
    with pytest.raises(ConfigError, match=r"system.*stack-LSTM.*max_steps"):
        make_task(example_system(), recording=True)


# ---- learning


@pytest.fixture(scope="module")
def corpus():
    return builtin_corpus(train=60, dev=10, test=20)


def parser(corpus, learner="exploration", **settings):
    """A trained parser; the steps are large, because there are few of them."""
    pytest.importorskip("torch", reason="training encoders needs PyTorch: pip install 'treewright[torch]'")
    wide = Architecture(encoder="stack-lstm", layers=1, width=32, hidden=32, word=16, letters=8, column=8, dropout=0.0)
    passes = {"passes": 3, "epochs": 4} if learner == "dagger" else {"passes": 12}
    made = DependencyParser(
        **{"policy": wide, "device": "cpu", "min_count": 1, "learner": {"name": learner, **passes}, **settings}
    )
    untrained = made._untrained
    made._untrained = lambda teaching: replace(untrained(teaching), step_size=0.02)
    return made.fit(corpus.train)


@pytest.fixture(scope="module")
def explored(corpus, tmp_path_factory):
    """A parser that learned by exploration, and its model file."""
    fitted = parser(corpus)
    return fitted, fitted.save(tmp_path_factory.mktemp("stack") / "parser.tw")


@pytest.mark.jit
def test_it_learns_by_exploration(explored, corpus):
    assert explored[0].evaluate(corpus.test).las > 0.6


@pytest.mark.jit
@pytest.mark.parametrize(("learner", "oracle"), [("supervised", "static"), ("dagger", "dynamic")])
def test_other_learners_train_it(corpus, learner, oracle):
    assert parser(corpus, learner, oracle=oracle).evaluate(corpus.test).las > 0.6


@pytest.mark.jit
def test_compiled_and_interpreted_code_do_the_same(explored, corpus):
    packed = explored[0]._pack([sentence.tokens for sentence in corpus.test[:8]])
    one, other = (decode(each, explored[0].policy_) for each in (packed, packed.plain()))
    np.testing.assert_array_equal(one.states, other.states)


@pytest.mark.jit
def test_pytorch_builds_the_same_trees(explored, corpus):
    """PyTorch scores all states on the way of the parser, and prefers the actions that were taken there."""
    import torch

    from treewright.policies.encoders.network import encode

    policy, packed = explored[0].policy_, explored[0]._pack([sentence.tokens for sentence in corpus.test]).plain()
    untrained = UntrainedEncoder(policy.architecture, policy.inputs, device="cpu", start=policy.members[0])
    trainer = untrained.trainer(packed, None)
    trainer._order = which = np.arange(len(packed))
    scorer = policy.prepare(packed, which)
    kind, scratch, log = scorer.kind.plain(), scorer.kind.scratch(packed.task), new_log(1)
    taken = []
    for i in which.tolist():
        x, way = packed.instance(i), trajectory(packed, i, policy)
        for state, action in zip(way.states, way.actions, strict=False):
            n = packed.task.actions(x, state, scratch.actions)
            size = kind.observe(packed.task, x, i, state, n, scratch)
            log = interpreted(with_room)(log, size, n, 0)
            interpreted(add_example)(log, scratch, size, n)
            taken.append((action, scratch.actions[:n].tolist()))
    with torch.no_grad():
        encoding = encode(policy.architecture, trainer.parameters, trainer.corpus, which)
        scores = trainer._states(trainer.parameters, encoding, log.written(False), None).numpy()
    assert len(taken) > 200
    for row, (action, admissible) in zip(scores, taken, strict=True):
        assert action == max(admissible, key=lambda each, row=row: row[each])


@pytest.mark.jit
def test_it_survives_its_model_file_and_can_be_traced(explored, corpus):
    fitted, path = explored
    again = load(path)
    assert again.predict(corpus.test) == fitted.predict(corpus.test)
    trace = again.trace(corpus.test[0])
    assert sum(candidate.probability for candidate in trace.steps[0].candidates) == pytest.approx(1.0)
    [parsed] = again.predict(corpus.test[:1])
    assert len(trace.steps[-1].state["arcs"]) == len(parsed)
    assert {(arc["dependent"], arc["head"]) for arc in trace.steps[-1].state["arcs"]} == {
        (k, token.head) for k, token in enumerate(parsed.tokens, 1)
    }


@pytest.mark.jit
def test_a_sentence_of_5000_words(explored):
    long = Sentence(tuple(Token(form, upos="NOUN", xpos="NN") for form in ["the", "dog", "sees", "a", "cat"] * 1000))
    [parsed] = explored[0].predict([long])
    assert [token.head for token in parsed.tokens].count(0) == 1


@pytest.mark.jit
def test_of_two_kinds_of_encoders_neither_teaches_the_other(explored, corpus):
    with pytest.raises(ConfigError, match=r"teacher.*stack-LSTM"):
        parser(corpus, policy="small", teacher=explored[1])
