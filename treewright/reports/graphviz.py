"""A meaning graph in the language of Graphviz (``dot -Tpdf``)."""

from __future__ import annotations

from treewright.corpora import Graph, Sentence
from treewright.reports.amr_drawing import drawn_graph

__all__ = ["amr_dot"]


def amr_dot(meaning: Graph | Sentence) -> str:
    r"""Write a meaning graph, or that of a sentence, for Graphviz. Constants are in the box of their node.

    >>> print(amr_dot(Graph.from_penman("(d / dog :quant 2 :ARG0-of (b / bark-01))")), end="")
    digraph {
      node [shape=box, style=rounded];
      "d" [label="dog\n:quant 2", penwidth=2];
      "b" [label="bark-01"];
      "b" -> "d" [label=":ARG0"];
    }
    """
    graph = drawn_graph(meaning)
    out = ["digraph {", "  node [shape=box, style=rounded];"]
    if isinstance(meaning, Sentence) and len(meaning):
        out.append(f'  label="{_quoted(str(meaning))}";')
    for variable, concept in graph.instances:
        constants = [f"{role} {constant}" for source, role, constant in graph.attributes if source == variable]
        label = "\\n".join(_quoted(text) for text in (concept, *constants))
        bold = ", penwidth=2" if variable == graph.top else ""
        out.append(f'  "{_quoted(variable)}" [label="{label}"{bold}];')
    for source, role, target in graph.edges:
        out.append(f'  "{_quoted(source)}" -> "{_quoted(target)}" [label="{_quoted(role)}"];')
    return "\n".join([*out, "}", ""])


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
