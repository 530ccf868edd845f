"""What people look at: drawings of what was read or parsed."""

from treewright.reports.constituency_svg import constituency_svg
from treewright.reports.constituency_text import constituency_text
from treewright.reports.dependency_svg import dependency_svg
from treewright.reports.dependency_text import dependency_text

__all__ = ["constituency_svg", "constituency_text", "dependency_svg", "dependency_text"]
