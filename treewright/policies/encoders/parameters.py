"""The parameters of an encoder: their names, shapes and initial values.

All matrices are laid out for ``x @ matrix``. A layer ``lstm0`` has the gates input, forget, cell and output, in this
order, for each of its directions. For a stack-LSTM, ``lstm`` contains the matrices of the stack, the buffer and the
actions by layer; the rows for the input come before the rows for the previous output.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.policies.encoders.architecture import Architecture
from treewright.policies.encoders.inputs import Inputs

__all__ = ["WINDOW", "Parameters", "initial_parameters", "parameter_shapes"]

Parameters = Mapping[str, npt.NDArray[Any]]

WINDOW = 3  # the number of words or characters that a convolution reads at a time


class Shape(NamedTuple):
    """The shape of a parameter and the scale of its initial values: normal if ``normal``, or else uniform."""

    shape: tuple[int, ...]
    scale: float
    normal: bool = False
    constant: float = 0.0


def parameter_shapes(
    architecture: Architecture,
    inputs: Inputs,
    n_positions: int,
    n_actions: int,
    *,
    structured: bool = False,
    n_relations: int = 0,
) -> dict[str, Shape]:
    """Return the shapes of the parameters of the words, of the encoder and of the layer that scores actions, by name.

    If actions carry structure, the last layer is a hashed table with ``n_actions`` rows.
    """
    a = architecture
    shapes = {"word": Shape((inputs.n_words, a.word), 1.0 / math.sqrt(a.word), normal=True)}
    size = a.word
    if inputs.vectors is not None:
        shapes["vector"] = _matrix(inputs.vectors.width, a.word)
    if a.letters:
        shapes["letter"] = Shape((inputs.n_letters, a.letter), 1.0, normal=True)
        shapes["letter_filters"] = _matrix(WINDOW * a.letter, a.letters)
        shapes["letter_bias"] = _bias(WINDOW * a.letter, a.letters)
        size += a.letters
    for column in inputs.columns:
        shapes[f"column_{column.name}"] = Shape((column.size, a.column), 1.0, normal=True)
        size += a.column
    if a.reads_structure:
        shapes |= _stacks(a, size, n_actions, n_relations)
    else:
        shapes |= _convolutions(a, size) if a.encoder == "convolution" else _recurrent(a, size)
    for target in inputs.targets:
        shapes[f"target_{target.name}"] = _matrix(a.width, target.size)
        shapes[f"target_bias_{target.name}"] = _bias(a.width, target.size)
    if not a.reads_structure:
        shapes["slots"] = _matrix(a.width, n_positions * a.hidden)
        shapes["slot_bias"] = _bias(a.width, n_positions * a.hidden)
        shapes["missing"] = Shape((n_positions, a.hidden), 0.0)
    if structured:
        shapes["actions"] = Shape((n_actions, a.hidden), 0.5 / math.sqrt(a.hidden))
        shapes["action_bias"] = Shape((n_actions,), 0.0)
    else:
        shapes["output"] = _matrix(a.hidden, n_actions)
        shapes["output_bias"] = _bias(a.hidden, n_actions)
    return shapes


def initial_parameters(shapes: Mapping[str, Shape], seed: int) -> dict[str, npt.NDArray[np.float32]]:
    """Draw initial values of the parameters with a seed."""
    random = np.random.default_rng([seed, 18])

    def drawn(shape: Shape) -> npt.NDArray[np.float32]:
        if shape.scale == 0.0:
            return np.full(shape.shape, shape.constant, np.float32)
        values = random.normal(size=shape.shape) if shape.normal else random.uniform(-1.0, 1.0, shape.shape)
        return (shape.scale * values).astype(np.float32)

    return {name: drawn(shape) for name, shape in shapes.items()}


def _matrix(rows: int, columns: int) -> Shape:
    return Shape((rows, columns), 1.0 / math.sqrt(rows))


def _bias(rows: int, columns: int) -> Shape:
    return Shape((columns,), 1.0 / math.sqrt(rows))


def _convolutions(a: Architecture, size: int) -> dict[str, Shape]:
    shapes = {"input": _matrix(size, a.width), "input_bias": _bias(size, a.width)}
    for layer in range(a.layers):
        shapes[f"filters{layer}"] = _matrix(WINDOW * a.width, 2 * a.width)
        shapes[f"filter_bias{layer}"] = _bias(WINDOW * a.width, 2 * a.width)
        shapes[f"norm{layer}"] = Shape((a.width,), 0.0, constant=1.0)
        shapes[f"norm_bias{layer}"] = Shape((a.width,), 0.0)
    return shapes


def _recurrent(a: Architecture, size: int) -> dict[str, Shape]:
    units = a.width // 2
    scale = 1.0 / math.sqrt(units)
    shapes = {}
    for layer in range(a.layers):
        for direction in ("forward", "backward"):
            name = f"lstm{layer}_{direction}"
            shapes[f"{name}_input"] = Shape((a.width if layer else size, 4 * units), scale)
            shapes[f"{name}_recurrent"] = Shape((units, 4 * units), scale)
            shapes[f"{name}_bias"] = Shape((4 * units,), scale)
    return shapes


def _stacks(a: Architecture, size: int, n_actions: int, n_relations: int) -> dict[str, Shape]:
    def matrix(rows: int, *shape: int) -> Shape:
        return Shape(shape, math.sqrt(3.0 / rows))  # keeps the scale of signals that pass several matrices

    return {
        "input": _matrix(size, a.width),
        "input_bias": _bias(size, a.width),
        "action": Shape((n_actions, a.width), 1.0, normal=True),
        "relation": Shape((n_relations, a.width), 1.0, normal=True),
        "compose": matrix(3 * a.width, 3 * a.width, a.width),
        "compose_bias": _bias(3 * a.width, a.width),
        "lstm": matrix(a.width, 3, a.layers, 2 * a.width, 4 * a.width),
        "lstm_bias": Shape((3, a.layers, 4 * a.width), 1.0 / math.sqrt(a.width)),
        "summary": matrix(3 * a.width, 3 * a.width, a.hidden),
        "summary_bias": _bias(3 * a.width, a.hidden),
    }
