"""The scores of a stack-LSTM (Dyer et al. 2015): three LSTMs read the stack, the buffer and the actions so far.

An observation is the task's ``structure``, and the scores depend on nothing else. An arc computes a new vector for its
head, tanh(U[head; dependent; relation]), which replaces the old one on the stack or in the buffer. Then
score = W·relu(V[stack; buffer; actions]), where each part is the output of its LSTM at the end of its list.

Two successive states share most of their structure. The working space of the thread therefore keeps the vectors of the
last state for each prefix of each list, and only the vectors after the common prefix are computed: pushing is one step
of an LSTM, and popping costs nothing. If the next state is not a successor, as in roll-outs and beams, the common
prefix is shorter, and the scores are the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from treewright.search.compiling import CompiledFunction, interpreted, lean
from treewright.search.policy import Scoring, Scratch, Sizes
from treewright.search.records import record
from treewright.search.task import Task
from treewright.search.trouble import TOO_MUCH_STRUCTURE

__all__ = ["PARAMETERS", "StackScoring", "Summarised"]

#: the parameters that the functions read; each array contains all members
PARAMETERS = (
    "action",
    "relation",
    "compose",
    "compose_bias",
    "lstm",
    "lstm_bias",
    "summary",
    "summary_bias",
    "output",
    "output_bias",
)
#: The input of the functions: ``table[m, r]`` is the vector of row r for member m, ``start[i]`` is the first row of
#: sentence i, ``rows[i]`` is the number of its rows, and ``room`` contains the length of the longest sentence and the
#: maximum number of actions in an episode. A row of ``action`` contains the vectors of all actions of a member.
Summarised = record(("table", "start", "rows", "room", *PARAMETERS))

_STACK, _BUFFER, _ACTIONS = range(3)
# The cache of the last state: its sentence and member, and the lengths of its lists. The lists follow.
_SENTENCE, _MEMBER, _N_ARCS, _N_STACK, _N_BUFFER, _N_ACTIONS, _HEADER = range(7)


@lean
def _add_product(x: Any, matrix: Any, first: int, out: Any) -> None:
    """Add to ``out`` the product of a vector and the rows of a matrix from ``first`` on, four rows at a time."""
    n, width = x.shape[0], out.shape[0]
    whole = n - n % 4
    for i in range(0, whole, 4):
        x0, x1, x2, x3 = x[i], x[i + 1], x[i + 2], x[i + 3]
        w0, w1, w2, w3 = matrix[first + i], matrix[first + i + 1], matrix[first + i + 2], matrix[first + i + 3]
        for j in range(width):
            out[j] += (x0 * w0[j] + x1 * w1[j]) + (x2 * w2[j] + x3 * w3[j])
    for i in range(whole, n):
        factor, w = x[i], matrix[first + i]
        for j in range(width):
            out[j] += factor * w[j]


@lean
def _open_gates(gates: Any, cell: Any, is_first: bool, out: Any) -> None:
    """Write the output of an LSTM, followed by its cell, from its gates: input, forget, cell, output."""
    units, half = gates.shape[0] // 4, np.float32(0.5)
    for j in range(units):
        put = half * np.tanh(half * gates[j]) + half
        new = put * np.tanh(gates[2 * units + j])
        if not is_first:
            new += (half * np.tanh(half * gates[units + j]) + half) * cell[j]
        out[units + j] = new
        out[j] = (half * np.tanh(half * gates[3 * units + j]) + half) * np.tanh(new)


@lean
def _squash(values: Any) -> None:
    """Replace values by their hyperbolic tangents."""
    for j in range(values.shape[0]):
        values[j] = np.tanh(values[j])


@lean
def _copy(values: Any, out: Any) -> None:
    """Copy a vector."""
    for j in range(out.shape[0]):
        out[j] = values[j]


@lean
def _in_common(ids: Any, count: Any, before: Any, n_before: Any, below: Any) -> Any:
    """The length of the prefix that a list shares with the previous one: equal numbers that are less than ``below``."""
    k = np.int64(0)
    while k < count and k < n_before and ids[k] == before[k] and ids[k] < below:
        k += 1
    return k


@lean
def _read_on(
    matrices: Any, bias: Any, vectors: Any, ids: Any, common: int, count: Any, states: Any, gates: Any
) -> None:
    """Run an LSTM over the vectors of a list from ``common`` on; ``states`` has a row for each prefix of the list.

    A row contains the output and the cell of each layer.
    """
    layers, units = bias.shape[0], bias.shape[1] // 4
    size = 2 * units * layers
    for k in range(common, count):
        x = vectors[ids[k] * units : (ids[k] + 1) * units]
        for layer in range(layers):
            at = k * size + 2 * units * layer
            own, before = states[at : at + 2 * units], states[max(at - size, 0) : max(at - size, 0) + 2 * units]
            _copy(bias[layer], gates)
            _add_product(x, matrices[layer], 0, gates)
            if k > 0:
                _add_product(before[:units], matrices[layer], units, gates)
            _open_gates(gates, before[units:], k == 0, own)
            x = own[:units]


class StackScoring(Scoring):
    """The scoring of stack-LSTMs. An observation contains the number of the sentence and the task's structure."""

    def __init__(self, width: int, layers: int, hidden: int, longest: int) -> None:
        self.width, self.layers, self.hidden, self.longest = width, layers, hidden, longest

    @staticmethod
    def observe(task: Any, x: Any, i: int, state: Any, n: int, scratch: Scratch) -> int:
        """Write the number of the sentence and the structure of the state; return the length of the observation."""
        scratch.observed[0] = i
        count = task.structure(x, state, scratch.observed[1:])
        return 1 + count if count < scratch.observed.shape[0] else TOO_MUCH_STRUCTURE

    @staticmethod
    def score(arrays: Any, member: int, size: int, n: int, scratch: Scratch) -> None:
        """Write the scores of the ``n`` actions."""
        observed, known, sums = scratch.observed, scratch.one, scratch.sums
        sentence, width, layers = np.int64(observed[0]), arrays.table.shape[2], arrays.lstm.shape[2]
        hidden, n_actions = arrays.summary.shape[2], arrays.output.shape[2]
        items, steps, row = arrays.room[0] + 2, arrays.room[1], 2 * layers * width
        # the working space: vectors of words, followed by those that arcs have composed
        gates, units, out = sums[: 4 * width], sums[4 * width : 4 * width + hidden], sums[4 * width + hidden :]
        at = 4 * width + hidden + n_actions
        vectors = sums[at : at + 2 * items * width]
        at += 2 * items * width
        header, latest = known[:_HEADER], known[_HEADER : _HEADER + items]
        old_arcs = known[_HEADER + items : _HEADER + 4 * items]
        ids = known[_HEADER + 4 * items : _HEADER + 4 * items + max(items, steps)]
        lists = _HEADER + 4 * items + max(items, steps)
        if header[_SENTENCE] != sentence + 1 or header[_MEMBER] != member:
            header[_SENTENCE], header[_MEMBER] = sentence + 1, member
            for k in range(_N_ARCS, _HEADER):
                header[k] = 0
            for k in range(arrays.rows[sentence]):
                _copy(arrays.table[member, arrays.start[sentence] + k], vectors[k * width : (k + 1) * width])
        # the offsets of the four lists
        stack_at = np.int64(1)
        buffer_at = stack_at + 1 + observed[stack_at]
        arcs_at = buffer_at + 1 + observed[buffer_at]
        actions_at = arcs_at + 1 + 3 * observed[arcs_at]
        # the vectors of heads
        arcs, n_arcs = observed[arcs_at + 1 :], np.int64(observed[arcs_at])
        common = _in_common(arcs, 3 * n_arcs, old_arcs, np.int64(3 * header[_N_ARCS]), np.int64(1 << 31)) // 3
        for k in range(items):
            latest[k] = k
        for k in range(n_arcs):
            head, dependent, relation = arcs[3 * k], arcs[3 * k + 1], arcs[3 * k + 2]
            made = items + k
            if k >= common:
                own, above, below = vectors[made * width : (made + 1) * width], latest[head], latest[dependent]
                _copy(arrays.compose_bias[member], own)
                _add_product(vectors[above * width : (above + 1) * width], arrays.compose[member], 0, own)
                _add_product(vectors[below * width : (below + 1) * width], arrays.compose[member], width, own)
                _add_product(arrays.relation[member, relation], arrays.compose[member], 2 * width, own)
                _squash(own)
                old_arcs[3 * k], old_arcs[3 * k + 1], old_arcs[3 * k + 2] = head, dependent, relation
            latest[head] = made
        header[_N_ARCS] = n_arcs
        # the three LSTMs
        _copy(arrays.summary_bias[member], units)
        for which in range(3):
            start = stack_at if which == _STACK else buffer_at if which == _BUFFER else actions_at
            room = steps if which == _ACTIONS else items
            count = np.int64(observed[start])
            for k in range(count):
                ids[k] = observed[start + 1 + k] if which == _ACTIONS else latest[observed[start + 1 + k]]
            before, states = known[lists : lists + room], sums[at : at + room * row]
            lists, at = lists + room, at + room * row
            unchanged = n_actions if which == _ACTIONS else items + common
            same = _in_common(ids, count, before, np.int64(header[_N_STACK + which]), unchanged)
            for k in range(same, count):
                before[k] = ids[k]
            header[_N_STACK + which] = count
            read = arrays.action[member] if which == _ACTIONS else vectors
            _read_on(arrays.lstm[member, which], arrays.lstm_bias[member, which], read, ids, same, count, states, gates)
            if count > 0:
                end = (count - 1) * row + 2 * width * (layers - 1)
                _add_product(states[end : end + width], arrays.summary[member], which * width, units)
        for j in range(hidden):
            units[j] = max(units[j], np.float32(0.0))
        _copy(arrays.output_bias[member], out[:n_actions])
        _add_product(units, arrays.output[member], 0, out[:n_actions])
        for k in range(n):
            scratch.scores[k] = out[scratch.actions[k]]

    def plain(self) -> Any:
        """The same scoring for the interpreter; array slices make it much faster."""
        twin = super().plain()
        slices = {_add_product: _add_product_with_slices, _open_gates: _open_gates_with_slices}
        plain = {f.py_func if isinstance(f, CompiledFunction) else f: slow for f, slow in slices.items()}
        twin.score = interpreted(StackScoring.score, plain)
        return twin

    def sizes(self, task: Task) -> Sizes:
        """Return the sizes for the structure, and for the integers and vectors of the cached last state."""
        items, steps = self.longest + 2, int(task.steps_bound(self.longest))
        row = 2 * self.layers * self.width
        vectors = (4 + 2 * items) * self.width + self.hidden + int(task.n_actions) + (2 * items + steps) * row
        numbers = _HEADER + 6 * items + steps + max(items, steps)
        return Sizes(observed=1 + int(task.structure_bound(self.longest)), sums=vectors, one=numbers)


def _add_product_with_slices(x: Any, matrix: Any, first: int, out: Any) -> None:
    """Compute the same result as :func:`_add_product`: the same products in the same order."""
    rows = x[:, None] * matrix[first : first + len(x)]
    whole = len(x) - len(x) % 4
    for k in range(0, whole, 4):
        out += (rows[k] + rows[k + 1]) + (rows[k + 2] + rows[k + 3])
    for k in range(whole, len(x)):
        out += rows[k]


def _open_gates_with_slices(gates: Any, cell: Any, is_first: bool, out: Any) -> None:
    """Compute the same result as :func:`_open_gates`."""
    half = np.float32(0.5)
    put, forget, new, give = np.split(gates, 4)
    put, forget, give = (half * np.tanh(half * each) + half for each in (put, forget, give))
    units = len(put)
    new = put * np.tanh(new)
    if not is_first:
        new = new + forget * cell
    out[units:] = new
    out[:units] = give * np.tanh(new)
