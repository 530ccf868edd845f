"""Linear policies with hashed features, and the online updates that train them."""

from treewright.policies.linear import LinearPolicy
from treewright.policies.updates import (
    AROW,
    UPDATES,
    LogLinear,
    PassiveAggressive,
    Perceptron,
    Update,
    make_update,
    update_settings,
)

__all__ = [
    "AROW",
    "UPDATES",
    "LinearPolicy",
    "LogLinear",
    "PassiveAggressive",
    "Perceptron",
    "Update",
    "make_update",
    "update_settings",
]
