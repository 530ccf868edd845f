"""Architectures of encoders, and the named sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from treewright.errors import ConfigError, ModelError
from treewright.settings import one_of

__all__ = ["ENCODERS", "NEWEST", "SIZES", "Architecture", "find_architecture"]

#: the version of the computation: it is written to model files, and newer versions cannot be read
NEWEST = 1

ENCODERS = ("convolution", "lstm", "stack-lstm")


@dataclass(frozen=True, kw_only=True)
class Architecture:
    """The architecture of an encoder: the input vectors of a word, the layers over words, and the scoring layer.

    Args:
        encoder: ``convolution``: residual convolutions over three words with gated linear units and layer
            normalisation; ``lstm``: bidirectional long short-term memories; or ``stack-lstm``: three LSTMs that read
            the stack, the buffer and the actions of a state, where arcs compose new vectors (Dyer et al. 2015).
        layers: the number of layers; with a stack-LSTM, of each of the three.
        width: the size of the vector of a word in context: the channels of a convolution, or the units of both
            directions of an LSTM together; with a stack-LSTM, the units of each of the three.
        hidden: the hidden units of the layer that scores actions.
        word: the size of the embeddings of words; fixed vectors are projected to this size.
        letters: the number of filters over the characters of a word; with 0, characters are not read.
        letter: the size of the embeddings of characters.
        column: the size of the embeddings of the values of each column.
        dropout: the probability that a unit is dropped in training.
        channel_dropout: the probability that a whole part of a word (its embedding, its characters, a column) is
            dropped.
        word_dropout: a known word that occurs c times is treated as unknown with the probability
            ``word_dropout / (word_dropout + c)``.
    """

    encoder: str = "convolution"
    layers: int = 3
    width: int = 64
    hidden: int = 128
    word: int = 64
    letters: int = 64
    letter: int = 32
    column: int = 32
    dropout: float = 0.15
    channel_dropout: float = 0.15
    word_dropout: float = 0.25

    def __post_init__(self) -> None:
        if self.encoder not in ENCODERS:
            raise ConfigError(one_of(self.encoder, ENCODERS), setting="encoder", value=self.encoder)
        if self.encoder == "lstm" and self.width % 2:
            raise ConfigError("must be even: it is shared by two directions", setting="width", value=self.width)

    @property
    def reads_structure(self) -> bool:
        """Whether the encoder reads the structure of states (not all tasks have it), not the words at positions."""
        return self.encoder == "stack-lstm"

    def to_plain(self) -> dict[str, Any]:
        """Return the architecture as plain values, with the version of the computation."""
        return {"version": NEWEST, **asdict(self)}

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> Architecture:
        """Return the architecture that :meth:`to_plain` described.

        Raises:
            ModelError: if the architecture was written by a newer version of Treewright.
        """
        version = values.get("version", 0)
        known = {each.name for each in fields(cls)}
        unknown = [name for name in values if name not in known and name != "version"]
        if version > NEWEST or unknown or values.get("encoder") not in ENCODERS:
            what = ", ".join(filter(None, [f"encoder {values.get('encoder')!r}", *unknown]))
            raise ModelError(
                f"the model has an encoder of version {version} ({what}); this version of Treewright computes encoders "
                f"up to version {NEWEST}: upgrade Treewright"
            )
        return cls(**{name: value for name, value in values.items() if name in known})


SIZES: dict[str, Architecture] = {
    "small": Architecture(layers=3, width=64, hidden=128),
    "medium": Architecture(layers=4, width=96, hidden=160, dropout=0.2),
    "large": Architecture(encoder="lstm", layers=2, width=512, hidden=256, word=100, dropout=0.33),
    "stack-lstm": Architecture(encoder="stack-lstm", layers=1, width=128, hidden=128),
}


def find_architecture(size: str | Architecture) -> Architecture:
    """Return the architecture with the name of a size; an architecture is returned unchanged.

    >>> find_architecture("small").width
    64
    """
    if isinstance(size, Architecture):
        return size
    if size not in SIZES:
        raise ConfigError(one_of(size, SIZES), setting="policy", value=size)
    return SIZES[size]
