"""Feature templates, written as strings and compiled to straight-line code.

A template is a conjunction of *atoms*, separated by spaces: ``"s0.w b0.t"`` is the form of the top of the stack with
the tag of the first word of the buffer. An atom is a *place* and an attribute.

Places:

* ``s0 s1 s2 s3``: the stack from its top; ``b0 b1 b2 b3``: the buffer from its head.
* ``h`` and ``d``: the head and the dependent of the arc that is being labelled (in templates for labels).
* a place followed by ``l``, ``l2``, ``r``, ``r2``, ``h``, ``p``, ``n``: its outermost child on the left, the second,
  the same on the right, its head, the previous and the next word of the sentence: ``s0l``, ``b0l2``, ``dp``.

Attributes of a word:

* ``w`` form, ``m`` lemma, ``t`` tag (XPOS, or UPOS where there is none), ``u`` UPOS, ``f`` FEATS, ``wt`` form and tag,
  ``g`` UPOS and FEATS, ``s`` suffix of three letters, ``c`` capitals and digits;
* ``l`` the label of the arc to its head, ``vl`` and ``vr`` the number of its children on either side, ``sl`` and
  ``sr`` the sets of their labels.

``s0b0.d``, ``s1s0.d`` and ``hd.d`` are distances in words; the last has a direction.

>>> Templates(["s0.w", "s0.t b0.w"]).atoms
('s0.w', 's0.t', 'b0.w')
>>> Templates(["s0.x"])
Traceback (most recent call last):
treewright.errors.ConfigError: in the template 's0.x': a word has no attribute 'x'; it has: w, m, ...
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from treewright.errors import ConfigError

__all__ = ["BASIC", "FEATURE_SETS", "PLACES", "RICH", "Templates", "positions_source"]

#: the places, each with its code; ``nothing`` is an extra node
PLACES = {
    **{f"s{k}": f"np.int64(state.stack[depth - {k + 1}]) if depth > {k} else nothing" for k in range(4)},
    **{f"b{k}": f"np.int64(state.buffer[front + {k}]) if front + {k} < n else nothing" for k in range(4)},
    "h": "head",
    "d": "dependent",
}
_RELATIVES = {
    "l": "child(state.family, {0}, LEFT_CHILD, nothing)",
    "l2": "child(state.family, {0}, LEFT_CHILD2, nothing)",
    "r": "child(state.family, {0}, RIGHT_CHILD, nothing)",
    "r2": "child(state.family, {0}, RIGHT_CHILD2, nothing)",
    "h": "np.int64(state.heads[{0}]) if state.heads[{0}] >= 0 else nothing",
    "p": "{0} - 1 if 0 < {0} < nothing else nothing",
    "n": "{0} + 1 if {0} < nothing else nothing",
}
PLACES |= {place + name: code.format(place) for place in tuple(PLACES) for name, code in _RELATIVES.items()}

#: attributes in the table of words
WORD_ATTRIBUTES = ("w", "m", "t", "u", "f", "wt", "g", "s", "c")
#: attributes in the configuration
TREE_ATTRIBUTES = {
    "l": "np.int64(state.labels[{0}]) + 2",
    "vl": "np.int64(min(state.family[{0} * FAMILY + LEFT_COUNT], 6)) + 1",
    "vr": "np.int64(min(state.family[{0} * FAMILY + RIGHT_COUNT], 6)) + 1",
    "sl": "np.int64(state.family[{0} * FAMILY + LEFT_LABELS]) + 1",
    "sr": "np.int64(state.family[{0} * FAMILY + RIGHT_LABELS]) + 1",
}
#: distances and the two places between which they are
DISTANCES = {"s0b0.d": ("s0", "b0"), "s1s0.d": ("s1", "s0"), "hd.d": ("h", "d")}

MOST_ATOMS = 4  # in one template

_ATOM = re.compile(r"([a-z0-9]+)\.([a-z]+)")


@dataclass(frozen=True)
class Templates:
    """Templates for states in which a move (or a labelled move) is chosen, and for states that choose a label."""

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

    def source(self) -> str:
        """Generate the function ``features`` of a task: it reads the attributes and hashes the atoms of each template.

        A feature is the middle bits of Σ multiplierₖ·atomₖ + offset. The multipliers are odd and below 2²⁹, so that the
        sum of four products with atoms below 2³¹ stays below 2⁶³. The function calls those of
        :mod:`treewright.dependency.reading`: calls compile faster than inlined operations.
        """
        random = np.random.default_rng(20121208)
        lines = [
            "def features(x, state, out):",
            "    n, nothing = np.int64(x.n), np.int64(x.n) + 1",
            "    depth, front = np.int64(state.registers[DEPTH]), np.int64(state.registers[FRONT])",
            "    if state.registers[PENDING] == 0:",
            *("        " + line for line in _statements(self.moves, random)),
            "    head, dependent = arc_of(x, state, np.int64(state.registers[PENDING]) - 1)",
            *("    " + line for line in _statements(self.labels, random)),
        ]
        return "\n".join(lines) + "\n"


def positions_source(places: Sequence[str]) -> str:
    """Generate the function ``positions`` of a task: the words at some places, and the ends of an arc without a label.

    >>> print(positions_source(["s0", "s0l"]).splitlines()[6].strip())
    out[1] = position(s0l, n)
    """
    wanted = dict.fromkeys(filter(None, [*map(_parent, places), *places]))
    lines = [
        "n, nothing = np.int64(x.n), np.int64(x.n) + 1",
        "depth, front = np.int64(state.registers[DEPTH]), np.int64(state.registers[FRONT])",
        *(f"{place} = {PLACES[place]}" for place in wanted),
        *(f"out[{k}] = position({place}, n)" for k, place in enumerate(places)),
        "if x.options[STAGED] == 0:",
        f"    return {len(places)}",
        "head, dependent = nothing, nothing",
        "if state.registers[PENDING] != 0:",
        "    head, dependent = arc_of(x, state, np.int64(state.registers[PENDING]) - 1)",
        f"out[{len(places)}], out[{len(places) + 1}] = position(head, n), position(dependent, n)",
        f"return {len(places) + 2}",
    ]
    return "\n".join(["def positions(x, state, out):", *("    " + line for line in lines)]) + "\n"


def _statements(templates: Sequence[str], random: np.random.Generator) -> list[str]:
    """Places, atoms and templates, each computed once."""
    atoms = list(dict.fromkeys(atom for template in templates for atom in template.split()))
    places = [place for atom in atoms for place in DISTANCES.get(atom, atom.split(".")[:1])]
    lines = [f"{place} = {PLACES[place]}" for place in dict.fromkeys(filter(None, [*map(_parent, places), *places]))]
    for k, atom in enumerate(atoms):
        where, what = atom.split(".")
        if atom in DISTANCES:
            value = "distance({}, {}, nothing)".format(*DISTANCES[atom])
        elif what in TREE_ATTRIBUTES:
            value = TREE_ATTRIBUTES[what].format(where)
        else:
            value = f"seen(x.attributes, {where}, {WORD_ATTRIBUTES.index(what)})"
        lines.append(f"a{k} = {value}")
    number = {atom: k for k, atom in enumerate(atoms)}
    for t, template in enumerate(templates):
        products = [f"{2 * random.integers(2**28) + 1}, a{number[atom]}" for atom in template.split()]
        arguments = ", ".join([*products, str(random.integers(2**60))])
        lines.append(f"out[{t}] = hash{len(products)}({arguments})")
    return [*lines, f"return {len(templates)}"]


def _parent(place: str) -> str:
    """The place from which another place is computed."""
    return next(
        (
            place[: -len(name)]
            for name in sorted(_RELATIVES, key=len, reverse=True)
            if place.endswith(name) and place[: -len(name)] in PLACES
        ),
        "",
    )


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
            if name == "moves" and atom == "hd.d":
                problem = "'hd.d' is known only while a label is chosen: use it in templates for labels"
        elif match[2] == "d":
            problem = f"the distances are {', '.join(DISTANCES)}, not {atom!r}"
        elif match[1] not in PLACES:
            problem = f"there is no place {match[1]!r}; there are: {', '.join(PLACES)}"
        elif match[2] not in (*WORD_ATTRIBUTES, *TREE_ATTRIBUTES):
            known = ", ".join((*WORD_ATTRIBUTES, *TREE_ATTRIBUTES))
            problem = f"a word has no attribute {match[2]!r}; it has: {known}"
        elif name == "moves" and (match[1] in ("h", "d") or _parent(match[1]) in ("h", "d")):
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
    s1.t b0.t · s1.w b0.t · s1.t b0.w · s1.t s0.t b0.w · s1.w s0.t b0.t · s1.t s0.w b0.t · s0.w b0.t b1.t
    s0.t b0.w b1.t
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

#: for labels that are chosen after the move
RICH_LABELS = _split("""
    d.w · d.t · d.wt · h.w · h.t · h.wt · d.m · h.m · d.g · h.g · d.f · h.f · d.s · h.s
    d.w h.w · d.t h.t · d.wt h.t · d.t h.wt · d.w h.t · d.t h.w · d.m h.m · d.g h.g · d.m h.t · d.t h.m
    hd.d d.t h.t · hd.d d.w · hd.d h.w · hd.d d.g h.g · hd.d d.t
    h.sl d.t · h.sr d.t · h.sl h.t d.t · h.sr h.t d.t · d.sl d.t · d.sr d.t · d.sl d.t h.t · d.sr d.t h.t · d.sl d.w
    h.sl d.w · h.sr d.w · dl.w d.t · dr.w d.t · dl.t d.t h.t · dr.t d.t h.t · dl.l d.w · dr.l d.w · dl.m h.m
    dp.t d.t dn.t · hp.t h.t hn.t · dp.w d.t · dn.w d.t · b0.t d.t h.t · b0.w d.t · hr.l d.t h.t · hl.l d.t h.t
    d.wt h.wt · d.m hd.d h.t · h.m hd.d d.t
""")

#: more pairs of words, tags and suffixes, and neighbouring words, for predicted tags
FULL = (*RICH, *_split("""
    s0.u b0.u · s1.u s0.u · s0.s b0.s · s1.s s0.s · s0.c b0.c · s0.c s0.t b0.t · b0.c b0.t s0.t
    s0.t s0n.t b0.t b0p.t · s0.t s0p.t b0.t b0n.t · s0n.t s0.t b0.t · s0.t b0p.t b0.t · s0p.w s0.t b0.t
    s0.t b0.t b0n.w · s1.t s1n.t s0.t s0p.t · s1.t s1p.t s0.t s0n.t · s0n.w s0.t · b0p.w b0.t · b1.w b0.t
    b0.w b1.w · s0.w b1.t · s0.w s1.t s2.t · b0.t b1.t b2.t b3.t · s0.t b0.t b1.w · s1.u s0.u b0.u b1.u
    s2.u s1.u s0.u b0.u · s1.t s1s0.d s0b0.d s0.t · s0l.w s0.t · s0r.l s0.t b0.w · s0.m s0.sr · s0.m s0.sl
    b0.m b0.sl
"""))  # fmt: skip

#: the same for labels
FULL_LABELS = (*RICH_LABELS, *_split("""
    d.u h.u · d.s h.t · d.t h.s · d.s h.s · d.c h.t · dp.w d.w · dn.w d.w · dp.t d.t h.t · dn.t d.t h.t · d.u h.u hd.d
    dp.w h.w · hn.w h.t d.t · hp.w h.t d.t · dl.m d.m · dr.m d.m · d.m h.m hd.d · dl.w d.w · hl.w d.w · hr.w d.w
    d.sr h.sl d.t h.t
"""))  # fmt: skip

FEATURE_SETS = {
    "basic": Templates(BASIC, ()),
    "rich": Templates(RICH, RICH_LABELS),
    "full": Templates(FULL, FULL_LABELS),
}
