"""Exact charts: one recurrence in several semirings, the trees in a chart, and the planner that learners ask."""

from treewright.constituency.charts.chart import Chart, chart_bytes
from treewright.constituency.charts.mdp import TopDownMDP
from treewright.constituency.charts.planner import CKYPlanner

__all__ = ["CKYPlanner", "Chart", "TopDownMDP", "chart_bytes"]
