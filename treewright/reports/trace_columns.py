"""The columns of trace tables, for each kind of trace but transitions.

A column is a function of a row and of the number of rivals to show. The rows are the steps of the trace.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from treewright.tracing import Candidate, Step, Trace

__all__ = [
    "Column",
    "Layout",
    "Row",
    "arcs",
    "chart",
    "derivation",
    "graph",
    "graph_text",
    "listed",
    "plain_symbols",
    "pops",
    "tags",
    "tokens",
    "yes_no",
]

DONE = "Done"
ANY = "any"

_SPLIT = re.compile(r"(.*) at (\d+)")


class Row(NamedTuple):
    """A step of a trace."""

    trace: Trace
    step: Step

    @property
    def is_done(self) -> bool:
        """Whether the step is final."""
        return self.step.chosen is None


Column = Callable[[Any, int], str]


class Layout(NamedTuple):
    """The columns of a kind of trace, by name, the default columns, and the function that makes its rows.

    ``titles`` are the titles of columns in a table for people; other columns have their names as titles.
    """

    columns: dict[str, Column]
    usual: tuple[str, ...]
    rows: Callable[[Trace], Sequence[Any]]
    titles: dict[str, str] = {}
    most: int | None = None
    """The maximum number of rows of a table for people."""
    footnote: Callable[[Sequence[Any]], str] = lambda rows: ""


def number(value: float | None) -> str:
    """A number with three digits, or a symbol for infinity."""
    return "" if value is None else f"{value:.3f}" if math.isfinite(value) else "−∞"


def yes_no(value: bool | None) -> str:
    """A truth value as text; empty for None."""
    return "" if value is None else "yes" if value else "no"


def listed(words: Sequence[str]) -> str:
    """Words in brackets."""
    return f"[{', '.join(words)}]"


def scored(candidates: Sequence[Candidate], top: int) -> str:
    """The best candidates with their scores."""
    return ", ".join(f"{each.action} {each.score:.2f}" for each in candidates[:top] if each.score is not None)


def _steps(trace: Trace) -> list[Row]:
    return [Row(trace, step) for step in trace.steps]


def _decisions(trace: Trace) -> list[Row]:
    return [Row(trace, step) for step in trace.decisions]


def _scores(row: Row, top: int) -> str:
    return scored(row.step.best, top) if len(row.step.candidates) > 1 else ""


def _rivals(row: Row, top: int) -> str:
    """The best of the actions that were not taken and can lead to a result, with their advantages."""
    others = [each for each in row.step.best if each is not row.step.choice and each.score != -math.inf]
    return ", ".join(f"{each.action} {number(each.score)}" for each in others[:top])


def _correct(row: Row, top: int) -> str:
    return yes_no(row.step.correct)


def _expert(row: Row, top: int) -> str:
    """The expert's action, if the step is wrong."""
    return ", ".join(row.step.expert) if row.step.correct is False else ""


def _errors(row: Row, top: int) -> str:
    errors = row.step.measures.get("errors")
    return "" if errors is None else f"{errors:g}"


def _probability(row: Row, top: int) -> str:
    choice = row.step.choice
    return "" if choice is None else number(choice.probability)


def _costs(row: Row, top: int) -> str:
    priced = [each for each in row.step.candidates if each.cost is not None]
    return ", ".join(f"{each.action} {each.cost:g}" for each in priced)


_JUDGED: dict[str, Column] = {"correct": _correct, "expert": _expert, "errors": _errors}

# ---- tags


def _word(row: Row, top: int) -> str:
    return str(row.trace.words[row.step.state["position"]])


tags = Layout(
    {
        "step": lambda row, top: str(row.step.number),
        "word": _word,
        "label": lambda row, top: row.step.action,
        "probability": _probability,
        **_JUDGED,
        "scores": _scores,
    },
    ("step", "word", "label", "probability", "correct", "expert", "scores"),
    _decisions,
)

# ---- tokens, shown by their position in the text

tokens = tags._replace(columns={**tags.columns, "word": lambda row, top: str(row.step.state["context"])})

# ---- arcs


def _span(row: Row, top: int) -> str:
    """The span of the decision, or the arc whose label is decided."""
    item, words = row.step.state["focus"], ("root", *row.trace.words)
    if item is None:
        return ""
    first, last = item["first"], item["last"]
    if item["kind"] == "arc":
        low, high = (first, last) if first < last else (last, first)
        return f"{words[low]} {'→' if first < last else '←'} {words[high]}"
    text = " ".join(words[first : last + 1])
    return {"right": f"{text} →", "left": f"← {text}", "meeting": f"→ {text} ←"}.get(item["kind"], text)


arcs = Layout(
    {
        "step": lambda row, top: str(row.step.number),
        "span": _span,
        "action": lambda row, top: row.step.action or DONE,
        "probability": _probability,
        **_JUDGED,
        "costs": _costs,
        "rivals": _rivals,
    },
    ("step", "span", "action", "correct", "expert", "rivals"),
    _steps,
)

# ---- derivations

_SYMBOL = re.compile(r"(@?)([^\s\^|~#@\[\]\",]+)[\^|~#][^\s\[\],]*")


def plain_symbols(text: str) -> str:
    """A text in which the symbols of a grammar have neither ancestors nor siblings.

    >>> plain_symbols("VP^S~[1:5], S^TOP -> NP^S @S^TOP|NP at 2")
    'VP[1:5], S -> NP S… at 2'
    """
    return _SYMBOL.sub(lambda found: found[2] + ("…" if found[1] else ""), text)


def _constituent(row: Row, top: int) -> str:
    item = row.step.state["focus"] or row.step.state["constituents"][0]
    return f"{item['symbol']}[{item['start']}:{item['end']}]"


def _rule_and_split(row: Row) -> tuple[str, int | None]:
    """The rule of an action, and where it splits the constituent."""
    found = _SPLIT.fullmatch(row.step.action or DONE)
    return (row.step.action or DONE, None) if found is None else (found[1], int(found[2]))


def _split(row: Row, top: int) -> str:
    _, split = _rule_and_split(row)
    return "" if split is None else str(split)


def _covered(row: Row, top: int) -> str:
    """The words of the constituent, with a bar where it is split."""
    item, (_, split) = row.step.state["focus"] or row.step.state["constituents"][0], _rule_and_split(row)
    words = row.trace.words[item["start"] : item["end"]]
    if split is None:
        return " ".join(words)
    at = split - item["start"]
    return f"{' '.join(words[:at])} | {' '.join(words[at:])}"


def _advantage(row: Row, top: int) -> str:
    return "" if row.step.choice is None else number(row.step.choice.score)


def _total(row: Row, top: int) -> str:
    return number(row.step.measures["total"] + row.step.measures.get("reward", 0.0))


def _expert_rule(row: Row, top: int) -> str:
    return "" if row.step.correct is not False else ", ".join(row.step.expert) or "no such constituent"


derivation = Layout(
    {
        "step": lambda row, top: str(row.step.number),
        "constituent": _constituent,
        "rule": lambda row, top: _rule_and_split(row)[0],
        "split": _split,
        "words": _covered,
        "reward": lambda row, top: number(row.step.measures.get("reward")),
        "advantage": _advantage,
        "value": lambda row, top: number(row.step.measures["value"]),
        "total": _total,
        "correct": _correct,
        "expert": _expert_rule,
        "rivals": _rivals,
    },
    ("step", "constituent", "rule", "words", "reward", "total", "advantage", "correct", "expert", "rivals"),
    _steps,
)

# ---- charts


def _cell_words(row: Row, top: int) -> str:
    return " ".join(row.trace.words[row.step.state["start"] : row.step.state["end"]])


def _found(row: Row, top: int) -> str:
    """The best constituents of a cell, without parts of long rules, with their inside scores."""
    named = [each for each in row.step.state["items"] if each["label"] is not None and not each["pruned"]]
    return ", ".join(f"{each['label']} {number(each['inside'])}" for each in named[:top])


def _in_tree(row: Row, top: int) -> str:
    return ", ".join(each["label"] for each in row.step.state["items"] if each["used"] and each["label"] is not None)


chart = Layout(
    {
        "step": lambda row, top: str(row.step.number),
        "start": lambda row, top: str(row.step.state["start"]),
        "end": lambda row, top: str(row.step.state["end"]),
        "words": _cell_words,
        "constituents": _found,
        "pruned": lambda row, top: str(int(row.step.measures.get("pruned", 0))),
        "used": _in_tree,
        "correct": _correct,
    },
    ("step", "start", "end", "words", "constituents", "pruned", "used"),
    lambda trace: [Row(trace, step) for step in trace.steps[:-1]],
)

# ---- pops


def _popped_words(row: Row, top: int) -> str:
    item = row.step.state["item"]
    return " ".join(row.trace.words[item["start"] : item["end"]])


def _placed(item: Any) -> str:
    return f"{item['symbol']}[{item['start']}:{item['end']}]"


def _parts(row: Row, top: int) -> str:
    """The back-pointer of a popped constituent: the constituents that it was built from, or its word."""
    return " ".join(map(_placed, row.step.state["item"]["parts"])) or _popped_words(row, top)


def _agenda(row: Row, top: int) -> str:
    """The best constituents on the agenda before the pop, with their priorities."""
    return ", ".join(f"{_placed(each)} {number(each['priority'])}" for each in row.step.state["agenda"][:top])


def _features(row: Row, top: int) -> str:
    return ", ".join(f"{each.name} {each.value:.3g}" for each in row.step.candidates[0].features)


def _shares(row: Row, top: int) -> str:
    """The features with the largest contributions to the priority."""
    shares = [(each.name, each.share) for each in row.step.candidates[0].features if each.share]
    most = sorted(shares, key=lambda each: -abs(each[1]))[:top]
    return ", ".join(f"{name} {share:+.2f}" for name, share in most)


pops = Layout(
    {
        "pop": lambda row, top: str(row.step.number),
        "constituent": lambda row, top: row.step.action,
        "words": _popped_words,
        "inside": lambda row, top: number(row.step.measures["inside"]),
        "priority": lambda row, top: number(row.step.measures["priority"]),
        "used": lambda row, top: yes_no(row.step.state["used"]),
        "correct": _correct,
        "from": _parts,
        "agenda": _agenda,
        "features": _features,
        "shares": _shares,
    },
    ("pop", "constituent", "words", "inside", "priority", "used", "correct", "shares"),
    _decisions,
    most=100,
)

# ---- graphs


def _nodes(row: Row, name: str) -> str:
    labels = {node["node"]: node["label"] for node in row.step.state["nodes"]}
    return listed([labels[node] for node in row.step.state[name]])


def _agrees(row: Row, top: int) -> str:
    """Whether the expert takes the same action; empty if all actions are equally good."""
    return "" if ANY in row.step.expert else yes_no(row.step.correct)


def _graph_expert(row: Row, top: int) -> str:
    """The expert's action, if it is different."""
    return "" if row.step.action in row.step.expert else ", ".join(row.step.expert)


def _graph_footnote(rows: Sequence[Row]) -> str:
    if not any(ANY in row.step.expert for row in rows):
        return ""
    return f"{ANY}: all actions are equally good here, because no action can lead to the gold graph"


def graph_text(state: Any) -> str:
    """The tree of a state in PENMAN notation, with the edges of the second phase.

    Edges without a role have the relation of the dependency tree after ``~``.
    """
    labels = {node["node"]: node["label"] for node in state["nodes"]}
    below: dict[int, list[Any]] = {}
    for edge in sorted(state["edges"], key=lambda edge: not edge["in_tree"]):
        below.setdefault(edge["source"], []).append(edge)

    def written(node: int, depth: int) -> str:
        lines = [f"(n{node} / {labels[node]}"]
        for edge in below.get(node, ()):
            role = edge["role"] or f"~{edge['relation'] or ''}"
            target = written(edge["target"], depth + 1) if edge["in_tree"] else f"n{edge['target']}"
            lines.append(f"{'   ' * depth}{role} {target}")
        return "\n".join(lines) + ")"

    targets = {edge["target"] for edge in state["edges"] if edge["in_tree"]}
    return written(next(node for node in labels if node not in targets), 1)


graph = Layout(
    {
        "step": lambda row, top: str(row.step.number),
        "stack": lambda row, top: _nodes(row, "stack"),
        "buffer": lambda row, top: _nodes(row, "buffer"),
        "action": lambda row, top: row.step.action,
        "correct": _agrees,
        "expert": _graph_expert,
        "scores": _scores,
        "graph": lambda row, top: " ".join(graph_text(row.step.state).split()),
    },
    ("step", "stack", "buffer", "action", "correct", "expert", "scores"),
    _decisions,
    {"stack": "σ (stack)", "buffer": "β (buffer)"},
    footnote=_graph_footnote,
)
