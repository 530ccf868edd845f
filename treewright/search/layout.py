"""Declared sizes: whole numbers, or polynomials in the length ``n`` of the sentence, such as ``"2*n + 1"``."""

from __future__ import annotations

import ast
from functools import cache
from typing import Any, NamedTuple

from treewright.errors import TaskError

__all__ = ["Size", "parse_size"]


class Size(NamedTuple):
    """The size ``squared·n² + per_token·n + constant``."""

    per_token: int
    constant: int
    squared: int = 0

    def __call__(self, n: Any) -> Any:
        """The size for a length, or an array of them for an array of lengths."""
        per_token = self.squared * n + self.per_token if self.squared else self.per_token
        return per_token * n + self.constant

    def plus(self, other: Size) -> Size:
        """The sum of two sizes."""
        return Size(*(p + q for p, q in zip(self, other, strict=True)))


@cache
def parse_size(size: int | str, *, quadratic: bool = False) -> Size:
    """Read a declared size, which is linear in ``n`` unless it may be ``quadratic``.

    >>> parse_size("2*n + 1")
    Size(per_token=2, constant=1, squared=0)
    >>> parse_size(4)(10)
    4
    >>> parse_size("n*n + n", quadratic=True)(10)
    110
    """

    def walk(node: ast.expr) -> Size:
        match node:
            case ast.Constant(value=int(value)):
                return Size(0, value)
            case ast.Name(id="n"):
                return Size(1, 0)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return walk(left).plus(walk(right))
            case ast.BinOp(left=left, op=ast.Sub(), right=right):
                a, b = walk(left), walk(right)
                return Size(*(p - q for p, q in zip(a, b, strict=True)))
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                a, b = walk(left), walk(right)
                if a.squared * b.per_token == a.per_token * b.squared == a.squared * b.squared == 0:  # no n³
                    return Size(
                        a.per_token * b.constant + a.constant * b.per_token,
                        a.constant * b.constant,
                        a.squared * b.constant + a.per_token * b.per_token + a.constant * b.squared,
                    )
        raise ValueError

    try:
        found = walk(ast.parse(str(size), mode="eval").body)
        if found.squared and not quadratic:
            raise ValueError
        return found
    except (ValueError, SyntaxError):
        kind = "a polynomial in n up to n*n" if quadratic else "a linear expression in n"
        raise TaskError(f"the size {size!r} is not a whole number or {kind}, such as 'n' or '2*n + 1'") from None
