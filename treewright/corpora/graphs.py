"""AMR graphs as immutable triples with alignments to words.

A :class:`Graph` has *instances* (a variable and its concept), *edges* between variables, and *attributes*
(a role whose value is a constant: a number, a string in quotes, a symbol such as ``-``).

>>> graph = Graph(
...     top="w",
...     instances=(("w", "want-01"), ("b", "boy"), ("g", "go-02")),
...     edges=(("w", ":ARG0", "b"), ("w", ":ARG1", "g"), ("g", ":ARG0", "b")),
...     attributes=(("w", ":polarity", "-"),),
...     alignments={"b": (1,), "w": (4,), "g": (6,)},
... )
>>> print(graph.to_penman())
(w / want-01
   :ARG0 (b / boy)
   :ARG1 (g / go-02
            :ARG0 b)
   :polarity -)

Edges are stored in their normal direction: the inverse roles of the text (``:ARG0-of``) are only a way to
write a graph as a tree.
"""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from sys import intern
from types import MappingProxyType

from treewright.corpora.notation import DEEPEST, problem, shortened, too_deep, what_follows
from treewright.errors import CorpusError

__all__ = ["NOT_INVERSE", "Alignment", "Graph", "Triple", "normal"]

Triple = tuple[str, str, str]
"""Source, role, target. Roles are written with their colon: ``":ARG0"``."""

Alignment = tuple[int, ...] | str
"""The origin of a concept: positions of tokens, counted from 0, or the name of a construction."""

NOT_INVERSE = frozenset([":consist-of", ":prep-on-behalf-of", ":prep-out-of"])
"""Roles that end in ``-of`` but are not inverse roles."""

_VARIABLE = re.compile(r"[a-z]\d*", re.ASCII)


def normal(edge: Triple) -> Triple:
    """An edge in its normal direction.

    >>> normal(("a", ":ARG0-of", "b")), normal(("a", ":ARG0-of-of", "b")), normal(("a", ":consist-of", "b"))
    (('b', ':ARG0', 'a'), ('a', ':ARG0', 'b'), ('a', ':consist-of', 'b'))
    """
    source, role, target = edge
    while role.endswith("-of") and role not in NOT_INVERSE:
        source, role, target = target, role[:-3], source
    return source, intern(role), target


@contextmanager
def _silent(name: str) -> Iterator[None]:
    """Silence a logger and its descendants while the block runs."""
    logger = logging.getLogger(name)
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(level)


@dataclass(frozen=True, slots=True)
class Graph:
    """An AMR graph. ``alignments`` may be empty, partial or complete; they count for equality."""

    top: str
    instances: tuple[tuple[str, str], ...]
    edges: tuple[Triple, ...] = ()
    attributes: tuple[Triple, ...] = ()
    alignments: Mapping[str, Alignment] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "alignments", MappingProxyType(dict(self.alignments)))

    def __str__(self) -> str:
        """The graph in PENMAN notation; one that is not well-formed is shown as its parts."""
        try:
            self.validate()
            return self.to_penman()
        except CorpusError:
            return repr(self)

    def __reduce__(self) -> tuple[Callable[..., Graph], tuple[object, ...]]:
        # A mapping proxy cannot be pickled; a dictionary can.
        return Graph, (self.top, self.instances, self.edges, self.attributes, dict(self.alignments))

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables, in the order of their instances."""
        return tuple([variable for variable, _ in self.instances])

    def named_twice(self) -> str | None:
        """The first variable that has more than one concept, if there is one."""
        variables = self.variables
        if len(set(variables)) == len(variables):
            return None
        return next(variable for k, variable in enumerate(variables) if variable in variables[:k])

    def triples(self) -> tuple[Triple, ...]:
        """All triples: instances (with the role ``":instance"``), then edges, then attributes."""
        instances = [(variable, ":instance", concept) for variable, concept in self.instances]
        return (*instances, *self.edges, *self.attributes)

    def to_penman(self) -> str:
        """The graph in PENMAN notation, indented.

        Alignments are not written. The graph must be well-formed (:meth:`validate`).
        """
        import penman
        from penman.models import amr

        try:
            text: str = penman.encode(penman.Graph(list(self.triples()), top=self.top), model=amr.model)
        except RecursionError:
            raise CorpusError(
                f"the graph of {len(self.instances):,} nodes is nested too deeply to be written in PENMAN notation"
            ) from None
        return text

    @classmethod
    def from_penman(cls, text: str) -> Graph:
        """Read one graph in PENMAN notation. Alignments on concepts (``boy~e.1``) are kept.

        The error for a text that is not exactly one graph names the line. A constant that looks like a variable is a
        warning.

        >>> graph = Graph.from_penman('(d / dog~e.1 :ARG0-of (b / bark-01~e.3) :quant 2)')
        >>> graph.edges, graph.attributes, dict(graph.alignments)
        ((('b', ':ARG0', 'd'),), (('d', ':quant', '2'),), {'d': (1,), 'b': (3,)})
        """
        graph = cls._decoded(text)
        for message in graph.undefined_variables():
            warnings.warn(message, stacklevel=2)
        return graph

    @classmethod
    def _decoded(cls, text: str) -> Graph:
        import penman
        from penman.exceptions import DecodeError, PenmanError
        from penman.models import amr
        from penman.surface import alignments

        if (line := too_deep(text)) is not None:
            raise CorpusError(f"brackets are nested more than {DEEPEST} deep; is a closing one missing?", line=line)
        try:
            with _silent("penman"):  # its warnings are errors here
                graph = penman.decode(text, model=amr.model)
        except DecodeError as error:
            what, line = problem(text, error.message or "", error.lineno or 1, error.offset or 0)
            raise CorpusError(f"not a graph in PENMAN notation: {what}", line=line) from None
        except PenmanError as error:
            raise CorpusError(f"not a graph in PENMAN notation: {error}") from None
        rest, line = what_follows(text)
        if rest:
            message = f"{shortened(rest)} follows the end of the graph; remove it"
            raise CorpusError(f"{message}; in a file, an empty line stands between two graphs", line=line)
        if graph.top is None:
            raise CorpusError("a graph without a top: write (variable / concept)")
        for source, role, target in graph.triples:
            if role != ":instance" and target is None:
                raise CorpusError(f"the role {role} of the variable {source!r} has no target: write one after it")
        nameless = [source for source, role, target in graph.triples if role == ":instance" and target is None]
        if nameless:
            raise CorpusError(f"the variable {nameless[0]!r} has no concept: write ({nameless[0]} / concept)")
        return cls(
            top=graph.top,
            instances=tuple([(source, target) for source, _, target in graph.instances()]),
            edges=tuple([normal(edge) for edge in graph.edges()]),
            attributes=tuple([tuple(attribute) for attribute in graph.attributes()]),
            alignments={
                source: tuple(alignment.indices)
                for (source, role, _), alignment in alignments(graph).items()
                if role == ":instance"
            },
        )

    def undefined_variables(self) -> Iterator[str]:
        """Yield a message for each constant that looks like a variable: its node was probably forgotten.

        >>> list(Graph("w", (("w", "want-01"),), attributes=(("w", ":ARG0", "b2"),)).undefined_variables())
        ["'b2', the :ARG0 of 'w', looks like a variable, but no node has it: it is taken as a constant"]
        """
        for source, role, constant in self.attributes:
            if _VARIABLE.fullmatch(constant):
                what = f"{constant!r}, the {role} of {source!r}, looks like a variable, but no node has it"
                yield f"{what}: it is taken as a constant"

    def validate(self) -> None:
        """Raise :class:`~treewright.errors.CorpusError` unless the graph is well-formed.

        A variable has one concept; edges connect variables; attributes have constants; no triple occurs twice; and
        all nodes are connected to the top, by edges in either direction.
        """
        known = set(self.variables)
        if twice := self.named_twice():
            raise CorpusError(f"the variable {twice!r} has more than one concept")
        if self.top not in known:
            raise CorpusError(f"the top {self.top!r} is not a variable of the graph")
        neighbours: dict[str, list[str]] = {variable: [] for variable in self.variables}
        for source, role, target in self.edges:
            for end in (source, target):
                if end not in known:
                    raise CorpusError(f"the edge {source} {role} {target} uses an unknown variable {end!r}")
            neighbours[source].append(target)
            neighbours[target].append(source)
        for source, role, constant in self.attributes:
            if source not in known:
                raise CorpusError(f"the attribute {source} {role} {constant} is on an unknown variable")
            if constant in known:
                raise CorpusError(f"the attribute {source} {role} {constant} should be an edge")
        seen: set[Triple] = set()
        for triple in self.triples():
            if not triple[1].startswith(":"):
                raise CorpusError(f"the role {triple[1]!r} of {triple[0]!r} must start with a colon")
            if triple in seen:
                raise CorpusError(f"the triple {' '.join(triple)} occurs twice")
            seen.add(triple)
        reached, stack = {self.top}, [self.top]
        while stack:
            fresh = [variable for variable in neighbours[stack.pop()] if variable not in reached]
            reached.update(fresh)
            stack.extend(fresh)
        if lost := [variable for variable in self.variables if variable not in reached]:
            raise CorpusError(f"not connected to the top {self.top!r}: {', '.join(lost)}")
        if stray := [variable for variable in self.alignments if variable not in known]:
            raise CorpusError(f"an alignment is on an unknown variable {stray[0]!r}")
