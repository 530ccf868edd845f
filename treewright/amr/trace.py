"""Meaning graphs step by step: a dependency tree is turned into a graph, action by action."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from treewright.amr.concepts import FORMS
from treewright.amr.encoding import Encoder
from treewright.amr.expert import expert_action, expert_kind
from treewright.amr.feature_names import feature_names
from treewright.amr.preparation import Word
from treewright.amr.task import GraphParsing
from treewright.amr.transitions import (
    DELETED,
    DEPTH,
    EXTRA,
    INSERT,
    INSERT_LEAF,
    JOINT,
    KEEP,
    KINDS,
    LABELLING,
    NEXT_EDGE,
    NEXT_NODE,
    NODES,
    PENDING,
    PHASE,
    beta,
    concept_of,
    kind_of,
    param_of,
    sigma,
)
from treewright.corpora import Graph, Sentence
from treewright.corpora.lemmas import with_lemmas
from treewright.errors import CorpusError
from treewright.search.compiling import interpreted
from treewright.search.stepping import Decision, Drawing, episode_steps, expert_choice
from treewright.tracing import Trace

if TYPE_CHECKING:
    from treewright.amr.parser import AMRParser

__all__ = ["ANY", "trace_expert", "trace_graph"]

ANY = "any"
"""The expert's action in a trace if all actions are equally good, because none can lead to the gold graph."""

_expert_action, _expert_kind = interpreted(expert_action), interpreted(expert_kind)
_is_final = interpreted(GraphParsing.is_final)
_loss, _sigma, _beta = interpreted(GraphParsing.loss), interpreted(sigma), interpreted(beta)
_kind_of, _param_of, _concept_of = interpreted(kind_of), interpreted(param_of), interpreted(concept_of)


def trace_graph(parser: AMRParser, sentence: Sentence, gold: Sentence | None, follow: str) -> Trace:
    """The actions of a parser from the dependency tree of a sentence to its graph.

    With a ``gold`` graph, an action costs 0 if the expert takes it, or if all actions are equally good, and 1
    otherwise.
    """
    if gold is not None and gold.graph is None:
        raise CorpusError("the gold sentence has no graph", path=gold.path, line=gold.line)
    asked = replace(with_lemmas(sentence, parser.lemmas_), graph=None if gold is None else gold.graph)
    example = parser._asked(asked)
    packed, [own] = parser._pack([example])
    steps, state = episode_steps(
        packed,
        _Graphs(parser.encoder_, example.words, own, gold=gold is not None),
        policy=parser.policy_,
        seed=parser.seed,
        gold=gold is not None,
        choose=expert_choice if follow == "gold" else None,
    )
    graph = parser.encoder_.graph(state, example.words, own)
    about = {"model": type(parser).__name__, "reentrance": parser.reentrance, "follow": follow}
    return Trace(parser.task, "graph", sentence.forms, steps, _result(graph), gold is not None, about)


def trace_expert(parser: AMRParser, sentence: Sentence) -> Trace:
    """The actions of the expert from the dependency tree of a sentence to its gold graph, without a model.

    Without training data, the other candidates are the expert's actions elsewhere in the sentence.
    """
    _, encoder, [example] = parser._encoded([sentence])
    packed, [own] = encoder.pack([example], parser._options(open_to_gold=True))
    drawing = _Graphs(encoder, example.words, own, gold=True)
    steps, state = episode_steps(packed, drawing, gold=True, choose=expert_choice)
    about = {"model": "expert", "reentrance": parser.reentrance, "follow": "gold"}
    result = _result(encoder.graph(state, example.words, own))
    return Trace(parser.task, "graph", sentence.forms, steps, result, True, about)


def _result(graph: Graph) -> dict[str, Any]:
    alignments = {node: list(at) if isinstance(at, tuple) else at for node, at in graph.alignments.items()}
    return {"graph": graph.to_penman(), "alignments": alignments}


class _Graphs(Drawing):
    """States as trees of nodes with further edges, and actions with their parameters."""

    def __init__(self, encoder: Encoder, words: Sequence[Word], own: Sequence[str], *, gold: bool) -> None:
        self.words, self.encoder, self.gold = words, encoder, gold
        self.labels = [*encoder.labels, *own]

    def state(self, x: Any, state: Any) -> dict[str, Any]:
        """The nodes by their concepts, or else their words, the edges between them, σ with its top last, and β.

        In the second phase σ is the node whose edges are decided.
        """
        alive = [node for node in range(int(state.registers[NODES])) if not state.flags[node] & DELETED]
        stack, buffer = ([], []) if _is_final(x, state) else (self._stack(state), self._buffer(state))
        return {
            "nodes": [
                {
                    "node": node,
                    "label": self.node(state, node),
                    "is_concept": bool(state.concept[node] >= 0),
                    "words": list(self.words[node].positions) if node < len(self.words) else [],
                }
                for node in alive
            ],
            "edges": [self._edge(state, node) for node in alive if state.parent[node] >= 0] + self._further(state),
            "stack": stack,
            "buffer": buffer,
            "focus": stack[-1] if stack else None,
            "phase": "edges" if state.registers[PHASE] else "tree",
            "pending": self._pending(int(state.registers[PENDING])),
        }

    def measures(self, x: Any, state: Any) -> dict[str, float]:
        """The loss of the finished graph."""
        return {"loss": float(_loss(x, state))} if self.gold and _is_final(x, state) else {}

    def judged(self, decision: Decision, names: Sequence[str]) -> tuple[Sequence[float], tuple[str, ...]]:
        """The expert's action, which need not be among the candidates; sometimes all actions are equally good."""
        wanted = int(_expert_action(decision.x, decision.state))
        if wanted < 0 and decision.x.options[JOINT] and not decision.state.registers[PENDING]:
            kind = int(_expert_kind(decision.x, decision.state))
            return [float(_kind_of(action) != kind) for action in decision.actions], (f"{KINDS[kind]}({ANY})",)
        if wanted < 0:
            return [0.0] * len(names), (ANY,)
        costs = [0.0 if action == wanted else 1.0 for action in decision.actions]
        return costs, (self.action(decision.x, decision.state, wanted),)

    def node(self, state: Any, node: int) -> str:
        """A node by its concept, or else its word."""
        concept = int(state.concept[node])
        return self.labels[concept] if concept >= 0 else self.words[node].form

    def _stack(self, state: Any) -> list[int]:
        if state.registers[PHASE]:
            return [int(_sigma(state))]
        return [int(node) for node in state.stack[: state.registers[DEPTH]]]

    def _buffer(self, state: Any) -> list[int]:
        first, top = int(_beta(state)), int(_sigma(state))
        return [
            node
            for node in range(first, int(state.registers[NODES]))
            if first >= 0 and state.parent[node] == top and state.role[node] < 0 and not state.flags[node] & DELETED
        ]

    def _edge(self, state: Any, node: int) -> dict[str, Any]:
        """The edge to a node from its parent: its role, or else the relation of the dependency tree."""
        role = int(state.role[node])
        return {
            "source": int(state.parent[node]),
            "target": node,
            "role": self.encoder.role_name(role) if role >= 0 else None,
            "relation": self.words[node].relation if node < len(self.words) else None,
            "in_tree": True,
        }

    def _further(self, state: Any) -> list[dict[str, Any]]:
        """The edges of the second phase."""
        triples = state.extra[: 3 * state.registers[EXTRA]].reshape(-1, 3).tolist()
        return [
            {"source": s, "target": t, "role": self.encoder.role_name(role), "relation": None, "in_tree": False}
            for s, role, t in triples
        ]

    @staticmethod
    def _pending(pending: int) -> str | None:
        """The action whose parameter is chosen next."""
        return None if pending == 0 else "Reentrance" if pending == LABELLING else KINDS[pending - 1]

    def features(self, x: Any, state: Any, count: int) -> Sequence[str]:
        """The templates of the features."""
        return feature_names(x, state, count)

    def action(self, x: Any, state: Any, action: int) -> str:
        """An action with its parameter, as in ``NextEdge(:ARG0)``."""
        kind, param = int(_kind_of(action)), int(_param_of(action)) - 1
        if param < 0:
            return KINDS[kind]
        if kind == NEXT_EDGE:
            return f"NextEdge({self.encoder.role_name(param)})"
        if kind == NEXT_NODE:
            node = int(_sigma(state))
            if param == KEEP or node >= len(self.words):
                return f"NextNode({self.node(state, node)})"
            concept = int(_concept_of(x, node, param))
            how = f", {FORMS[param]}" if param < len(FORMS) else ""
            return f"NextNode({self.labels[concept] if concept >= 0 else '?'}{how})"
        if kind == INSERT:
            return f"Insert({self.labels[param]})"
        if kind == INSERT_LEAF:
            role, concept = self.encoder.leaf_pairs[param]
            return f"InsertLeaf({self.encoder.role_name(role)} {self.labels[concept]})"
        return f"{KINDS[kind]}({self.node(state, param)})"  # Target, or Reattach and Reentrance if choices are joint
