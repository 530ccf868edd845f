"""Which learner an estimator uses: one of the right family, with the estimator's defaults where it says nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from treewright.errors import ConfigError
from treewright.learners import IRL, LEARNERS, STRUCTURED, Imitation, InverseRL, Structured, make_learner

__all__ = ["choose_learner", "learner_settings"]

#: what learners of each family learn from, and their names
_FAMILIES: dict[type, tuple[str, Mapping[str, Any]]] = {
    Imitation: ("single actions", LEARNERS),
    Structured: ("beam search", STRUCTURED),
    InverseRL: ("whole plans", IRL),
}


def learner_settings(learner: Any) -> dict[str, Any] | None:
    """Return a learner that is given by name or as settings as the latter, its name in its usual spelling; else None.

    >>> learner_settings("Max_Margin")
    {'name': 'max-margin'}
    """
    if not isinstance(learner, (str, dict)):
        return None
    settings = {"name": learner} if isinstance(learner, str) else dict(learner)
    if "name" in settings:
        settings["name"] = str(settings["name"]).replace("_", "-").lower()
    return settings


def choose_learner(
    learner: Any,
    families: tuple[type, ...],
    usual: Callable[[dict[str, Any]], Mapping[str, Any]],
    whose: str,
    others: tuple[str, ...] = (),
) -> Any:
    """Make the learner of an estimator.

    Args:
        learner: its name, its settings, or the learner itself, which is taken as it is.
        families: those that the estimator can learn with.
        usual: given the learner's settings, those that it should have where they say nothing.
        whose: the name of the estimator, for messages.
        others: names that are not in a family, and that the message to users should list too.
    """
    settings = learner_settings(learner)
    made = make_learner(learner if settings is None else {**usual(settings), **settings})
    if isinstance(made, families):
        return made
    sources = [source for family, (source, _) in _FAMILIES.items() if isinstance(made, family)]
    names = [*others, *(name for family in families for name in _FAMILIES[family][1])]
    raise ConfigError(
        f"learner {made.name!r} learns from {' or '.join(sources)}, which {whose} does not: "
        f"it is one of: {', '.join(names)}"
    )
