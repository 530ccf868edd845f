"""The hashed first-order features of arcs and their labels, and their scores.

The features of an arc are the words at its ends, their neighbours and the tags between them (McDonald, Crammer &
Pereira 2005), with the direction of the arc, and some of them also with its length. A label has fewer features: the
head and its neighbours, the dependent and its neighbours, and a few pairs of both. So most of the sum is computed once
per word, and not once per arc.

The hash of a feature is a sum over its atoms. The contributions of a word as a head and as a dependent are computed
once per word. So an arc costs one addition and one table look-up for each template. Templates are data, so new
templates need no compilation.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.dependency.templates import WORD_ATTRIBUTES, _split
from treewright.search.compiling import compiled, kernel
from treewright.search.forests import Sums, add

__all__ = ["SIGHT", "Labels", "Sight", "collect_pass", "score_pass", "trees_pass"]

Int = Any  # an integer of NumPy or Numba, of any width
Float = Any  # a floating-point number of NumPy or Numba
Ints = npt.NDArray[np.int64]

#: the templates of an arc, with its direction, or with direction and length where there is ``len``: the head ``h``, the
#: dependent ``d``, and the words before (``hp``) and after them (``hn``). The attributes of words are those of
#: :mod:`treewright.dependency.templates`
ARCS = _split("""
    h.wt · h.w · h.t · d.wt · d.w · d.t · h.wt d.wt · h.t d.wt · h.w d.wt · h.wt d.t · h.wt d.w · h.w d.w · h.t d.t
    h.t hn.t dp.t d.t · hp.t h.t dp.t d.t · h.t hn.t d.t dn.t · hp.t h.t d.t dn.t
    h.t hn.t d.t · hp.t h.t d.t · h.t dp.t d.t · h.t d.t dn.t
    h.u hn.u dp.u d.u · hp.u h.u dp.u d.u · h.u hn.u d.u dn.u · hp.u h.u d.u dn.u
    h.m d.m · h.m d.t · h.t d.m · h.g d.g · h.s d.t · h.t d.s · h.u d.u · h.m d.u dn.u · h.u hn.u d.m
    h.wt len · h.t len · d.wt len · d.t len · h.t d.wt len · h.wt d.t len · h.t d.t len · h.u d.u len
    h.t hn.t dp.t d.t len · hp.t h.t dp.t d.t len · h.t hn.t d.t dn.t len · hp.t h.t d.t dn.t len
""")
#: the templates of a label with the head only, and the direction
HEADS = _split("""
    h.w · h.t · h.wt · h.m · h.g · h.s · h.c · h.t hn.t · hp.t h.t · hp.t h.t hn.t · h.m hn.m · hp.m h.m
""")
#: with the dependent only
DEPENDENTS = _split("""
    d.w · d.t · d.wt · d.m · d.g · d.f · d.s · d.c · dp.w · dp.t · dn.w · dn.t · dp.w d.w · d.w dn.w
    dp.t d.t · d.t dn.t · dp.w d.t · d.t dn.w · dp.t d.t dn.t · dp.m d.m · d.m dn.m · dp.g d.g · d.g dn.g
""")
#: with both
PAIRS = _split("h.t d.t · h.wt d.t · h.t d.wt · h.m d.m · h.g d.g · h.t d.t len")

_SHIFT = np.int64(17)  # the lowest bits of a sum of products are not well mixed
_LENGTHS = np.array([0, 0, 1, 2, 3, 4, 5, 5, 5, 5, 6, 6, 6, 6, 6, 7], np.int64)  # of arcs, in groups
_GROUPS = 8
_NEGLIGIBLE = 1e-12  # a weight that is too small to add the hundred features of an arc


class Templates(NamedTuple):
    """Templates as numbers. A feature is the middle bits of Σ multiplier·attribute + a number for its direction.

    ``atoms`` has a row for each atom: the number of its template, 0 for the head or 1 for the dependent, its offset
    from there, its attribute and its multiplier. ``turns`` has a row for each direction (to the left, to the right),
    and then one for each direction with each group of lengths; a column for each template. ``by_length`` is 1 for
    templates that take the latter.
    """

    atoms: Ints
    turns: Ints
    by_length: Ints


class Sight(NamedTuple):
    """All features of the parser.

    ``between`` has the multipliers of the tags of the head, of what is between and of the dependent, and a number for
    each direction. ``tag`` says which attribute is the tag.
    """

    arcs: Templates
    between: Ints
    heads: Templates
    dependents: Templates
    pairs: Templates
    tag: int


def _random(text: str, bits: int) -> int:
    """A number below 2^bits that depends only on a text, so that models are portable."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest()) >> (64 - bits)


def _numbers(kind: str, templates: Sequence[str]) -> Templates:
    """Multipliers are odd and below 2²⁹, attributes below 2³¹: sums of four products and a turn stay below 2⁶³."""
    atoms = []
    for number, template in enumerate(templates):
        for k, atom in enumerate(template.removesuffix("len").split()):
            place, what = atom.split(".")
            offset = {"": 0, "p": -1, "n": 1}[place[1:]]
            multiplier = 2 * _random(f"{kind} {template} {k}", 28) + 1
            atoms.append((number, "hd".index(place[0]), offset, WORD_ATTRIBUTES.index(what), multiplier))
    turns = [[_random(f"{kind} {t} turn {turn}", 60) for t in templates] for turn in range(2 + 2 * _GROUPS)]
    by_length = [t.endswith("len") for t in templates]
    return Templates(np.array(atoms, np.int64), np.array(turns, np.int64), np.array(by_length, np.int64))


SIGHT = Sight(
    _numbers("arc", ARCS),
    np.array([2 * _random(f"between {k}", 28 if k < 3 else 59) + 1 for k in range(5)], np.int64),
    _numbers("head", HEADS),
    _numbers("dependent", DEPENDENTS),
    _numbers("pair", PAIRS),
    WORD_ATTRIBUTES.index("t"),
)


class Labels(NamedTuple):
    """The number of labels. The root may have the labels below ``root``, other words those from ``word`` on."""

    number: int
    root: int
    word: int


# ---- the tables of a sentence


class Room(NamedTuple):
    """The tables of the words of a sentence: the sums of each as a head and as a dependent (word × template), the
    scores of labels that it sees alone (direction × word × label), its tag, and the last word before it that has the
    same; and, of an arc, the tags between its ends."""

    arc_heads: Ints
    arc_dependents: Ints
    pair_heads: Ints
    pair_dependents: Ints
    heads: Ints
    dependents: Ints
    of_heads: Any
    of_dependents: Any
    tags: Ints
    previous: Ints
    between: Ints


@compiled
def _new_room(sight: Any, like: Any, at: Any, which: Any, labels: Any) -> Room:
    """Space for the longest of some sentences. Scores have the type of the weights."""
    most = np.int64(0)
    for s in range(which.shape[0]):
        most = max(most, at[which[s] + 1] - at[which[s]])
    arcs, pairs = sight.arcs.turns.shape[1], sight.pairs.turns.shape[1]
    return Room(
        np.zeros((most, arcs), np.int64),
        np.zeros((most, arcs), np.int64),
        np.zeros((most, pairs), np.int64),
        np.zeros((most, pairs), np.int64),
        np.zeros((most, sight.heads.turns.shape[1]), np.int64),
        np.zeros((most, sight.dependents.turns.shape[1]), np.int64),
        np.zeros((2, most, labels.number), like.dtype),
        np.zeros((2, most, labels.number), like.dtype),
        np.zeros(most, np.int64),
        np.zeros(most, np.int64),
        np.zeros(most, np.int64),
    )


@compiled
def _sum_atoms(atoms: Any, words: Any, table: Any, heads: Any, dependents: Any) -> None:
    """The sums for each template, of each word as a head and as a dependent. The last row means no word."""
    n = words.shape[0] - 1
    heads[:n] = 0
    dependents[:n] = 0
    for a in range(atoms.shape[0]):
        t, offset, what, multiplier = atoms[a, 0], atoms[a, 2], atoms[a, 3], atoms[a, 4]
        out = dependents if atoms[a, 1] == 1 else heads
        for p in range(n):
            q = p + offset if p + offset >= 0 else n
            out[p, t] += multiplier * np.int64(table[words[q], what])


@compiled
def _look(sight: Any, words: Any, table: Any, room: Any) -> None:
    """Fill the tables for all words of a sentence."""
    _sum_atoms(sight.arcs.atoms, words, table, room.arc_heads, room.arc_dependents)
    _sum_atoms(sight.pairs.atoms, words, table, room.pair_heads, room.pair_dependents)
    _sum_atoms(sight.heads.atoms, words, table, room.heads, room.heads)
    _sum_atoms(sight.dependents.atoms, words, table, room.dependents, room.dependents)
    for p in range(words.shape[0] - 1):
        room.tags[p] = np.int64(table[words[p], sight.tag])
        before = p - 1
        while before > 0 and room.tags[before] != room.tags[p]:
            before -= 1
        room.previous[p] = before


@compiled
def _place(total: Int, size: Int) -> Any:
    """The index of a feature in a table whose size is a power of two."""
    return (total >> _SHIFT) & (np.int64(size) - np.int64(1))


@compiled
def _turn(templates: Any, t: Int, direction: Int, group: Int) -> Any:
    """The term of a template for the direction of an arc, or for its direction and the group of its length."""
    return templates.turns[group + direction if templates.by_length[t] == 1 else direction, t]


@compiled
def _group(length: Int) -> Any:
    """The first row of turns for a length."""
    return 2 + 2 * _LENGTHS[min(length, _LENGTHS.shape[0] - 1)]


# ---- scores


@compiled
def _sum_rows(θ: Any, templates: Any, sums: Any, p: Int, direction: Int, arcs: Int, rows: Int, out: Any) -> None:
    """The scores of labels from the features of one word."""
    labels = out.shape[0]
    out[:] = 0.0
    for t in range(templates.turns.shape[1]):
        row = np.int64(arcs) + _place(sums[p, t] + templates.turns[direction, t], rows) * labels
        of = θ[row : row + labels]
        for y in range(labels):
            out[y] += of[y]


@compiled
def _score_arc(
    θ: Any, sight: Any, room: Any, h: Int, d: Int, direction: Int, group: Int, between: Int, arcs: Int
) -> Float:
    """The score of an arc without its label; one feature for each tag between its ends is included."""
    total = 0.0
    for t in range(sight.arcs.turns.shape[1]):
        both = room.arc_heads[h, t] + room.arc_dependents[d, t]
        total += np.float64(θ[_place(both + _turn(sight.arcs, t, direction, group), arcs)])
    ends = sight.between[0] * room.tags[h] + sight.between[2] * room.tags[d] + sight.between[3 + direction]
    for k in range(between):
        total += np.float64(θ[_place(ends + sight.between[1] * room.between[k], arcs)])
    return total


@compiled
def _score_labels(
    θ: Any, sight: Any, room: Any, h: Int, d: Int, direction: Int, group: Int, arcs: Int, rows: Int, first: Int,
    last: Int, out: Any,
) -> None:  # fmt: skip
    """The scores of the labels of an arc, from the first to the last that it may have."""
    of_head, of_dependent, labels = room.of_heads[direction, h], room.of_dependents[direction, d], out.shape[0]
    for y in range(first, last):
        out[y] = of_head[y] + of_dependent[y]
    for t in range(sight.pairs.turns.shape[1]):
        both = room.pair_heads[h, t] + room.pair_dependents[d, t] + _turn(sight.pairs, t, direction, group)
        row = np.int64(arcs) + _place(both, rows) * labels
        of = θ[row : row + labels]
        for y in range(first, last):
            out[y] += of[y]


@compiled
def _score_sentence(
    sight: Any, θ: Any, words: Any, table: Any, labels: Any, arcs: Int, rows: Int, room: Any, sums: Any, scores: Any,
    best: Any,
) -> None:  # fmt: skip
    """The scores of all arcs with all labels; or only with the best label, if there is space for the ``best`` ones."""
    n = words.shape[0] - 2
    _look(sight, words, table, room)
    for p in range(n + 1):
        for direction in range(2):
            _sum_rows(θ, sight.heads, room.heads, p, direction, arcs, rows, room.of_heads[direction, p])
            _sum_rows(θ, sight.dependents, room.dependents, p, direction, arcs, rows, room.of_dependents[direction, p])
    for i in range(n + 1):
        between = 0
        for j in range(i + 1, n + 1):
            if j - 1 > i and room.previous[j - 1] <= i:  # a tag that is not between i and j − 1
                room.between[between] = room.tags[j - 1]
                between += 1
            group = _group(j - i)
            for direction in range(0 if i > 0 else 1, 2):  # the root has no head
                h, d = (i, j) if direction == 1 else (j, i)
                first, last = (labels.word, labels.number) if h > 0 else (0, labels.root)
                arc = _score_arc(θ, sight, room, h, d, direction, group, between, arcs)
                _score_labels(θ, sight, room, h, d, direction, group, arcs, rows, first, last, sums)
                place = h * n + d - 1
                if best.shape[0] == 0:
                    for y in range(first, last):
                        scores[place * labels.number + y] = arc + np.float64(sums[y])
                else:
                    label = first
                    for y in range(first + 1, last):
                        if sums[y] > sums[label]:
                            label = y
                    scores[place] = arc + np.float64(sums[label])
                    best[place] = label


@kernel
def score_pass(
    sight: Sight, θ: Any, which: Any, at: Any, words_at: Any, words: Any, table: Any, labels: Labels,
    arcs: Int, rows: Int, scores: Any, best: Any,
) -> None:  # fmt: skip
    """Score the arcs of sentences, from ``at[s]`` on those of ``which[s]``: with each label, or with their best one."""
    room, sums = _new_room(sight, θ, words_at, which, labels), np.zeros(labels.number, θ.dtype)
    for s in range(which.shape[0]):
        own = words[words_at[which[s]] : words_at[which[s] + 1]]
        of_best = best[at[s] : at[s + 1]] if best.shape[0] > 0 else best
        # fmt: off
        _score_sentence(sight, θ, own, table, labels, arcs, rows, room, sums, scores[at[s] : at[s + 1]], of_best)
        # fmt: on


# ---- features


@compiled
def _add_rows(
    templates: Any, of_words: Any, p: Int, direction: Int, arcs: Int, rows: Int, amounts: Any, sums: Any
) -> None:
    """Add the label features of one word, with an amount for each label."""
    for y in range(amounts.shape[0]):
        if amounts[y] != 0.0:
            for t in range(templates.turns.shape[1]):
                row = _place(of_words[p, t] + templates.turns[direction, t], rows)
                add(sums, np.int64(arcs) + row * amounts.shape[0] + y, amounts[y])


@compiled
def _add_arc(
    sight: Any, room: Any, h: Int, d: Int, direction: Int, arcs: Int, rows: Int, weights: Any, sums: Any
) -> None:
    """Add the features of an arc and of its labels with their weights; features of one word are only accumulated."""
    total, labels, group = 0.0, weights.shape[0], _group(abs(h - d))
    for y in range(labels):
        if abs(weights[y]) > _NEGLIGIBLE:
            total += weights[y]
            room.of_heads[direction, h, y] += weights[y]
            room.of_dependents[direction, d, y] += weights[y]
            for t in range(sight.pairs.turns.shape[1]):
                both = room.pair_heads[h, t] + room.pair_dependents[d, t] + _turn(sight.pairs, t, direction, group)
                add(sums, np.int64(arcs) + _place(both, rows) * labels + y, weights[y])
    if abs(total) <= _NEGLIGIBLE:
        return
    for t in range(sight.arcs.turns.shape[1]):
        both = room.arc_heads[h, t] + room.arc_dependents[d, t]
        add(sums, _place(both + _turn(sight.arcs, t, direction, group), arcs), total)
    ends = sight.between[0] * room.tags[h] + sight.between[2] * room.tags[d] + sight.between[3 + direction]
    for k in range(min(h, d) + 1, max(h, d)):
        if room.previous[k] <= min(h, d):
            add(sums, _place(ends + sight.between[1] * room.tags[k], arcs), total)


@kernel
def collect_pass(
    sight: Sight, which: Any, at: Any, words_at: Any, words: Any, table: Any, labels: Labels,
    arcs: Int, rows: Int, weights: Any, sums: Sums,
) -> None:  # fmt: skip
    """Add the features of arcs and labels, multiplied by the weights of parts."""
    room, L = _new_room(sight, weights, words_at, which, labels), labels.number
    for s in range(which.shape[0]):
        own = words[words_at[which[s]] : words_at[which[s] + 1]]
        n = own.shape[0] - 2
        _look(sight, own, table, room)
        room.of_heads[:] = 0.0
        room.of_dependents[:] = 0.0
        for h in range(n + 1):
            for d in range(1, n + 1):
                first = at[s] + (h * n + d - 1) * L
                if h != d:
                    _add_arc(sight, room, h, d, 1 if d > h else 0, arcs, rows, weights[first : first + L], sums)
        for p in range(n + 1):
            for direction in range(2):
                _add_rows(sight.heads, room.heads, p, direction, arcs, rows, room.of_heads[direction, p], sums)
                _add_rows(
                    sight.dependents, room.dependents, p, direction, arcs, rows, room.of_dependents[direction, p], sums
                )


@kernel
def trees_pass(which: Any, at: Any, words_at: Any, weights: Any, best: Any, heads: Any, labels: Any) -> None:
    """The heads and labels of the words, from the weights of arcs and the best label of each arc."""
    for s in range(which.shape[0]):
        start = words_at[which[s]]
        n = words_at[which[s] + 1] - start
        for h in range(n + 1):
            for k in range(n):
                if weights[at[s] + h * n + k] != 0.0:
                    heads[start + k] = h
                    labels[start + k] = best[at[s] + h * n + k]
