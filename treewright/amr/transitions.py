"""From a dependency tree to a graph, one action at a time (Goodman 2015, §4.2–4.3).

The words of the sentence are the nodes 0 … n − 1 of a tree; actions relabel it, remove and add nodes, and move
subtrees, until it is an AMR graph. σ is a stack of unvisited nodes, children before their parents; β are the children
of σ₀, the node on top of σ, whose edges have no relation yet. In a second phase edges are added to the tree.

If β is empty, a node is offered NextNode, Delete, Insert and InsertLeaf, and otherwise the actions on its edge to β₀:
NextEdge, Swap, ReplaceHead and Reattach. An action with a parameter takes two decisions (*steps*): first the action,
then its parameter, which is a concept, a role or a node κ; Reentrance takes three, because its edge also needs a role.
So the common properties of an action are learned from all its parameters together. If choices are *joint*, as in the
thesis, an action and its parameter are one decision; only the role of Reentrance still follows. The length of an
episode (``ACTIONS``) counts whole actions in both cases, and not Done, which the thesis does not have.

Any sequence of actions ends. A tree of n words has at most 3n + 4 nodes, called C below; every node is reattached at
most once, and gets at most one node inserted above it; a node keeps its concept, and an edge its role. Swap reverses an
edge at most once (§4.3.6), and moves a node below another one at most once, unless the rule of the thesis is chosen,
which has only the first condition. An edge is new at the beginning, by Insert and by Reattach, so even then there are
at most 2C Swaps: Swap makes no new edges. So in the first phase nodes leave σ at most 5C times: once each, and again
after they returned by Swap, Reattach or ReplaceHead; C nodes are removed, C are added; and at most 4C edges need a
role: initial ones, and those of Insert and Swap. With two steps for actions with a parameter, and the steps of Swap and
Reattach, this is 25C steps. In the second phase a node takes at most 7 steps. The expert takes about 4 steps per word.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from treewright.search.compiling import lean

__all__ = [
    "ACTIONS",
    "ALIVE",
    "BOUND",
    "DELETE",
    "DELETED",
    "DEPTH",
    "DONE",
    "EXTRA",
    "FAMILY",
    "FORMS",
    "GIVEN",
    "GROUPS",
    "HAS_ABOVE",
    "INSERT",
    "INSERTED",
    "INSERT_LEAF",
    "JOINT",
    "KAPPA",
    "KEEP",
    "KINDS",
    "LABELLING",
    "LAST",
    "LEAVES",
    "LEMMA",
    "LOSS",
    "MERGED",
    "MOST_EXTRA",
    "MOST_LEAVES",
    "MOST_REENTRANCES",
    "NEXT_EDGE",
    "NEXT_NODE",
    "NODES",
    "OPEN",
    "PENDING",
    "PHASE",
    "RANGE",
    "REACH",
    "REATTACH",
    "REATTACHED",
    "REENTRANCE",
    "REENTRANT",
    "REPLACE_HEAD",
    "STATE",
    "STEPS",
    "SWAP",
    "SWAPPED",
    "SWAPS",
    "TARGET",
    "act",
    "action_of",
    "begin",
    "beta",
    "child_count",
    "concept_of",
    "connected",
    "has_parameter",
    "has_target",
    "is_above",
    "is_target",
    "kind_of",
    "may_insert",
    "may_insert_leaf",
    "may_swap",
    "param_of",
    "sigma",
    "standing_for",
    "tree_distance",
]

# The kinds of actions. An action is its kind and a parameter: a role, a form of a concept, a node.
(
    NEXT_EDGE,
    NEXT_NODE,
    SWAP,
    REPLACE_HEAD,
    REATTACH,
    DELETE,
    INSERT,
    INSERT_LEAF,
    REENTRANCE,
    TARGET,
    DONE,
) = range(11)
KINDS = (
    "NextEdge",
    "NextNode",
    "Swap",
    "ReplaceHead",
    "Reattach",
    "Delete",
    "Insert",
    "InsertLeaf",
    "Reentrance",
    "Target",
    "Done",
)
_KIND_BITS = 4

#: the fields of a state and their sizes
STATE: dict[str, int | str] = {
    "registers": 12,
    "stack": "3*n + 4",
    "parent": "3*n + 4",  # −1: the root
    "role": "3*n + 4",  # of the edge from the parent; −1: none yet
    "concept": "3*n + 4",  # −1: none yet
    "flags": "3*n + 4",
    "anchor": "3*n + 4",  # the word of a node: itself, or the word that it was inserted for
    "gold": "3*n + 4",  # the node of the gold graph to which a node is mapped; −1: none
    "extra": "3*n + 12",  # the edges of the second phase: source, role, target
}
BOUND = "96*n + 140"  # 32·(3n + 4), and a few

# The registers: how many nodes are on the stack, have been made, are still there; the phase; which part of an action is
# to come; the steps so far; the edges of the second phase; its node; how many edges that node has got; κ; the last four
# kinds of actions, in base 16; and how many whole actions have been taken, without Done.
DEPTH, NODES, ALIVE, PHASE, PENDING, STEPS, EXTRA, CURSOR, GIVEN, KAPPA, LAST, ACTIONS = range(12)
#: the options of compiled code: the number of forms that depend on the word; the loss; whether the gold action is
#: always offered, and whether there is a second phase; how far Reattach reaches, and Reentrance; the rules of Swap, as
#: bits; whether Insert has the rule of the thesis; whether an action and its parameter are one choice; the groups of
#: features that are left out, as bits
FORMS, LOSS, OPEN, REENTRANT, REACH, RANGE, SWAPS, FAMILY, JOINT, GROUPS = range(10)
#: the bits of SWAPS: a node is moved down once; an edge is swapped once
_NODE_ONCE, _EDGE_ONCE = 1, 2

LABELLING = 16  # the role of an edge of the second phase is to come; else the kind of the action, and 1

# The flags of a node: SWAPPED, it was moved down by Swap; TURNED, the edge from its parent is one that Swap reversed.
# LEAVES counts the leaves that were inserted below it.
ON_STACK, DELETED, INSERTED, SWAPPED, REATTACHED, HAS_ABOVE, MERGED, TURNED, LEAVES = (2**k for k in range(9))
MOST_LEAVES = 3
MOST_REENTRANCES = 2  # of a node; and of a graph:
MOST_EXTRA = 60

#: the form of NextNode for a node that has its concept already, and that of the lemma
KEEP, LEMMA = 0, 3

_HISTORY = 16**4


@lean
def action_of(kind: int, param: int) -> int:
    """An action as one number."""
    return (np.int64(param) << _KIND_BITS) | np.int64(kind)


@lean
def kind_of(action: int) -> int:
    """The kind of an action."""
    return np.int64(action) & np.int64(15)


@lean
def param_of(action: int) -> int:
    """The parameter of an action."""
    return np.int64(action) >> _KIND_BITS


@lean
def begin(x: Any, state: Any) -> None:
    """Write the dependency tree, and put all words on the stack, the deepest on top (``x.order``)."""
    n = np.int64(x.n)
    for k in range(n):
        node = n - 1 - k
        state.stack[k] = x.order[node]
        state.parent[k] = x.heads[k]
        state.role[k] = -1
        state.concept[k] = -1
        state.flags[k] = ON_STACK
        state.anchor[k] = k
        state.gold[k] = x.gold_of[k]
    state.registers[DEPTH] = n
    state.registers[NODES] = n
    state.registers[ALIVE] = n
    state.registers[PHASE] = np.int64(n == 0)


@lean
def sigma(state: Any) -> int:
    """σ₀: the top of the stack, or the node of the second phase; −1 at the end."""
    if state.registers[PHASE] != 0:
        return np.int64(state.registers[CURSOR]) if state.registers[CURSOR] < state.registers[NODES] else np.int64(-1)
    depth = np.int64(state.registers[DEPTH])
    return np.int64(state.stack[depth - 1]) if depth > 0 else np.int64(-1)


@lean
def beta(state: Any) -> int:
    """β₀: the first child of σ₀ whose edge has no relation; −1: there is none."""
    if state.registers[PHASE] != 0:
        return np.int64(-1)
    top = sigma(state)
    for node in range(state.registers[NODES]):
        if state.parent[node] == top and state.role[node] < 0 and not state.flags[node] & DELETED:
            return np.int64(node)
    return np.int64(-1)


@lean
def child_count(state: Any, node: int) -> int:
    """The number of children of a node."""
    found = np.int64(0)
    for other in range(state.registers[NODES]):
        if state.parent[other] == node and not state.flags[other] & DELETED:
            found += np.int64(1)
    return found


@lean
def is_above(state: Any, one: int, two: int) -> bool:
    """Whether ``two`` is in the subtree of ``one``."""
    node = np.int64(two)
    while node >= 0:
        if node == one:
            return True
        node = np.int64(state.parent[node])
    return False


@lean
def tree_distance(state: Any, one: int, two: int, most: int) -> int:
    """The number of edges between two nodes; a number above ``most`` if they are further apart."""
    up = np.int64(0)
    node = np.int64(one)
    while node >= 0 and up <= most:
        down, other = np.int64(0), np.int64(two)
        while other >= 0 and up + down <= most:
            if other == node:
                return up + down
            other = np.int64(state.parent[other])
            down += np.int64(1)
        node = np.int64(state.parent[node])
        up += np.int64(1)
    return np.int64(most) + np.int64(1)


@lean
def _pop(state: Any) -> None:
    depth = state.registers[DEPTH] - 1
    state.registers[DEPTH] = depth
    state.flags[state.stack[depth]] &= ~ON_STACK
    if depth == 0:
        state.registers[PHASE] = 1
        state.registers[CURSOR] = -1
        _advance(state)


@lean
def _push_below(state: Any, node: int) -> None:
    """Put a node on the stack as σ₁, unless the stack contains it."""
    if state.flags[node] & ON_STACK:
        return
    depth = state.registers[DEPTH]
    state.stack[depth] = state.stack[depth - 1]
    state.stack[depth - 1] = node
    state.registers[DEPTH] = depth + 1
    state.flags[node] |= ON_STACK


@lean
def _advance(state: Any) -> None:
    """Go to the next node of the second phase."""
    node = state.registers[CURSOR] + 1
    while node < state.registers[NODES] and state.flags[node] & DELETED:
        node += 1
    state.registers[CURSOR] = node
    state.registers[GIVEN] = 0


@lean
def _remove(state: Any, node: int) -> None:
    state.flags[node] |= DELETED
    state.registers[ALIVE] -= 1


@lean
def _new_node(state: Any, parent: int, role: int, concept: int, gold: int, anchor: int) -> int:
    node = np.int64(state.registers[NODES])
    state.registers[NODES] = node + 1
    state.registers[ALIVE] += 1
    state.parent[node] = parent
    state.role[node] = role
    state.concept[node] = concept
    state.flags[node] = INSERTED
    state.anchor[node] = anchor
    state.gold[node] = gold
    return node


@lean
def concept_of(x: Any, word: int, form: int) -> int:
    """The concept of a form at a word: the forms below x.options[FORMS] depend on the word."""
    forms = np.int64(x.options[FORMS])
    return np.int64(x.realised[word * forms + form]) if form < forms else np.int64(form) - forms


@lean
def has_parameter(kind: int) -> bool:
    """Whether the choice of a parameter follows."""
    return kind in (NEXT_EDGE, NEXT_NODE, REATTACH, INSERT, INSERT_LEAF, REENTRANCE)


@lean
def act(x: Any, state: Any, action: int) -> None:
    """Take an action (Table 4.1): choose it, or its parameter. The parameter p is written as p + 1, a choice as 0."""
    kind, param = kind_of(action), param_of(action) - np.int64(1)
    registers = state.registers
    pending = np.int64(registers[PENDING])
    registers[STEPS] += 1
    registers[PENDING] = 0
    if pending == 0:
        registers[LAST] = (registers[LAST] * 16 + kind + 1) % _HISTORY
    if param >= 0:
        _act_with(x, state, kind, param, pending)
    elif has_parameter(kind):
        registers[PENDING] = kind + 1
    else:
        _act_alone(state, kind)
    if registers[PENDING] == 0 and kind != DONE:
        registers[ACTIONS] += 1


@lean
def _act_with(x: Any, state: Any, kind: int, param: int, pending: int) -> None:
    """Take an action with its parameter; ``pending`` says which action a node κ is for, unless choices are joint."""
    registers = state.registers
    top, child = sigma(state), beta(state)
    if kind == NEXT_EDGE:
        if pending == LABELLING:
            at = 3 * registers[EXTRA]
            state.extra[at], state.extra[at + 1], state.extra[at + 2] = top, param, registers[KAPPA]
            registers[EXTRA] += 1
            registers[GIVEN] += 1
        else:
            state.role[child] = param
    elif kind == NEXT_NODE:
        if state.concept[top] < 0:
            state.concept[top] = concept_of(x, top, param)
        _pop(state)
    elif kind == REATTACH or pending == REATTACH + 1:
        state.parent[child] = param
        state.flags[child] = (state.flags[child] | REATTACHED) & ~TURNED
        _push_below(state, param)
    elif kind in (TARGET, REENTRANCE):
        registers[KAPPA] = param
        registers[PENDING] = LABELLING
    elif kind == INSERT:
        anchor = np.int64(state.anchor[top])
        above = _unmapped_parent(x, state, top, param)
        node = _new_node(state, np.int64(state.parent[top]), np.int64(state.role[top]), param, above, anchor)
        _pass_on(state, top, node)
        state.parent[top] = node
        state.role[top] = -1
        state.flags[top] = (state.flags[top] | HAS_ABOVE) & ~TURNED
        _push_below(state, node)
    else:
        role, concept = np.int64(x.leaf_pairs[2 * param]), np.int64(x.leaf_pairs[2 * param + 1])
        _new_node(state, top, role, concept, _unmapped_child(x, state, top, concept), np.int64(state.anchor[top]))
        state.flags[top] += LEAVES


@lean
def _act_alone(state: Any, kind: int) -> None:
    """Take an action without a parameter: Swap, ReplaceHead, Delete, or continue in the second phase."""
    top, child = sigma(state), beta(state)
    if kind == SWAP:
        state.parent[child] = state.parent[top]
        state.role[child] = state.role[top]
        _pass_on(state, top, child)
        state.parent[top] = child
        state.role[top] = -1
        state.flags[top] |= SWAPPED | TURNED
        _push_below(state, child)
    elif kind == REPLACE_HEAD:
        for node in range(state.registers[NODES]):
            if state.parent[node] == top and node != child and not state.flags[node] & DELETED:
                state.parent[node] = child
        state.parent[child] = state.parent[top]
        state.role[child] = state.role[top]
        _pass_on(state, top, child)
        _remove(state, top)
        state.flags[top] |= MERGED
        state.parent[top] = child
        if state.flags[child] & ON_STACK:
            _pop(state)
        else:
            state.flags[top] &= ~ON_STACK
            state.stack[state.registers[DEPTH] - 1] = child
            state.flags[child] |= ON_STACK
    elif kind == DELETE:
        _remove(state, top)
        _pop(state)
    else:
        _advance(state)


@lean
def _pass_on(state: Any, top: int, node: int) -> None:
    """Mark the edge above a node that takes the place of σ₀ as reversed by Swap, if the edge above σ₀ is."""
    state.flags[node] = (state.flags[node] & ~TURNED) | (state.flags[top] & TURNED)


@lean
def standing_for(state: Any, gold: int) -> int:
    """The node that is mapped to a gold node; −1: there is none."""
    for node in range(state.registers[NODES]):
        if state.gold[node] == gold and not state.flags[node] & DELETED:
            return np.int64(node)
    return np.int64(-1)


@lean
def _unmapped_parent(x: Any, state: Any, top: int, concept: int) -> int:
    """The gold node of an inserted parent: the one above σ₀'s, if it is free and has this concept (§5.1.3)."""
    gold = state.gold[top]
    if gold >= 0:
        above = np.int64(x.gold_parent[gold])
        if above >= 0 and x.gold_label[above] == concept and standing_for(state, above) < 0:
            return above
    return np.int64(-1)


@lean
def _unmapped_child(x: Any, state: Any, top: int, concept: int) -> int:
    """The gold node of an inserted leaf: a free child of σ₀'s gold node with this concept."""
    gold = state.gold[top]
    if gold >= 0:
        for below in range(x.gold_parent.shape[0]):
            if x.gold_parent[below] == gold and x.gold_label[below] == concept and standing_for(state, below) < 0:
                return np.int64(below)
    return np.int64(-1)


@lean
def connected(state: Any, one: int, two: int) -> bool:
    """Whether there is an edge between two nodes."""
    if state.parent[one] == two or state.parent[two] == one:
        return True
    for at in range(0, 3 * state.registers[EXTRA], 3):
        source, target = state.extra[at], state.extra[at + 2]
        if (source == one and target == two) or (source == two and target == one):
            return True
    return False


@lean
def may_swap(x: Any, state: Any, top: int, child: int) -> bool:
    """Whether the edge from σ₀ to β₀ may be reversed: once (§4.3.6), and no node is moved down twice."""
    rules = x.options[SWAPS]
    moved = (rules & _NODE_ONCE) != 0 and (state.flags[top] & SWAPPED) != 0
    turned = (rules & _EDGE_ONCE) != 0 and (state.flags[child] & TURNED) != 0
    return not moved and not turned


@lean
def may_insert(x: Any, state: Any, top: int, concept: int) -> bool:
    """Whether a node with this concept may be inserted above σ₀.

    The rule of the thesis (§4.3.6) forbids the concepts of a parent, child, grandparent and grandchild; ours allows a
    concept once for a word. Either prevents chains of insertions.
    """
    return not _in_family(state, top, concept) if x.options[FAMILY] != 0 else may_insert_leaf(x, state, top, concept)


@lean
def _in_family(state: Any, top: int, concept: int) -> bool:
    """Whether a parent, child, grandparent or grandchild has this concept."""
    parent = np.int64(state.parent[top])
    above = np.int64(state.parent[parent]) if parent >= 0 else np.int64(-1)
    for node in range(state.registers[NODES]):
        if state.concept[node] != concept or state.flags[node] & DELETED:
            continue
        over = np.int64(state.parent[node])
        if node in (parent, above) or over == top or (over >= 0 and state.parent[over] == top):
            return True
    return False


@lean
def may_insert_leaf(x: Any, state: Any, top: int, concept: int) -> bool:
    """Whether no node with this concept belongs to the same word."""
    if x.options[OPEN] != 0:
        return True
    for node in range(state.registers[NODES]):
        same = state.concept[node] == concept and state.anchor[node] == state.anchor[top]
        if same and not state.flags[node] & DELETED:
            return False
    return True


@lean
def is_target(x: Any, state: Any, node: int) -> bool:
    """Whether β₀ may be moved below this node, or, in the second phase, an edge may lead to it."""
    top = sigma(state)
    if state.flags[node] & DELETED or node == top:
        return False
    if state.registers[PHASE] == 0:
        reach = np.int64(x.options[REACH])
        return not is_above(state, beta(state), node) and tree_distance(state, top, node, reach) <= reach
    reach = np.int64(x.options[RANGE])
    return (
        tree_distance(state, top, node, reach) <= reach
        and not connected(state, top, node)
        and not _leads_to(state, node, top)
    )


@lean
def has_target(x: Any, state: Any) -> bool:
    """Whether there is any such node."""
    found = False
    for node in range(state.registers[NODES]):
        found = found or is_target(x, state, np.int64(node))
    return found


@lean
def _leads_to(state: Any, start: int, goal: int) -> bool:
    """Whether a path of edges in their normal direction leads from one node to another; an edge back makes a cycle.

    The path uses the tree and the edges of the second phase; ``taken`` has the reachable ones of these as bits.
    """
    extra = np.int64(state.registers[EXTRA])
    taken = np.int64(0)
    for _ in range(extra + 1):
        if _leads_from(state, start, taken, goal):
            return True
        before = taken
        for edge in range(extra):
            if _leads_from(state, start, taken, np.int64(state.extra[3 * edge])):
                taken |= np.int64(1) << np.int64(edge)
        if taken == before:
            return False
    return False


@lean
def _leads_from(state: Any, start: int, taken: int, goal: int) -> bool:
    """Whether a path through the tree leads from a node, or from the end of an edge that was used."""
    if _leads_down(state, start, goal):
        return True
    for edge in range(state.registers[EXTRA]):
        if taken >> np.int64(edge) & 1 and _leads_down(state, np.int64(state.extra[3 * edge + 2]), goal):
            return True
    return False


@lean
def _leads_down(state: Any, start: int, goal: int) -> bool:
    """Whether all edges on the path through the tree from one node to another have the direction of the path."""
    node = np.int64(start)
    while not is_above(state, node, goal):
        if not state.role[node] & 1:  # not an inverse role: the edge comes down to this node
            return False
        node = np.int64(state.parent[node])
    below = np.int64(goal)
    while below != node:
        if state.role[below] & 1:
            return False
        below = np.int64(state.parent[below])
    return True
