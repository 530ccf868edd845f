"""Traces: the decisions of a model, as plain data. Every estimator can return one.

A :class:`Trace` is a sequence of :class:`Step` values. A step has the state before a decision, the actions that were
possible (:class:`Candidate`), which one was taken, and, where a gold answer was given, what each of them costs. The
last step is final: nothing is chosen in it. All values are immutable and contain only strings, numbers, truth values,
``None``, tuples and mappings; :meth:`Trace.to_json` turns them into what :func:`json.dumps` takes, and
:meth:`Trace.from_json` turns that back into an equal trace.

>>> noun, verb = Candidate("NOUN", score=2.0, cost=0.0), Candidate("VERB", score=1.0, cost=1.0)
>>> cat = Step(0, {"position": 0, "labels": []}, (noun, verb), chosen=0)
>>> end = Step(1, {"position": 1, "labels": ["NOUN"]})
>>> trace = Trace("tagging", "tags", ("cat",), (cat, end), result={"labels": ["NOUN"]}, has_gold=True)
>>> trace.actions
('NOUN',)
>>> trace.first_error is None
True
>>> Trace.from_json(trace.to_json()) == trace
True

Which keys a state has depends on the kind of the trace; ``docs/traces.md`` lists them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from treewright.errors import TraceError

__all__ = ["KINDS", "Candidate", "Feature", "Record", "Step", "Trace", "softmax"]

#: the kinds of traces, each with its own vocabulary of states
KINDS = ("tags", "tokens", "transitions", "arcs", "derivation", "chart", "pops", "graph")

_FORMAT, _VERSION = "treewright-trace", 1
_SCALARS = (str, int, float, bool, type(None))


class Record(Mapping[str, Any]):
    """An immutable mapping from names to plain values; equal to every mapping with the same items.

    Mappings and lists inside it are made immutable too. Values that are not plain, such as NumPy's numbers, raise an
    error.

    >>> Record({"stack": [0, 1]})
    Record({'stack': (0, 1)})
    """

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[str, Any] | Iterable[tuple[str, Any]] = ()) -> None:
        self._items = {_key(name): _frozen(value, name) for name, value in dict(items).items()}

    def __getitem__(self, name: str) -> Any:
        return self._items[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Record):
            return self._items == other._items
        return self._items == other if isinstance(other, Mapping) else NotImplemented

    def __hash__(self) -> int:
        return hash(frozenset(self._items.items()))

    def __repr__(self) -> str:
        return f"Record({self._items!r})"


def _key(name: object) -> str:
    if type(name) is not str:
        raise TraceError(f"the names in a trace are strings, not {name!r}")
    return name


def _frozen(value: Any, name: str) -> Any:
    """A plain value, made immutable."""
    if isinstance(value, Mapping):
        return value if isinstance(value, Record) else Record(value)
    if type(value) in (list, tuple):
        return tuple(_frozen(each, name) for each in value)
    if type(value) not in _SCALARS:
        raise TraceError(f"{name!r} is {value!r}, of the type {type(value).__name__}: the values in a trace are plain")
    if type(value) is float and not math.isfinite(value):
        raise TraceError(f"{name!r} is {value!r}: only scores, costs and measures may be infinite")
    return value


def _plain(value: Any) -> Any:
    """A value as :func:`json.dumps` takes it."""
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, tuple) else value


def _number(value: Any, name: str) -> float:
    """A number that belongs to an action or a step, which may be infinite."""
    if type(value) not in (int, float) or math.isnan(value):
        raise TraceError(f"{name!r} is {value!r}, which is no plain number")
    return float(value)


def _written(value: float | None) -> float | str | None:
    """A number in JSON. Infinite numbers become the strings ``Infinity`` and ``-Infinity``, because JSON has none."""
    if value is None or math.isfinite(value):
        return value
    return "Infinity" if value > 0 else "-Infinity"


def _read(value: float | str | None) -> float | None:
    return None if value is None else float(value)


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature of an action, by name, with its value and, where it is known, the weight that the model gives it."""

    name: str
    value: float
    weight: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", _number(self.value, "value"))
        if self.weight is not None:
            object.__setattr__(self, "weight", _number(self.weight, "weight"))

    @property
    def share(self) -> float | None:
        """The contribution to the score: the value times the weight."""
        return None if self.weight is None else self.value * self.weight


@dataclass(frozen=True, slots=True)
class Candidate:
    """An action that was possible in a state.

    ``score`` is the model's, the higher the better. ``cost`` is the expert's cost of the action, relative to the best
    one; None without a gold answer. ``probability`` is the softmax of the scores of all actions of the state, at
    temperature 1, or None where there are no scores to compare.
    """

    action: str
    score: float | None = None
    cost: float | None = None
    probability: float | None = None
    features: tuple[Feature, ...] = ()

    def __post_init__(self) -> None:
        for name in ("score", "cost", "probability"):
            if (value := getattr(self, name)) is not None:
                object.__setattr__(self, name, _number(value, name))
        object.__setattr__(self, "features", tuple(self.features))

    def to_json(self) -> dict[str, Any]:
        """The action as JSON, without values that are None and without empty features."""
        numbers = {"score": self.score, "cost": self.cost, "probability": self.probability}
        found: dict[str, Any] = {"action": self.action}
        found |= {name: _written(value) for name, value in numbers.items() if value is not None}
        if self.features:
            found["features"] = [
                {"name": f.name, "value": _written(f.value)}
                | ({} if f.weight is None else {"weight": _written(f.weight)})
                for f in self.features
            ]
        return found

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """The action that :meth:`to_json` has written."""
        score, cost, probability = (_read(values.get(name)) for name in ("score", "cost", "probability"))
        features = (
            Feature(each["name"], float(each["value"]), _read(each.get("weight")))
            for each in values.get("features", ())
        )
        return cls(values["action"], score, cost, probability, tuple(features))


@dataclass(frozen=True, slots=True)
class Step:
    """A state and the decision in it. The last step of a trace is final and has no decision.

    ``state`` is a description that can be drawn, in the vocabulary of the trace's kind. ``chosen`` is the index of the
    chosen candidate. ``expert`` names the best actions: the candidates of cost 0, or the expert's actions, which need
    not be among the candidates. ``measures`` are numbers that belong to the state as a whole, such as the errors made
    so far. ``note`` is a remark for the reader.
    """

    number: int
    state: Mapping[str, Any] = field(default_factory=Record)
    candidates: tuple[Candidate, ...] = ()
    chosen: int | None = None
    expert: tuple[str, ...] = ()
    measures: Mapping[str, float] = field(default_factory=Record)
    note: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "state", Record(self.state))
        object.__setattr__(self, "candidates", tuple(self.candidates))
        object.__setattr__(self, "expert", tuple(self.expert))
        object.__setattr__(self, "measures", _Measures(self.measures))
        if type(self.number) is not int or type(self.chosen) not in (int, type(None)):
            raise TraceError(
                f"a step has plain integers for its number and its choice, not {self.number!r}, {self.chosen!r}"
            )
        if self.chosen is not None and not 0 <= self.chosen < len(self.candidates):
            raise TraceError(
                f"step {self.number} has {len(self.candidates)} candidates, and number {self.chosen} is chosen"
            )

    @property
    def choice(self) -> Candidate | None:
        """The candidate that is taken; None in a final step."""
        return None if self.chosen is None else self.candidates[self.chosen]

    @property
    def action(self) -> str | None:
        """The name of the action that is taken; None in a final step."""
        return None if self.chosen is None else self.candidates[self.chosen].action

    @property
    def correct(self) -> bool | None:
        """Whether the action that is taken costs nothing; None where its cost is not known."""
        choice = self.choice
        return None if choice is None or choice.cost is None else choice.cost == 0.0

    @property
    def zero_cost(self) -> tuple[str, ...]:
        """The candidates that cost nothing, by name."""
        return tuple(candidate.action for candidate in self.candidates if candidate.cost == 0.0)

    @property
    def best(self) -> tuple[Candidate, ...]:
        """The candidates that have scores, those with the highest first."""
        scored = (candidate for candidate in self.candidates if candidate.score is not None)
        return tuple(sorted(scored, key=lambda candidate: -(candidate.score or 0.0)))

    def to_json(self) -> dict[str, Any]:
        """The step as JSON."""
        found: dict[str, Any] = {
            "number": self.number,
            "state": _plain(self.state),
            "candidates": [candidate.to_json() for candidate in self.candidates],
            "chosen": self.chosen,
            "expert": list(self.expert),
        }
        if self.measures:
            found["measures"] = {name: _written(value) for name, value in self.measures.items()}
        return found | ({"note": self.note} if self.note else {})

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """The step that :meth:`to_json` has written."""
        return cls(
            values["number"],
            values["state"],
            tuple(map(Candidate.from_json, values["candidates"])),
            values["chosen"],
            tuple(values["expert"]),
            {name: float(value) for name, value in values.get("measures", {}).items()},
            values.get("note", ""),
        )


class _Measures(Record):
    """A record of numbers, which may be infinite."""

    __slots__ = ()

    def __init__(self, items: Mapping[str, Any]) -> None:
        self._items = {_key(name): _number(value, name) for name, value in items.items()}


@dataclass(frozen=True, slots=True)
class Trace:
    """The decisions of a model, or of an expert, for one sentence.

    ``task`` is the task of the model (``tagging``, ``dependency``, …), and ``kind`` is one of :data:`KINDS`. ``result``
    is the annotation that the decisions build: labels, heads and labels, a tree or a graph. ``metadata`` says how the
    decisions were made, such as the transition system and the width of a beam. A trace without steps belongs to a
    sentence that the model cannot derive.
    """

    task: str
    kind: str
    words: tuple[str, ...]
    steps: tuple[Step, ...] = ()
    result: Mapping[str, Any] = field(default_factory=Record)
    has_gold: bool = False
    metadata: Mapping[str, Any] = field(default_factory=Record)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise TraceError(f"there is no kind of traces {self.kind!r}; there are: {', '.join(KINDS)}")
        object.__setattr__(self, "words", _frozen(list(self.words), "words"))
        object.__setattr__(self, "steps", tuple(self.steps))
        object.__setattr__(self, "result", Record(self.result))
        object.__setattr__(self, "metadata", Record(self.metadata))

    @property
    def decisions(self) -> tuple[Step, ...]:
        """The steps with a decision: all but the last."""
        return tuple(step for step in self.steps if step.chosen is not None)

    @property
    def actions(self) -> tuple[str, ...]:
        """The actions that were taken, by name."""
        return tuple(step.candidates[step.chosen].action for step in self.steps if step.chosen is not None)

    @property
    def first_error(self) -> Step | None:
        """The first step whose action costs something; None if there is none, or no gold answer."""
        return next((step for step in self.steps if step.correct is False), None)

    def pruned(self, top: int) -> Self:
        """The trace with the ``top`` best candidates of each step, and the chosen one."""

        def kept(step: Step) -> Step:
            order = sorted(range(len(step.candidates)), key=lambda k: -_or_lowest(step.candidates[k].score))
            places = sorted({*order[:top]} | ({step.chosen} if step.chosen is not None else set()))
            chosen = None if step.chosen is None else places.index(step.chosen)
            return replace(step, candidates=tuple(step.candidates[k] for k in places), chosen=chosen)

        return replace(self, steps=tuple(map(kept, self.steps)))

    def to_json(self) -> dict[str, Any]:
        """The trace as JSON: dictionaries, lists, strings and numbers. Infinite numbers are strings."""
        return {
            "format": _FORMAT,
            "version": _VERSION,
            "task": self.task,
            "kind": self.kind,
            "words": list(self.words),
            "has_gold": self.has_gold,
            "metadata": _plain(self.metadata),
            "steps": [step.to_json() for step in self.steps],
            "result": _plain(self.result),
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """The trace that :meth:`to_json` has written; other keys than its own are ignored."""
        found = (values.get("format"), values.get("version")) if isinstance(values, Mapping) else (None, None)
        if found != (_FORMAT, _VERSION):
            raise TraceError(
                f"a trace has the format {_FORMAT!r} and the version {_VERSION}, not {found[0]!r} and {found[1]!r}"
            )
        try:
            return cls(
                values["task"],
                values["kind"],
                tuple(values["words"]),
                tuple(map(Step.from_json, values["steps"])),
                values["result"],
                values["has_gold"],
                values["metadata"],
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise TraceError(f"this is no trace: {error!r}") from error


def _or_lowest(score: float | None) -> float:
    return -math.inf if score is None else score


def softmax(scores: Sequence[float]) -> list[float]:
    """The probabilities that are proportional to e^score; equal ones where all scores are minus infinity.

    >>> softmax([0.0, 0.0, float("-inf")])
    [0.5, 0.5, 0.0]
    """
    highest = max(scores, default=0.0)
    if highest == -math.inf:
        return [1.0 / len(scores)] * len(scores)
    powers = [math.exp(score - highest) for score in scores]
    total = sum(powers)
    return [power / total for power in powers]
