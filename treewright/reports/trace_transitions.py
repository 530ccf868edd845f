"""The columns of tables of transitions: a row is a transition with its label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from treewright.reports.trace_columns import DONE, Layout, listed
from treewright.tracing import Candidate, Step, Trace

__all__ = ["TransitionRow", "transition_rows", "transitions"]


class TransitionRow(NamedTuple):
    """A transition: the step of its move, the step of its label, its arc, and the arcs made before.

    Parsers that choose moves and labels together have no step for the label. The last row is final.
    """

    trace: Trace
    number: int
    step: Step
    label_step: Step | None
    arc: Mapping[str, Any] | None
    edges: tuple[str, ...]

    @property
    def is_done(self) -> bool:
        """Whether the tree is complete."""
        return self.step.chosen is None

    @property
    def action(self) -> str:
        """The move without its label."""
        return move_of(self.step.action or DONE)

    @property
    def label(self) -> str:
        """The label of the arc; empty if there is no arc, or labels are not shown."""
        return "" if self.arc is None or not self.is_labelled else self.arc["label"] or ""

    @property
    def transition(self) -> str:
        """The move with its label, as in ``LA_SBJ``."""
        return f"{self.action}_{self.label}" if self.label else self.action

    @property
    def is_labelled(self) -> bool:
        """Whether labels are shown."""
        return bool(self.trace.metadata.get("labelled", True))

    @property
    def costs(self) -> dict[str, float]:
        """The cost of each move with its best label."""
        found: dict[str, float] = {}
        for candidate in self.step.candidates:
            if candidate.cost is not None:
                move = move_of(candidate.action)
                found[move] = min(candidate.cost, found.get(move, candidate.cost))
        moves = self.trace.metadata.get("moves", ())
        return {move: found[move] for move in sorted(found, key=lambda m: moves.index(m) if m in moves else len(moves))}

    @property
    def edge(self) -> str:
        """The arc with its words in the order of the sentence: ``I ← am``, ``of → general``; empty without one."""
        if self.arc is None:
            return ""
        head, dependent = self.word("head"), self.word("dependent")
        return f"{dependent} ← {head}" if self.arc["dependent"] < self.arc["head"] else f"{head} → {dependent}"

    def word(self, end: str) -> str:
        """The word at an end of the arc; the root is ``root``."""
        return "" if self.arc is None else str(("root", *self.trace.words)[self.arc[end]])

    def words(self, name: str) -> str:
        """The words on the stack, or in the buffer."""
        words = ("root", *self.trace.words)
        return listed([words[k] for k in self.step.state[name]])

    def scores(self, top: int) -> str:
        """The best transitions with their scores, if there is a choice; without labels, the best of each move."""
        if len(self.step.candidates) < 2:
            return ""
        best: dict[str, Candidate] = {}
        for candidate in self.step.best:
            best.setdefault(candidate.action if self.is_labelled else move_of(candidate.action), candidate)
        return _scored([(name, candidate.score) for name, candidate in best.items()][:top])

    def label_scores(self, top: int) -> str:
        """The best labels with their scores, if they are chosen after the move."""
        if self.label_step is None or len(self.label_step.candidates) < 2 or not self.is_labelled:
            return ""
        return _scored([(candidate.action, candidate.score) for candidate in self.label_step.best[:top]])


def move_of(action: str) -> str:
    """The move of a transition: its name without a label."""
    return action.partition("_")[0]


def _scored(scores: Sequence[tuple[str, float | None]]) -> str:
    return ", ".join(f"{name} {score:.2f}" for name, score in scores if score is not None)


def transition_rows(trace: Trace) -> list[TransitionRow]:
    """The transitions of a trace, and the final configuration."""
    rows: list[TransitionRow] = []
    edges: tuple[str, ...] = ()
    steps = list(trace.steps)
    k = 0
    while k < len(steps):
        step, label = steps[k], None
        if k + 1 < len(steps) and steps[k + 1].state["pending"]:
            label = steps[k + 1]
        k += 1 if label is None else 2
        before = {arc["dependent"] for arc in step.state["arcs"]}
        after = steps[k].state["arcs"] if k < len(steps) else ()
        arc = next((arc for arc in after if arc["dependent"] not in before), None)
        rows.append(TransitionRow(trace, len(rows), step, label, arc, edges))
        edges += (rows[-1].edge,) if arc is not None else ()
    return rows


def _letter(row: TransitionRow) -> str:
    """Boyd-Graber's letters: S, l and r; his system has no Reduce and no Swap."""
    action = row.action.lower()
    return {"sh": "S", "shift": "S", "re": "e", "swap": "w"}.get(action, action[:1])


def _errors(row: TransitionRow) -> str:
    errors = row.step.measures.get("errors")
    return "" if errors is None else f"{errors:g}"


def _head_word(row: TransitionRow) -> str:
    return "None" if row.arc is not None and row.arc["head"] == 0 else row.word("head")


transitions = Layout(
    {
        "step": lambda row, top: str(row.number),
        "stack": lambda row, top: row.words("stack"),
        "buffer": lambda row, top: row.words("buffer"),
        "action": lambda row, top: row.action,
        "transition": lambda row, top: row.transition,
        "next": lambda row, top: "" if row.is_done else f"{row.number + 1}. {row.action}",
        "letter": lambda row, top: _letter(row),
        "label": lambda row, top: row.label,
        "arc": lambda row, top: row.edge,
        "edges": lambda row, top: ", ".join(row.edges),
        "head": lambda row, top: "" if row.arc is None else str(row.arc["head"]),
        "head-word": lambda row, top: _head_word(row),
        "dependent": lambda row, top: "" if row.arc is None else str(row.arc["dependent"]),
        "dependent-word": lambda row, top: row.word("dependent"),
        "costs": lambda row, top: ", ".join(f"{move} {cost:g}" for move, cost in row.costs.items()),
        "zero-cost": lambda row, top: ", ".join(move for move, cost in row.costs.items() if cost == 0.0),
        "errors": lambda row, top: _errors(row),
        "scores": lambda row, top: row.scores(top),
        "label-scores": lambda row, top: row.label_scores(top),
    },
    ("step", "stack", "buffer", "transition", "arc", "costs", "scores", "label-scores"),
    transition_rows,
)
