"""``check_task`` checks that a task keeps its contract, and explains what is wrong and where."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from treewright.errors import TaskError
from treewright.search.compiling import interpreted, is_compiler_error, is_disabled, kernel
from treewright.search.diagnosis import explain_compilation
from treewright.search.scoring import LINEAR
from treewright.search.task import Packed, Task

__all__ = ["CheckReport", "check_task", "preflight"]

Buffer = npt.NDArray[np.int32]


@dataclass
class CheckReport:
    """The result of :func:`check_task`: ``problems`` that it found, and ``notes`` on what it checked."""

    task: str
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether there are no problems."""
        return not self.problems

    def __str__(self) -> str:
        verdict = "keeps its contract" if self.ok else f"breaks its contract in {len(self.problems)} way(s)"
        lines = [f"task {self.task!r} {verdict}", *(f"  wrong: {p}" for p in self.problems)]
        return "\n".join([*lines, *(f"  checked: {note}" for note in self.notes)])


_FLOWN: set[str] = set()


def preflight(packed: Packed, sentences: int = 2) -> None:
    """Run the shortest sentences of a user's task interpreted, before it is trained for the first time.

    Compiled code does not check the bounds of arrays; this finds most writes outside of them.
    """
    task = packed.task
    if type(task).__module__.startswith("treewright.") or task.digest in _FLOWN:
        return
    filled = np.flatnonzero(packed.lengths > 0)
    shortest = filled[np.argsort(packed.lengths[filled], kind="stable")][:sentences]
    try:
        for i in shortest:
            _random_walk(task.plain(), packed, int(i), np.random.default_rng(0))
    except _Wrong as wrong:
        raise TaskError(f"task {task.name!r}: {wrong}. `check_task` looks further.") from None
    _FLOWN.add(task.digest)


class _Wrong(Exception):
    """The task breaks its contract."""


def check_task(
    task: Task,
    corpus: Iterable[Any],
    *,
    walks: int = 3,
    most_sentences: int = 50,
    most_states: int = 5_000,
    seed: int = 0,
) -> CheckReport:
    """Check a task on a small corpus.

    * Along random walks: every action offered is legal (can be taken, has a valid code, is offered once), only ``step``
      changes the state and always does, features and costs are as declared, and the walk ends within ``max_steps``.
    * By exhaustive search, on the sentences with at most ``most_states`` states: the expert reaches the least loss
      possible; where ``oracle`` is ``"exact"`` or ``"optimal"``, this holds from every state that can be reached, the
      actions of zero cost are exactly the optimal ones, and (``"exact"``) each cost is the increase of the least loss.
    * With the compiler: compiled functions give the same as interpreted ones.

    The report lists at most one problem of each kind.
    """
    report = CheckReport(task.name)
    sentences = [sentence for sentence, _ in zip(corpus, range(most_sentences), strict=False)]
    try:
        if not sentences:
            raise _Wrong("the corpus is empty: give some sentences to check the task with")
        LINEAR.scratch(task)
        for function in ("is_final", "step", "features", "expert_costs", "loss"):
            if getattr(type(task), function) is getattr(Task, function):
                raise _Wrong(f"`{function}` is not defined")
        packed = _guard("encode", "the corpus", task.pack, sentences)
        plain = task.plain()
        rng = np.random.default_rng(seed)
        walked = [(i, _random_walk(plain, packed, i, rng)) for i in range(len(packed)) for _ in range(walks)]
        report.notes.append(f"{len(walked)} random walks over {len(packed)} sentences")
        searched = [i for i in range(len(packed)) if _exhaustive(plain, packed, i, most_states)]
        if searched:
            report.notes.append(f"exhaustive search on {len(searched)} sentences")
        else:
            report.notes.append(f"no exhaustive search: every sentence has cycles or more than {most_states} states")
        if is_disabled():
            report.notes.append("compiled code was not looked at: the compiler is switched off")
        else:
            for i, actions in walked:
                _compare(task, plain, packed, i, actions)
            report.notes.append("compiled and interpreted functions agree")
    except (_Wrong, TaskError) as wrong:
        report.problems.append(str(wrong))
    return report


def _guard(function: str, where: str, call: Any, *arguments: Any) -> Any:
    """Call a function of the task; describe its exception, if there is one, in a sentence."""
    try:
        return call(*arguments)
    except (_Wrong, TaskError):
        raise
    except Exception as error:
        hint = ""
        if isinstance(error, IndexError):
            hint = "; are the arrays long enough, n_actions and max_features large enough?"
        elif isinstance(error, AttributeError) and "Record__" in str(error):
            hint = "; see what `state`, `instance` and `shared` declare"
        elif isinstance(error, OverflowError):
            hint = "; features are below 2³¹: make them with `mix`"
        raise _Wrong(f"`{function}` raises {type(error).__name__} on {where}: {error}{hint}") from error


class _Guarded(np.ndarray):
    """An array that rejects negative indices, because compiled code reads the memory before the array."""

    def __getitem__(self, key: Any) -> Any:
        _check_index(key, self)
        return super().__getitem__(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        _check_index(key, self)
        super().__setitem__(key, value)


def _check_index(key: Any, array: npt.NDArray[Any]) -> None:
    for each in key if isinstance(key, tuple) else (key,):
        if isinstance(each, (int, np.integer)) and each < 0:
            raise IndexError(
                f"the index {each} of an array of {array.shape} is negative: compiled code reads elsewhere"
            )


def _guarded(view: Any) -> Any:
    """The arrays of an instance or a state, guarded."""
    return type(view)(*(each.view(_Guarded) if isinstance(each, np.ndarray) else each for each in view))


class _Episode:
    """One sentence of a task, interpreted, with every call checked; ``guarded`` also finds negative indices."""

    def __init__(self, task: Task, packed: Packed, i: int, *, guarded: bool = False) -> None:
        self.task, self.i, self.n = task, i, int(packed.lengths[i])
        self._seen = _guarded if guarded else lambda view: view
        self.x = self._seen(task.instance_view(packed.arrays, i))
        self.out_actions = np.zeros(task.n_actions, np.int32)
        self.out_costs = np.zeros(task.n_actions, np.float64)
        self.out_features = np.zeros(task.max_features, np.int32)

    def where(self, path: Sequence[int]) -> str:
        """A description of the current position."""
        return f"sentence {self.i} (of length {self.n}) after the actions {[int(a) for a in path]}"

    def call(self, function: str, buffer: Buffer, path: Sequence[int], *arguments: Any) -> Any:
        """Call a function that must not change the state."""
        before = buffer.copy()
        state = self._seen(self.task.state_view(buffer, self.n))
        result = _guard(function, self.where(path), getattr(self.task, function), self.x, state, *arguments)
        if not np.array_equal(before, buffer):
            raise _Wrong(f"`{function}` changes the state in {self.where(path)}; only `step` and `initial` may")
        return result

    def number(self, kind: type, function: str, buffer: Buffer, path: Sequence[int], *arguments: Any) -> Any:
        """Call a function that must return a number."""
        result = self.call(function, buffer, path, *arguments)
        if not isinstance(result, (int, float, np.integer, np.floating)) or kind(result) != result:
            missing = " (is a `return` missing?)" if result is None else ""
            wanted = "a whole number" if kind is int else "a number"
            raise _Wrong(f"`{function}` returns {result!r} in {self.where(path)}; it must return {wanted}{missing}")
        return kind(result)

    def start(self) -> Buffer:
        """The initial state."""
        buffer = np.zeros(self.task.state_size(self.n), np.int32)
        _guard("initial", self.where([]), self.task.initial, self.x, self._seen(self.task.state_view(buffer, self.n)))
        return buffer

    def is_final(self, buffer: Buffer, path: Sequence[int]) -> bool:
        """Whether the state is final."""
        return bool(self.call("is_final", buffer, path))

    def actions(self, buffer: Buffer, path: Sequence[int]) -> list[int]:
        """The actions offered, checked."""
        self.out_actions[:] = -1
        count = self.number(int, "actions", buffer, path, self.out_actions)
        if count <= 0:
            raise _Wrong(f"`actions` offers nothing in {self.where(path)}, which is not final")
        if count > self.task.n_actions:
            raise _Wrong(f"`actions` says {count} in {self.where(path)}, more than n_actions = {self.task.n_actions}")
        found = [int(a) for a in self.out_actions[:count]]
        if len(set(found)) < count:
            raise _Wrong(f"`actions` offers an action twice in {self.where(path)}: {found}")
        if min(found) < 0 or (not self.task.structured and max(found) >= self.task.n_actions):
            raise _Wrong(
                f"`actions` offers a code outside 0 … {self.task.n_actions - 1} in {self.where(path)}: {found}"
            )
        return found

    def step(self, buffer: Buffer, path: Sequence[int], action: int) -> Buffer:
        """The state after an action, in a copy."""
        after = buffer.copy()
        state = self._seen(self.task.state_view(after, self.n))
        _guard("step", f"{self.where(path)}, action {action}", self.task.step, self.x, state, action)
        if np.array_equal(after, buffer):
            raise _Wrong(f"`step` does not advance: action {action} leaves the state as it was in {self.where(path)}")
        return after

    def costs(self, buffer: Buffer, path: Sequence[int], actions: list[int]) -> list[float]:
        """The expert's costs, checked."""
        self.out_actions[: len(actions)] = actions
        self.out_costs[:] = np.nan
        self.call("expert_costs", buffer, path, self.out_actions, len(actions), self.out_costs)
        costs = [float(c) for c in self.out_costs[: len(actions)]]
        if not np.all(np.isfinite(costs)) or min(costs) < 0:
            raise _Wrong(f"`expert_costs` must give each action a cost ≥ 0; it gives {costs} in {self.where(path)}")
        if min(costs) > 0 and self.task.oracle != "static":
            raise _Wrong(f"`expert_costs` must give the best action 0; it gives {costs} in {self.where(path)}")
        return costs

    def loss(self, buffer: Buffer, path: Sequence[int]) -> float:
        """The loss of a final state, checked."""
        loss = self.number(float, "loss", buffer, path)
        if not np.isfinite(loss) or loss < 0:
            raise _Wrong(f"`loss` must be ≥ 0 and finite; it is {loss} in {self.where(path)}")
        return loss

    def features(self, buffer: Buffer, path: Sequence[int], actions: list[int]) -> None:
        """Check that the features are as declared."""
        calls: list[tuple[str, tuple[Any, ...]]] = [("features", (self.out_features,))]
        if self.task.structured:
            calls += [("action_features", (action, self.out_features)) for action in actions]
        for function, arguments in calls:
            self.out_features[:] = 0
            count = self.number(int, function, buffer, path, *arguments)
            if not 0 <= count <= self.task.max_features:
                raise _Wrong(
                    f"`{function}` says {count} in {self.where(path)}; max_features is {self.task.max_features}"
                )
            if (self.out_features < 0).any():
                raise _Wrong(f"`{function}` gives a negative feature in {self.where(path)}: features are below 2³¹")

    def positions(self, buffer: Buffer, path: Sequence[int]) -> None:
        """Check that the positions are as declared."""
        out = np.zeros(self.task.max_positions, np.int32)
        count = self.number(int, "positions", buffer, path, out)
        if count != self.task.max_positions:
            raise _Wrong(
                f"`positions` says {count} in {self.where(path)}; max_positions is {self.task.max_positions}, and "
                "every state has the same number of positions"
            )
        if ((out < -1) | (out > self.n)).any():
            raise _Wrong(f"`positions` gives {out.tolist()} in {self.where(path)}: they lie between -1 and n")

    def structure(self, buffer: Buffer, path: Sequence[int]) -> None:
        """Is the structure what is declared: four lists behind their lengths?"""
        out = np.zeros(self.task.structure_bound(self.n), np.int32)
        count, end = self.number(int, "structure", buffer, path, out), 0
        limits = (self.n + 1, self.n + 1, self.n + 1, self.task.n_actions) if len(out) else ()
        for name, below in zip(("stack", "buffer", "arcs", "actions"), limits, strict=False):
            size = int(out[end]) * (3 if name == "arcs" else 1) if end < min(count, len(out)) else -1
            values = out[end + 1 : end + 1 + size].reshape(-1, 3 if name == "arcs" else 1)
            if not 0 <= size <= count - end - 1:
                raise _Wrong(f"`structure` does not have the list of the {name} in {self.where(path)}")
            last = values[:, 2:] if name == "arcs" else values[:, :0]
            if (values[:, :2] >= below).any() or (values < 0).any() or (last >= self.task.n_relations).any():
                raise _Wrong(
                    f"`structure` gives the {name} {values.tolist()} in {self.where(path)}: positions lie between 0 "
                    "and n, relations below n_relations, and actions below n_actions"
                )
            end += 1 + size
        if count != end or count > len(out):
            raise _Wrong(
                f"`structure` says {count} in {self.where(path)}; its lists have {end} numbers, and max_structure "
                f"allows {len(out)}"
            )


def _random_walk(task: Task, packed: Packed, i: int, rng: np.random.Generator) -> list[int]:
    """Run a random episode, and try every action in every state; return the actions taken."""
    episode = _Episode(task, packed, i, guarded=True)
    buffer, path = episode.start(), list[int]()
    bound = task.steps_bound(episode.n)
    while not episode.is_final(buffer, path):
        if len(path) >= bound:
            raise _Wrong(
                f"an episode is not final after {bound} steps, the declared bound `max_steps`: {episode.where(path)}"
            )
        actions = episode.actions(buffer, path)
        if actions != episode.actions(buffer, path):
            raise _Wrong(f"`actions` gives another answer when asked again in {episode.where(path)}")
        episode.features(buffer, path, actions)
        episode.positions(buffer, path)
        episode.structure(buffer, path)
        episode.costs(buffer, path, actions)
        successors = [episode.step(buffer, path, action) for action in actions]
        chosen = int(rng.integers(len(actions)))
        buffer = successors[chosen]
        path.append(actions[chosen])
    episode.loss(buffer, path)
    return path


def _exhaustive(task: Task, packed: Packed, i: int, most_states: int) -> bool:
    """Search the whole space of one sentence, if it is small, and compare the expert with the result."""
    episode = _Episode(task, packed, i)
    start = episode.start()
    best: dict[bytes, float] = {}  # the least loss reachable from a state
    paths: dict[bytes, list[int]] = {start.tobytes(): []}
    # depth first with an explicit stack; a state is settled when all its successors are
    stack: list[tuple[Buffer, list[int], list[Buffer] | None]] = [(start, [], None)]
    visits = 0
    while stack:
        visits += 1
        if visits > 20 * most_states:  # a space with cycles: depth-first search does not settle it
            return False
        buffer, actions, successors = stack.pop()
        key = buffer.tobytes()
        if key in best:
            continue
        path = paths[key]
        if episode.is_final(buffer, path):
            best[key] = episode.loss(buffer, path)
            continue
        if successors is None:
            if len(paths) > most_states:
                return False
            actions = episode.actions(buffer, path)
            successors = [episode.step(buffer, path, action) for action in actions]
            stack.append((buffer, actions, successors))
            for action, after in zip(actions, successors, strict=True):
                if after.tobytes() not in paths:
                    paths[after.tobytes()] = [*path, action]
                    stack.append((after, [], None))
                elif after.tobytes() not in best:
                    if after.tobytes() == key:
                        raise _Wrong(f"`step` does not advance in {episode.where(path)}")
                    stack.append((after, [], None))
            continue
        if any(after.tobytes() not in best for after in successors):
            return False
        best[key] = min(best[after.tobytes()] for after in successors)
        if task.oracle != "static":
            _hold_expert(episode, buffer, path, actions, best[key], [best[s.tobytes()] for s in successors])
    _follow_expert(episode, start, best[start.tobytes()])
    return True


def _hold_expert(
    episode: _Episode, buffer: Buffer, path: list[int], actions: list[int], value: float, after: list[float]
) -> None:
    """Check that the oracle's cost of each action is the increase of the least loss."""
    costs = episode.costs(buffer, path, actions)
    for action, cost, reachable in zip(actions, costs, after, strict=True):
        rise = reachable - value
        if (cost == 0) != (abs(rise) < 1e-9):
            kind = "is optimal" if abs(rise) < 1e-9 else f"makes the least loss rise by {rise:g}"
            raise _Wrong(
                f"`expert_costs` says {cost:g} for action {action}, which {kind}, in {episode.where(path)} (found by "
                "exhaustive search)"
            )
        if episode.task.oracle == "exact" and abs(cost - rise) > 1e-9:
            raise _Wrong(
                f"`expert_costs` says {cost:g} for action {action}, but the least loss rises by {rise:g}, in "
                f"{episode.where(path)}; if it is not meant to be exact, declare oracle = 'optimal'"
            )


def _follow_expert(episode: _Episode, buffer: Buffer, least: float) -> None:
    """Check that the expert's own path ends with the least loss."""
    path: list[int] = []
    while not episode.is_final(buffer, path):
        actions = episode.actions(buffer, path)
        action = actions[int(np.argmin(episode.costs(buffer, path, actions)))]
        buffer = episode.step(buffer, path, action)
        path.append(action)
    loss = episode.loss(buffer, path)
    if loss > least + 1e-9:
        raise _Wrong(
            f"the expert ends with loss {loss:g} where {least:g} is possible, in sentence {episode.i}: "
            f"its actions are {path}"
        )


@kernel
def replay_pass(
    task: Any,
    corpus: Any,
    i: int,
    path: Any,
    buffer: Any,
    states: Any,
    counts: Any,
    actions: Any,
    costs: Any,
    features: Any,
    positions: Any,
    structures: Any,
) -> float:
    """Take the given actions, in ``buffer``, and record all results of the task's functions."""
    x = task.instance_view(corpus, i)
    state = task.state_view(buffer, np.int64(corpus.n[i]))
    task.initial(x, state)
    for t in range(path.shape[0] + 1):
        for j in range(buffer.shape[0]):
            states[t, j] = buffer[j]
        if task.is_final(x, state):
            counts[t, 0] = -1
            return task.loss(x, state)
        n = task.actions(x, state, actions[t])
        counts[t, 0] = n
        counts[t, 1] = task.features(x, state, features[t])
        counts[t, 2] = task.action_features(x, state, path[t], features[t, features.shape[1] // 2 :])
        counts[t, 3] = task.positions(x, state, positions[t])
        counts[t, 4] = task.structure(x, state, structures[t])
        task.expert_costs(x, state, actions[t], n, costs[t])
        task.step(x, state, path[t])
    return -1.0


def _compare(task: Task, plain: Task, packed: Packed, i: int, path: list[int]) -> None:
    """Replay an episode compiled and interpreted, and compare all results."""
    steps, size = len(path) + 1, task.state_size(int(packed.lengths[i]))

    def run(function: Any, which: Task) -> tuple[Any, ...]:
        states, counts = np.zeros((steps, size), np.int32), np.zeros((steps, 5), np.int64)
        actions, costs = np.zeros((steps, task.n_actions), np.int32), np.zeros((steps, task.n_actions))
        features = np.zeros((steps, 2 * task.max_features), np.int32)
        positions, taken = np.zeros((steps, task.max_positions), np.int32), np.array(path, np.int64)
        structures = np.zeros((steps, task.structure_bound(int(packed.lengths[i]))), np.int32)
        written = (states, counts, actions, costs, features, positions, structures)
        loss = function(which, packed.arrays, i, taken, np.zeros(size, np.int32), *written)
        return *written, np.array([loss])

    try:
        compiled = run(replay_pass, task)
    except Exception as error:
        if not is_compiler_error(error):
            raise
        raise _Wrong(explain_compilation(packed, error)) from None
    names = (
        "`step`",
        "the number of actions, features, positions or of the structure",
        "`actions`",
        "`expert_costs`",
        "`features`",
        "`positions`",
        "`structure`",
        "`loss`",
    )
    for name, a, b in zip(names, compiled, run(interpreted(replay_pass), plain), strict=True):
        if not np.array_equal(a, b, equal_nan=True):
            t = int(np.flatnonzero((a != b).reshape(len(a), -1).any(axis=1))[0])
            raise _Wrong(
                f"compiled and interpreted code differ in {name}, sentence {i}, after the actions {path[:t]}: "
                "cast integers and floats explicitly, and do not read beyond arrays"
            )
