"""Treewright: parsers that learn as apprentices."""

__version__ = "0.1.0"
