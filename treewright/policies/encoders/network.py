"""The forward pass of an encoder in PyTorch, with dropout.

The computation is the same as in :mod:`~treewright.policies.encoders.inference`, which uses NumPy. The
parameters are a dictionary of tensors with the names and shapes of :mod:`~treewright.policies.encoders.parameters`. All
random numbers come from one generator, so that a step can be repeated.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional

from treewright.policies.encoders.architecture import Architecture
from treewright.policies.encoders.inference import Layout, layout_of
from treewright.policies.encoders.inputs import Inputs, Words
from treewright.policies.encoders.parameters import WINDOW

__all__ = ["CorpusOnDevice", "Encoding", "encode"]

Tensors = dict[str, torch.Tensor]

_LOW = -1e4
_SHORT = 10  # the most characters of a short word, including the marks of its beginning and its end


class CorpusOnDevice:
    """The words of a corpus as tensors."""

    def __init__(self, inputs: Inputs, words: Words, device: str) -> None:
        self.inputs, self.words, self.device = inputs, words, device
        forms = inputs.looked_up(words.forms)
        self.word, self.letters = self.tensor(forms.word), self.tensor(forms.letters)
        self.is_long = np.count_nonzero(forms.letters[:, _SHORT:], axis=1) > 0
        self.vectors = None
        if inputs.vectors is not None:
            self.vectors = torch.as_tensor(inputs.vectors.rows(forms.vector), device=device)
        self.counts = torch.as_tensor(np.concatenate([[0, 0], inputs.counts]).astype(np.float32), device=device)
        self.form = self.tensor(words.form)
        self.columns = [self.tensor(each) for each in words.columns]
        self.targets = [self.tensor(each) for each in words.targets]

    def tensor(self, array: npt.NDArray[Any]) -> torch.Tensor:
        """Return an array of integers as a tensor on the device.

        It is copied from page-locked memory, so that Python does not wait until the GPU has finished the last step.
        """
        tensor = torch.as_tensor(array.astype(np.int64))
        return tensor if self.device == "cpu" else tensor.pin_memory().to(self.device, non_blocking=True)


@dataclass
class Encoding:
    """The output of the encoder for some sentences: the table of their words, and scores for the targets' values."""

    table: torch.Tensor
    """Rows × positions × hidden units; for a stack-LSTM, rows × width."""
    targets: list[torch.Tensor]
    layout: Layout
    rows: torch.Tensor


def encode(
    architecture: Architecture,
    p: Tensors,
    corpus: CorpusOnDevice,
    which: npt.NDArray[np.int64],
    random: torch.Generator | None = None,
) -> Encoding:
    """Encode the sentences ``which``; with ``random``, apply dropout as in training."""
    layout = layout_of(corpus.words, which)
    rows = corpus.tensor(layout.rows)
    lengths = np.diff(layout.at)
    sentence = corpus.tensor(np.repeat(np.arange(len(which)), lengths))
    x = _words(architecture, p, corpus, layout.rows, rows, random)
    x = _left_out(x, architecture.dropout, random, sentence, len(which))
    first = None
    if architecture.reads_structure:
        x = torch.relu(x @ p["input"] + p["input_bias"])
        first = _left_out(x, architecture.dropout, random, sentence, len(which))
    elif architecture.encoder == "convolution":
        # with a row of zeros before and after each sentence, neighbours are slices, whose gradient is cheap
        places = np.arange(len(layout.rows)) + np.repeat(np.arange(1, len(which) + 1), lengths)
        inner, size = corpus.tensor(places), len(layout.rows) + len(which) + 1
        is_word = torch.zeros((size, 1), device=x.device).index_fill_(0, inner, 1.0)
        of_row = corpus.tensor(np.repeat(np.arange(len(which)), lengths + 1 + (np.arange(len(which)) == 0)))
        x = x @ p["input"] + p["input_bias"]
        x = torch.zeros((size, x.shape[1]), device=x.device).index_copy(0, inner, x)
        for layer in range(architecture.layers):
            x = _convolved(p, layer, x)
            x = _left_out(x, architecture.dropout, random, of_row, len(which)) * is_word
            first = x if first is None else first
        x, first = (functional.embedding(inner, each) for each in (x, x if first is None else first))
    else:
        order, active = _steps(layout)
        steps, sizes = corpus.tensor(order), torch.as_tensor(active)
        for layer in range(architecture.layers):
            x = _recurrent(p, layer, x, steps, sizes)
            x = _left_out(x, architecture.dropout, random, sentence, len(which))
            first = x if first is None else first
    assert first is not None
    names = [target.name for target in corpus.inputs.targets]
    targets = [first @ p[f"target_{name}"] + p[f"target_bias_{name}"] for name in names]
    if architecture.reads_structure:
        return Encoding(first, targets, layout, rows)
    table = (x @ p["slots"] + p["slot_bias"]).view(len(x), -1, architecture.hidden)
    return Encoding(table, targets, layout, rows)


def dropped(x: torch.Tensor, share: float, random: torch.Generator | None) -> torch.Tensor:
    """Apply dropout: set a share of the values to zero."""
    if random is None or share == 0.0:
        return x
    kept = torch.rand(x.shape, device=x.device, generator=random) >= share
    return x * kept / (1.0 - share)


def _left_out(
    x: torch.Tensor, share: float, random: torch.Generator | None, sentence: torch.Tensor, n: int
) -> torch.Tensor:
    """Apply dropout with the same mask for all words of a sentence."""
    if random is None or share == 0.0:
        return x
    kept = (torch.rand((n, x.shape[1]), device=x.device, generator=random) >= share).float() / (1.0 - share)
    return x * kept[sentence]


def _words(
    a: Architecture,
    p: Tensors,
    corpus: CorpusOnDevice,
    places: npt.NDArray[np.int64],
    rows: torch.Tensor,
    random: torch.Generator | None,
) -> torch.Tensor:
    """The vectors of words: the sum of embedding and fixed vector, the characters, and the columns, concatenated."""
    form = corpus.form[rows]
    word = corpus.word[form]
    if random is not None:
        share = a.word_dropout / (a.word_dropout + corpus.counts[word])
        unknown = (torch.rand(share.shape, device=share.device, generator=random) < share) & (word > 1)
        word = torch.where(unknown, torch.zeros_like(word), word)
    embedded = functional.embedding(word, p["word"])
    if corpus.vectors is not None:
        embedded = embedded + corpus.vectors[form] @ p["vector"]
    parts = [embedded]
    if a.letters:
        parts.append(_spelled(p, corpus, corpus.words.form[places]))
    for column, values in zip(corpus.inputs.columns, corpus.columns, strict=True):
        parts.append(functional.embedding(values[rows], p[f"column_{column.name}"]))
    if random is not None and a.channel_dropout:
        kept = (torch.rand((len(rows), len(parts)), device=rows.device, generator=random) >= a.channel_dropout).float()
        kept = kept * (len(parts) / kept.sum(1, keepdim=True).clamp(min=1.0))
        parts = [part * kept[:, k : k + 1] for k, part in enumerate(parts)]
    return torch.cat(parts, 1)


def _spelled(p: Tensors, corpus: CorpusOnDevice, forms: npt.NDArray[Any]) -> torch.Tensor:
    """Max-pool each filter over the characters of words, followed by a ReLU; each distinct word is computed once.

    Short and long words are computed separately, because short words would be mostly padding otherwise.
    """
    distinct, inverse = np.unique(forms, return_inverse=True)
    order = np.argsort(corpus.is_long[distinct], kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    letters = corpus.letters[corpus.tensor(distinct[order])]
    short = len(order) - int(corpus.is_long[distinct].sum())
    parts = [_filtered(p, letters[:short, :_SHORT]), _filtered(p, letters[short:])]
    return functional.embedding(corpus.tensor(place[inverse]), torch.cat(parts))


def _filtered(p: Tensors, letters: torch.Tensor) -> torch.Tensor:
    """Apply the filters to the characters of words of similar lengths."""
    empty = letters == 0
    embedded = functional.embedding(letters, p["letter"]).masked_fill(empty[:, :, None], 0.0)
    framed = functional.pad(embedded, (0, 0, 1, 1))
    windows = torch.cat([framed[:, k : k + letters.shape[1]] for k in range(WINDOW)], 2)
    values = (windows @ p["letter_filters"] + p["letter_bias"]).masked_fill(empty[:, :, None], _LOW)
    return torch.relu(values.max(1).values)


def _convolved(p: Tensors, layer: int, x: torch.Tensor) -> torch.Tensor:
    """Apply one gated residual convolution; the results for the rows between sentences are meaningless."""
    framed = functional.pad(x, (0, 0, 1, 1))
    windows = torch.cat([framed[:-2], x, framed[2:]], 1)
    gated = functional.glu(windows @ p[f"filters{layer}"] + p[f"filter_bias{layer}"], 1)
    return functional.layer_norm(x + gated, x.shape[1:], p[f"norm{layer}"], p[f"norm_bias{layer}"])


def _steps(layout: Layout) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The rows in the order of the steps of an LSTM over all sentences, and the number of sentences at each step."""
    lengths = np.diff(layout.at)
    order = np.argsort(-lengths, kind="stable")
    starts, sizes = layout.at[:-1][order], lengths[order]
    active = np.searchsorted(-sizes, -np.arange(int(sizes.max(initial=0))), side="left")
    steps = np.repeat(np.arange(len(active)), active)
    edges = np.cumsum(active) - active
    places = np.arange(int(active.sum())) - np.repeat(edges, active)
    return starts[places] + steps, active


def _recurrent(p: Tensors, layer: int, x: torch.Tensor, steps: torch.Tensor, sizes: torch.Tensor) -> torch.Tensor:
    """Apply one layer of bidirectional LSTMs."""
    units = p[f"lstm{layer}_forward_recurrent"].shape[0]
    weights = []
    for direction in ("forward", "backward"):
        name = f"lstm{layer}_{direction}"
        matrices = [p[f"{name}_{part}"].t().contiguous() for part in ("input", "recurrent")]
        weights += [*matrices, p[f"{name}_bias"], torch.zeros_like(p[f"{name}_bias"])]
    nothing = torch.zeros((2, int(sizes[0]), units), device=x.device)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch warns that the weights are not contiguous, which is intended
        out = torch.lstm(x[steps], sizes, (nothing, nothing), weights, True, 1, 0.0, torch.is_grad_enabled(), True)[0]
    return torch.zeros_like(out).index_copy(0, steps, out)
