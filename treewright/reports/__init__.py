"""Drawings of trees, graphs and traces, as text and as SVG, and the differences between graphs."""

from typing import TYPE_CHECKING

from treewright.lazy import lazy_names

if TYPE_CHECKING:
    from treewright.reports.amr_diff import GraphDiff, graph_diff, graph_diffs
    from treewright.reports.amr_drawing import amr_diff_svg, amr_svg
    from treewright.reports.box_plot import box_plot_svg
    from treewright.reports.constituency_drawing import constituency_svg
    from treewright.reports.constituency_outline import constituency_text
    from treewright.reports.dependency_drawing import dependency_svg
    from treewright.reports.dependency_outline import dependency_text
    from treewright.reports.graphviz import amr_dot
    from treewright.reports.trace_page import trace_html
    from treewright.reports.trace_text import LAYOUTS, STYLES, Style, TraceTable, trace_slides, trace_table

__all__ = [
    "LAYOUTS",
    "STYLES",
    "GraphDiff",
    "Style",
    "TraceTable",
    "amr_diff_svg",
    "amr_dot",
    "amr_svg",
    "box_plot_svg",
    "constituency_svg",
    "constituency_text",
    "dependency_svg",
    "dependency_text",
    "graph_diff",
    "graph_diffs",
    "trace_html",
    "trace_slides",
    "trace_table",
]

__getattr__ = lazy_names(
    __name__,
    {
        "amr_diff": "GraphDiff graph_diff graph_diffs",
        "graphviz": "amr_dot",
        "amr_drawing": "amr_diff_svg amr_svg",
        "box_plot": "box_plot_svg",
        "constituency_drawing": "constituency_svg",
        "constituency_outline": "constituency_text",
        "dependency_drawing": "dependency_svg",
        "dependency_outline": "dependency_text",
        "trace_page": "trace_html",
        "trace_text": "LAYOUTS STYLES Style TraceTable trace_slides trace_table",
    },
)
