"""A sentence's way from tree to graph, step by step: for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from treewright.amr.concepts import FORMS
from treewright.amr.encoding import Encoder
from treewright.amr.expert import expert_action
from treewright.amr.preparation import Word
from treewright.amr.transitions import (
    DELETED,
    EXTRA,
    INSERT,
    INSERT_LEAF,
    KEEP,
    KINDS,
    NEXT_EDGE,
    NEXT_NODE,
    NODES,
    PHASE,
    beta,
    concept_of,
    kind_of,
    param_of,
    sigma,
)
from treewright.corpora.lemmas import with_lemmas
from treewright.corpora.types import Sentence
from treewright.errors import ConfigError, CorpusError
from treewright.search.compiling import interpreted
from treewright.search.engine import LEARNED, decide, draw_policy, new_scratch
from treewright.search.hashing import seed_random
from treewright.settings import whole_number

if TYPE_CHECKING:
    from treewright.amr.parser import AMRParser

__all__ = ["GraphStep", "trace_graph"]

_decide, _draw_policy, _new_scratch = interpreted(decide), interpreted(draw_policy), interpreted(new_scratch)
_seed_random, _expert_action = interpreted(seed_random), interpreted(expert_action)


@dataclass(frozen=True)
class GraphStep:
    """A state and what is done in it. ``expert`` is what the expert would do, where there is a gold graph.

    The words of the tree are written as they are in the sentence until they have a concept; ``graph`` is the tree in
    PENMAN notation, with relations of the dependency tree where edges have no role yet.
    """

    stack: tuple[str, ...]
    buffer: tuple[str, ...]
    action: str
    expert: str | None = None
    scores: dict[str, float] = field(default_factory=dict)
    graph: str = ""


def trace_graph(parser: AMRParser, sentence: Sentence, *, top: int = 3) -> list[GraphStep]:
    """The steps of a parser on a sentence; the last one is the finished graph, with no action."""
    top = whole_number("top", top, 0)
    if not isinstance(sentence, Sentence):
        raise ConfigError(f"what is traced is a Sentence with a dependency tree, not {type(sentence).__name__}")
    example = parser._example(with_lemmas(sentence, parser.lemmas_), parser.encoder_.forms)
    if not example.words:
        raise CorpusError("a sentence without words; remove it", path=sentence.path, line=sentence.line)
    packed, [own] = parser.encoder_.pack([example], parser._options())
    task, x = packed.task.plain(), packed.instance(0)
    show = _Shown(parser.encoder_, example.words, own, x)
    state = task.state_view(np.zeros(int(task.state_size(len(example.words))), np.int32), len(example.words))
    task.initial(x, state)
    scratch = _new_scratch(task.n_actions, task.max_features, True)
    _seed_random(scratch.random, parser.seed, 0, 0)
    policy = _draw_policy(parser.policy_.mixture, LEARNED, scratch.random)
    steps: list[GraphStep] = []
    while not task.is_final(x, state):
        n = int(task.actions(x, state, scratch.actions))
        action = int(_decide(task, x, state, parser.policy_.weights, policy, scratch))
        scored = zip(scratch.actions[:n].tolist(), scratch.scores[:n].tolist(), strict=True) if n > 1 else ()
        best = sorted(scored, key=lambda item: -item[1])[:top]
        steps.append(
            GraphStep(
                show.stack(state),
                show.buffer(state),
                show.action(state, action),
                None if example.gold is None else show.action(state, int(_expert_action(x, state))),
                {show.action(state, other): float(score) for other, score in best},
                show.graph(state),
            )
        )
        task.step(x, state, action)
    return [*steps, GraphStep((), (), "", graph=show.graph(state))]


class _Shown:
    """States and actions in words."""

    def __init__(self, encoder: Encoder, words: Sequence[Word], own: Sequence[str], x: Any) -> None:
        self.words, self.x, self.encoder = words, x, encoder
        self.labels = [*encoder.labels, *own]

    def node(self, state: Any, node: int) -> str:
        """A node by its concept, or else its word."""
        concept = int(state.concept[node])
        return self.labels[concept] if concept >= 0 else self.words[node].form

    def stack(self, state: Any) -> tuple[str, ...]:
        """σ, its top last; in the second phase the node whose edges are looked at."""
        if state.registers[PHASE]:
            return (self.node(state, int(sigma(state))),)
        return tuple(self.node(state, int(node)) for node in state.stack[: state.registers[0]])

    def buffer(self, state: Any) -> tuple[str, ...]:
        """β, its first one first."""
        first = int(beta(state))
        if first < 0:
            return ()
        top = int(sigma(state))
        return tuple(
            self.node(state, node)
            for node in range(first, state.registers[NODES])
            if state.parent[node] == top and state.role[node] < 0 and not state.flags[node] & DELETED
        )

    def action(self, state: Any, action: int) -> str:
        """An action with its parameter, as in ``NextEdge(:ARG0)``."""
        if action < 0:
            return "any"
        kind, param = int(kind_of(action)), int(param_of(action)) - 1
        if param < 0:
            return KINDS[kind]
        if kind == NEXT_EDGE:
            return f"NextEdge({self.encoder.role_name(param)})"
        if kind == NEXT_NODE:
            node = int(sigma(state))
            if param == KEEP or node >= len(self.words):
                return f"NextNode({self.node(state, node)})"
            concept = int(concept_of(self.x, node, param))
            how = f", {FORMS[param]}" if param < len(FORMS) else ""
            return f"NextNode({self.labels[concept] if concept >= 0 else '?'}{how})"
        if kind == INSERT:
            return f"Insert({self.labels[param]})"
        if kind == INSERT_LEAF:
            role, concept = self.encoder.leaf_pairs[param]
            return f"InsertLeaf({self.encoder.role_name(role)} {self.labels[concept]})"
        return f"Target({self.node(state, param)})"

    def graph(self, state: Any) -> str:
        """The tree as it is, in PENMAN notation, and the edges of the second phase."""
        children: dict[int, list[int]] = {}
        for node in range(state.registers[NODES]):
            if not state.flags[node] & DELETED:
                children.setdefault(int(state.parent[node]), []).append(node)

        def written(node: int, depth: int) -> str:
            below = "".join(
                f"\n{'   ' * depth}{self._edge(state, child)} {written(child, depth + 1)}"
                for child in children.get(node, ())
            )
            below += "".join(
                f"\n{'   ' * depth}{self.encoder.role_name(role)} n{target}"
                for source, role, target in state.extra[: 3 * state.registers[EXTRA]].reshape(-1, 3).tolist()
                if source == node
            )
            return f"(n{node} / {self.node(state, node)}{below})"

        return written(children[-1][0], 1)

    def _edge(self, state: Any, node: int) -> str:
        role = int(state.role[node])
        if role >= 0:
            return self.encoder.role_name(role)
        return f"~{self.words[node].relation}" if node < len(self.words) else "~"
