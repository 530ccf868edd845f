"""Transition systems: their definition, and all systems by name.

A system is one module that ends with a value ``SYSTEM``, a :class:`TransitionSystem`: its moves, and functions for
admissible moves, their effects and their costs. Labels, features and the loss are the same for all systems
(:mod:`treewright.dependency.task`). An installed package adds a system by an entry point of the group
``treewright.systems``. A module is imported when its system is first used.

>>> find_system("arc-hybrid").moves[1]
Move(name='LEFTARC', head='b0', dependent='s0')
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, NamedTuple

from treewright.dependency.configuration import PLACES, STATE
from treewright.dependency.templates import PLACES as SEEN_PLACES
from treewright.errors import ConfigError
from treewright.plugins import load_plugin, plugins
from treewright.settings import one_of

__all__ = ["Move", "TransitionSystem", "find_system", "system_names"]

#: the modules of the built-in systems
_BUILT_IN = {
    "arc-standard": "treewright.dependency.arc_standard",
    "arc-standard-buffer": "treewright.dependency.arc_standard_buffer",
    "arc-eager": "treewright.dependency.arc_eager",
    "arc-hybrid": "treewright.dependency.arc_hybrid",
    "swap": "treewright.dependency.swap",
}


class Move(NamedTuple):
    """A move: its name in traces and, where it makes an arc, the places of the arc's head and dependent.

    A place is ``s0`` to ``s3`` on the stack, from its top, or ``b0`` to ``b3`` in the buffer, from its head.
    """

    name: str
    head: str = ""
    dependent: str = ""

    @property
    def makes_arc(self) -> bool:
        """Whether the move makes an arc."""
        return bool(self.head)


@dataclass(frozen=True, eq=False, kw_only=True)
class TransitionSystem:
    """A transition system: moves over a :mod:`configuration <treewright.dependency.configuration>`, and their oracles.

    The functions are compiled together with the engine. They take ``x``, the sentence (``x.n`` words, and in oracles
    the gold tree: ``x.gold_heads``, ``x.gold_labels``), and ``state``, the configuration. Put
    :func:`~treewright.search.inlined` above the short ones and :func:`~treewright.search.compiled` above the others.
    Only the oracles (``static``, ``costs``, ``estimate`` and ``least_loss``) may allocate arrays.

    Args:
        name: the name by which users choose the system.
        moves: the moves; a move's number is its position here.
        admissible: ``(x, state) → bits``: the admissible moves, bit k for move k. It must not read the gold tree, and
            unless the state is final it must return at least one move.
        move: ``(x, state, move)``: changes stack and buffer. The arc of the move, if it makes one, was made before.
        static: ``(x, state) → move``: the next move on one path to the gold tree, for states on that path.
        costs: ``(x, state, out)``: the dynamic oracle. For each admissible move m it writes to ``out[m]`` the number of
            gold arcs that the move loses, up to a constant that is the same for all moves. None: there is no exact
            oracle.
        estimate: ``(x, state, out)``: replaces ``costs`` if there is no exact oracle, so that learners may leave the
            path of ``static``. It writes a cost for each admissible move, which need not be exact; on that path the
            move of ``static`` costs least. None: there is only ``static``.
        least_loss: ``(x, state) → count``: the number of words without a head that must get a wrong one. None: unknown.
        arc: ``(x, state, move) → (head, dependent)``, if the ends of an arc are not always at the places that ``moves``
            declares.
        is_late: ``(x, state) → bool``: whether arcs made in this state only complete the tree. The oracle and the loss
            count them as errors. None: there are no such arcs.
        initial: ``(x, state)``: changes the first state, in which the root is on the stack and all words are in the
            buffer.
        is_final: ``(x, state) → bool``: whether the parse is complete. None: it is when every word has a head.
        state: fields of the state besides those of all configurations, with their sizes: ``{"visited": "n + 1"}``.
            They begin with zeros.
        max_steps: a bound on the number of moves and labels that a parse takes.
        projective: whether the system builds only trees without crossing arcs. Gold trees are then made projective
            before learning, and this is undone after parsing.
        slots: the places whose words a policy with an encoder reads, as in feature templates: ``s0``, ``b0l``.
        prepare: ``heads → array``: further information on a gold tree that the oracles need, as ``x.prepared``. It is
            plain Python, and ``heads[i]`` is the head of word i + 1.
    """

    name: str
    moves: tuple[Move, ...]
    admissible: Callable[..., Any]
    move: Callable[..., Any]
    static: Callable[..., Any]
    costs: Callable[..., Any] | None = None
    estimate: Callable[..., Any] | None = None
    least_loss: Callable[..., Any] | None = None
    arc: Callable[..., Any] | None = None
    is_late: Callable[..., Any] | None = None
    initial: Callable[..., Any] | None = None
    is_final: Callable[..., Any] | None = None
    state: Mapping[str, int | str] = field(default_factory=dict)
    max_steps: int | str = "12*n + 2"
    projective: bool = True
    slots: tuple[str, ...] = ("s2", "s1", "s0", "b0", "s1r", "s0l", "s0r", "b0l")
    prepare: Callable[..., Any] | None = None

    def __post_init__(self) -> None:
        for problem in self._problems():
            raise ConfigError(f"the transition system {self.name!r}: {problem}")

    def __repr__(self) -> str:
        return f"TransitionSystem({self.name!r})"

    def __deepcopy__(self, memo: Any) -> TransitionSystem:
        return self

    @property
    def move_names(self) -> tuple[str, ...]:
        """The names of the moves."""
        return tuple(move.name for move in self.moves)

    def _problems(self) -> list[str]:
        names = self.move_names
        found = [
            f"the move name {name!r} must be letters, digits and hyphens, as in LEFT-ARC"
            for name in names
            if not name.replace("-", "").isalnum()
        ]
        found += [f"two moves have the name {name!r}" for name in dict.fromkeys(names) if names.count(name) > 1]
        found += [
            f"the move {move.name} makes an arc between {move.head!r} and {move.dependent!r}; the places are: "
            f"{', '.join(PLACES)}"
            for move in self.moves
            if (move.head or move.dependent) and not {move.head, move.dependent} <= {*PLACES}
        ]
        if len({move.makes_arc for move in self.moves}) < 2:
            found.append("it needs at least one move that makes an arc and one that does not")
        if len(self.moves) > 62:
            found.append(f"it has {len(self.moves)} moves; there can be 62")
        found += [
            f"there is no place {slot!r} for its slots; there are: s0, b0, s0l, s0r and others of feature templates"
            for slot in self.slots
            if slot not in SEEN_PLACES or slot[0] in "hd"
        ]
        found += [f"every state has a field {name!r} already" for name in self.state if name in STATE]
        return found


def system_names() -> tuple[str, ...]:
    """The names of all transition systems, built-in and of installed packages."""
    return (*_BUILT_IN, *(name for name in plugins("systems") if name not in _BUILT_IN))


def find_system(system: str | TransitionSystem) -> TransitionSystem:
    """Return the transition system with a name; a system is returned unchanged.

    Raises:
        ConfigError: if there is no system of that name, or if it cannot be imported.

    >>> find_system("arc-lazy")
    Traceback (most recent call last):
    treewright.errors.ConfigError: system cannot be 'arc-lazy'; it is one of: arc-standard, arc-standard-buffer, ...
    """
    if isinstance(system, TransitionSystem):
        if system.name in _BUILT_IN and system is not find_system(system.name):
            raise ConfigError(f"a built-in system has the name {system.name!r}; give yours another one")
        return system
    if system in _BUILT_IN:
        built_in: TransitionSystem = import_module(_BUILT_IN[system]).SYSTEM
        return built_in
    if system not in system_names():
        raise ConfigError(one_of(system, system_names()), setting="system", value=system)
    found = load_plugin("systems", system)
    if not isinstance(found, TransitionSystem):
        raise ConfigError(f"the entry point {system!r} is not a TransitionSystem but of type {type(found).__name__}")
    if found.name != system:
        raise ConfigError(f"the entry point {system!r} holds a transition system with another name, {found.name!r}")
    return found
