"""Sentences and their derivations in flat arrays, for passes over a corpus.

A *derivation* has one node for each span of the tree, 2n − 1 for n words, parents before children and left before
right. A node has five numbers: the symbol at the bottom of the span, the unary rule above it (or −1), the binary rule
below it (or −1 where there is a word), its start and its end. The derivations of a corpus are concatenated in one
array, with space for 2n − 1 nodes each.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.search.compiling import compiled

__all__ = ["NODE", "Parsed", "Sentences", "Shard", "longest", "new_parsed", "nodes_of", "words_of"]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]

NODE = 5  # numbers of a node: symbol, unary rule, binary rule, start, end


class Sentences(NamedTuple):
    """The sentences of a corpus."""

    words: Ints  # rows of the lexicon's table
    at: Longs  # the offset of each sentence, and the end of the last


class Shard(NamedTuple):
    """The part of a pass that one thread runs: see :func:`treewright.search.running.run_shards`."""

    which: Longs  # the numbers of its sentences, in the order in which they are visited
    control: Longs  # the first number is not 0 if the pass must stop; the others count sentences
    slot: int  # the index of this shard's counter


class Parsed(NamedTuple):
    """The results of a pass for each sentence."""

    nodes: Ints  # derivations
    filled: Longs  # the number of used nodes of each derivation
    values: npt.NDArray[np.float64]  # the scores of the derivations
    status: Longs  # whether it is one tree, or pieces that cover the sentence

    def derivations(self, at: Longs) -> list[Ints]:
        """The derivation of each sentence; sentences begin at ``at``."""
        begins = 2 * at - np.arange(len(at))
        return [self.nodes[first : first + size] for first, size in zip(begins, self.filled, strict=False)]


def new_parsed(at: Longs) -> Parsed:
    """The arrays for sentences that begin at ``at``."""
    n = len(at) - 1
    nodes = np.zeros((max(2 * int(at[-1]) - n, 0), NODE), np.int32)
    return Parsed(nodes, np.zeros(n, np.int64), np.zeros(n), np.zeros(n, np.int64))


@compiled
def words_of(sentences: Any, i: int) -> Any:
    """The words of a sentence."""
    return sentences.words[sentences.at[i] : sentences.at[i + 1]]


@compiled
def nodes_of(sentences: Any, nodes: Any, i: int) -> Any:
    """The derivation of a sentence, with all of its space."""
    at = sentences.at
    return nodes[2 * at[i] - i : 2 * at[i + 1] - (i + 1)]


@compiled
def longest(sentences: Any, which: Any) -> int:
    """The length of the longest of some sentences; 1 if there are none."""
    most = 1
    for i in which:
        most = max(most, sentences.at[i + 1] - sentences.at[i])
    return most
