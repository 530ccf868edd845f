"""The process itself: the propositions of the paper, by walking through all of it."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.constituency.naive import INF, Shape, as_tuples, literally, make, problems, table_of
from tests.examples import examples
from treewright.constituency.charts.mdp import Action, Constituent, Rule, State, TopDownMDP
from treewright.constituency.grammar.binarisation import TOP, Markovisation
from treewright.constituency.grammar.pcfg import Grammar
from treewright.corpora import Tree
from treewright.errors import ConfigError, CorpusError, TaskError

some = examples(40)
few = examples(15)
CLOSE = {"rel": 1e-9, "abs": 1e-9}

tiny = problems(most_words=3, most_rules=6, most_trees=60)
small = problems(most_words=5, most_trees=150)


def process(problem, **settings):
    words = [f"w{row}" for row in problem.words]
    return TopDownMDP.from_lexical(problem.grammar, words, problem.lexical, problem.words, **settings)


def named(problem, symbol, start, end):
    return Constituent(problem.names[symbol], start, end)


def all_states(mdp, start=None):
    """Every state that can be reached, by trying every action."""
    seen, todo = set(), [mdp.initial() if start is None else start]
    while todo:
        state = todo.pop()
        if state not in seen:
            seen.add(state)
            todo += [mdp.step(state, action) for action in mdp.actions(state)]
    return seen


def values_by_walking(mdp):
    """V* and Q*, by the definition of the process alone: rewards of all episodes, and no chart."""

    @cache
    def value(state):
        if mdp.is_terminal(state):
            return 0.0 if state.is_complete else -INF
        return max(q(state, action) for action in mdp.actions(state))

    def q(state, action):
        return mdp.reward(state, action) + value(mdp.step(state, action))

    return value, q


# ---- Proposition 1


@given(small)
@some
def test_the_value_of_the_initial_state_is_the_log_probability_of_the_best_tree(problem):
    mdp = process(problem)
    best = problem.best_first[0] if problem.trees else -INF
    assert mdp.value(mdp.initial()) == pytest.approx(best, **CLOSE)
    walk = mdp.follow_optimal_policy()
    assert walk.total == pytest.approx(best, **CLOSE)
    final = walk.states[-1]
    assert mdp.is_terminal(final)
    assert mdp.is_failure(final) == (not problem.trees)
    if problem.trees:
        assert final.is_complete
        assert as_tuples(mdp.derivation(final)) in problem.trees
        assert mdp.score(final) == pytest.approx(best, **CLOSE)
    else:  # the last reward is −∞, unless there was nothing to be done from the beginning
        assert not walk.rewards or walk.rewards[-1] == -INF
        assert all(r > -INF for r in walk.rewards[:-1])


@given(small)
@few
def test_a_walk_is_what_it_says(problem):
    mdp = process(problem)
    walk = mdp.follow_optimal_policy()
    assert len(walk.states) == len(walk.actions) + 1 == len(walk.rewards) + 1
    for before, action, reward, after in zip(walk.states, walk.actions, walk.rewards, walk.states[1:], strict=False):
        assert action in mdp.actions(before)
        assert mdp.step(before, action) == after
        assert mdp.reward(before, action) == reward


# ---- Proposition 2


@pytest.mark.parametrize("leftmost", [True, False])
@given(problem=tiny)
@some
def test_values_and_advantages_are_those_of_the_whole_process(leftmost, problem):
    """Advantages from inside scores (eq. 5) against Q* − V*, found by trying every action in every state."""
    mdp = process(problem, leftmost=leftmost)
    value, q = values_by_walking(mdp)
    states = all_states(mdp)
    for state in states if len(states) < 400 else sorted(states)[::7]:
        assert mdp.value(state) == pytest.approx(value(state), **CLOSE)
        best = -INF
        for action in mdp.actions(state):
            found, wanted = mdp.advantage(state, action), q(state, action)
            if wanted == -INF:
                assert found == -INF or value(state) == -INF  # hopeless states have no advantages
            else:
                assert found == pytest.approx(wanted - value(state), **CLOSE)
            best = max(best, wanted)
        if best > -INF:
            assert q(state, mdp.optimal_action(state)) == pytest.approx(best, **CLOSE)


@given(tiny)
@some
def test_expanding_the_leftmost_constituent_only_changes_no_value(problem):
    one, every = process(problem), process(problem, leftmost=False)
    value, _ = values_by_walking(one)
    value_of_all, _ = values_by_walking(every)
    for state in all_states(one):
        assert value(state) == pytest.approx(value_of_all(state), **CLOSE)
        assert set(one.actions(state)) <= set(every.actions(state))
        assert one.value(state) == every.value(state)
    full = [{state for state in all_states(mdp) if state.is_complete} for mdp in (one, every)]
    assert full[0] == full[1]  # the order of expansions leaves no trace in a tree
    assert {as_tuples(one.derivation(state)) for state in full[0]} == set(problem.trees)


@given(small)
@some
def test_inside_scores_are_values_of_single_constituents(problem):
    mdp = process(problem)
    wanted = {named(problem, *span): problem.maximum(*span) for span in problem.spans}
    assert mdp.inside_scores == pytest.approx({c: v for c, v in wanted.items() if v > -INF}, **CLOSE)
    for constituent, v in wanted.items():
        assert mdp.value(mdp.initial(constituent)) == pytest.approx(v, **CLOSE)


# ---- states, actions, rewards


@given(tiny)
@some
def test_states_are_partial_trees(problem):
    for mdp in (process(problem), process(problem, leftmost=False)):
        for state in sorted(all_states(mdp))[:200]:
            assert state.constituents[0] == Constituent(TOP, 0, problem.n)
            starts = [c.start for c in state.unexpanded]
            assert starts == sorted(starts)
            assert set(state.unexpanded) <= set(state.constituents)
            built = mdp.initial()
            for action in mdp.actions_in(state):  # any state is built by its own actions, in order
                built = mdp.step(built, action)
            assert built == state
            expandable = state.unexpanded[:1] if mdp.leftmost else state.unexpanded
            assert {action.constituent for action in mdp.actions(state)} <= set(expandable)
            if mdp.is_failure(state):
                assert mdp.value(state) == -INF
            for action in mdp.actions(state):
                after = mdp.step(state, action)
                assert set(after.constituents) == {*state.constituents, *action.introduced}
                assert mdp.reward(state, action) in (mdp.weight(action), -INF)
                assert (mdp.reward(state, action) == -INF) == (mdp.is_terminal(after) and not after.is_complete)


def example(**settings):
    """The grammar of Fig. 1, for a shorter sentence."""
    grammar = Grammar.from_rules(
        [("S", "NP", "VP", -0.1, 1), ("VP", "VBD", "NP", -0.5, 1), ("VP", "VP", "NP", -1.0, 1)],
        [("TOP", "S", (), -0.05, 1), ("NP", "PRP", ("X",), -0.7, 1), ("NP", "NN", (), -0.7, 1)],
    )
    tags = [{"PRP": -0.5}, {"VBD": -0.25}, {"NN": -0.125, "VBD": -4.0}]
    return TopDownMDP(grammar, ["it", "was", "love"], tags, **settings)


def test_an_episode_by_hand():
    mdp = example()
    state = mdp.initial()
    assert state == State((Constituent("TOP", 0, 3),), (Constituent("TOP", 0, 3),))
    assert str(state) == "TOP[0:3]"
    [action] = mdp.actions(state)
    assert action == Action(Constituent("TOP", 0, 3), Rule("TOP", ("S",)))
    state = mdp.step(state, action)
    one, two = mdp.actions(state)
    assert one == Action(Constituent("S", 0, 3), Rule("S", ("NP", "VP")), 1)
    assert (one.split, two.split) == (1, 2)
    assert mdp.advantage(state, one) == pytest.approx(0.0)
    assert mdp.advantage(state, two) == -INF
    state = mdp.step(state, one)
    assert str(state) == "(TOP (S NP[0:1] VP[1:3]))"
    assert [str(action.rule) for action in mdp.actions(state)] == ["NP -> NN", "NP -> [X] PRP"]
    state = mdp.step(state, mdp.actions(state)[1])
    assert state.constituents[2:5] == (Constituent("NP", 0, 1), Constituent("[X]", 0, 1), Constituent("PRP", 0, 1))
    [lexical] = mdp.actions(state)
    assert str(lexical) == 'PRP[0:1]: PRP -> "it"'
    assert mdp.reward(state, lexical) == -0.5
    state = mdp.step(state, lexical)
    assert str(state) == '(TOP (S (NP ([X] (PRP "it"))) VP[1:3]))'
    assert mdp.value(state) == pytest.approx(-0.5 - 0.25 - 0.7 - 0.125)
    failing = [a for a in mdp.actions(state) if a.rule.children == ("VP", "NP")]
    wrong = mdp.step(state, failing[0])  # a VP over one word: nothing expands it
    assert mdp.reward(state, failing[0]) == -INF
    assert mdp.is_failure(wrong)
    assert mdp.is_terminal(wrong)
    walk = mdp.follow_optimal_policy(state)
    assert walk.total == pytest.approx(mdp.value(state))
    assert str(walk.states[-1]) == '(TOP (S (NP ([X] (PRP "it"))) (VP (VBD "was") (NP (NN "love")))))'
    assert str(mdp.to_tree(walk.states[-1])) == "(S (NP (X (PRP it))) (VP (VBD was) (NP (NN love))))"


def test_all_unexpanded_constituents_are_offered_on_demand():
    mdp = example(leftmost=False)
    state = mdp.step(mdp.initial(), mdp.actions(mdp.initial())[0])
    state = mdp.step(state, mdp.actions(state)[0])
    assert {str(action.constituent) for action in mdp.actions(state)} == {"NP[0:1]", "VP[1:3]"}
    right = [action for action in mdp.actions(state) if action.constituent.symbol == "VP"]
    assert str(mdp.step(state, right[0])) == "(TOP (S NP[0:1] (VP VBD[1:2] NP[2:3])))"


def test_what_cannot_be_done():
    mdp = example()
    [first] = mdp.actions(mdp.initial())
    after = mdp.step(mdp.initial(), first)
    with pytest.raises(TaskError, match=r"TOP\[0:3\] is not an unexpanded constituent of \(TOP S\[0:3\]\)"):
        mdp.step(after, first)
    with pytest.raises(TaskError, match=r"S\[0:3\] is unexpanded"):
        mdp.derivation(after)
    tree = mdp.viterbi_parse()
    for missing in (Constituent("S", 0, 2), Constituent('"it"', 0, 1), Constituent("[X]", 0, 1)):
        with pytest.raises(TaskError, match="is not a constituent of"):
            mdp.state_of(tree, missing)
    with pytest.raises(CorpusError, match="2 words, and tags for 1"):
        TopDownMDP(mdp.grammar, ["a", "b"], [{"NN": 0.0}])
    with pytest.raises(CorpusError, match="0 words"):
        TopDownMDP(mdp.grammar, [], [])
    with pytest.raises(CorpusError, match="0 words, and rows for 1"):
        TopDownMDP.from_lexical(mdp.grammar, [], table_of([[(0, 0.0)]]), [0])
    with pytest.raises(CorpusError, match="no tag 'VP', which the word 'a' is said to have"):
        TopDownMDP(mdp.grammar, ["a"], [{"VP": 0.0}])
    with pytest.raises(ConfigError, match="k must be"):
        mdp.maximum_scoring_trees(0)
    odd = Grammar.from_rules([("S", '"x"', '"', 0.0, 1)], [("TOP", "S", (), 0.0, 1)])
    with pytest.raises(TaskError, match='the symbol "x" has the form of a word'):
        TopDownMDP(odd, ["a"], [{'"': 0.0}])
    with pytest.raises(CorpusError, match="over 'it is', and not over 'it was love'"):
        mdp.from_tree(Tree(TOP, (Tree("S", (Tree("NN", ("it",)), Tree("NN", ("is",)))),)))


def test_tags_may_be_quotation_marks_and_words_may_be_named_as_tags():
    grammar = Grammar.from_rules([("S", '"', "NN", 0.0, 1)], [("TOP", "S", (), 0.0, 1)])
    mdp = TopDownMDP(grammar, ['"', "NN"], [{'"': -1.0}, {"NN": -2.0}])
    tree = mdp.viterbi_parse()
    assert mdp.score(tree) == -3.0
    assert str(tree) == '(TOP (S (" """) (NN "NN")))'
    assert mdp.to_tree(tree) == Tree("S", (Tree('"', ('"',)), Tree("NN", ("NN",))))


def test_a_tag_of_minus_infinity_is_no_tag():
    grammar = Grammar.from_rules([("S", "A", "A", 0.0, 1)], [("TOP", "S", (), 0.0, 1)])
    mdp = TopDownMDP(grammar, ["a", "b"], [{"A": -1.0}, {}])
    assert mdp.viterbi_parse() is None
    assert mdp.maximum_scoring_trees(3) == []
    assert mdp.is_failure(mdp.follow_optimal_policy().states[-1])


# ---- the subroutines of §5.2


@given(small)
@some
def test_viterbi_parse_and_the_k_best_trees(problem):
    mdp = process(problem)
    tree = mdp.viterbi_parse()
    assert (tree is None) == (not problem.trees)
    if tree is not None:
        assert mdp.score(tree) == pytest.approx(problem.best_first[0], **CLOSE)
    for k in (1, 4, len(problem.trees) + 2):
        found = mdp.maximum_scoring_trees(k)
        assert [mdp.score(tree) for tree in found] == pytest.approx(problem.best_first[:k], **CLOSE)
        assert len(set(found)) == len(found)
    for constituent, v in mdp.inside_scores.items():
        best = mdp.viterbi_parse(constituent)
        assert best.constituents[0] == constituent
        assert mdp.score(best) == pytest.approx(v, **CLOSE)


@given(small)
@some
def test_forms_of_trees(problem):
    mdp = process(problem)
    for derivation in problem.trees[:30]:
        tree = mdp.from_derivation(derivation)
        assert tree.is_complete
        assert as_tuples(mdp.derivation(tree)) == derivation
        assert mdp.score(tree) == pytest.approx(problem.score(derivation), **CLOSE)
        assert mdp.rule_counts(tree).tolist() == problem.rules(derivation).tolist()
        walk = mdp.trajectory(tree)
        assert walk.states[-1] == tree
        assert walk.total == pytest.approx(mdp.score(tree), **CLOSE)
        for state, action in zip(walk.states, walk.actions, strict=False):
            assert action in mdp.actions(state)


@given(small)
@some
def test_the_best_tree_that_starts_with_an_action(problem):
    """Among all derivations of the constituent whose first action it is."""
    mdp = process(problem)
    for span in problem.spans:
        constituent = named(problem, *span)
        scores = {}
        for derivation in problem.derivations(*span):
            first = mdp.actions_in(mdp.from_derivation(derivation))[0]
            scores.setdefault(first, []).append(problem.score(derivation))
        for action in mdp.actions(mdp.initial(constituent)):
            best = mdp.viterbi_parse_starting_with(action)
            assert (best is None) == (action not in scores)
            if best is not None:
                assert mdp.actions_in(best)[0] == action
                assert mdp.score(best) == pytest.approx(max(scores[action]), **CLOSE)


@given(small, st.integers(0, 10**6))
@some
def test_the_state_of_a_constituent_and_what_is_correct_there(problem, seed):
    if not problem.trees:
        return
    mdp = process(problem)
    tree = mdp.from_derivation(problem.trees[seed % len(problem.trees)])
    taken = mdp.actions_in(tree)
    for expert in taken:
        constituent = expert.constituent
        state = mdp.state_of(tree, constituent)
        # all descendants are gone, and nothing else: those over other words, and those above it
        assert state.unexpanded == (constituent,)
        gone = [c for c in tree.constituents if c not in state.constituents]
        assert all(constituent.start <= c.start and c.end <= constituent.end for c in gone)
        kept = [c for c in state.constituents if c.start >= constituent.start and c.end <= constituent.end]
        assert kept[-1] == constituent
        assert [action for action in mdp.actions(state) if mdp.is_correct(action, tree)] == [expert]
        for action in mdp.actions(state):
            literally_so = set(mdp.step(state, action).constituents) <= set(tree.constituents)
            if mdp.is_correct(action, tree):
                assert literally_so
            elif literally_so:  # the paper's words, but there is a chain in between
                skipped = [c for c in action.to_expand if c not in expert.introduced]
                spans = {(c.start, c.end) for c in expert.introduced}
                assert all((c.start, c.end) in spans for c in skipped)
    other = mdp.from_derivation(problem.trees[(seed + 1) % len(problem.trees)])
    assert {action for action in mdp.actions_in(other) if mdp.is_correct(action, tree)} == {*taken} & {
        *mdp.actions_in(other)
    }


@given(small)
@few
def test_the_state_of_a_constituent_of_a_partial_tree(problem):
    mdp = process(problem)
    walk = mdp.follow_optimal_policy()
    for state in walk.states:
        for constituent in state.constituents:
            if constituent.symbol in problem.names:
                left = mdp.state_of(state, constituent)
                assert constituent in left.unexpanded
                assert set(left.unexpanded) - {constituent} <= set(state.unexpanded)
                assert mdp.value(left) == pytest.approx(
                    sum(mdp.value(mdp.initial(c)) for c in left.unexpanded), **CLOSE
                )


def algorithm_5(mdp, expert, temperature):
    """Policy Matching as it is printed in the paper, and J of eq. 16."""
    gradient, dissimilarity = np.zeros(len(mdp.grammar)), 0.0
    for constituent in [action.constituent for action in mdp.actions_in(expert)]:
        state = mdp.state_of(expert, constituent)
        policy = mdp.boltzmann_policy(state, temperature)
        features = {action: mdp.rule_counts(mdp.viterbi_parse_starting_with(action)) for action in policy}
        mean = sum(policy[action] * features[action] for action in policy)
        for action, p in policy.items():
            change = p / temperature * (features[action] - mean)
            gradient += (mdp.is_correct(action, expert) - p) * change
            dissimilarity += 0.5 * (mdp.is_correct(action, expert) - p) ** 2
    return dissimilarity, gradient


@given(problems(most_words=4, most_trees=60), st.integers(0, 10**6), st.sampled_from([0.1, 1.0]))
@some
def test_algorithm_5_as_it_is_printed(problem, seed, temperature):
    if not problem.trees:
        return
    mdp, gold = process(problem), problem.trees[seed % len(problem.trees)]
    j, gradient = algorithm_5(mdp, mdp.from_derivation(gold), temperature)
    wanted_j, wanted = literally(problem, gold, temperature)
    assert j == pytest.approx(wanted_j, **CLOSE)
    np.testing.assert_allclose(gradient, wanted, rtol=1e-7, atol=1e-8)


@given(tiny)
@few
def test_the_boltzmann_policy_is_nearly_optimal_when_it_is_cold(problem):
    mdp = process(problem)
    state = mdp.initial()
    warm, cold = mdp.boltzmann_policy(state, 1.0), mdp.boltzmann_policy(state, 1e-3)
    assert set(warm) == {action for action in mdp.actions(state) if mdp.advantage(state, action) > -INF}
    if warm:
        assert sum(warm.values()) == pytest.approx(1.0)
        assert sum(p for a, p in cold.items() if mdp.advantage(state, a) > -0.1) == pytest.approx(1.0)


# ---- with a treebank's grammar


def test_from_a_treebank_to_states_and_back():
    noun = Tree("NP", (Tree("NP", (Tree("PRP", ("it",)),)),))
    gold = Tree("S", (noun, Tree("VP", (Tree("VBD", ("was",)), Tree("NP", (Tree("NN", ("love",)),))))))
    binarised = Markovisation(vertical=1).binarise(gold)
    grammar = Grammar.learn([binarised])
    mdp = TopDownMDP(grammar, gold.leaves(), [{tag: -0.5} for tag in gold.tags()])
    expert = mdp.from_tree(binarised)
    assert '(NP ([NP] (PRP "it")))' in str(expert)
    assert mdp.to_tree(expert) == gold
    assert mdp.viterbi_parse() == expert
    assert math.exp(mdp.score(expert) + 1.5) == pytest.approx(0.25)  # NP -> PRP and NP -> NN, each once


def test_the_order_of_expansions_does_not_matter():
    problem = make(Shape([("A", "x", "x"), ("A", "A", "A")], [("TOP", "A", ())], ["x"], [0] * 4), 1)
    every = process(problem, leftmost=False)
    states = all_states(every)
    assert len(states) == len({state.constituents for state in states})
    assert sum(state.is_complete for state in states) == len(problem.trees) == 1
