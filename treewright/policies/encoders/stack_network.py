"""The forward pass of a stack-LSTM in PyTorch, equivalent to :mod:`~treewright.policies.encoders.stack_scoring`.

The structures of all states of a training step are computed together, and each distinct part is computed once
(:mod:`~treewright.policies.encoders.structures`).
"""

from __future__ import annotations

from itertools import pairwise

import torch
from torch.nn import functional

from treewright.policies.encoders.structures import Chains, Plan

__all__ = ["summarise"]

Tensors = dict[str, torch.Tensor]


def summarise(p: Tensors, words: torch.Tensor, plan: Plan) -> torch.Tensor:
    """Return the inputs of the hidden layer for states: the outputs for stack, buffer and actions, concatenated."""
    device = words.device
    vectors = words
    for part in plan.compositions:
        head, dependent, relation = (torch.as_tensor(each, device=device) for each in part)
        parts = [
            functional.embedding(head, vectors),
            functional.embedding(dependent, vectors),
            functional.embedding(relation, p["relation"]),
        ]
        made = torch.tanh(torch.cat(parts, 1) @ p["compose"] + p["compose_bias"])
        vectors = torch.cat([vectors, made])
    read = (vectors, vectors, p["action"])
    return torch.cat([_read(p, which, read[which], plan.chains[which]) for which in range(3)], 1)


def _read(p: Tensors, which: int, vectors: torch.Tensor, chains: Chains) -> torch.Tensor:
    """The last outputs of an LSTM over lists of vectors, and zeros for empty lists."""
    layers, units = p["lstm"].shape[1], p["lstm"].shape[2] // 2
    number, parent = (torch.as_tensor(each, device=vectors.device) for each in (chains.vector, chains.parent))
    edges = chains.at.tolist()
    outputs = vectors
    for layer in range(layers):
        reading, recurrent = p["lstm"][which, layer].split(units)
        sums = outputs @ reading + p["lstm_bias"][which, layer]
        if layer == 0:
            sums = functional.embedding(number, sums)
        levels: list[torch.Tensor] = []
        cell = output = sums.new_zeros((0, units))
        for k, (start, end) in enumerate(pairwise(edges)):
            gates = sums[start:end]
            if k:
                shorter = parent[start:end]
                gates = gates + functional.embedding(shorter, output) @ recurrent
            put, forget, new, give = gates.chunk(4, 1)
            put, forget, give = torch.sigmoid(put), torch.sigmoid(forget), torch.sigmoid(give)
            kept = put * torch.tanh(new)
            cell = kept + forget * functional.embedding(shorter, cell) if k else kept
            output = give * torch.tanh(cell)
            levels.append(output)
        outputs = torch.cat(levels) if levels else sums.new_zeros((0, units))
    whole = torch.cat([outputs, outputs.new_zeros((1, units))])
    return functional.embedding(torch.as_tensor(chains.last, device=vectors.device) % len(whole), whole)
