"""Policies: the interface for learners, linear policies with hashed features, and their online updates."""

from typing import TYPE_CHECKING

from treewright.lazy import lazy_names

if TYPE_CHECKING:
    from treewright.policies.learning import LearnablePolicy, Online, Trainer, Updating
    from treewright.policies.linear import LinearPolicy, UntrainedLinear
    from treewright.policies.updates import (
        AROW,
        UPDATES,
        LogLinear,
        PassiveAggressive,
        Perceptron,
        Regression,
        Update,
        make_update,
        update_settings,
    )

__all__ = [
    "AROW",
    "UPDATES",
    "LearnablePolicy",
    "LinearPolicy",
    "LogLinear",
    "Online",
    "PassiveAggressive",
    "Perceptron",
    "Regression",
    "Trainer",
    "UntrainedLinear",
    "Update",
    "Updating",
    "make_update",
    "update_settings",
]

__getattr__ = lazy_names(
    __name__,
    {
        "learning": "LearnablePolicy Online Trainer Updating",
        "linear": "LinearPolicy UntrainedLinear",
        "updates": "AROW UPDATES LogLinear PassiveAggressive Perceptron Regression Update make_update update_settings",
    },
)
