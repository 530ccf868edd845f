"""What people look at: drawings of what was read or parsed."""

from treewright.reports.dependency_svg import dependency_svg
from treewright.reports.dependency_text import dependency_text

__all__ = ["dependency_svg", "dependency_text"]
