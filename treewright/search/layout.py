"""Declared sizes: whole numbers, or linear in the length ``n`` of the sentence, such as ``"2*n + 1"``."""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

from treewright.errors import TaskError

__all__ = ["Size", "parse_size"]


class Size(NamedTuple):
    """The size ``per_token·n + constant``."""

    per_token: int
    constant: int

    def __call__(self, n: Any) -> Any:
        """The size for a length, or an array of them for an array of lengths."""
        return self.per_token * n + self.constant


def parse_size(size: int | str) -> Size:
    """Read a declared size.

    >>> parse_size("2*n + 1")
    Size(per_token=2, constant=1)
    >>> parse_size(4)(10)
    4
    """

    def walk(node: ast.expr) -> Size:
        match node:
            case ast.Constant(value=int(value)):
                return Size(0, value)
            case ast.Name(id="n"):
                return Size(1, 0)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                a, b = walk(left), walk(right)
                return Size(a.per_token + b.per_token, a.constant + b.constant)
            case ast.BinOp(left=left, op=ast.Sub(), right=right):
                a, b = walk(left), walk(right)
                return Size(a.per_token - b.per_token, a.constant - b.constant)
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                a, b = walk(left), walk(right)
                if a.per_token == 0 or b.per_token == 0:
                    return Size(a.per_token * b.constant + b.per_token * a.constant, a.constant * b.constant)
        raise ValueError

    try:
        return walk(ast.parse(str(size), mode="eval").body)
    except (ValueError, SyntaxError):
        raise TaskError(
            f"the size {size!r} is not a whole number or a linear expression in n, such as 'n' or '2*n + 1'"
        ) from None
