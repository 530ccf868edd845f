"""The expert: the action that leads closest to the gold graph, in any state (Goodman 2015, §4.6 and §5.1.3).

It knows the node of the gold graph for each node of the state (``state.gold``, from an alignment). The gold
graph is a tree plus some edges. Rules are tried in the order of the thesis, with three changes: leaves of any concept
are inserted, not only ``-``; insertion waits until the edges of a node are done; and if two nodes have no edge in the
gold tree but one outside it, that edge is used. If the policy chose another action than the expert, the expert still
gives the best parameter.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from treewright.amr.transitions import (
    ALIVE,
    DELETE,
    DELETED,
    DONE,
    FORMS,
    GIVEN,
    HAS_ABOVE,
    INSERT,
    INSERT_LEAF,
    JOINT,
    KAPPA,
    KEEP,
    LABELLING,
    LEAVES,
    LEMMA,
    MOST_LEAVES,
    MOST_REENTRANCES,
    NEXT_EDGE,
    NEXT_NODE,
    NODES,
    PENDING,
    PHASE,
    REATTACH,
    REATTACHED,
    REENTRANCE,
    REPLACE_HEAD,
    SWAP,
    TARGET,
    action_of,
    beta,
    child_count,
    concept_of,
    has_parameter,
    is_target,
    may_insert,
    may_insert_leaf,
    may_swap,
    sigma,
    standing_for,
)
from treewright.search.compiling import lean

__all__ = ["expert_action", "expert_kind", "expert_parameter", "gold_role"]

NOTHING = -1


@lean
def gold_role(x: Any, source: int, target: int) -> int:
    """The role of the edge between two gold nodes, in either direction; −1: there is none."""
    for at in range(0, x.gold_edges.shape[0], 3):
        if x.gold_edges[at] == source and x.gold_edges[at + 2] == target:
            return np.int64(x.gold_edges[at + 1])
    return np.int64(NOTHING)


@lean
def _right_parent(x: Any, state: Any, child: int) -> int:
    """The node that should be above β₀, if β₀ can be moved: that of its gold parent, or of another neighbour."""
    gold = np.int64(state.gold[child])
    if state.flags[child] & REATTACHED:
        return np.int64(NOTHING)
    above = np.int64(x.gold_parent[gold])
    if above >= 0:
        node = standing_for(state, above)
        if node >= 0 and is_target(x, state, node):
            return node
    for at in range(0, x.gold_edges.shape[0], 3):
        if x.gold_edges[at + 2] == gold:
            node = standing_for(state, np.int64(x.gold_edges[at]))
            if node >= 0 and is_target(x, state, node):
                return node
    return np.int64(NOTHING)


@lean
def _form_of(x: Any, word: int, concept: int) -> int:
    """The form of a concept at a word: an offered one, or one that depends on the word, or the concept itself."""
    for k in range(x.candidate_edges[word], x.candidate_edges[word + 1]):
        if concept_of(x, word, np.int64(x.candidates[k])) == concept:
            return np.int64(x.candidates[k])
    for form in range(1, x.options[FORMS]):
        if concept_of(x, word, np.int64(form)) == concept:
            return np.int64(form)
    return np.int64(concept) + np.int64(x.options[FORMS])


@lean
def _edge_kind(x: Any, state: Any, top: int, child: int) -> int:
    """Rules 6 to 10: the action for the edge from σ₀ to β₀."""
    gold, below = np.int64(state.gold[top]), np.int64(state.gold[child])
    if gold < 0 and below >= 0 and state.concept[top] < 0:
        return np.int64(REPLACE_HEAD)
    if gold < 0 or below < 0 or x.gold_parent[below] == gold:
        return np.int64(NEXT_EDGE)
    if x.gold_parent[gold] == below and may_swap(x, state, top, child):
        return np.int64(SWAP)
    above = np.int64(x.gold_parent[below])
    if above >= 0 and standing_for(state, above) >= 0 and _right_parent(x, state, child) >= 0:
        return np.int64(REATTACH)
    if gold_role(x, gold, below) < 0 and _right_parent(x, state, child) >= 0:
        return np.int64(REATTACH)
    return np.int64(NEXT_EDGE)


@lean
def _role(x: Any, state: Any, top: int, child: int) -> int:
    """The role of the edge from σ₀ to another node in the gold tree, or outside it; −1: there is none."""
    gold, below = np.int64(state.gold[top]), np.int64(state.gold[child])
    if gold < 0 or below < 0:
        return np.int64(NOTHING)
    if x.gold_parent[below] == gold:
        return np.int64(x.gold_role[below])
    return gold_role(x, gold, below)


@lean
def _has_words(x: Any, state: Any, gold: int) -> bool:
    """Whether any node is mapped to a descendant of a gold node."""
    for node in range(state.registers[NODES]):
        below = np.int64(state.gold[node])
        if below >= 0 and not state.flags[node] & DELETED:
            while below >= 0:
                if below == gold:
                    return True
                below = np.int64(x.gold_parent[below])
    return False


@lean
def _leaf(x: Any, state: Any, top: int) -> int:
    """Rule 3: a leaf to insert, to which no word is mapped; −1: there is none."""
    gold = np.int64(state.gold[top])
    if gold < 0 or state.flags[top] // LEAVES >= MOST_LEAVES:
        return np.int64(NOTHING)
    for below in range(x.gold_parent.shape[0]):
        if x.gold_parent[below] != gold or _has_words(x, state, np.int64(below)):
            continue
        if may_insert_leaf(x, state, top, np.int64(x.gold_label[below])):
            for pair in range(x.leaf_pairs.shape[0] // 2):
                if x.leaf_pairs[2 * pair] == x.gold_role[below] and x.leaf_pairs[2 * pair + 1] == x.gold_label[below]:
                    return np.int64(pair)
    return np.int64(NOTHING)


@lean
def _above(x: Any, state: Any, top: int) -> int:
    """Rule 2: the concept of a node to insert above σ₀, if no node is mapped to the gold parent; −1: none."""
    gold = np.int64(state.gold[top])
    above = np.int64(x.gold_parent[gold]) if gold >= 0 else np.int64(NOTHING)
    if above < 0 or state.flags[top] & HAS_ABOVE or standing_for(state, above) >= 0:
        return np.int64(NOTHING)
    concept = np.int64(x.gold_label[above])
    return concept if may_insert(x, state, top, concept) else np.int64(NOTHING)


@lean
def _reentrant(x: Any, state: Any, top: int) -> int:
    """Rule 1: the target κ of a gold edge from σ₀ that the graph has not yet; −1: there is none."""
    gold = np.int64(state.gold[top])
    if gold < 0 or state.registers[GIVEN] >= MOST_REENTRANCES:
        return np.int64(NOTHING)
    for at in range(0, x.gold_edges.shape[0], 3):
        if x.gold_edges[at] == gold and not x.gold_edges[at + 1] & 1:
            node = standing_for(state, np.int64(x.gold_edges[at + 2]))
            if node >= 0 and is_target(x, state, node):
                return node
    return np.int64(NOTHING)


@lean
def expert_kind(x: Any, state: Any) -> int:
    """The action that the expert chooses in a state."""
    top, child = sigma(state), beta(state)
    if state.registers[PHASE] != 0:
        return np.int64(REENTRANCE if _reentrant(x, state, top) >= 0 else DONE)
    if child >= 0:
        return _edge_kind(x, state, top, child)
    if state.gold[top] < 0:
        kept = state.concept[top] >= 0 or child_count(state, top) > 0 or state.registers[ALIVE] <= 1
        return np.int64(NEXT_NODE if kept else DELETE)
    if _above(x, state, top) >= 0:
        return np.int64(INSERT)
    if _leaf(x, state, top) >= 0:
        return np.int64(INSERT_LEAF)
    return np.int64(NEXT_NODE)


@lean
def expert_parameter(x: Any, state: Any, kind: int) -> int:
    """The expert's parameter for an action, which need not be the expert's; −1: any parameter is as good.

    ``kind`` is the kind of the action, or ``LABELLING − 1`` for the role of an edge of the second phase.
    """
    top = sigma(state)
    if kind == LABELLING - 1:
        return _role(x, state, top, np.int64(state.registers[KAPPA]))
    if kind == NEXT_EDGE:
        return _role(x, state, top, beta(state))
    if kind == NEXT_NODE:
        if state.concept[top] >= 0:
            return np.int64(KEEP)
        return _form_of(x, top, np.int64(x.gold_label[state.gold[top]])) if state.gold[top] >= 0 else np.int64(LEMMA)
    if kind == REATTACH:
        child = beta(state)
        return _right_parent(x, state, child) if state.gold[child] >= 0 else np.int64(NOTHING)
    if kind == INSERT:
        return _above(x, state, top)
    if kind == INSERT_LEAF:
        return _leaf(x, state, top)
    return _reentrant(x, state, top)


@lean
def expert_action(x: Any, state: Any) -> int:
    """The expert's action in a state; −1: any parameter is as good."""
    pending, joint = np.int64(state.registers[PENDING]), x.options[JOINT] != 0
    kind: Any = pending - np.int64(1)
    if pending == 0:
        kind = expert_kind(x, state)
        if not joint or not has_parameter(kind):
            return action_of(kind, 0)
    param = expert_parameter(x, state, kind)
    if param < 0:
        return np.int64(NOTHING)
    if pending == LABELLING:
        kind = np.int64(NEXT_EDGE)
    elif kind in (REATTACH, REENTRANCE) and not joint:
        kind = np.int64(TARGET)
    return action_of(kind, param + np.int64(1))
