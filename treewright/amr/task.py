"""AMR parsing as a search space, made of the transitions, the expert, the features and the losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from treewright.amr.expert import expert_action
from treewright.amr.features import MOST_FEATURES, action_features, state_features
from treewright.amr.naive_smatch import common_entries, smatch_loss
from treewright.amr.transitions import (
    ALIVE,
    BOUND,
    DELETE,
    DELETED,
    DONE,
    EXTRA,
    GIVEN,
    HAS_ABOVE,
    INSERT,
    INSERT_LEAF,
    KAPPA,
    KEEP,
    LABELLING,
    LEAVES,
    LOSS,
    MOST_EXTRA,
    MOST_LEAVES,
    MOST_REENTRANCES,
    NEXT_EDGE,
    NEXT_NODE,
    NODES,
    OPEN,
    PENDING,
    PHASE,
    REATTACH,
    REATTACHED,
    REENTRANCE,
    REENTRANT,
    REPLACE_HEAD,
    STATE,
    STEPS,
    SWAP,
    SWAPPED,
    TARGET,
    act,
    action_of,
    begin,
    beta,
    child_count,
    has_target,
    is_target,
    kind_of,
    may_insert,
    param_of,
    sigma,
)
from treewright.search import Task, compiled, cross3
from treewright.search.compiling import lean

__all__ = ["MOST_ACTIONS", "GraphParsing", "edge_hash", "node_hash"]

MOST_ACTIONS = 256  # of more targets in a very long sentence, the first ones are offered
NO_PARAMETER = -1


@lean
def _key_of(x: Any, state: Any, node: int) -> int:
    """The key of a node in the tables of parameters: its lemma, or its concept if it is inserted."""
    if node < x.n:
        return np.int64(x.keys[node])
    concept = np.int64(state.concept[node])
    return np.int64(x.concept_keys[concept]) if concept < x.concept_keys.shape[0] else np.int64(0)


@lean
def _offer(out: Any, n: int, kind: int, param: int) -> int:
    """Append an action unless it is in the list or the list is full; −1: it has no parameter yet."""
    if n >= out.shape[0]:
        return n
    action = action_of(kind, np.int64(param) + np.int64(1))
    for k in range(n):
        if out[k] == action:
            return n
    out[n] = action
    return n + 1


@lean
def _offer_roles(x: Any, state: Any, source: int, target: int, forward: bool, out: Any, n: int) -> int:
    """NextEdge with the roles that occur below the source's lemma and above the target's, and the most common ones."""
    key, below = _key_of(x, state, source), _key_of(x, state, target)
    for k in range(x.roles_out_at[key], x.roles_out_at[key + 1]):
        if not (forward and x.roles_out[k] & 1):
            n = _offer(out, n, NEXT_EDGE, x.roles_out[k])
    for k in range(x.roles_in_at[below], x.roles_in_at[below + 1]):
        if not (forward and x.roles_in[k] & 1):
            n = _offer(out, n, NEXT_EDGE, x.roles_in[k])
    for k in range(x.common_roles.shape[0]):
        if not (forward and x.common_roles[k] & 1):
            n = _offer(out, n, NEXT_EDGE, x.common_roles[k])
    return n if n > 0 else _offer(out, n, NEXT_EDGE, 0)


@lean
def _offer_concepts(x: Any, state: Any, top: int, out: Any) -> int:
    """The forms of NextNode."""
    n = 0
    if state.concept[top] >= 0:
        return _offer(out, n, NEXT_NODE, KEEP)
    for k in range(x.candidate_edges[top], x.candidate_edges[top + 1]):
        n = _offer(out, n, NEXT_NODE, x.candidates[k])
    return n


@lean
def _offer_inserts(x: Any, state: Any, top: int, out: Any) -> int:
    """The concepts of Insert: those that occur above this lemma, and the most common ones."""
    n = 0
    key = _key_of(x, state, top)
    for k in range(x.inserts_at[key], x.inserts_at[key + 1]):
        if may_insert(x, state, top, np.int64(x.inserts[k])):
            n = _offer(out, n, INSERT, x.inserts[k])
    for k in range(x.common_inserts.shape[0]):
        if may_insert(x, state, top, np.int64(x.common_inserts[k])):
            n = _offer(out, n, INSERT, x.common_inserts[k])
    return n


@lean
def _offer_leaves(x: Any, state: Any, top: int, out: Any) -> int:
    """The leaves of InsertLeaf: those that occur below this lemma, and the most common ones."""
    n = 0
    key = _key_of(x, state, top)
    for k in range(x.leaves_at[key], x.leaves_at[key + 1]):
        if may_insert(x, state, top, np.int64(x.leaf_pairs[2 * x.leaves[k] + 1])):
            n = _offer(out, n, INSERT_LEAF, x.leaves[k])
    for k in range(x.common_leaves.shape[0]):
        if may_insert(x, state, top, np.int64(x.leaf_pairs[2 * x.common_leaves[k] + 1])):
            n = _offer(out, n, INSERT_LEAF, x.common_leaves[k])
    return n


@lean
def _offer_targets(x: Any, state: Any, out: Any) -> int:
    """The nodes κ."""
    n = 0
    for node in range(state.registers[NODES]):
        if is_target(x, state, np.int64(node)):
            n = _offer(out, n, TARGET, node)
    return n


@lean
def _offer_kinds(x: Any, state: Any, top: int, child: int, out: Any) -> int:
    """The admissible actions; ``out`` is used to find out whether they would have a parameter."""
    if state.registers[PHASE] != 0:
        n = _offer(out, 0, DONE, NO_PARAMETER)
        room = state.registers[GIVEN] < MOST_REENTRANCES and state.registers[EXTRA] < MOST_EXTRA
        room = room and 3 * state.registers[EXTRA] + 3 <= state.extra.shape[0]
        return _offer(out, n, REENTRANCE, NO_PARAMETER) if room and has_target(x, state) else n
    if child >= 0:
        n = _offer(out, 0, NEXT_EDGE, NO_PARAMETER)
        if not state.flags[top] & SWAPPED:
            n = _offer(out, n, SWAP, NO_PARAMETER)
        if state.concept[top] < 0:
            n = _offer(out, n, REPLACE_HEAD, NO_PARAMETER)
        if not state.flags[child] & REATTACHED and has_target(x, state):
            n = _offer(out, n, REATTACH, NO_PARAMETER)
        return n
    open_to_gold = x.options[OPEN] != 0
    room = state.registers[NODES] < state.parent.shape[0]
    above = room and not state.flags[top] & HAS_ABOVE
    above = above and (open_to_gold or _offer_inserts(x, state, top, out) > 0)
    below = room and state.flags[top] // LEAVES < MOST_LEAVES
    below = below and (open_to_gold or _offer_leaves(x, state, top, out) > 0)
    n = _offer(out, 0, NEXT_NODE, NO_PARAMETER)
    if state.concept[top] < 0 and state.registers[ALIVE] > 1 and child_count(state, top) == 0:
        n = _offer(out, n, DELETE, NO_PARAMETER)
    if above:
        n = _offer(out, n, INSERT, NO_PARAMETER)
    return _offer(out, n, INSERT_LEAF, NO_PARAMETER) if below else n


@lean
def _offer_gold(x: Any, state: Any, out: Any, n: int) -> int:
    """Add the expert's parameter, so that parameters can be collected from gold graphs."""
    wanted = expert_action(x, state)
    if wanted < 0 or kind_of(wanted) == TARGET:
        return n
    return _offer(out, n, kind_of(wanted), param_of(wanted) - np.int64(1))


class GraphParsing(Task):
    """AMR parsing with a loss of naive Smatch: 1 − F, mistakes, or mistakes and steps."""

    name = "amr"
    structured = True
    state = STATE
    instance = (
        "heads",
        "order",
        "lemmas",
        "words",
        "tags",
        "relations",
        "entities",
        "suffixes",
        "keys",
        "sentence",
        "candidates",
        "candidate_edges",
        "realised",
        "known_forms",
        "gold_of",
        "gold_label",
        "gold_parent",
        "gold_role",
        "gold_edges",
        "gold_entries",
    )
    shared = (
        "options",
        "inserts",
        "inserts_at",
        "leaves",
        "leaves_at",
        "leaf_pairs",
        "roles_out",
        "roles_out_at",
        "roles_in",
        "roles_in_at",
        "common_roles",
        "common_inserts",
        "common_leaves",
        "concept_keys",
        "concept_classes",
        "concept_sorts",
    )
    n_actions = MOST_ACTIONS
    max_steps = BOUND
    max_features = MOST_FEATURES
    lean = ("initial", "is_final", "actions", "step", "features", "action_features", "expert_costs")
    oracle = "static"

    def __init__(self, tables: dict[str, Any]) -> None:
        self._tables = tables

    @staticmethod
    def initial(x: Any, state: Any) -> None:
        """The dependency tree."""
        begin(x, state)

    @staticmethod
    def is_final(x: Any, state: Any) -> bool:
        """Whether σ is empty and the second phase is done."""
        return state.registers[PHASE] != 0 and (x.options[REENTRANT] == 0 or sigma(state) < 0)

    @staticmethod
    def actions(x: Any, state: Any, out: Any) -> int:
        """The actions that §4.3.5 and §4.3.6 allow."""
        top, child = sigma(state), beta(state)
        pending = state.registers[PENDING]
        if pending == 0:
            return _offer_kinds(x, state, top, child, out)
        if pending == LABELLING:
            n = _offer_roles(x, state, top, np.int64(state.registers[KAPPA]), True, out, 0)
        elif pending == NEXT_EDGE + 1:
            n = _offer_roles(x, state, top, child, False, out, 0)
        elif pending == NEXT_NODE + 1:
            n = _offer_concepts(x, state, top, out)
        elif pending == INSERT + 1:
            n = _offer_inserts(x, state, top, out)
        elif pending == INSERT_LEAF + 1:
            n = _offer_leaves(x, state, top, out)
        else:
            n = _offer_targets(x, state, out)
        return _offer_gold(x, state, out, n) if x.options[OPEN] != 0 else n

    @staticmethod
    def step(x: Any, state: Any, action: int) -> None:
        """Take an action."""
        act(x, state, action)

    @staticmethod
    def features(x: Any, state: Any, out: Any) -> int:
        """Table 4.2."""
        return state_features(x, state, out)

    @staticmethod
    def action_features(x: Any, state: Any, action: int, out: Any) -> int:
        """The features of an action that its number does not determine."""
        return action_features(x, state, action, out)

    @staticmethod
    def expert_costs(x: Any, state: Any, actions: Any, n: int, out: Any) -> None:
        """0 for the expert's action and 1 for all others; if it is not offered, 0 for the first."""
        wanted = expert_action(x, state)
        best = 0
        for k in range(n):
            out[k] = 1.0
            if actions[k] == wanted:
                best = k
        out[best] = 0.0

    @staticmethod
    def loss(x: Any, state: Any) -> float:
        """Naive Smatch of the graph, in one of its kinds."""
        entries = np.empty(2 * state.parent.shape[0] + state.extra.shape[0], np.int32)
        n = _entries(state, entries)
        found = common_entries(entries[:n], x.gold_entries)
        return smatch_loss(
            np.int64(x.options[LOSS]), found, np.int64(x.gold_entries.shape[0]), n, np.int64(state.registers[STEPS])
        )

    def shared_arrays(self) -> dict[str, Any]:
        """The tables of parameters and the options."""
        return self._tables


@compiled
def _entries(state: Any, out: Any) -> int:
    """The entries of naive Smatch, sorted: one for each node, and one for each edge with the concepts of its ends."""
    n = 0
    for node in range(state.registers[NODES]):
        if state.flags[node] & DELETED:
            continue
        out[n] = node_hash(state.concept[node])
        n += 1
        parent = state.parent[node]
        if parent >= 0:
            out[n] = edge_hash(state.concept[parent], np.int64(state.role[node]), state.concept[node])
            n += 1
    for at in range(0, 3 * state.registers[EXTRA], 3):
        out[n] = edge_hash(
            state.concept[state.extra[at]], np.int64(state.extra[at + 1]), state.concept[state.extra[at + 2]]
        )
        n += 1
    out[:n].sort()
    return n


@compiled
def node_hash(label: int) -> int:
    """The entry of a node."""
    return cross3(1, label, 0, 0)


@compiled
def edge_hash(source: int, role: int, target: int) -> int:
    """The entry of an edge in its normal direction: an odd role is the inverse of the even one before it."""
    if role & 1:
        return cross3(2, target, role >> 1, source)
    return cross3(2, source, role >> 1, target)
