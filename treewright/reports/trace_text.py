"""Traces as tables and slides of text.

>>> from treewright.corpora import Sentence
>>> from treewright.dependency.trace import trace_gold
>>> sentence = Sentence.from_words(["They", "sat"]).with_tree([2, 0], ["nsubj", "root"])
>>> print(trace_table(trace_gold(sentence), columns=["step", "stack", "transition", "arc"]).text())
step  stack              transition     arc
0     [root]             SHIFT
1     [root, They]       SHIFT
2     [root, They, sat]  LEFTARC_nsubj  They ← sat
3     [root, sat]        RIGHTARC_root  root → sat
4     [root]             Done
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from treewright.errors import ConfigError
from treewright.reports.dependency_outline import text_columns
from treewright.reports.trace_columns import (
    Layout,
    Row,
    arcs,
    chart,
    derivation,
    graph,
    graph_text,
    plain_symbols,
    pops,
    tags,
    tokens,
)
from treewright.reports.trace_transitions import TransitionRow, transition_rows, transitions
from treewright.settings import whole_number
from treewright.tracing import Trace

__all__ = ["LAYOUTS", "STYLES", "Style", "TraceTable", "trace_slides", "trace_table"]

#: the columns of each kind of trace
LAYOUTS: dict[str, Layout] = {
    "tokens": tokens,
    "tags": tags,
    "transitions": transitions,
    "arcs": arcs,
    "derivation": derivation,
    "chart": chart,
    "pops": pops,
    "graph": graph,
}


@dataclass(frozen=True)
class Style:
    """The style of a table: the columns with their titles, and whether the final state has a row.

    ``slides`` says whether steps can be shown one by one (:func:`trace_slides`). ``system`` is the transition system
    that the style was made for.
    """

    kinds: tuple[str, ...]
    columns: dict[str, str]
    done: bool = True
    slides: bool = False
    system: str = "arc-standard"


#: the styles by name; a style without columns has the default columns of the kind
STYLES = {
    "steps": Style(tuple(LAYOUTS), {}),
    "fig-14.8": Style(
        ("transitions",), {"step": "Step", "stack": "Stack", "buffer": "Word List", "action": "Predicted Action"}
    ),
    "edges": Style(
        ("transitions",),
        {"stack": "Stack", "buffer": "Buffer", "edges": "Edges", "next": "Next action"},
        slides=True,
        system="arc-standard-buffer",
    ),
    "actions": Style(
        ("transitions",),
        {
            "letter": "Action",
            "head": "Head Index",
            "head-word": "Head Word",
            "dependent": "Dep Index",
            "dependent-word": "Dep Word",
        },
        done=False,
        system="arc-standard-buffer",
    ),
    "graphs": Style(("graph",), {}, slides=True),
}


@dataclass(frozen=True)
class TraceTable:
    """A table of text: its header, its rows, explanations, and the number of rows omitted at the end."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    footnote: str = ""
    left_out: int = 0

    def tsv(self) -> str:
        """The header and the rows, with tabs between the cells."""
        return "\n".join("\t".join(row) for row in (self.header, *self.rows))

    def text(self) -> str:
        """The table with columns that are aligned by spaces."""
        return aligned((self.header, *self.rows))


def trace_table(
    trace: Trace,
    *,
    style: str = "steps",
    columns: Iterable[str] | None = None,
    top: int = 3,
    for_people: bool = True,
    full_symbols: bool = False,
) -> TraceTable:
    """The steps of a trace as a table.

    ``columns`` replace those of the style; without them, empty columns are omitted. ``top`` is the maximum number of
    scores, rivals or shares in a cell. A table that is not ``for_people`` has all rows, and its columns have the names
    that ``columns`` accepts. Symbols of grammars are shown plainly to people, as NP and not as ``NP^PP~``, unless
    ``full_symbols`` is set; a part of a long rule is its label with dots, ``NP…``.
    """
    layout, chosen = LAYOUTS[trace.kind], style_for(style, trace.kind)
    top = whole_number("top", top, 0)
    names = {name: name for name in layout.usual} if columns is None else checked_columns(columns, trace.kind)
    if columns is None and chosen.columns:
        names = chosen.columns
    elif for_people:
        names = {name: layout.titles.get(name, name) for name in names}
    rows = [row for row in layout.rows(trace) if columns is not None or chosen.done or not row.is_done]
    shown = rows[: layout.most] if for_people else rows
    table = {title: [layout.columns[name](row, top) for row in shown] for name, title in names.items()}
    if for_people and not full_symbols and trace.kind in ("derivation", "pops"):
        symbols = {title for name, title in names.items() if name in ("constituent", "rule", "expert", "rivals")}
        table = {title: list(map(plain_symbols, c)) if title in symbols else c for title, c in table.items()}
    if columns is None and not chosen.columns:
        table = {title: cells for title, cells in table.items() if any(cells)}
    footnote = layout.footnote(rows) if columns is None or "expert" in names else ""
    cells = tuple(zip(*table.values(), strict=True))
    return TraceTable(tuple(table), cells, footnote, len(rows) - len(shown))


def style_for(name: str, kind: str) -> Style:
    """A style by its name, which must be a style for this kind of trace."""
    if name not in STYLES:
        raise ConfigError(f"there is no style {name!r}; choose one of {', '.join(STYLES)}")
    if kind not in STYLES[name].kinds:
        known = ", ".join(each for each, style in STYLES.items() if kind in style.kinds)
        raise ConfigError(f"the style {name!r} is not for {kind}; choose one of {known}")
    return STYLES[name]


def checked_columns(names: Iterable[str], kind: str) -> dict[str, str]:
    """The names of columns, which are also their titles; the kind of trace must have all of them."""
    known, chosen = LAYOUTS[kind].columns, list(names)
    for name in chosen:
        if name not in known:
            raise ConfigError(f"there is no column {name!r}; there are: {', '.join(known)}")
    if not chosen:
        raise ConfigError(f"name some columns, separated by commas: {', '.join(known)}")
    return {name: name for name in chosen}


def trace_slides(trace: Trace) -> str:
    """The steps of a trace as slides, each with the result so far: transitions, or a graph."""
    if trace.kind == "transitions":
        return "\n\n".join(map(_configuration, transition_rows(trace)))
    if trace.kind == "graph":
        return "\n\n".join(_graph_slide(Row(trace, step)) for step in trace.steps)
    raise ConfigError(f"there are slides of transitions and of graphs, not of {trace.kind}")


def _configuration(row: TransitionRow) -> str:
    """Stack and buffer, the edges so far, and the next action."""
    lines = [aligned([("Stack", "Buffer"), (row.words("stack"), row.words("buffer"))]), "Edges"]
    lines += [f"  {edge}" for edge in row.edges]
    if not row.is_done:
        lines.append(f"Next action: {row.number + 1}. {row.action}")
    return "\n".join(lines)


def _graph_slide(row: Row) -> str:
    """σ and β, the graph so far, and the next action."""
    lines = []
    if not row.is_done:
        # the first slide explains σ and β; the others use only the letters
        titles = {name: title if row.step.number == 0 else title.split()[0] for name, title in graph.titles.items()}
        cells = "  ".join(f"{title} {graph.columns[name](row, 0)}" for name, title in titles.items())
        lines.append(f"{row.step.number}.  {cells}")
    lines += [f"    {line}" for line in graph_text(row.step.state).splitlines()]
    if not row.is_done:
        lines.append(f"Next action: {row.step.action}")
        if expert := graph.columns["expert"](row, 0):
            lines.append(f"Expert: {expert}")
    return "\n".join(lines)


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Rows of aligned cells, with two spaces between columns."""
    widths = [max(map(text_columns, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(cell + " " * (width - text_columns(cell)) for cell, width in zip(row, widths, strict=True))
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)
