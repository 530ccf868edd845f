"""Drawings of trees, graphs and traces, as text and as SVG, and the differences between graphs."""

from treewright.reports.amr_diff import GraphDiff, graph_diff, graph_diffs
from treewright.reports.amr_dot import amr_dot
from treewright.reports.amr_svg import amr_diff_svg, amr_svg
from treewright.reports.box_plot import box_plot_svg
from treewright.reports.constituency_svg import constituency_svg
from treewright.reports.constituency_text import constituency_text
from treewright.reports.dependency_svg import dependency_svg
from treewright.reports.dependency_text import dependency_text
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
    "trace_slides",
    "trace_table",
]
