"""Exact charts: one recurrence in several semirings, the trees in a chart, and the planner for learners."""

from typing import TYPE_CHECKING

from treewright.lazy import lazy_names

if TYPE_CHECKING:
    from treewright.constituency.charts.chart import Chart, chart_bytes
    from treewright.constituency.charts.mdp import TopDownMDP
    from treewright.constituency.charts.planner import CKYPlanner

__all__ = ["CKYPlanner", "Chart", "TopDownMDP", "chart_bytes"]

__getattr__ = lazy_names(
    __name__,
    {
        "chart": "Chart chart_bytes",
        "mdp": "TopDownMDP",
        "planner": "CKYPlanner",
    },
)
