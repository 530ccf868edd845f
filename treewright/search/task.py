"""A task: a search space written as a class of plain functions, compiled together with the engine.

Each class gets its own Numba type, which contains a digest of its code. In the interpreter ``task.step(...)`` is
an attribute like any other; in compiled code it is a method of that type, resolved at compile time. See
``docs/own-task.md`` for a task written from scratch.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache, cached_property, partial
from types import FunctionType, new_class
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from treewright.errors import TaskError
from treewright.search.compiling import compiled, interpreted, lean
from treewright.search.digest import code_digest
from treewright.search.layout import Size, parse_size
from treewright.search.native import Static
from treewright.search.records import record
from treewright.settings import whole_number

__all__ = ["Packed", "Task"]

#: the functions of the protocol, in the order in which an episode meets them
PROTOCOL = (
    "initial",
    "is_final",
    "is_whole",
    "actions",
    "step",
    "features",
    "action_features",
    "positions",
    "structure",
    "expert_costs",
    "loss",
    "partial_loss",
)
_GENERATED = ("state_view", "instance_view")
_NUMBER, _OFFSET, _REAL = np.dtype(np.int32), np.dtype(np.int64), np.dtype(np.float64)


class Task(Static):
    """A search space. Subclass it, declare the state, and write the functions of the protocol.

    A subclass declares:

    * ``state``: the fields of a state and their sizes, e.g. ``{"position": 1, "labels": "n"}``. Every field is an
      array of 32-bit integers; a single number is an array of one, ``state.position[0]``.
    * ``instance``: the fields of an instance: arrays that :meth:`encode` makes from one sentence.
    * ``shared``: arrays that all instances share (tables, dictionaries), given by :meth:`shared_arrays`.
    * ``n_actions``: the number of actions; where ``structured``, the maximum number of admissible actions in a state.
    * ``width``: the number of moves, where decisions are of two kinds: first one of a few moves, then one of many
      labels. The moves are the actions below ``width``, and the labels are the actions from ``width`` on. 0: there is
      one kind.
    * ``max_steps``: a bound on the length of an episode, e.g. ``"2*n"`` or ``"n*n"``.
    * ``max_features``: the maximum number of features of a state (or of an action).
    * ``max_positions``: the number of positions of a state, for policies that encode sentences; 0: there are none.
    * ``max_structure``: the most integers that ``structure`` writes, e.g. ``"8*n + 4"``; ``n_relations``: the number
      of relations of its arcs; 0: the task has no such function.
    * ``lean``: the names of functions that allocate no arrays; they are compiled without reference counting, which
      makes short ones several times as fast.
    * ``oracle``: what ``expert_costs`` guarantees: ``"exact"`` costs in every state; zero for exactly the ``"optimal"``
      actions in every state; or correct costs only on the expert's own path (``"static"``). ``check_task`` verifies it.

    In the functions, ``x`` is the instance, with the length of the sentence as ``x.n`` and one attribute per field;
    ``state`` is the state. They are plain functions without ``self``, restricted to what Numba compiles. Their helpers
    need the decorator :func:`~treewright.search.compiled`.
    """

    name: str = ""
    state: Mapping[str, int | str] = {}
    instance: Sequence[str] = ()
    shared: Sequence[str] = ()
    structured: bool = False
    n_actions: int = 0
    width: int = 0
    max_steps: int | str = "n"
    max_features: int = 64
    max_positions: int = 0
    max_structure: int | str = 0
    n_relations: int = 0
    lean: Sequence[str] = ()
    oracle: str = "exact"

    is_plain: ClassVar[bool] = False  # whether its functions are interpreted; see :meth:`plain`
    _key: ClassVar[Any]  # a function without arguments
    _places: ClassVar[dict[str, tuple[Size, Size]]]  # the offset and the size of each field of the state
    _state_size: ClassVar[Size]
    _fields: ClassVar[tuple[str, ...]]  # of packed sentences

    # ---- the protocol; each of these may be overridden by a plain function

    @staticmethod
    def initial(x: Any, state: Any) -> None:
        """Write the initial state, which is filled with zeros before the call."""

    @staticmethod
    def is_final(x: Any, state: Any) -> bool:
        """Whether this state is final."""
        return False

    @staticmethod
    def is_whole(x: Any, state: Any) -> bool:
        """Whether this state is between two actions; False after an action is chosen and before its parameter is."""
        return True

    @staticmethod
    def actions(x: Any, state: Any, out: Any) -> int:
        """Write the admissible actions to ``out`` and return their number; by default all."""
        for action in range(out.shape[0]):
            out[action] = action
        return out.shape[0]

    @staticmethod
    def step(x: Any, state: Any, action: int) -> None:
        """Change the state by an action."""

    @staticmethod
    def features(x: Any, state: Any, out: Any) -> int:
        """Write the features of the state to ``out``, as integers below 2³¹, and return their number."""
        out[0] = 0
        return 1

    @staticmethod
    def action_features(x: Any, state: Any, action: int, out: Any) -> int:
        """Further features of (state, action), where actions carry structure."""
        return 0

    @staticmethod
    def positions(x: Any, state: Any, out: Any) -> int:
        """Write the words that a policy with an encoder reads in this state, and return their number.

        A word is its index, from 0 to n − 1; n is an artificial root, and −1 a missing word. The k-th position has the
        same role in every state: the top of the stack, say. There are ``max_positions`` of them.
        """
        return 0

    @staticmethod
    def structure(x: Any, state: Any, out: Any) -> int:
        """Write how the state came about, for policies that summarise it, and return how many numbers these are.

        There are four lists, each behind its length: the stack from its bottom to its top, the buffer from its end to
        its front, the arcs in the order in which they were made (head, dependent, relation), and the actions that were
        taken. Words are given by their positions, as in ``positions``. A relation is a number below ``n_relations``.
        """
        return 0

    @staticmethod
    def expert_costs(x: Any, state: Any, actions: Any, n: int, out: Any) -> None:
        """The oracle: write to ``out`` the cost of each of the ``n`` actions, 0 for an optimal one."""
        for k in range(n):
            out[k] = 0.0

    @staticmethod
    def loss(x: Any, state: Any) -> float:
        """The loss of a final state."""
        return 0.0

    @staticmethod
    def partial_loss(x: Any, state: Any) -> float:
        """The least loss still reachable from a state that need not be final; −1 where it is not known."""
        return -1.0

    # ---- generated by the library for each task, from the declarations

    @staticmethod
    def state_view(buffer: Any, n: int) -> Any:
        """The state in a flat buffer, with its fields by name."""

    @staticmethod
    def instance_view(corpus: Any, i: int) -> Any:
        """The instance of sentence ``i`` of a packed corpus."""

    # ---- the Python side

    def encode(self, sentence: Any) -> Mapping[str, npt.ArrayLike]:
        """The arrays of one sentence, by the names in ``instance``."""
        raise TaskError(f"task {self.name!r} does not say how to encode a sentence: write a method `encode`")

    def length(self, sentence: Any) -> int:
        """The length ``n`` of a sentence."""
        return len(sentence)

    def shared_arrays(self) -> Mapping[str, npt.ArrayLike]:
        """The arrays named in ``shared``."""
        return {}

    def pack(self, sentences: Iterable[Any]) -> Packed:
        """Encode sentences into flat arrays, ready for the engine."""
        lengths: list[int] = []
        columns: dict[str, list[npt.NDArray[Any]]] = {name: [] for name in self.instance}
        for number, sentence in enumerate(sentences):
            lengths.append(whole_number(f"the length of sentence {number}", self.length(sentence), 0))
            arrays = self.encode(sentence)
            for name, column in columns.items():
                if name not in arrays:
                    raise TaskError(
                        f"task {self.name!r}: encode(sentence {number}) gives no array {name!r}, "
                        "which `instance` declares"
                    )
                column.append(np.asarray(arrays[name]))
        flat: dict[str, npt.NDArray[Any]] = {}
        for name, column in columns.items():
            offsets = np.zeros(len(column) + 1, np.int64)
            np.cumsum([len(array) for array in column], out=offsets[1:])
            filled = [array for array in column if len(array)]  # an empty list does not determine the type
            flat[name] = np.concatenate(filled) if filled else np.zeros(0, np.int32)
            flat[name + "_at"] = offsets
        return self.packed(np.asarray(lengths, np.int32), flat)

    def packed(self, lengths: npt.NDArray[np.int32], flat: Mapping[str, npt.NDArray[Any]]) -> Packed:
        """Packed sentences from arrays that are flat already: ``name`` and its offsets ``name_at`` for each field."""
        arrays = {"n": lengths, **flat, **{name: np.asarray(a) for name, a in self.shared_arrays().items()}}
        fields = self._fields
        for name in fields:
            if name not in arrays:
                raise TaskError(f"task {self.name!r}: there is no array {name!r}: does `shared_arrays` give it?")
        return Packed(self, record(fields)._make([self._plain(name, arrays[name]) for name in fields]), lengths)

    def _plain(self, name: str, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Convert an array to the type of its field: contiguous, writable, int32 (offsets: int64) or float64."""
        kind, flags = array.dtype, array.flags
        wanted = _REAL if kind.kind == "f" else _OFFSET if name.endswith("_at") else _NUMBER
        if kind == wanted and flags.carray and flags.owndata:
            return array  # the usual case; NumPy's function takes several microseconds to find this out
        if kind.kind not in "iubf":
            raise TaskError(f"task {self.name!r}: the array {name!r} has values of type {kind}, not numbers")
        if wanted is _NUMBER and array.size and (array.max() > 2**31 - 1 or array.min() < -(2**31)):
            raise TaskError(f"task {self.name!r}: the array {name!r} has numbers that do not fit 32 bits")
        return np.require(array, wanted, ["C", "W", "O"])

    @classmethod
    def state_size(cls, n: Any) -> Any:
        """The number of integers in the state of a sentence of length ``n`` (``n`` may be an array of lengths)."""
        return cls._state_size(n)

    @classmethod
    def field_place(cls, name: str, n: Any) -> tuple[Any, Any]:
        """The offset of a field in the state of a sentence of length ``n``, and its size (``n`` may be an array)."""
        if name not in cls._places:
            raise TaskError(f"task {cls.name!r} has no field {name!r} in its state; it has: {', '.join(cls.state)}")
        start, size = cls._places[name]
        return start(n), size(n)

    @property
    def table_width(self) -> int:
        """The number of columns of a table of weights."""
        return 1 if self.structured else self.width or self.n_actions

    @classmethod
    def steps_bound(cls, n: Any) -> Any:
        """The declared bound on the length of an episode (``n`` may be an array of lengths)."""
        return parse_size(cls.max_steps, quadratic=True)(n)

    @classmethod
    def structure_bound(cls, n: Any) -> Any:
        """The most numbers that ``structure`` writes for a sentence of length ``n`` (which may be an array)."""
        return parse_size(cls.max_structure, quadratic=True)(n)

    def plain(self) -> Task:
        """The same task with every function interpreted, including compiled helpers; for checking and debugging."""
        cls = type(self)
        twins = {name: staticmethod(interpreted(getattr(cls, name))) for name in PROTOCOL}
        twin = copy.copy(self)
        body = {**twins, "__module__": cls.__module__, "name": cls.name, "is_plain": True}
        twin.__class__ = new_class(cls.__name__, (cls,), {"interpreted_only": True}, lambda names: names.update(body))
        return twin

    # ---- the compiled side

    def __init_subclass__(cls, interpreted_only: bool = False, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        for name in PROTOCOL:
            if isinstance(cls.__dict__.get(name), FunctionType):
                setattr(cls, name, staticmethod(cls.__dict__[name]))
            if getattr(cls, name).__code__.co_varnames[:1] == ("self",):
                raise TaskError(
                    f"`{name}` of {cls.__name__}: the functions of a task take no `self`, only what is theirs"
                )
        _check_spelling(cls)
        for name in ("instance", "shared"):
            if isinstance(getattr(cls, name), str):
                raise TaskError(f"`{name}` of {cls.__name__} is a string: write ({getattr(cls, name)!r},)")
        cls.name = cls.__dict__.get("name", "") or cls.__name__
        cls._places, cls._state_size = {}, Size(0, 0)
        for field, declared in cls.state.items():
            cls._places[field] = cls._state_size, parse_size(declared)
            cls._state_size = cls._state_size.plus(parse_size(declared))
        cls._fields = ("n", *(part for name in cls.instance for part in (name, name + "_at")), *cls.shared)
        for name, function in _generate(cls).items():
            setattr(cls, name, staticmethod(function))
        if not interpreted_only:
            cls._key = staticmethod(cache(partial(_key, cls)))

    @property
    def digest(self) -> str:
        """The digest of the functions of this task and of all that they reach."""
        return self.static_key()[1]

    def static_key(self) -> tuple[str, str]:
        """The name of the class, and the digest of its functions and of all that they reach."""
        key: tuple[str, str] = self._key()
        return key

    def compiled_functions(self) -> dict[str, Any]:
        """The functions as compiled code calls them."""
        return {
            name: (lean if name in self.lean else compiled)(getattr(self, name)) for name in (*PROTOCOL, *_GENERATED)
        }


def _check_spelling(cls: type[Task]) -> None:
    """Raise :class:`TaskError` for a name that is nearly one of the protocol: the default would be used silently."""
    known = [name for name in vars(Task) if not name.startswith("_")]
    for name in vars(cls):
        if name.startswith("_") or hasattr(Task, name):
            continue
        if near := get_close_matches(name, known, 1, cutoff=0.88):
            raise TaskError(f"{cls.__name__} has {name!r}; did you mean {near[0]!r}? Or choose a less similar name")


@dataclass(frozen=True)
class Packed:
    """Sentences as flat arrays: ``arrays`` is the record that kernels take.

    ``words`` are the inputs of a policy with an encoder, if there is one; other policies ignore them.
    """

    task: Task
    arrays: Any
    lengths: npt.NDArray[np.int32]
    words: Any = None

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def longest(self) -> int:
        """The length of the longest sentence."""
        return int(self.lengths.max(initial=0))

    def instance(self, i: int) -> Any:
        """The instance of sentence ``i``, as the functions of the task see it."""
        return self.task.instance_view(self.arrays, i)

    def with_words(self, words: Any) -> Packed:
        """The same sentences, with the inputs of a policy with an encoder."""
        return replace(self, words=words)

    def plain(self) -> Packed:
        """The same sentences with every function of the task interpreted; passes over them are interpreted too."""
        return replace(self, task=self.task.plain())

    @cached_property
    def state_at(self) -> npt.NDArray[np.int64]:
        """The offset of the state of each sentence in an array of all states, and the end of the last one."""
        offsets = np.zeros(len(self) + 1, np.int64)
        self.task.state_size(self.lengths.astype(np.int64)).cumsum(out=offsets[1:])
        return offsets

    @cached_property
    def bounds(self) -> npt.NDArray[np.int64]:
        """The declared bound on the steps of each sentence."""
        bounds: npt.NDArray[np.int64] = self.task.steps_bound(self.lengths.astype(np.int64))
        return bounds


def _key(cls: type[Task]) -> tuple[str, str]:
    """The key of a task. It is computed on first use, when all helpers are defined."""
    functions = [getattr(cls, name) for name in (*PROTOCOL, *_GENERATED)]
    return f"{cls.__module__}.{cls.__qualname__}", code_digest(*functions, sorted(cls.lean))


def _generate(cls: type[Task]) -> dict[str, Callable[..., Any]]:
    """Generate the functions that give names to flat arrays: ``state_view`` (states), ``instance_view`` (sentences)."""
    parts = []
    for start, size in cls._places.values():
        end = start.plus(size)
        parts.append(f"buffer[{start.per_token} * n + {start.constant} : {end.per_token} * n + {end.constant}]")
    state = f"def state_view(buffer, n):\n    return State({', '.join(parts)})\n"
    fields = [f"corpus.{f}[corpus.{f}_at[i] : corpus.{f}_at[i + 1]]" for f in cls.instance]
    fields += [f"corpus.{f}" for f in cls.shared]
    instance = f"def instance_view(corpus, i):\n    return Instance({', '.join(['corpus.n[i]', *fields])})\n"
    names: dict[str, Any] = {
        "State": record(tuple(cls.state) or ("nothing",)),
        "Instance": record(("n", *cls.instance, *cls.shared)),
        "__name__": __name__,
    }
    exec(state + instance, names)
    return {name: names[name] for name in _GENERATED}
