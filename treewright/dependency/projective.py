"""Pseudo-projective parsing (Nivre and Nilsson 2005): trees with crossing arcs are encoded as projective trees.

Most transition systems build only projective trees, in which a head dominates every word between itself and a
dependent. :func:`projectivize` lifts words to the heads of their heads until this holds, and encodes their origin in
their labels: ``label↑headlabel``, with the label of the original head (the paper's scheme Head). A parser learns such
labels like any other, and :func:`deprojectivize` moves the words in its output back down.

In "What do you wait for", the arc from the last word to the first passes over *wait*, which is not below *for*:

>>> heads, labels = [5, 4, 4, 0, 4], ["obj", "aux", "nsubj", "root", "prep"]
>>> lifted = projectivize(heads, labels)
>>> lifted
([4, 4, 4, 0, 4], ['obj↑prep', 'aux', 'nsubj', 'root', 'prep'])
>>> deprojectivize(*lifted) == (heads, labels)
True

Heads are positions: ``heads[i]`` is the head of word i + 1, and 0 is the root.
"""

from __future__ import annotations

from bisect import insort
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from treewright.errors import CorpusError
from treewright.search.compiling import kernel
from treewright.settings import whole_number

__all__ = ["LIFTED", "deprojectivize", "lift_corpus", "nonprojective_sentences", "plain_label", "projectivize"]

LIFTED = "↑"
"""Separates the label of a lifted word from the label of its original head; no label of a treebank may contain it."""


def plain_label(label: str) -> str:
    """The label without the mark of lifting.

    >>> plain_label("obj↑prep"), plain_label("obj")
    ('obj', 'obj')
    """
    return label.partition(LIFTED)[0]


def projectivize(heads: Sequence[int], labels: Sequence[str]) -> tuple[list[int], list[str]]:
    """Lift words until the tree is projective: always the shortest non-projective arc, of several the leftmost.

    Other words do not change, and a single root stays the root. Raises :class:`CorpusError` if the heads are not a
    tree, or if a label contains ``↑``, even if nothing is lifted: :func:`deprojectivize` would read it as the label of
    a lifted word.
    """
    _check_labels(labels)
    lifted, marked = [int(head) for head in heads], list(labels)
    # Sets of words are the bits of integers: a whole span is compared at once.
    below = [0] * (len(lifted) + 1)
    for word in reversed(_top_down(_dependents(lifted, marked))):
        below[lifted[word - 1]] |= below[word] | 1 << word
    while word := _shortest_nonprojective(lifted, below):
        head = lifted[word - 1]
        below[head] &= ~(below[word] | 1 << word)
        lifted[word - 1] = lifted[head - 1]  # the head is not 0, which dominates every word
        if marked[word - 1] == labels[word - 1]:  # a second lift keeps the first head's label
            marked[word - 1] = labels[word - 1] + LIFTED + labels[head - 1]
    return lifted, marked


def deprojectivize(heads: Sequence[int], labels: Sequence[str]) -> tuple[list[int], list[str]]:
    """Move lifted words back down: the inverse of :func:`projectivize`, as far as the labels determine it.

    A word labelled ``label↑headlabel`` is attached to the first word below its head that is labelled ``headlabel``:
    breadth first, left to right, and not through the word itself, so that the result is a tree with the same root. If
    there is none, it stays. Words are processed top-down and left to right, so all ancestors of a word are final before
    it is moved. All labels are plain afterwards. The heads must be a tree; the labels may be anything.

    >>> deprojectivize([2, 0, 2], ["obj↑prep", "root", "nsubj"])
    ([2, 0, 2], ['obj', 'root', 'nsubj'])
    """
    restored, plain = [int(head) for head in heads], list(labels)
    lifted = {label for label in set(labels) if LIFTED in label}
    if not lifted:  # nearly every sentence
        return restored, plain
    wanted = {word: label.partition(LIFTED)[2] for word, label in enumerate(labels, 1) if label in lifted}
    for word in wanted:
        plain[word - 1] = plain_label(labels[word - 1])
    dependents = _dependents(restored, plain)
    order = [0]
    for head in order:  # it grows in the loop
        if not wanted:
            break
        for word in [word for word in dependents[head] if word in wanted]:
            if target := _first_below(head, word, wanted.pop(word), plain, dependents):
                dependents[head].remove(word)
                insort(dependents[target], word)
                restored[word - 1] = target
        order.extend(dependents[head])
    return restored, plain


def nonprojective_sentences(heads: npt.NDArray[np.int32], at: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The numbers of the sentences that are not projective trees; sentence i has the heads from at[i] to at[i + 1].

    >>> nonprojective_sentences(np.array([2, 0, 5, 4, 4, 0, 4], np.int32), np.array([0, 2, 7]))
    array([1])
    """
    found = np.empty(len(at) - 1, np.bool_)
    _nonprojective_pass(heads, at, found)
    return np.flatnonzero(found)


def lift_corpus(
    heads: npt.NDArray[np.int32], labels: Sequence[str], at: npt.NDArray[np.int64], *, min_count: int = 1
) -> tuple[npt.NDArray[np.int32], list[str]]:
    """:func:`projectivize` every sentence of a corpus; sentence i has the words from at[i] to at[i + 1].

    Labels of lifted words with fewer than ``min_count`` occurrences are too rare to learn: these words get the plain
    label, and stay lifted.
    """
    min_count = whole_number("min_count", min_count, 1)
    _check_labels(set(labels))
    lifted, marked = heads.copy(), list(labels)
    for number in nonprojective_sentences(heads, at).tolist():
        words = slice(int(at[number]), int(at[number + 1]))
        try:
            lifted[words], marked[words] = projectivize(heads[words].tolist(), labels[words])
        except CorpusError as error:
            raise CorpusError(f"sentence {number + 1}: {error}") from None
    counts = Counter(label for label in marked if LIFTED in label)
    rare = {label: plain_label(label) for label, count in counts.items() if count < min_count}
    return lifted, [rare.get(label, label) for label in marked] if rare else marked


def _check_labels(labels: Iterable[str]) -> None:
    for label in labels:
        if LIFTED in label:
            raise CorpusError(f"the label {label!r} has {LIFTED!r} in it, which marks lifted words; rename the label")


def _dependents(heads: list[int], labels: list[str]) -> list[list[int]]:
    """The dependents of the root and of each word, left to right."""
    if len(heads) != len(labels):
        raise CorpusError(f"{len(heads)} heads and {len(labels)} labels; each word needs a head and a label")
    dependents: list[list[int]] = [[] for _ in range(len(heads) + 1)]
    for word, head in enumerate(heads, 1):
        if not 0 <= head <= len(heads):
            raise CorpusError(f"the head of word {word} is {head}, but there are {len(heads)} words")
        dependents[head].append(word)
    return dependents


def _top_down(dependents: list[list[int]]) -> list[int]:
    """All words, heads before their dependents: breadth first, left to right."""
    order = [0]
    for head in order:  # it grows in the loop
        order.extend(dependents[head])
    if len(order) < len(dependents):
        lost = min(set(range(len(dependents))).difference(order))
        raise CorpusError(f"the heads are not a tree: the path of heads from word {lost} does not end at the root")
    return order[1:]


def _shortest_nonprojective(heads: list[int], below: list[int]) -> int:
    """The word with the shortest arc over a word that is not below the head, or 0 if there is none."""
    best, shortest = 0, len(heads) + 1
    for word, head in enumerate(heads, 1):
        low, high = (word, head) if word < head else (head, word)
        between = (1 << high) - (1 << low + 1)
        if high - low < shortest and between & ~below[head]:
            best, shortest = word, high - low
    return best


def _first_below(head: int, word: int, wanted: str, labels: list[str], dependents: list[list[int]]) -> int:
    """The first word below a head that has the wanted label and is not below the other word, or 0."""
    queue = deque(dependents[head])
    while queue:
        candidate = queue.popleft()
        if candidate != word:
            if labels[candidate - 1] == wanted:
                return candidate
            queue.extend(dependents[candidate])
    return 0


@kernel
def _nonprojective_pass(heads: Any, at: Any, found: Any) -> None:
    """Which sentences a shift-reduce parser cannot build by joining neighbours in one pass from the left."""
    longest = 0
    for i in range(len(at) - 1):
        longest = max(longest, at[i + 1] - at[i])
    stack, missing = np.empty(longest + 1, np.int64), np.empty(longest + 1, np.int64)
    for i in range(len(at) - 1):
        start, n = at[i], at[i + 1] - at[i]
        missing[: n + 1] = 0  # the number of dependents that are not attached yet
        within = True
        for k in range(n):
            head = heads[start + k]
            within = within and 0 <= head <= n
            if within:
                missing[head] += 1
        size = 1
        stack[0] = 0
        for word in range(1, n + 1 if within else 1):
            stack[size] = word
            size += 1
            while size > 1:
                top, under = stack[size - 1], stack[size - 2]
                if missing[top] == 0 and heads[start + top - 1] == under:
                    missing[under] -= 1
                elif under > 0 and missing[under] == 0 and heads[start + under - 1] == top:
                    missing[top] -= 1
                    stack[size - 2] = top
                else:
                    break
                size -= 1
        found[i] = not within or size > 1
