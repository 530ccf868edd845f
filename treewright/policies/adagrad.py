"""AdaGrad (Duchi, Hazan & Singer 2011): each weight has a step size, which shrinks with its past gradients."""

from __future__ import annotations

import math

from treewright.search.compiling import lean

__all__ = ["adagrad"]


@lean
def adagrad(squares: float, gradient: float, rate: float, ε: float) -> tuple[float, float]:
    """The sum of squared gradients G ← G + g² of a weight, and its change −rate·g/√(G + ε).

    >>> adagrad(9.0, 4.0, 0.5, 0.0)
    (25.0, -0.4)
    """
    squares += gradient * gradient
    return squares, -rate * gradient / math.sqrt(squares + ε)
