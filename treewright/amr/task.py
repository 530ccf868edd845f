"""AMR parsing as a search space, made of the transitions, the expert, the features and the losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from treewright.amr.expert import expert_action, expert_kind
from treewright.amr.features import MOST_FEATURES, action_features, state_features
from treewright.amr.losses import state_loss
from treewright.amr.transitions import (
    ALIVE,
    BOUND,
    DELETE,
    DEPTH,
    DONE,
    EXTRA,
    GIVEN,
    HAS_ABOVE,
    INSERT,
    INSERT_LEAF,
    JOINT,
    KAPPA,
    KEEP,
    LABELLING,
    LEAVES,
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
    SWAP,
    TARGET,
    act,
    action_of,
    begin,
    beta,
    child_count,
    has_parameter,
    has_target,
    is_target,
    kind_of,
    may_insert,
    may_insert_leaf,
    may_swap,
    param_of,
    sigma,
)
from treewright.search import Task
from treewright.search.compiling import lean

__all__ = ["MOST_ACTIONS", "GraphParsing"]

MOST_ACTIONS = 256  # in a very long sentence, only the first targets are offered
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
def _offer_concepts(x: Any, state: Any, top: int, out: Any, n: int) -> int:
    """The forms of NextNode."""
    if state.concept[top] >= 0:
        return _offer(out, n, NEXT_NODE, KEEP)
    for k in range(x.candidate_edges[top], x.candidate_edges[top + 1]):
        n = _offer(out, n, NEXT_NODE, x.candidates[k])
    return n


@lean
def _offer_inserts(x: Any, state: Any, top: int, out: Any, n: int) -> int:
    """The concepts of Insert: those that occur above this lemma, and the most common ones."""
    key = _key_of(x, state, top)
    for k in range(x.inserts_at[key], x.inserts_at[key + 1]):
        if may_insert(x, state, top, np.int64(x.inserts[k])):
            n = _offer(out, n, INSERT, x.inserts[k])
    for k in range(x.common_inserts.shape[0]):
        if may_insert(x, state, top, np.int64(x.common_inserts[k])):
            n = _offer(out, n, INSERT, x.common_inserts[k])
    return n


@lean
def _offer_leaves(x: Any, state: Any, top: int, out: Any, n: int) -> int:
    """The leaves of InsertLeaf: those that occur below this lemma, and the most common ones."""
    key = _key_of(x, state, top)
    for k in range(x.leaves_at[key], x.leaves_at[key + 1]):
        if may_insert_leaf(x, state, top, np.int64(x.leaf_pairs[2 * x.leaves[k] + 1])):
            n = _offer(out, n, INSERT_LEAF, x.leaves[k])
    for k in range(x.common_leaves.shape[0]):
        if may_insert_leaf(x, state, top, np.int64(x.leaf_pairs[2 * x.common_leaves[k] + 1])):
            n = _offer(out, n, INSERT_LEAF, x.common_leaves[k])
    return n


@lean
def _offer_targets(x: Any, state: Any, kind: int, out: Any, n: int) -> int:
    """The nodes κ."""
    for node in range(state.registers[NODES]):
        if is_target(x, state, np.int64(node)):
            n = _offer(out, n, kind, node)
    return n


@lean
def _offer_parameters(x: Any, state: Any, kind: int, top: int, child: int, out: Any, n: int) -> int:
    """The parameters of an action, and in training data that of the expert, so that parameters can be collected."""
    if kind == LABELLING - 1:
        n = _offer_roles(x, state, top, np.int64(state.registers[KAPPA]), True, out, n)
    elif kind == NEXT_EDGE:
        n = _offer_roles(x, state, top, child, False, out, n)
    elif kind == NEXT_NODE:
        n = _offer_concepts(x, state, top, out, n)
    elif kind == INSERT:
        n = _offer_inserts(x, state, top, out, n)
    elif kind == INSERT_LEAF:
        n = _offer_leaves(x, state, top, out, n)
    else:
        n = _offer_targets(x, state, kind if x.options[JOINT] != 0 else TARGET, out, n)
    if x.options[OPEN] == 0 or kind in (REATTACH, REENTRANCE):
        return n
    wanted = expert_action(x, state)
    of_kind = kind_of(wanted) == (NEXT_EDGE if kind == LABELLING - 1 else kind)
    return _offer(out, n, kind_of(wanted), param_of(wanted) - np.int64(1)) if wanted >= 0 and of_kind else n


@lean
def _offer_kind(x: Any, state: Any, kind: int, top: int, child: int, out: Any, n: int) -> int:
    """An action, if it is without a parameter or would have one; with all its parameters if choices are joint."""
    if not has_parameter(kind):
        return _offer(out, n, kind, NO_PARAMETER)
    if x.options[JOINT] != 0:
        return _offer_parameters(x, state, kind, top, child, out, n)
    if kind in (REATTACH, REENTRANCE):
        return _offer(out, n, kind, NO_PARAMETER) if has_target(x, state) else n
    is_limited = kind in (INSERT, INSERT_LEAF) and x.options[OPEN] == 0
    if is_limited and _offer_parameters(x, state, kind, top, child, out, n) == n:
        return n
    return _offer(out, n, kind, NO_PARAMETER)


@lean
def _offer_kinds(x: Any, state: Any, top: int, child: int, out: Any) -> int:
    """The admissible actions."""
    if state.registers[PHASE] != 0:
        n = _offer_kind(x, state, DONE, top, child, out, 0)
        room = state.registers[GIVEN] < MOST_REENTRANCES and state.registers[EXTRA] < MOST_EXTRA
        room = room and 3 * state.registers[EXTRA] + 3 <= state.extra.shape[0]
        return _offer_kind(x, state, REENTRANCE, top, child, out, n) if room else n
    if child >= 0:
        n = _offer_kind(x, state, NEXT_EDGE, top, child, out, 0)
        if may_swap(x, state, top, child):
            n = _offer_kind(x, state, SWAP, top, child, out, n)
        if state.concept[top] < 0:
            n = _offer_kind(x, state, REPLACE_HEAD, top, child, out, n)
        if not state.flags[child] & REATTACHED:
            n = _offer_kind(x, state, REATTACH, top, child, out, n)
        return n
    room = state.registers[NODES] < state.parent.shape[0]
    n = _offer_kind(x, state, NEXT_NODE, top, child, out, 0)
    if state.concept[top] < 0 and state.registers[ALIVE] > 1 and child_count(state, top) == 0:
        n = _offer_kind(x, state, DELETE, top, child, out, n)
    if room and not state.flags[top] & HAS_ABOVE:
        n = _offer_kind(x, state, INSERT, top, child, out, n)
    if room and state.flags[top] // LEAVES < MOST_LEAVES:
        n = _offer_kind(x, state, INSERT_LEAF, top, child, out, n)
    return n


@lean
def _word_of(state: Any, node: int) -> int:
    """The word of a node; −1 for no node."""
    return np.int64(state.anchor[node]) if node >= 0 else np.int64(-1)


class GraphParsing(Task):
    """AMR parsing with a loss of Smatch or naive Smatch: 1 − F, mistakes, or mistakes and actions."""

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
        "gold_labels",
        "gold_links",
        "own_codes",
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
        "label_codes",
        "role_codes",
    )
    n_actions = MOST_ACTIONS
    max_steps = BOUND
    max_features = MOST_FEATURES
    max_positions = 11
    lean = (
        "initial",
        "is_final",
        "is_whole",
        "actions",
        "step",
        "features",
        "positions",
        "action_features",
        "expert_costs",
    )
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
    def is_whole(x: Any, state: Any) -> bool:
        """Whether there is no action without its parameter."""
        return state.registers[PENDING] == 0

    @staticmethod
    def actions(x: Any, state: Any, out: Any) -> int:
        """The actions that §4.3.5 and §4.3.6 allow."""
        top, child = sigma(state), beta(state)
        pending = np.int64(state.registers[PENDING])
        if pending == 0:
            return _offer_kinds(x, state, top, child, out)
        return _offer_parameters(x, state, pending - np.int64(1), top, child, out, 0)

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
    def positions(x: Any, state: Any, out: Any) -> int:
        """The words of σ₀, β₀, κ, the parents of σ₀, its neighbours and the nodes below it on the stack.

        A node that was inserted has the word that it was inserted for. The last three are the root, or −1, and say
        whether σ₀ was inserted, whether it has a concept, and whether this is the second phase.
        """
        top = sigma(state)
        parent = np.int64(state.parent[top]) if top >= 0 else np.int64(-1)
        word, depth = _word_of(state, top), np.int64(state.registers[DEPTH])
        in_phase_two = state.registers[PHASE] != 0
        out[0] = word
        out[1] = _word_of(state, beta(state))
        out[2] = _word_of(state, parent) if parent >= 0 else x.n
        out[3] = _word_of(state, np.int64(state.parent[parent])) if parent >= 0 else np.int64(-1)
        out[4] = word - 1 if word > 0 else -1
        out[5] = word + 1 if 0 <= word < x.n - 1 else -1
        out[6] = _word_of(state, np.int64(state.registers[KAPPA])) if state.registers[PENDING] == LABELLING else -1
        out[7] = _word_of(state, np.int64(state.stack[depth - 2])) if depth > 1 and not in_phase_two else -1
        out[8] = x.n if top >= x.n else -1
        out[9] = x.n if top >= 0 and state.concept[top] >= 0 else -1
        out[10] = x.n if in_phase_two else -1
        return 11

    @staticmethod
    def expert_costs(x: Any, state: Any, actions: Any, n: int, out: Any) -> None:
        """0 for the expert's action and 1 for all others; if it is not offered, 0 for the first one of its kind."""
        wanted = expert_action(x, state)
        joint = x.options[JOINT] != 0 and state.registers[PENDING] == 0
        kind = expert_kind(x, state) if joint else np.int64(-1)
        best, similar = -1, -1
        for k in range(n):
            out[k] = 1.0
            if actions[k] == wanted:
                best = k
            elif similar < 0 and kind_of(actions[k]) == kind:
                similar = k
        out[max(best if best >= 0 else similar, 0)] = 0.0

    @staticmethod
    def loss(x: Any, state: Any) -> float:
        """Smatch or naive Smatch of the graph, in one of its kinds."""
        return state_loss(x, state)

    def shared_arrays(self) -> dict[str, Any]:
        """The tables of parameters and the options."""
        return self._tables
