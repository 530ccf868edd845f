"""check_task finds each breach of the contract and says where; it is content with tasks that keep it."""

import numpy as np
import pytest

from treewright.errors import TaskError
from treewright.learners import train
from treewright.search import Task, check_task, mix
from treewright.tagging import SequenceLabelling


class Copying(Task):
    """Label each number with its remainder: keeps the contract."""

    state = {"position": 1, "labels": "n", "errors": 1}
    instance = ("words",)
    n_actions = 3
    max_features = 4

    def is_final(x, state):
        return state.position[0] == x.n

    def step(x, state, action):
        i = state.position[0]
        state.labels[i] = action
        if action != x.words[i] % 3:
            state.errors[0] += 1
        state.position[0] = i + 1

    def features(x, state, out):
        out[0] = mix(1, x.words[state.position[0]])
        return 1

    def expert_costs(x, state, actions, n, out):
        for k in range(n):
            out[k] = 0.0 if actions[k] == x.words[state.position[0]] % 3 else 1.0

    def loss(x, state):
        return 1.0 * state.errors[0]

    def encode(self, sentence):
        return {"words": sentence}


CORPUS = [[4, 1, 2], [0], [], [5, 7, 7, 9]]


def breach(**functions):
    """What check_task says of Copying with some functions or declarations replaced."""
    task = type("Broken", (Copying,), functions)()
    report = check_task(task, CORPUS)
    assert not report.ok
    assert "breaks its contract" in str(report)
    return "\n".join(report.problems)


def test_a_good_task_passes():
    report = check_task(Copying(), CORPUS)
    assert report.ok, str(report)
    assert any("exhaustive search on 4 sentences" in note for note in report.notes)


def test_the_built_in_tagging_task_passes():
    task = SequenceLabelling(3, np.arange(10 * 64, dtype=np.int32).reshape(10, -1))

    class Given(type(task)):
        def encode(self, sentence):
            return {"words": sentence, "gold": [w % 3 for w in sentence]}

    report = check_task(Given(3, task.table), [[1, 2, 9], [4, 5]])
    assert report.ok, str(report)


def test_step_that_does_not_advance():
    def step(x, state, action):
        pass

    assert "`step` does not advance: action 0" in breach(step=step)


def test_bound_that_is_too_small():
    assert "not final after 1 steps" in breach(max_steps=1)


def test_function_that_changes_the_state():
    def loss(x, state):
        state.errors[0] += 1
        return 1.0

    assert "`loss` changes the state in sentence 0" in breach(loss=loss)


def test_function_that_raises_is_named_with_its_place():
    def features(x, state, out):
        out[99] = 1
        return 1

    assert "`features` raises IndexError on sentence 0 (of length 3) after the actions []" in breach(features=features)


def test_no_action_offered():
    assert "offers nothing" in breach(actions=lambda x, state, out: 0)


def test_action_offered_twice():
    def actions(x, state, out):
        out[0] = 1
        out[1] = 1
        return 2

    assert "offers an action twice" in breach(actions=actions)


def test_action_code_out_of_range():
    def actions(x, state, out):
        out[0] = 7
        return 1

    assert "outside 0 … 2" in breach(actions=actions)


def test_too_many_features():
    assert "max_features is 4" in breach(features=lambda x, state, out: 5)


def test_negative_feature():
    def features(x, state, out):
        out[0] = -3
        return 1

    assert "negative feature" in breach(features=features)


@pytest.mark.parametrize(
    ("given", "count", "said"), [(3, 1, "between -1 and n"), (-2, 1, "between -1 and n"), (0, 0, "max_positions is 1")]
)
def test_positions_are_words_and_always_as_many(given, count, said):
    def positions(x, state, out):
        out[0] = given if x.n == 1 else x.n
        return count

    assert said in breach(max_positions=1, positions=positions)


def test_costs_that_are_not_given():
    def expert_costs(x, state, actions, n, out):
        out[0] = 0.0

    assert "`expert_costs` must give each action a cost" in breach(expert_costs=expert_costs)


def test_expert_that_is_wrong_is_found_by_exhaustive_search():
    def expert_costs(x, state, actions, n, out):
        for k in range(n):
            out[k] = 0.0 if actions[k] == 0 else 1.0

    assert "found by exhaustive search" in breach(expert_costs=expert_costs)


def test_costs_that_are_not_the_rise_of_the_loss():
    def expert_costs(x, state, actions, n, out):
        for k in range(n):
            out[k] = 0.0 if actions[k] == x.words[state.position[0]] % 3 else 2.0

    assert "the least loss rises by 1" in breach(expert_costs=expert_costs)
    relaxed = type("Relaxed", (Copying,), {"expert_costs": expert_costs, "oracle": "optimal"})
    assert not any("rises" in problem for problem in check_task(relaxed(), CORPUS[1:2]).problems)


def test_static_expert_is_held_to_its_own_path_only():
    def expert_costs(x, state, actions, n, out):
        off = state.errors[0] > 0  # lost once it has left the path
        for k in range(n):
            out[k] = 0.0 if off or actions[k] == x.words[state.position[0]] % 3 else 1.0

    def suboptimal(x, state, actions, n, out):
        for k in range(n):
            out[k] = 0.0 if actions[k] == 2 else 1.0

    static = type("Static", (Copying,), {"expert_costs": expert_costs, "oracle": "static"})
    problems = check_task(static(), CORPUS).problems
    assert problems == []
    assert "the expert ends with loss" in breach(expert_costs=suboptimal, oracle="static")


def test_negative_loss():
    assert "`loss` must be ≥ 0" in breach(loss=lambda x, state: -1.0)


@pytest.mark.parametrize("result", [None, "bad", 1.5])
def test_what_is_not_a_number_is_named(result):
    message = breach(features=lambda x, state, out: result)
    assert f"`features` returns {result!r}" in message
    assert ("is a `return` missing?" in message) == (result is None)


def test_function_that_is_missing():
    bare = type("Bare", (Task,), {"n_actions": 2, "state": {"a": 1}, "instance": ("words",)})
    assert "`is_final` is not defined" in str(check_task(bare(), CORPUS))


def test_best_action_that_costs_something():
    def expert_costs(x, state, actions, n, out):
        for k in range(n):
            out[k] = 1.0

    assert "must give the best action 0" in breach(expert_costs=expert_costs)


def test_functions_with_self_and_strings_instead_of_tuples_are_refused_at_once():
    with pytest.raises(TaskError, match="`step` of Wrong: the functions of a task take no `self`"):
        type("Wrong", (Copying,), {"step": lambda self, x, state, action: None})
    with pytest.raises(TaskError, match=r"write \('words',\)"):
        type("Wrong", (Copying,), {"instance": "words"})


def test_training_refuses_a_task_that_writes_beyond_its_arrays():
    def step(x, state, action):
        state.labels[state.position[0] + 1] = action
        state.position[0] += 1

    broken = type("Broken", (Copying,), {"step": step})()
    with pytest.raises(TaskError, match="task 'Broken': `step` raises IndexError on sentence 1"):
        train("supervised", broken.pack(CORPUS), bits=4)


def test_missing_field():
    assert "gives no array 'words'" in breach(encode=lambda self, sentence: {"other": sentence})


def test_empty_corpus():
    assert not check_task(Copying(), []).ok


def test_large_spaces_are_not_searched_but_said_so():
    report = check_task(Copying(), [list(range(12))], most_states=50)
    assert report.ok
    assert any("no exhaustive search" in note for note in report.notes)


@pytest.mark.slow
def test_a_space_with_cycles_is_not_searched_for_ever():
    def step(x, state, action):
        if action == 2:  # go back, but not too often
            state.errors[0] = 1 - state.errors[0]
        else:
            state.position[0] += 1

    def loss(x, state):
        return 0.0

    def expert_costs(x, state, actions, n, out):
        for k in range(n):
            out[k] = 0.0 if actions[k] == 0 else 1.0

    functions = {"step": step, "loss": loss, "expert_costs": expert_costs, "max_steps": "100*n + 100"}
    report = check_task(type("Cyclic", (Copying,), functions)(), CORPUS[:2])
    assert any("no exhaustive search" in note for note in report.notes), str(report)


@pytest.mark.jit
def test_function_that_does_not_compile_is_named():
    def features(x, state, out):
        out[0] = len(frozenset([1, 2]))
        return 1

    assert "`features` does not compile" in breach(features=features)


@pytest.mark.jit
def test_difference_between_compiled_and_interpreted_is_found():
    def features(x, state, out):
        out[0] = (x.words[state.position[0]] * 2_000_000_000) // 7 & 0x7FFFFFFF
        return 1

    # NumPy wraps 32-bit integers around, Numba computes with 64 bits
    with np.errstate(over="ignore"):
        assert "differ" in breach(features=features)


def test_negative_indices_are_found():
    class Before(Task):
        state = {"position": 1}
        instance = ("letters",)
        n_actions = 2

        def is_final(x, state):
            return state.position[0] >= x.n

        def step(x, state, action):
            state.position[0] += 1

        def features(x, state, out):
            out[0] = x.letters[state.position[0] - 1]
            return 1

        def expert_costs(x, state, actions, n, out):
            for k in range(n):
                out[k] = 0.0

        def loss(x, state):
            return 0.0

        def encode(self, sentence):
            return {"letters": sentence}

    report = check_task(Before(), [[1, 2]])
    assert not report.ok
    assert "`features`" in str(report)
    assert "-1" in str(report)


@pytest.mark.parametrize(("wrong", "right"), [("max_feature", "max_features"), ("n_action", "n_actions")])
def test_misspelt_declarations_are_found(wrong, right):
    with pytest.raises(TaskError, match=f"{wrong}.*{right}"):
        type("Misspelt", (Task,), {wrong: 3})


def test_misspelt_functions_are_found():
    with pytest.raises(TaskError, match=r"expert_cost.*expert_costs"):
        type("Misspelt", (Task,), {"expert_cost": lambda x, state: None})
