"""The transitions of AMR parsing as slow, obvious Python: Table 4.1 of Goodman (2015), nodes as objects.

The changes are those that ``treewright.amr.transitions`` states: β is worked off before anything is done to a node, any
leaf may be inserted, and an action with a parameter comes in two parts, unless choices are joint. There are small
worlds to try it in, too.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st

from treewright.amr.concepts import FORMS, Forms
from treewright.amr.encoding import Encoder, Example, Parameters
from treewright.amr.preparation import Word
from treewright.amr.transitions import KINDS, LEMMA, kind_of, param_of, sigma
from treewright.search import interpreted, trajectory

_kind_of, _param_of, _sigma = interpreted(kind_of), interpreted(param_of), interpreted(sigma)

# ---- the twin

WITH_PARAMETER = ("NextEdge", "NextNode", "Reattach", "Insert", "InsertLeaf", "Reentrance")


@dataclass(eq=False)
class Node:
    """A node of the graph; equal to itself only."""

    number: int
    parent: Node | None = None
    role: int = -1
    concept: int = -1
    removed: bool = False
    swapped: bool = False
    turned: bool = False  # of the edge above: was it swapped?
    reattached: bool = False
    has_above: bool = False
    leaves: int = 0


@dataclass
class Twin:
    """A state. ``realised[word][form]`` is the concept that a form gives, ``leaf_pairs`` a role and a concept each."""

    heads: list[int]
    order: list[int]
    realised: list[list[int]]
    leaf_pairs: list[tuple[int, int]]
    nodes: list[Node] = field(default_factory=list)
    stack: list[Node] = field(default_factory=list)
    cursor: int = 0
    given: int = 0
    pending: str = ""
    kappa: Node | None = None
    extra: list[tuple[int, int, int]] = field(default_factory=list)
    actions: int = 0

    def __post_init__(self):
        self.nodes = [Node(k) for k in range(len(self.heads))]
        for node, head in zip(self.nodes, self.heads, strict=True):
            node.parent = self.nodes[head] if head >= 0 else None
        self.stack = [self.nodes[k] for k in reversed(self.order)]

    def there(self):
        return [node for node in self.nodes if not node.removed]

    def children(self, node):
        return [other for other in self.there() if other.parent is node]

    @property
    def top(self):
        if self.stack:
            return self.stack[-1]
        later = [node for node in self.there() if node.number >= self.cursor]
        return later[0] if later else None

    @property
    def buffer(self):
        return [node for node in self.children(self.top) if node.role < 0] if self.stack else []

    def act(self, action):
        """Choose an action, or the parameter of the one that was chosen: parameters are written with 1 added."""
        kind, param, pending = KINDS[_kind_of(action)], int(_param_of(action)) - 1, self.pending
        self.pending = ""
        self.carry_out(kind, param, pending)
        self.actions += not self.pending and kind != "Done"

    def carry_out(self, kind, param, pending):
        top, first = self.top, self.buffer[0] if self.buffer else None
        if param < 0 and kind in WITH_PARAMETER:
            self.pending = kind
        elif kind == "NextEdge" and pending == "label":
            self.extra.append((top.number, param, self.kappa.number))
            self.given += 1
        elif kind == "NextEdge":
            first.role = param
        elif kind == "NextNode":
            if top.concept < 0:
                top.concept = self.realised[top.number][param] if param < len(FORMS) else param - len(FORMS)
            self.stack.pop()
        elif kind == "Swap":
            first.parent, first.role, first.turned = top.parent, top.role, top.turned
            top.parent, top.role, top.turned, top.swapped = first, -1, True, True
            self.insert_second(first)
        elif kind == "ReplaceHead":
            for other in self.children(top):
                other.parent = first
            first.parent, first.role, first.turned = top.parent, top.role, top.turned
            top.removed, top.parent = True, first
            self.stack.pop()
            if first not in self.stack:
                self.stack.append(first)
        elif kind == "Reattach" or pending == "Reattach":
            first.parent, first.reattached, first.turned = self.nodes[param], True, False
            self.insert_second(self.nodes[param])
        elif kind in ("Target", "Reentrance"):
            self.kappa, self.pending = self.nodes[param], "label"
        elif kind == "Delete":
            top.removed = True
            self.stack.pop()
        elif kind == "Insert":
            new = Node(len(self.nodes), top.parent, top.role, param, turned=top.turned)
            self.nodes.append(new)
            top.parent, top.role, top.turned, top.has_above = new, -1, False, True
            self.insert_second(new)
        elif kind == "InsertLeaf":
            role, concept = self.leaf_pairs[param]
            self.nodes.append(Node(len(self.nodes), top, role, concept))
            top.leaves += 1
        else:
            assert kind == "Done"
            self.cursor, self.given = top.number + 1, 0

    def insert_second(self, node):
        """As σ₁, unless it is in σ already."""
        if node not in self.stack:
            self.stack.insert(len(self.stack) - 1, node)

    # ---- which kinds of actions there are

    def way(self, node):
        """A node and those above it."""
        found = []
        while node is not None:
            found.append(node)
            node = node.parent
        return found

    def distance(self, one, two):
        ups, others = self.way(one), self.way(two)
        return min(ups.index(node) + others.index(node) for node in ups if node in others)

    def targets(self, reach, span):
        """The nodes that κ can be."""
        top = self.top
        if self.stack:
            first = self.buffer[0]
            return [
                node
                for node in self.there()
                if node is not top and first not in self.way(node) and self.distance(top, node) <= reach
            ]
        edges = self.edges()
        return [
            node
            for node in self.there()
            if node is not top
            and self.distance(top, node) <= span
            and not {(top.number, node.number), (node.number, top.number)} & {(s, t) for s, _, t in edges}
            and top.number not in self.reached(node.number, edges)
        ]

    def edges(self):
        """All edges in their normal direction; odd roles are inverse ones."""
        found = list(self.extra)
        for node in self.there():
            if node.parent is not None:
                source, target = (node, node.parent) if node.role & 1 else (node.parent, node)
                found.append((source.number, node.role & ~1, target.number))
        return found

    @staticmethod
    def reached(start, edges):
        found, waiting = {start}, [start]
        while waiting:
            source = waiting.pop()
            fresh = {t for s, _, t in edges if s == source} - found
            found |= fresh
            waiting += fresh
        return found

    def kinds(self, options, room, extra_room):
        """The kinds of actions that Table 4.1 and §4.3.6 allow, given that all parameters are always offered."""
        reach, span, swaps = options[4:7]
        top, buffer = self.top, self.buffer
        if self.pending:
            return {{"label": "NextEdge", "Reattach": "Target", "Reentrance": "Target"}.get(self.pending, self.pending)}
        if not self.stack:
            more = self.given < 2 and len(self.extra) < extra_room and self.targets(reach, span)
            return {"Done"} | ({"Reentrance"} if more else set())
        if buffer:
            found = {"NextEdge"}
            found |= {"ReplaceHead"} if top.concept < 0 else set()
            swap = not (swaps & 1 and top.swapped) and not (swaps & 2 and buffer[0].turned)
            found |= {"Swap"} if swap else set()
            return found | ({"Reattach"} if not buffer[0].reattached and self.targets(reach, span) else set())
        found = {"NextNode"}
        found |= {"Delete"} if top.concept < 0 and not self.children(top) and len(self.there()) > 1 else set()
        if len(self.nodes) < room:
            found |= {"Insert"} if not top.has_above else set()
            found |= {"InsertLeaf"} if top.leaves < 3 else set()
        return found


def agree(twin, state):
    """Is a state of the task that of the twin?"""
    registers = state.registers
    nodes = int(registers[1])
    assert nodes == len(twin.nodes)
    assert state.parent[:nodes].tolist() == [-1 if node.parent is None else node.parent.number for node in twin.nodes]
    assert state.role[:nodes].tolist() == [node.role for node in twin.nodes]
    assert state.concept[:nodes].tolist() == [node.concept for node in twin.nodes]
    assert [bool(flag & 2) for flag in state.flags[:nodes]] == [node.removed for node in twin.nodes]
    assert int(registers[2]) == len(twin.there())
    assert int(registers[11]) == twin.actions
    assert int(_sigma(state)) == (-1 if twin.top is None else twin.top.number)
    if twin.stack:
        assert state.stack[: registers[0]].tolist() == [node.number for node in twin.stack]
        assert registers[3] == 0
        first = [node.number for node in twin.buffer]
        there = [
            k
            for k in range(nodes)
            if state.parent[k] == twin.top.number and state.role[k] < 0 and not state.flags[k] & 2
        ]
        assert there == first
    else:
        assert registers[3] == 1
    assert state.extra[: 3 * registers[6]].tolist() == [part for edge in twin.extra for part in edge]


# ---- small worlds: any tree, and parameters that are offered everywhere

LABELS = ["see-01", "thing", "name", '"Tom"', "-", "7"]
ROLES = [":mod", ":ARG0", ":op", ":consist-of"]


def options(*, loss=0, open_to_gold=0, reentrance=1, reach=6, span=4, swaps=3, family=0, joint=0, groups=0):
    return [len(FORMS), loss, open_to_gold, reentrance, reach, span, swaps, family, joint, groups]


def words_of(heads, forms=None):
    forms = forms or [f"word{k % 3}" for k in range(len(heads))]
    return [
        Word(form, form.lower(), "NOUN", "NN", "dep" if head >= 0 else "root", head, (k,))
        for k, (head, form) in enumerate(zip(heads, forms, strict=True))
    ]


def generous_encoder(examples, *, inserts=LABELS[:3], leaves=LABELS, labels=LABELS, roles=ROLES):
    """An encoder that offers every concept, role, node and leaf everywhere."""
    encoder = Encoder(Forms())
    encoder.learn(examples)
    for label in labels:
        encoder.labels.setdefault(label, len(encoder.labels))
        encoder.keys.setdefault("\t" + label, len(encoder.keys))
    for role in roles:
        encoder.roles.setdefault(role, len(encoder.roles))
    any_role = Counter(range(2 * len(encoder.roles)))
    encoder.leaf_pairs = [(2 * (k % len(roles)), encoder.labels[label]) for k, label in enumerate(leaves)]
    everywhere = range(len(encoder.keys))
    concepts = Counter({LEMMA: 2} | {len(FORMS) + k: 1 for k in range(len(encoder.labels))})
    above = Counter({encoder.labels[label]: 1 for label in inserts})
    below = Counter(range(len(encoder.leaf_pairs)))
    encoder.parameters = Parameters(
        forms=dict.fromkeys(everywhere, concepts),
        inserts=dict.fromkeys(everywhere, above),
        leaves=dict.fromkeys(everywhere, below),
        roles_out=dict.fromkeys(everywhere, any_role),
        roles_in=dict.fromkeys(everywhere, any_role),
    )
    return encoder


def world(heads, *, example=None, encoder=None, **settings):
    """The interpreted task, an instance, its initial state, its twin, and what makes a graph of a state."""
    example = example or Example(words_of(heads))
    encoder = encoder or generous_encoder([example])
    chosen = options(**settings)
    packed, [own] = encoder.pack([example], chosen)
    task, x = packed.task.plain(), packed.instance(0)
    n = len(example.words)
    state = task.state_view(np.zeros(int(task.state_size(n)), np.int32), n)
    task.initial(x, state)
    return task, x, state, twin_of(x, encoder), lambda final: encoder.graph(final, example.words, own)


def twin_of(x, encoder):
    return Twin(
        x.heads.tolist(), x.order.tolist(), x.realised.reshape(x.n, len(FORMS)).tolist(), list(encoder.leaf_pairs)
    )


def offered(task, x, state):
    out = np.zeros(task.n_actions, np.int32)
    return out[: int(task.actions(x, state, out))].tolist()


def expert_trajectory(packed, i):
    """As :func:`treewright.search.trajectory` has it, interpreted."""
    return trajectory(packed.plain(), i, None)


@st.composite
def trees(draw, most=6):
    """Heads of any tree, crossing arcs and all."""
    n = draw(st.integers(1, most))
    order = draw(st.permutations(range(n)))
    heads = [-1] * n
    for k in range(1, n):
        heads[order[k]] = order[draw(st.integers(0, k - 1))]
    return heads


def chain(n):
    return [-1, *range(n - 1)]


def star(n):
    return [-1] + [0] * (n - 1)


def is_acyclic(graph):
    """Does no way along edges lead back to where it began?"""
    below = {variable: [t for s, _, t in graph.edges if s == variable] for variable in graph.variables}
    while below:
        leaves = [variable for variable, targets in below.items() if not any(t in below for t in targets)]
        if not leaves:
            return False
        for variable in leaves:
            del below[variable]
    return True
