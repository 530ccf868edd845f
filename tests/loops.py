"""The loops of compiled functions that the interpreter computes in bulk."""

from __future__ import annotations

from treewright.search import interpreted


def as_loops(function, *modules):
    """The interpreted version of a function, with the loops of these modules where it would compute in bulk."""
    in_bulk = {id(each): each for module in modules for each in vars(module).values() if getattr(each, "bulk", None)}
    assert in_bulk
    kept = [(each, each.bulk) for each in in_bulk.values()]
    try:
        for each, _ in kept:
            each.bulk = None
        return interpreted(function)
    finally:
        for each, bulk in kept:
            each.bulk = bulk
