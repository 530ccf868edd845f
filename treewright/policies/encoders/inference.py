"""Encode sentences with NumPy: the same computation as in :mod:`~treewright.policies.encoders.network`.

An :class:`Encoder` is built from the parameters once. It encodes sentences in blocks of several hundred words, so that
the matrices stay in the cache of the processor.
"""

from __future__ import annotations

import threading
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.policies.encoders.architecture import Architecture
from treewright.policies.encoders.inputs import FIRST, LONGEST, Inputs, Words
from treewright.policies.encoders.parameters import WINDOW, Parameters

__all__ = ["Encoder", "Layout", "layout_of"]

Floats = npt.NDArray[np.float32]
Longs = npt.NDArray[np.int64]

_REMEMBERED = 32_768  # the number of forms whose vectors are cached across texts
_VERY_LOW = np.float32(-1e4)
_HALF = np.float32(0.5)
_TINY = np.float32(1e-5)


class Layout(NamedTuple):
    """The rows of some sentences: their indices among all ``words``, and the first row of each sentence."""

    rows: Longs
    at: Longs


def layout_of(words: Words, which: Longs) -> Layout:
    """Return the rows of the sentences ``which``, in this order."""
    lengths = words.at[which + 1] - words.at[which]
    at = np.zeros(len(which) + 1, np.int64)
    np.cumsum(lengths, out=at[1:])
    return Layout(np.arange(at[-1]) + np.repeat(words.at[which] - at[:-1], lengths), at)


class Encoder:
    """An encoder with its parameters, ready to encode."""

    def __init__(self, architecture: Architecture, inputs: Inputs, parameters: Parameters) -> None:
        self.architecture, self.inputs = architecture, inputs
        self.parameters: dict[str, Floats] = {
            name: np.ascontiguousarray(value, np.float32) for name, value in parameters.items()
        }
        self._form_numbers: dict[str, int] = {}
        self._form_vectors = np.zeros((0, 0), np.float32)
        self._lock = threading.Lock()

    def table(self, words: Words, which: Longs) -> tuple[Floats, Longs]:
        """Return the contribution of each word to the hidden units at each position, and the offset of each sentence.

        The table has the shape rows × positions × hidden units. For a stack-LSTM it contains the vectors of the
        words without context and has the shape rows × width.
        """
        p, layout = self.parameters, layout_of(words, which)
        sums = self._first_layer(words, layout)
        if self.architecture.reads_structure:
            first = encoded = np.maximum(sums, np.float32(0.0))
        elif self.architecture.encoder == "convolution":
            first, encoded = self._convolved(sums, layout)
        else:
            first, encoded = self._recurrent(sums, layout)
        if words.predicted is not None:
            for target, found in zip(self.inputs.targets, words.predicted, strict=True):
                scores = first @ p[f"target_{target.name}"] + p[f"target_bias_{target.name}"]
                found[layout.rows] = FIRST + scores[:, FIRST:].argmax(axis=1)
        if self.architecture.reads_structure:
            return encoded, layout.at
        table = encoded @ p["slots"]
        table += p["slot_bias"]
        return table.reshape(len(table), -1, self.architecture.hidden), layout.at

    # ---- words

    def _first_layer(self, words: Words, layout: Layout) -> Floats:
        """The input of the first layer times its matrix, computed as a sum of rows for the form and each column."""
        form = words.form[layout.rows]
        if self._is_narrow:
            sums = self._of_forms(words)[form]
        else:
            forms, inverse = np.unique(form, return_inverse=True)
            sums = self._in_first_layer(self._of_forms(words)[forms])[inverse]
        for table, values in zip(self._column_tables, words.columns, strict=True):
            sums += table[values[layout.rows]]
        return sums

    @property
    def _is_narrow(self) -> bool:
        """Whether vectors of forms are cached as contributions to the first layer; those of an LSTM are too long."""
        return self.architecture.encoder != "lstm"

    def _in_first_layer(self, vectors: Floats) -> Floats:
        """The contribution of the vectors of forms to the first layer, with its bias."""
        matrix, bias = self._input
        return vectors @ matrix[: vectors.shape[1]] + bias

    @cached_property
    def _input(self) -> tuple[Floats, Floats]:
        """The matrix and the bias of the first layer, which reads the vectors of words."""
        if self.architecture.encoder != "lstm":
            return self.parameters["input"], self.parameters["input_bias"]
        parts = [self._lstm[0, direction] for direction in range(2)]
        return np.concatenate([part[0] for part in parts], axis=1), np.concatenate([part[2] for part in parts])

    @cached_property
    def _column_tables(self) -> list[Floats]:
        """The contribution of each value of each column to the first layer."""
        matrix, tables = self._input[0], []
        start = self.architecture.word + self.architecture.letters
        for column in self.inputs.columns:
            embeddings = self.parameters[f"column_{column.name}"]
            tables.append(embeddings @ matrix[start : start + embeddings.shape[1]])
            start += embeddings.shape[1]
        return tables

    def _of_forms(self, words: Words) -> Floats:
        """The vectors of the forms of a text. They are computed once per text and cached across texts."""
        memo = words.memo
        if memo and memo[0][0] is self:
            vectors: Floats = memo[0][1]
            return vectors
        with self._lock:
            known = self._form_numbers
            if len(known) + len(words.forms) > _REMEMBERED:
                known.clear()
            new = [form for form in words.forms if form not in known]
            if new:
                made = self._made_of_forms(new)
                kept = self._form_vectors[: len(known)]
                self._form_vectors = np.concatenate([kept, made]) if len(kept) else made
                known.update(zip(new, range(len(known), len(known) + len(new)), strict=True))
            vectors = self._form_vectors[[known[form] for form in words.forms]]
        memo[:] = [(self, vectors)]
        return vectors

    def _made_of_forms(self, forms: list[str]) -> Floats:
        """Compute the vectors of forms from their embeddings, fixed vectors and characters."""
        p, looked_up = self.parameters, self.inputs.looked_up(forms)
        parts = [p["word"][looked_up.word]]
        if self.inputs.vectors is not None:
            parts[0] += self.inputs.vectors.rows(looked_up.vector) @ p["vector"]
        if self.architecture.letters:
            parts.append(np.concatenate([self._spelled(part) for part in _parts(looked_up.letters, 512)]))
        vectors = np.concatenate(parts, axis=1)
        return self._in_first_layer(vectors) if self._is_narrow else vectors

    def _spelled(self, letters: npt.NDArray[np.int16]) -> Floats:
        """Max-pool each filter over the characters of a word, followed by a ReLU."""
        p = self.parameters
        n, size = len(letters), p["letter"].shape[1]
        framed = np.zeros((n, LONGEST + 2, size), np.float32)
        framed[:, 1:-1] = p["letter"][letters]
        framed[:, 1:-1][letters == 0] = 0.0
        windows = np.concatenate([framed[:, k : k + LONGEST] for k in range(WINDOW)], axis=2)
        values = (windows.reshape(n * LONGEST, -1) @ p["letter_filters"] + p["letter_bias"]).reshape(n, LONGEST, -1)
        values[letters == 0] = _VERY_LOW
        highest: Floats = np.maximum(values.max(axis=1), np.float32(0.0))
        return highest

    # ---- words in context

    def _convolved(self, sums: Floats, layout: Layout) -> tuple[Floats, Floats]:
        """Apply the residual convolutions, with a row of zeros before and after each sentence.

        Returns the outputs of the first layer and of the last one.
        """
        p, n = self.parameters, len(layout.at) - 1
        lengths = np.diff(layout.at)
        inner = np.arange(len(sums)) + np.repeat(np.arange(1, n + 1), lengths)
        between = layout.at + np.arange(n + 1)
        x = np.zeros((len(sums) + n + 1, sums.shape[1]), np.float32)
        x[inner] = sums
        first, width = x, sums.shape[1]
        windows = np.zeros((len(x), WINDOW * width), np.float32)
        for layer in range(self.architecture.layers):
            windows[1:, :width] = x[:-1]
            windows[:, width : 2 * width] = x
            windows[:-1, 2 * width :] = x[1:]
            gated = windows @ p[f"filters{layer}"]
            gated += p[f"filter_bias{layer}"]
            gate = gated[:, width:]
            gate *= _HALF
            np.tanh(gate, out=gate)
            gate *= _HALF
            gate += _HALF
            gate *= gated[:, :width]
            gate += x
            _normalise(gate, p[f"norm{layer}"], p[f"norm_bias{layer}"])
            gate[between] = 0.0
            x = gate
            first = x if layer == 0 else first
        return first[inner] if self.inputs.targets else first, x[inner]

    def _recurrent(self, sums: Floats, layout: Layout) -> tuple[Floats, Floats]:
        """Apply LSTMs in both directions to all sentences at once; a step applies to those that are long enough.

        Returns the outputs of the first layer and of the last one.
        """
        lengths = np.diff(layout.at)
        order = np.argsort(-lengths, kind="stable")
        starts, sizes = layout.at[:-1][order], lengths[order]
        active = np.searchsorted(-sizes, -np.arange(int(sizes.max(initial=0))), side="left").tolist()
        edges = np.cumsum([0, *active]).tolist()
        steps = np.repeat(np.arange(len(active)), active)
        places = np.arange(edges[-1]) - np.repeat(edges[:-1], active)
        ahead = starts[places] + steps
        back = starts[places] + sizes[places] - 1 - steps
        units, outputs = self.architecture.width // 2, [sums]
        for layer in range(self.architecture.layers):
            if layer:
                parts = [self._lstm[layer, direction] for direction in range(2)]
                sums = np.concatenate([outputs[-1] @ matrix + bias for matrix, _, bias in parts], axis=1)
            encoded = np.empty((len(sums), 2 * units), np.float32)
            for direction, rows in enumerate((ahead, back)):
                gates = sums[rows, direction * 4 * units : (direction + 1) * 4 * units]
                encoded[rows, direction * units : (direction + 1) * units] = _lstm_steps(
                    gates, self._lstm[layer, direction][1], active, edges
                )
            outputs.append(encoded)
        return outputs[min(1, self.architecture.layers)], outputs[-1]

    @cached_property
    def _lstm(self) -> dict[tuple[int, int], tuple[Floats, Floats, Floats]]:
        """The matrices of the LSTMs by layer and direction, with the gates in the order input, forget, output, cell.

        The inputs of the first three gates are halved, so that tanh computes all four: σ(x) = ½ tanh(x / 2) + ½.
        """
        units, found = self.architecture.width // 2, {}
        order = np.concatenate([np.arange(2 * units), np.arange(3 * units, 4 * units), np.arange(2 * units, 3 * units)])
        scale = np.where(np.arange(4 * units) < 3 * units, _HALF, np.float32(1.0))
        for layer in range(self.architecture.layers):
            for k, direction in enumerate(("forward", "backward")):
                names = (f"lstm{layer}_{direction}_{part}" for part in ("input", "recurrent", "bias"))
                made = [np.ascontiguousarray(self.parameters[name][..., order] * scale) for name in names]
                found[layer, k] = (made[0], made[1], made[2])
        return found


def _lstm_steps(gates: Floats, recurrent: Floats, active: list[int], edges: list[int]) -> Floats:
    """The outputs of an LSTM for rows in the order of its steps; ``active`` is the number of sentences at each step."""
    units = len(recurrent)
    out = np.empty((len(gates), units), np.float32)
    most = active[0] if active else 0
    cell, product = np.zeros((most, units), np.float32), np.empty((most, 4 * units), np.float32)
    before = 0
    for (start, end), b in zip(pairwise(edges), active, strict=True):
        now = gates[start:end]
        if start:
            now += np.dot(out[before : before + b], recurrent, out=product[:b])
        np.tanh(now, out=now)
        smooth = now[:, : 3 * units]
        smooth *= _HALF
        smooth += _HALF
        kept = cell[:b]
        kept *= now[:, units : 2 * units]
        kept += now[:, :units] * now[:, 3 * units :]
        np.multiply(np.tanh(kept), now[:, 2 * units : 3 * units], out=out[start:end])
        before = start
    return out


def _normalise(values: Floats, scale: Floats, shift: Floats) -> None:
    """Apply layer normalisation to each row, in place."""
    width = np.float32(values.shape[1])
    values -= (values.sum(axis=1) / width)[:, None]
    variance = np.einsum("ij,ij->i", values, values) / width
    values *= (np.float32(1.0) / np.sqrt(variance + _TINY))[:, None]
    values *= scale
    values += shift


def _parts(array: npt.NDArray[Any], size: int) -> list[npt.NDArray[Any]]:
    """Split an array into parts of at most ``size`` rows."""
    return [array[start : start + size] for start in range(0, max(len(array), 1), size)]
