"""Feature templates: what a parser looks at, written as strings and compiled to tables of numbers.

A template is some *atoms*, separated by spaces, whose values are taken together: ``"s0.w b0.t"`` is the form of the top
of the stack with the tag of the first word of the buffer. An atom is a *place* and what is seen there.

Places:

* ``s0 s1 s2 s3``: the stack from its top; ``b0 b1 b2 b3``: the buffer from its head.
* ``h`` and ``d``: the head and the dependent of the arc that is being labelled (in templates for labels).
* a place followed by ``l``, ``l2``, ``r``, ``r2``, ``h``, ``p``, ``n``: its outermost child on the left, the second one,
  the same on the right, its head, the previous and the next word of the sentence: ``s0l``, ``b0l2``, ``dp``.

What is seen of a word:

* ``w`` form, ``m`` lemma, ``t`` tag (XPOS, or UPOS where there is none), ``u`` UPOS, ``f`` FEATS, ``wt`` form and tag,
  ``g`` UPOS and FEATS, ``s`` suffix of three letters, ``c`` capitals and digits;
* ``l`` the label of the arc to its head, ``vl`` and ``vr`` the number of its children on the left and the right, ``sl`` and
  ``sr`` the sets of their labels.

``s0b0.d``, ``s1s0.d`` and ``hd.d`` are distances in words; the last has a direction.

>>> Templates(["s0.w", "s0.t b0.w"]).atoms
('s0.w', 's0.t', 'b0.w')
>>> Templates(["s0.x"])
Traceback (most recent call last):
treewright.errors.ConfigError: in the template 's0.x': there is no 'x' to be seen of a word; there are: w, m, t, u, f, ...
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from treewright.errors import ConfigError

__all__ = ["BASIC", "FEATURE_SETS", "RICH", "Templates"]

#: the places, in the order in which the parser fills them in
PLACES = (
    *("s0", "s1", "s2", "s3", "b0", "b1", "b2", "b3", "h", "d"),
    *("s0l", "s0l2", "s0r", "s0r2", "s0h", "s1l", "s1l2", "s1r", "s1r2", "s1h", "s2l", "s2r"),
    *("b0l", "b0l2", "b0r", "b0r2", "hl", "hl2", "hr", "hr2", "hh", "dl", "dl2", "dr", "dr2"),
    *("hp", "hn", "dp", "dn", "s0p", "s0n", "b0p", "s1p", "s1n"),
)
#: what the table of words has
WORD_ATTRIBUTES = ("w", "m", "t", "u", "f", "wt", "g", "s", "c")
#: what the configuration has
TREE_ATTRIBUTES = ("l", "vl", "vr", "sl", "sr")
DISTANCES = ("s0b0.d", "s1s0.d", "hd.d")

MOST_ATOMS = 4  # in one template

_ATOM = re.compile(r"([a-z0-9]+)\.([a-z]+)")


@dataclass(frozen=True)
class Templates:
    """Templates for the states where a move (or, in one go, a labelled move) is chosen, and for those of labels."""

    moves: tuple[str, ...]
    labels: tuple[str, ...] = ()

    def __init__(self, moves: Iterable[str], labels: Iterable[str] = ()) -> None:
        for name, templates in (("moves", moves), ("labels", labels)):
            if isinstance(templates, str):
                templates = [templates]
            distinct = {" ".join(template.split()): None for template in templates}
            for template in distinct:
                _check(template, name)
            object.__setattr__(self, name, tuple(distinct))
        if not self.moves:
            raise ConfigError("there must be at least one template for the moves")

    @property
    def atoms(self) -> tuple[str, ...]:
        """All atoms, each once."""
        return tuple(dict.fromkeys(atom for t in (*self.moves, *self.labels) for atom in t.split()))

    def without(self, attributes: Iterable[str]) -> Templates:
        """The templates that do not need these attributes of words, for corpora where they are empty."""
        gone = set(attributes)

        def keep(templates: Sequence[str]) -> list[str]:
            return [t for t in templates if not any(atom.split(".")[1] in gone for atom in t.split())]

        return Templates(keep(self.moves) or self.moves, keep(self.labels) or self.labels)

    def tables(self) -> dict[str, npt.NDArray[Any]]:
        """The templates as arrays: each atom's place and attribute, each template's atoms and multipliers."""
        atoms = sorted(self.atoms, key=_kind)
        number = {atom: k for k, atom in enumerate(atoms)}
        place = np.zeros((len(atoms), 2), np.int32)
        for k, atom in enumerate(atoms):
            if atom in DISTANCES:
                place[k] = DISTANCES.index(atom), len(WORD_ATTRIBUTES) + len(TREE_ATTRIBUTES)
            else:
                where, what = atom.split(".")
                place[k] = PLACES.index(where), (*WORD_ATTRIBUTES, *TREE_ATTRIBUTES).index(what)
        ordered = [sorted(t, key=lambda template: len(template.split())) for t in (self.moves, self.labels)]
        rows = [template for templates in ordered for template in templates]
        table = np.zeros((len(rows), MOST_ATOMS), np.int32)
        for k, template in enumerate(rows):
            table[k, : len(template.split())] = [number[atom] for atom in template.split()]
        ends, end = [0], 0  # where the templates of one, two, three and four atoms end, for moves and for labels
        for templates in ordered:
            for size in range(1, MOST_ATOMS + 1):
                end += sum(len(template.split()) == size for template in templates)
                ends.append(end)
        random = np.random.default_rng(20121208)
        return {
            "atoms": place,
            "word_atoms": np.array([sum(_kind(atom) == 0 for atom in atoms)], np.int32),
            "templates": table,
            "template_ends": np.array(ends, np.int32),
            # odd numbers below 2²⁹: the sum of four products with 31-bit values stays below 2⁶³
            "multipliers": (random.integers(0, 2**28, (len(rows), MOST_ATOMS)) * 2 + 1).astype(np.int32),
            "offsets": random.integers(0, 2**31, len(rows)).astype(np.int32),
        }


def _kind(atom: str) -> int:
    return 0 if atom.split(".")[1] in WORD_ATTRIBUTES else 1


def _check(template: str, name: str) -> None:
    atoms = template.split()
    if not 1 <= len(atoms) <= MOST_ATOMS:
        raise ConfigError(f"the template {template!r} has {len(atoms)} atoms; a template has 1 to {MOST_ATOMS}")
    for atom in atoms:
        match = _ATOM.fullmatch(atom)
        problem = None
        if match is None:
            problem = f"{atom!r} is not an atom such as s0.w"
        elif atom in DISTANCES:
            pass
        elif match[2] == "d":
            problem = f"the distances are {', '.join(DISTANCES)}, not {atom!r}"
        elif match[1] not in PLACES:
            problem = f"there is no place {match[1]!r}; there are: {', '.join(PLACES)}"
        elif match[2] not in (*WORD_ATTRIBUTES, *TREE_ATTRIBUTES):
            known = ", ".join((*WORD_ATTRIBUTES, *TREE_ATTRIBUTES))
            problem = f"there is no {match[2]!r} to be seen of a word; there are: {known}"
        elif name == "moves" and match[1] in ("h", "d", "hl", "hr", "dl", "dr", "hp", "hn", "dp", "dn"):
            problem = f"{atom!r} is known only while a label is chosen: use it in templates for labels"
        if problem:
            raise ConfigError(f"in the template {template!r}: {problem}")


def _split(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for line in text.strip().splitlines() for part in line.split("·") if part.strip())


#: the templates of the UMD lecture, Fig. 14.9 (its s1, s2 and b1 are s0, s1 and b0 here)
BASIC = _split("""
    s0.w · s0.t · s0.wt · s1.w · s1.t · s1.wt · b0.w · b0.t · b0.wt
    s0.w s1.w · s0.t s1.t · s0.t b0.w · s0.t s1.wt · s0.w s1.wt · s0.wt s1.t
""")

#: in the spirit of Zhang & Nivre (2011), with morphology, lemmas and suffixes
RICH = _split("""
    s0.wt · s0.w · s0.t · b0.wt · b0.w · b0.t · b1.wt · b1.w · b1.t · b2.w · b2.t · s1.wt · s1.w · s1.t · s2.t · s2.w
    s0.wt b0.wt · s0.wt b0.t · s0.t b0.wt · s0.w b0.w · s0.t b0.t · b0.t b1.t · s0.w b0.t · s0.t b0.w
    s1.wt s0.t · s1.t s0.wt · s1.t s0.t · s1.w s0.w
    b0.t b1.t b2.t · s0.t b0.t b1.t · s1.t s0.t b0.t · s2.t s1.t s0.t
    s1.t b0.t · s1.w b0.t · s1.t b0.w · s1.t s0.t b0.w · s1.w s0.t b0.t · s1.t s0.w b0.t · s0.w b0.t b1.t · s0.t b0.w b1.t
    s0l.t · s0r.t · s0l.l · s0r.l · s1l.t · s1r.t · s1l.l · s1r.l · b0l.t · b0l.l · s0r.w · s1r.w · b0l.w
    s0.t s0l.t b0.t · s0.t s0r.t b0.t · s0.t b0.t b0l.t · s1.t s1r.t s0.t · s1.t s1l.t s0.t · s1.t s0.t s0l.t
    s1.t s0.t s0r.t · s0.t s0l.t s0l2.t · s0.t s0r.t s0r2.t · b0.t b0l.t b0l2.t
    s0.t s0r.l b0.t · s0.w s0r.l · s0.t s0l.l b0.t · b0.t b0l.l s0.t · s1.t s1r.l s0.t
    s0.t b0.t s0b0.d · s0.w s0b0.d · b0.w s0b0.d · s1.t s0.t s1s0.d · s0.t s0b0.d · s1.w s1s0.d
    s0.w s0.vr · s0.t s0.vr · s0.w s0.vl · s0.t s0.vl · b0.w b0.vl · b0.t b0.vl · s1.t s1.vr · s1.w s1.vr
    s0.w s0.sr · s0.t s0.sr · s0.w s0.sl · s0.t s0.sl · b0.w b0.sl · b0.t b0.sl · s1.t s1.sr · s1.w s1.sr
    s0.m b0.m · s1.m s0.m · s0.m b0.t · s0.t b0.m · s0.g b0.g · s1.g s0.g · s0.f · b0.f · s0.m · b0.m · s1.m
    s0.s b0.t · s0.t b0.s · s0.s · b0.s · s1.g b0.g · s1.m s0.t b0.t · s0.u b0.u b1.u b2.u
""")

#: for labels, where they are chosen after the move
RICH_LABELS = _split("""
    d.w · d.t · d.wt · h.w · h.t · h.wt · d.m · h.m · d.g · h.g · d.f · h.f · d.s · h.s
    d.w h.w · d.t h.t · d.wt h.t · d.t h.wt · d.w h.t · d.t h.w · d.m h.m · d.g h.g · d.m h.t · d.t h.m
    hd.d d.t h.t · hd.d d.w · hd.d h.w · hd.d d.g h.g · hd.d d.t
    h.sl d.t · h.sr d.t · h.sl h.t d.t · h.sr h.t d.t · d.sl d.t · d.sr d.t · d.sl d.t h.t · d.sr d.t h.t · d.sl d.w · h.sl d.w
    h.sr d.w · dl.w d.t · dr.w d.t · dl.t d.t h.t · dr.t d.t h.t · dl.l d.w · dr.l d.w · dl.m h.m
    dp.t d.t dn.t · hp.t h.t hn.t · dp.w d.t · dn.w d.t · b0.t d.t h.t · b0.w d.t · hr.l d.t h.t · hl.l d.t h.t
    d.wt h.wt · d.m hd.d h.t · h.m hd.d d.t
""")

FEATURE_SETS = {"basic": Templates(BASIC, ()), "rich": Templates(RICH, RICH_LABELS)}
