"""The encoder, slow and obvious: one sentence, one word, one number after the other."""

from __future__ import annotations

import math

import numpy as np

from treewright.policies.encoders.architecture import Architecture
from treewright.policies.encoders.inputs import Inputs
from treewright.policies.encoders.parameters import initial_parameters, parameter_shapes

SMALL = {"layers": 2, "width": 6, "hidden": 5, "word": 4, "letters": 3, "letter": 2, "column": 2}
POSITIONS, ACTIONS = 3, 4


def tiny(encoder, inputs, *, positions=POSITIONS, actions=ACTIONS, seed=1, **more):
    """An architecture with a handful of units, and random parameters."""
    architecture = Architecture(encoder=encoder, **{**SMALL, **more})
    parameters = initial_parameters(parameter_shapes(architecture, inputs, positions, actions), seed)
    rng = np.random.default_rng(seed)
    for name in parameters:  # none of them at a value that hides it
        if name.startswith(("norm", "missing")):
            parameters[name] += rng.normal(size=parameters[name].shape).astype(np.float32)
    return architecture, parameters


def sigmoid(x):
    return 1.0 / (1.0 + math.exp(-x))


def word_vector(architecture: Architecture, inputs: Inputs, p, form, values):
    """The vector of a word, and of its columns."""
    forms = inputs.looked_up([form])
    vector = [float(v) for v in p["word"][forms.word[0]]]
    if inputs.vectors is not None and forms.vector[0] >= 0:
        fixed = inputs.vectors.rows(forms.vector)[0]
        vector = [
            v + sum(float(f) * float(m) for f, m in zip(fixed, p["vector"][:, j], strict=True))
            for j, v in enumerate(vector)
        ]
    letters = [int(k) for k in forms.letters[0] if k]
    for j in range(architecture.letters):
        best = 0.0
        for i in range(len(letters)):
            value = float(p["letter_bias"][j])
            for w, k in enumerate((i - 1, i, i + 1)):
                if 0 <= k < len(letters):
                    for d in range(architecture.letter):
                        row = w * architecture.letter + d
                        value += float(p["letter"][letters[k], d]) * float(p["letter_filters"][row, j])
            best = max(best, value)
        vector.append(best)
    for column, value in zip(inputs.columns, values, strict=True):
        vector += [float(v) for v in p[f"column_{column.name}"][value]]
    return np.array(vector)


def encode_sentence(architecture, inputs, p, words):
    """The table of one sentence: rows × positions × hidden units. ``words`` are forms with the numbers of columns."""
    x = [word_vector(architecture, inputs, p, form, values) for form, values in words]
    p = {name: value.astype(np.float64) for name, value in p.items()}
    if architecture.encoder == "convolution":
        x = [v @ p["input"] + p["input_bias"] for v in x]
        for layer in range(architecture.layers):
            nothing, out = np.zeros(architecture.width), []
            for i in range(len(x)):
                window = [x[k] if 0 <= k < len(x) else nothing for k in (i - 1, i, i + 1)]
                both = np.concatenate(window) @ p[f"filters{layer}"] + p[f"filter_bias{layer}"]
                gates = [sigmoid(v) for v in both[architecture.width :]]
                y = x[i] + both[: architecture.width] * gates
                y = (y - y.mean()) / math.sqrt(y.var() + 1e-5)
                out.append(y * p[f"norm{layer}"] + p[f"norm_bias{layer}"])
            x = out
    else:
        units = architecture.width // 2
        for layer in range(architecture.layers):
            sides = []
            for direction, order in (("forward", range(len(x))), ("backward", range(len(x) - 1, -1, -1))):
                name, found = f"lstm{layer}_{direction}", {}
                h, c = np.zeros(units), np.zeros(units)
                for i in order:
                    g = x[i] @ p[f"{name}_input"] + h @ p[f"{name}_recurrent"] + p[f"{name}_bias"]
                    put, forget, out = (
                        np.array([sigmoid(v) for v in g[k * units : (k + 1) * units]]) for k in (0, 1, 3)
                    )
                    c = forget * c + put * np.tanh(g[2 * units : 3 * units])
                    h = out * np.tanh(c)
                    found[i] = h
                sides.append(found)
            x = [np.concatenate([sides[0][i], sides[1][i]]) for i in range(len(x))]
    return np.stack([(v @ p["slots"] + p["slot_bias"]).reshape(-1, architecture.hidden) for v in x])


def scores(p, table, positions):
    """The scores of all actions in a state."""
    hidden = sum(table[k, slot] if k >= 0 else p["missing"][slot] for slot, k in enumerate(positions))
    return np.maximum(hidden, 0.0) @ p["output"] + p["output_bias"]
