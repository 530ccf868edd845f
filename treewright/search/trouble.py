"""Error codes of kernels, and their messages."""

from __future__ import annotations

__all__ = [
    "INTERRUPTED",
    "NOT_FINAL",
    "NO_ACTION",
    "TOO_MANY_ACTIONS",
    "TOO_MANY_FEATURES",
    "TOO_MUCH_STRUCTURE",
    "TROUBLE",
]

NOT_FINAL = -1
NO_ACTION = -2
TOO_MANY_FEATURES = -3
TOO_MANY_ACTIONS = -4
INTERRUPTED = -5
TOO_MUCH_STRUCTURE = -6
TROUBLE = {
    NOT_FINAL: "is not final after {bound} steps, the declared bound `max_steps`: does `step` always advance?",
    NO_ACTION: "reached a state that is not final and offers no action: look at `actions` and `is_final`",
    TOO_MANY_FEATURES: "has a state with more features than `max_features`: declare more",
    TOO_MUCH_STRUCTURE: "has a state whose `structure` is larger than `max_structure`: declare more",
    TOO_MANY_ACTIONS: "has a state with more actions than `n_actions`: declare more",
}
