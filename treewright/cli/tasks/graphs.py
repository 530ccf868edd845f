"""Write meaning graphs as text, with colours on terminals."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from io import StringIO
from itertools import cycle
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from treewright.cli.streams import load
from treewright.cli.tasks.base import page, sentence_values
from treewright.errors import ConfigError, CorpusError

if TYPE_CHECKING:
    from treewright.amr.alignment import Alignment
    from treewright.corpora import Graph, Sentence

__all__ = [
    "GRAPH_FORMATS",
    "ansi",
    "different_ids",
    "graph_writer",
    "graphs_page",
    "load_graphs",
    "palette",
    "sentence_id",
]

GRAPH_FORMATS = ("penman", "svg", "html", "json", "dot")
_COLOURS = ("cyan", "green", "yellow", "magenta", "blue", "red")
_INSTANCE = re.compile(r"\((\S+) / ([^\s()]+)")
_SENT_ID = re.compile(r"#\s*sent_id\s*=\s*(\S.*?)\s*")

GraphWriter = Callable[["Sentence", "Alignment | None"], str]


def graph_writer(format: str, *, colours: bool = False) -> GraphWriter:
    """How sentences with graphs become text, in one of ``GRAPH_FORMATS``; where no alignment is given, the graph's."""
    match format:
        case "penman":
            return _coloured if colours else lambda sentence, _: _penman(sentence)
        case "svg":
            return _svg
        case "html":
            return lambda sentence, alignment: f"<figure>\n{_svg(sentence, alignment)}</figure>\n"
        case "dot":
            return lambda sentence, _: _dot(sentence)
    return _json


def graphs_page(format: str) -> tuple[str, str]:
    """The text before the first graph and after the last one."""
    return page("Meaning graphs") if format == "html" else ("", "")


def different_ids(gold: Sequence[Sentence], parsed: Sequence[Sentence]) -> tuple[int, str] | None:
    """The number of the first sentence that has another id in the gold file, and a message; None if there is none."""
    for number, (right, guess) in enumerate(zip(gold, parsed, strict=False), 1):
        names = sentence_id(right), sentence_id(guess)
        if None not in names and names[0] != names[1]:
            said = f"sentence {number} is {names[1]!r}, and {names[0]!r} in the gold file; put both in the same order"
            return number, said
    return None


def sentence_id(sentence: Sentence) -> str | None:
    """The id of a sentence in a file of graphs or of trees."""
    from treewright.corpora.amr import metadata

    named = [found[1] for comment in sentence.comments if (found := _SENT_ID.fullmatch(comment))]
    return metadata(sentence).get("id") or next(iter(named), None)


def load_graphs(path: str, *, format: str = "amr", trees: str | None = None, shown: bool = True) -> list[Sentence]:
    """The graphs of a file, with the trees of their sentences if there are any.

    A duplicate id is an error if ids are needed to match trees; otherwise it causes a warning.
    """
    if path == trees == "-":
        raise ConfigError("standard input (-) can be only one of the two")
    graphs = load(path, format, shown=shown)
    others = [] if trees is None else load(trees, "conllu", shown=shown)
    if twice := _same_id(graphs):
        if others and all(sentence_id(sentence) for sentence in (*graphs, *others)):
            raise twice
        warnings.warn(str(twice), stacklevel=2)
    if trees is None:
        return graphs
    from treewright.amr import join_trees

    return join_trees(graphs, others)


def _same_id(graphs: Sequence[Sentence]) -> CorpusError | None:
    """The message about the first duplicate id."""
    lines: dict[str, int | None] = {}
    for sentence in graphs:
        if (name := sentence_id(sentence)) is None:
            continue
        if name in lines:
            message = f"the graph in line {lines[name]} has the id {name!r}, too; give each graph an id of its own"
            return CorpusError(message, path=sentence.path, line=sentence.line)
        lines[name] = sentence.line
    return None


def palette(alignment: Alignment) -> dict[tuple[int, ...], str]:
    """A colour for the words of each node; nodes of the same words share it."""
    return dict(zip(sorted(set(alignment.values())), cycle(_COLOURS), strict=False))


def ansi(text: Text) -> str:
    """A text with the control codes of its colours."""
    console = Console(file=StringIO(), force_terminal=True, color_system="standard", width=100_000, highlight=False)
    console.print(text, soft_wrap=True, end="")
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def _own(graph: Graph) -> dict[Any, tuple[int, ...]]:
    return {node: at for node, at in graph.alignments.items() if isinstance(at, tuple)}


def _graph(sentence: Sentence) -> Graph:
    if sentence.graph is None:
        raise CorpusError("this sentence has no graph", path=sentence.path, line=sentence.line)
    return sentence.graph


def _penman(sentence: Sentence) -> str:
    """With metadata; a ``sent_id`` becomes an ``::id``."""
    from treewright.corpora.amr import format_amr, metadata

    name = sentence_id(sentence)
    if name is not None and "id" not in metadata(sentence):
        sentence = replace(sentence, comments=(f"# ::id {name}", *sentence.comments))
    return format_amr(sentence)


def _coloured(sentence: Sentence, alignment: Alignment | None) -> str:
    """The words and the concepts that come from them in the same colour."""
    aligned = _own(_graph(sentence)) if alignment is None else alignment
    found: Alignment = {node: words for node, words in aligned.items() if isinstance(node, str)}
    colours = palette(found)
    of_words = {word: colours[words] for words in found.values() for word in words}
    lines = _penman(sentence).rstrip("\n").split("\n")
    known = [line for line in lines if line.startswith("#")]
    text = Text()
    for line in known:
        if not line.startswith(("# ::snt", "# ::tok")):
            text.append(f"{line}\n", style="dim")
    if len(sentence):
        text.append("# ::snt", style="dim")
        for k, form in enumerate(sentence.forms):
            text.append(" ").append(form, style=of_words.get(k))
        text.append("\n")
    text.append_text(_with_colours("\n".join(lines[len(known) :]), found, colours))
    return ansi(text) + "\n\n"


def _with_colours(penman: str, alignment: Alignment, colours: Mapping[tuple[int, ...], str]) -> Text:
    text = Text(penman)
    for found in _INSTANCE.finditer(penman):
        if (words := alignment.get(found[1])) is not None:
            text.stylize(colours[words], *found.span(2))
    return text


def _svg(sentence: Sentence, alignment: Alignment | None) -> str:
    from treewright.reports import amr_svg

    return amr_svg(sentence, alignment=alignment)


def _dot(sentence: Sentence) -> str:
    from treewright.reports import amr_dot

    return amr_dot(sentence)


def _json(sentence: Sentence, alignment: Alignment | None) -> str:
    """An object on a line: the words, the graph in PENMAN notation, and its parts with their words, counted from 0."""
    graph = _graph(sentence)
    found = _own(graph) if alignment is None else alignment
    values = {
        "id": sentence_id(sentence),
        **sentence_values(sentence, ()),
        "graph": graph.to_penman(),
        "top": graph.top,
        "nodes": [
            {"variable": variable, "concept": concept, "words": list(found.get(variable, ()))}
            for variable, concept in graph.instances
        ],
        "edges": [list(edge) for edge in graph.edges],
        "attributes": [list(attribute) for attribute in graph.attributes],
    }
    return json.dumps(values, ensure_ascii=False) + "\n"
