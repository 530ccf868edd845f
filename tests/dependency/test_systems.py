"""The registry of transition systems, and what a system may declare."""

from __future__ import annotations

import copy
import re
import sys
from dataclasses import replace

import numpy as np
import pytest
from numba import config

from tests.dependency import naive
from tests.dependency.helpers import EXAMPLE, SYSTEMS, example_system, make_task, pack_trees, sentence
from tests.packages import install
from treewright.dependency import DependencyParser, Move, arc_hybrid, check_system, find_system, system_names
from treewright.dependency.configuration import DEPTH, FRONT, pop, shift, top
from treewright.errors import ConfigError, ModelError
from treewright.search import inlined

HYBRID = arc_hybrid.SYSTEM
SHIFT, LEFT, RIGHT, UNSHIFT, PAUSE = range(5)


@inlined
def admissible(x, state):
    moves = arc_hybrid.admissible(x, state)
    s0 = top(state, 0)
    if s0 > 0 and s0 == state.registers[FRONT] and state.unshifted[s0] == 0:
        moves |= 1 << UNSHIFT
    if state.pauses[0] < 2:
        moves |= 1 << PAUSE
    return moves


@inlined
def move(x, state, action):
    if action == UNSHIFT:
        state.unshifted[top(state, 0)] = 1
        state.registers[DEPTH] -= 1
        state.registers[FRONT] -= 1
    elif action == PAUSE:
        state.pauses[0] += 1
    elif action == SHIFT:
        shift(state)
    else:
        pop(state, 0)


@inlined
def initial(x, state):
    state.pauses[0] = 1


#: arc-hybrid in which a word may be put back once, and with a pause; moves with and without arcs are mixed
UNSHIFTING = replace(
    HYBRID,
    name="unshifting",
    moves=(*HYBRID.moves, Move("UNSHIFT"), Move("PAUSE")),
    admissible=admissible,
    move=move,
    costs=None,
    least_loss=None,
    initial=initial,
    state={"unshifted": "n + 1", "pauses": 1},
    max_steps="20*n",
)


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A package that has the system of the example, and two mistakes."""
    systems = {"covington": "covington:SYSTEM", "number": "mistakes:NUMBER", "other": "mistakes:SYSTEM"}
    mistakes = "from covington import SYSTEM\nNUMBER = 4\n"
    install(tmp_path, "systems", {"systems": systems}, {"covington": EXAMPLE.read_text(), "mistakes": mistakes})
    monkeypatch.syspath_prepend(str(tmp_path))
    for module in ("covington", "mistakes"):
        monkeypatch.delitem(sys.modules, module, raising=False)


def test_systems_are_found_by_name():
    assert system_names()[:5] == ("arc-standard", "arc-standard-buffer", "arc-eager", "arc-hybrid", "swap")
    assert [find_system(name).name for name in system_names()] == [*system_names()]
    assert find_system(HYBRID) is find_system("arc-hybrid") is HYBRID
    with pytest.raises(ConfigError, match=r"'arc-lazy'.*arc-standard.*swap"):
        find_system("arc-lazy")


def test_an_installed_system_is_found_and_imported_when_it_is_asked_for(installed):
    assert "covington" in system_names()
    assert "covington" not in sys.modules
    assert find_system("covington").move_names == ("SHIFT", "LEFTARC", "RIGHTARC", "NOARC")
    assert "covington" in sys.modules


@pytest.mark.parametrize(
    ("name", "said"), [("number", "TransitionSystem.*int"), ("other", "another name, 'covington'")]
)
def test_an_entry_point_that_holds_something_else_is_named(installed, name, said):
    with pytest.raises(ConfigError, match=f"'{name}'.*{said}"):
        find_system(name)


def test_a_system_of_ones_own_has_a_name_of_its_own():
    with pytest.raises(ConfigError, match=r"built-in.*'swap'"):
        find_system(replace(HYBRID, name="swap"))


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        ({"moves": (Move("SHIFT"), Move("ARC", "s0", "q0"))}, "ARC.*'s0' and 'q0'.*s0, s1.*b3"),
        ({"moves": (Move("SHIFT"), Move("ARC", "", "s0"))}, "ARC.*'' and 's0'"),
        ({"moves": (Move("SHIFT"), Move("SHIFT", "s0", "s1"))}, "two moves.*'SHIFT'"),
        ({"moves": (Move("SHIFT"), Move("LEFT_ARC", "s0", "s1"))}, "'LEFT_ARC'.*letters"),
        ({"moves": (Move("SHIFT"),)}, "at least one move that makes an arc"),
        ({"moves": (Move("ARC", "s0", "s1"),)}, "one that does not"),
        ({"moves": (Move("ARC", "s0", "s1"), *(Move(f"WAIT{k}") for k in range(62)))}, "63 moves"),
        ({"state": {"heads": "n"}}, "field 'heads'"),
    ],
)
def test_what_a_system_cannot_declare(declared, said):
    with pytest.raises(ConfigError, match=f"'wrong'.*{said}"):
        replace(HYBRID, name="wrong", **declared)


def test_a_system_is_one_value_also_in_copies():
    assert copy.deepcopy({"system": HYBRID})["system"] is HYBRID
    assert repr(HYBRID) == "TransitionSystem('arc-hybrid')"


def walk(task, packed, choose):
    """Run an episode, and yield each state with its actions and the one that ``choose`` takes."""
    x = packed.instance(0)
    n = int(packed.lengths[0])
    state = task.state_view(np.zeros(task.state_size(n), np.int32), n)
    task.initial(x, state)
    actions = np.zeros(task.n_actions, np.int32)
    for _ in range(task.steps_bound(n) + 1):
        if task.is_final(x, state):
            return state
        offered = actions[: task.actions(x, state, actions)].tolist()
        task.step(x, state, choose(x, state, offered))
    raise AssertionError("it does not end")


@pytest.mark.parametrize("system", [*SYSTEMS, UNSHIFTING], ids=lambda system: system.name)
@pytest.mark.parametrize("staged", [True, False])
def test_an_action_is_a_move_and_a_label(system, staged):
    """Each action does what its move and its label do, and those with an arc know all labels."""
    task = make_task(system, 3, staged=staged, plain=True)
    packed = pack_trees(task, [(2, 0, 5, 5, 2)], [[0, 1, 2, 0, 1]])
    transitions, n = task.transitions.plain(), 5
    rng = np.random.default_rng(0)

    def choose(x, state, offered):
        pairs = [task.move_and_label(action) for action in offered]
        moves = [move for move, _ in pairs]
        if staged and -1 in moves:
            assert pairs == [(-1, label) for label in range(3)]
        else:
            bits = int(transitions.admissible(x, state))
            assert {*moves} == {move for move in range(len(system.moves)) if bits >> move & 1}
            for move in moves:
                labels = [label for other, label in pairs if other == move]
                assert labels == ([0, 1, 2] if system.moves[move].makes_arc and not staged else [-1])
        action = offered[rng.integers(len(offered))]
        move, label = task.move_and_label(action)
        assert move < 0 or task.action_of(move, label) == action
        if not staged:
            copies = [task.state_view(_whole(task, state, n).copy(), n) for _ in range(2)]
            task.step(x, copies[0], action)
            transitions.make_move(x, copies[1], move, label)
            assert _whole(task, copies[0], n).tolist() == _whole(task, copies[1], n).tolist()
        return action

    for _ in range(5):
        walk(task, packed, choose)


def _whole(task, state, n):
    return np.concatenate([getattr(state, field) for field in task.state])


def test_five_moves_and_fields_of_the_state():
    joint, staged = (make_task(UNSHIFTING, 2, staged=staged, plain=True) for staged in (False, True))
    assert (joint.n_actions, joint.table_width) == (3 + 2 * 2, 7)
    assert (staged.n_actions, staged.table_width) == (5 + 2, 5)
    assert [joint.move_and_label(a) for a in range(4)] == [(SHIFT, -1), (UNSHIFT, -1), (PAUSE, -1), (LEFT, 0)]
    packed = pack_trees(joint, [(2, 0)])
    x = packed.instance(0)
    state = joint.state_view(np.zeros(joint.state_size(2), np.int32), 2)
    joint.initial(x, state)
    assert state.pauses.tolist() == [1]
    for action in (0, 2, 1):  # Shift, Pause, Unshift
        joint.step(x, state, action)
    assert (state.pauses.tolist(), state.unshifted.tolist()) == ([2], [0, 1, 0])
    assert (state.registers[DEPTH], state.registers[FRONT]) == (1, 0)
    actions = np.zeros(7, np.int32)
    assert actions[: joint.actions(x, state, actions)].tolist() == [0]


@pytest.mark.parametrize("staged", [True, False])
def test_whatever_is_done_with_five_moves_ends_in_a_tree(staged):
    task = make_task(UNSHIFTING, 3, staged=staged, plain=True)
    packed = pack_trees(task, [(2, 0, 5, 5, 2)])
    for seed in range(10):
        rng = np.random.default_rng(seed)
        state = walk(task, packed, lambda x, state, offered, rng=rng: offered[rng.integers(len(offered))])
        assert tuple(state.heads[1:6].tolist()) in naive.projective_trees(5)


@pytest.mark.parametrize(
    "system", SYSTEMS if config.DISABLE_JIT else [example_system()], ids=lambda system: system.name
)
def test_systems_pass_their_check(system):
    report = check_system(system)
    assert report.ok, report
    assert any(note.startswith("exhaustive search on") for note in report.notes)


@inlined
def careless(x, state, out):
    arc_hybrid.costs(x, state, out)
    out[SHIFT] = 0.0


@inlined
def impatient(x, state):
    return arc_hybrid.LEFT if state.registers[DEPTH] > 1 else arc_hybrid.SHIFT


@pytest.mark.parametrize(
    ("functions", "said"),
    [
        ({"costs": careless}, "`expert_costs` says 0 for action 0.*makes the least loss rise"),
        ({"costs": None, "static": impatient}, "the expert ends with loss"),
        ({"max_steps": "n"}, "not final after 1 steps"),
    ],
)
def test_the_check_finds_what_is_wrong(functions, said):
    report = check_system(replace(HYBRID, name="wrong", **functions))
    assert re.search(said, str(report)), report


def test_only_what_depends_on_the_run_is_in_the_options():
    """The rest is known when the task is compiled."""
    for system in ("arc-eager", "swap"):
        assert make_task(system, 3, staged=True, static=True).shared_arrays()["options"].tolist() == [1, 1]
    assert make_task("arc-eager").digest != make_task("arc-hybrid").digest
    assert make_task(HYBRID).digest == make_task("arc-hybrid").digest


def test_a_parser_takes_a_system_and_names_it():
    parser = DependencyParser(example_system())
    assert parser.resolved_config()["system"] == "covington"
    with pytest.raises(ConfigError, match="system cannot be 7"):
        DependencyParser(7).resolved_config()


@pytest.mark.jit
def test_a_model_of_an_installed_system_needs_the_package(installed, tmp_path, monkeypatch):
    crossing = sentence(["a", "b", "c", "d"], [3, 4, 0, 3], ["x", "y", "root", "z"])
    learner = {"name": "exploration", "passes": 5}
    parser = DependencyParser("covington", learner=learner, features="basic", bits=10).fit([crossing] * 4)
    assert parser.evaluate([crossing]).las == 1.0
    assert not any("↑" in label for label in parser.labels_)
    parser.save(tmp_path / "model.tw")
    assert DependencyParser.load(tmp_path / "model.tw").evaluate([crossing]).las == 1.0
    monkeypatch.undo()
    with pytest.raises(ModelError, match="'covington'"):
        DependencyParser.load(tmp_path / "model.tw")
