"""Maximum likelihood estimation by relative frequencies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from treewright.learners.registry import Family, Learner, register

__all__ = ["COUNTING", "MaximumLikelihood"]


@dataclass(frozen=True, kw_only=True)
class MaximumLikelihood(Learner):
    """Count, and take relative frequencies as probabilities. There are no settings and no passes."""

    name: ClassVar[str] = "maximum-likelihood"
    source: ClassVar[str] = "relative frequencies"


#: the learners that only count, by name
COUNTING: dict[str, type[MaximumLikelihood]] = {MaximumLikelihood.name: MaximumLikelihood}

FAMILY = register(
    Family(
        "counting",
        "Counting",
        "counts",
        MaximumLikelihood,
        COUNTING,
        lambda learner: {"learner": learner.name, "source": learner.source},
    )
)
