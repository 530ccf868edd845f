"""Sentences and gold graphs as arrays for the transitions, final states as graphs, and the parameters of actions.

The actions of the expert in the training data determine which concepts, roles and leaves are offered (§4.3.5 of Goodman
2015): concepts, inserted nodes and inserted leaves by the lemma of the word; roles by the lemmas at both ends of the
edge. The lemma of an inserted node is its concept.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from treewright.amr.concepts import FORMS, Forms, clean_concept, is_constant
from treewright.amr.graphs import number_ops
from treewright.amr.losses import Coded, coded_graph, label_codes, role_codes
from treewright.amr.preparation import GoldTree, Word
from treewright.amr.task import GraphParsing
from treewright.amr.transitions import (
    DELETED,
    EXTRA,
    INSERT,
    INSERT_LEAF,
    KAPPA,
    KEEP,
    LABELLING,
    LEMMA,
    NEXT_EDGE,
    NEXT_NODE,
    NODES,
    PENDING,
    beta,
    kind_of,
    param_of,
    sigma,
)
from treewright.corpora.graphs import NOT_INVERSE, Graph, Triple
from treewright.models import pack_strings, unpack_strings
from treewright.search import Packed, Trajectory, interpreted, string_hash

__all__ = ["Encoder", "Example", "Parameters", "lemma_of"]

Ints = npt.NDArray[np.int32]

_SENSE = re.compile(r"-\d\d+$")
_RARE = 5  # lemmas seen less often are offered the usual forms too
_COMMON = {"roles": 24, "inserts": 12, "leaves": 6}  # the numbers of most common ones that are always offered
_TABLES = ("forms", "inserts", "leaves", "roles_out", "roles_in")
_UNSEEN = 0  # the key of a lemma that was not seen

# Python calls them here: compiled, every process that trains would compile them again
_beta: Any = interpreted(beta)
_kind_of: Any = interpreted(kind_of)
_param_of: Any = interpreted(param_of)
_sigma: Any = interpreted(sigma)


class Example(NamedTuple):
    """A sentence for the transitions: its words, and for training the gold graph and its alignment with the words."""

    words: list[Word]
    gold: GoldTree | None = None
    gold_of: list[int] | None = None
    signs: int = 0
    number: int = 0  # of a training sentence, where "Shenanigan" features are wanted
    coded: Coded | None = None  # the gold graph for the losses, if it was made before


@dataclass
class Parameters:
    """Counts of the expert's parameters, by the key of a lemma or of the concept of an inserted node."""

    forms: dict[int, Counter[int]] = field(default_factory=dict)
    inserts: dict[int, Counter[int]] = field(default_factory=dict)
    leaves: dict[int, Counter[int]] = field(default_factory=dict)
    roles_out: dict[int, Counter[int]] = field(default_factory=dict)
    roles_in: dict[int, Counter[int]] = field(default_factory=dict)

    def common(self, name: str, most: int) -> list[int]:
        """The parameters that occur with most keys."""
        rows = self.roles_out if name == "roles" else getattr(self, name)
        counts = Counter(parameter for row in rows.values() for parameter in row)
        return [parameter for parameter, _ in counts.most_common(most)]

    def table(self, name: str, keys: int) -> tuple[Ints, npt.NDArray[np.int64]]:
        """The parameters of all keys, concatenated, the most frequent of a key first, and the offset of each key."""
        rows = [[p for p, _ in getattr(self, name).get(key, Counter()).most_common()] for key in range(keys)]
        at = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        return np.array([p for row in rows for p in row], np.int32), at


class Encoder:
    """Numbers concepts, roles and lemmas, and converts sentences to arrays."""

    def __init__(self, forms: Forms) -> None:
        self.forms = forms
        self.labels: dict[str, int] = {}
        self.roles: dict[str, int] = {":mod": 0}  # the first one is offered where nothing is known
        self.keys: dict[str, int] = {"": _UNSEEN}
        self.lemma_counts: Counter[str] = Counter()
        self.label_counts: Counter[str] = Counter()
        self.leaf_pairs: list[tuple[int, int]] = []
        self.parameters = Parameters()
        self._tables: dict[str, Any] | None = None  # made once for all sentences, when they are first needed

    # ---- learning the numbers

    def learn(self, examples: Iterable[Example]) -> None:
        """Number the concepts and roles of the training data, and the leaves of gold graphs."""
        pairs: dict[tuple[int, int], None] = {}
        self._tables = None
        for example in examples:
            gold = example.gold
            for word in example.words:
                self.lemma_counts[lemma_of(word)] += 1
                self.keys.setdefault(lemma_of(word), len(self.keys))
            if gold is None:
                continue
            for label in gold.labels:
                self.label_counts[label] += 1
                self.labels.setdefault(label, len(self.labels))
                self.keys.setdefault(_inserted(label), len(self.keys))
            for role in (*filter(None, gold.roles), *(role for _, role, _ in gold.further)):
                self.roles.setdefault(_base(role)[0], len(self.roles))
            inner = set(gold.parents)
            for node, (label, role) in enumerate(zip(gold.labels, gold.roles, strict=True)):
                if node not in inner and role:
                    pairs[self.role_number(role), self.labels[label]] = None
        self.leaf_pairs = list(pairs)

    def collect(self, packed: Packed, trajectories: Iterable[Trajectory]) -> None:
        """Count the parameters of the expert's actions (§4.3.5), and drop leaves that it never inserted."""
        found = Parameters()
        concept_keys = self._concept_keys()
        for i, trajectory in enumerate(trajectories):
            x = packed.instance(i)
            for action, state in zip(trajectory.actions, trajectory.states, strict=False):
                param = int(_param_of(action)) - 1
                if param < 0:
                    continue
                top, kind = int(_sigma(state)), int(_kind_of(action))
                key = int(x.keys[top] if top < x.n else concept_keys[state.concept[top]])
                if kind == NEXT_NODE and top < x.n and param != KEEP:
                    found.forms.setdefault(key, Counter())[param] += 1
                elif kind == INSERT:
                    found.inserts.setdefault(key, Counter())[param] += 1
                elif kind == INSERT_LEAF:
                    found.leaves.setdefault(key, Counter())[param] += 1
                elif kind == NEXT_EDGE:
                    labelling = state.registers[PENDING] == LABELLING
                    child = int(state.registers[KAPPA]) if labelling else int(_beta(state))
                    below = int(x.keys[child] if child < x.n else concept_keys[state.concept[child]])
                    found.roles_out.setdefault(key, Counter())[param] += 1
                    found.roles_in.setdefault(below, Counter())[param] += 1
        used = sorted({pair for leaves in found.leaves.values() for pair in leaves})
        number = {pair: k for k, pair in enumerate(used)}
        self.leaf_pairs = [self.leaf_pairs[pair] for pair in used]
        found.leaves = {
            key: Counter({number[pair]: count for pair, count in leaves.items()})
            for key, leaves in found.leaves.items()
        }
        self.parameters, self._tables = found, None

    # ---- the model file

    def to_arrays(self) -> dict[str, Any]:
        """The learned tables as arrays."""
        arrays: dict[str, Any] = {}
        strings = {
            "labels": list(self.labels),
            "roles": list(self.roles),
            "keys": list(self.keys),
            "frames": sorted(self.forms.frames),
            "verbalised": list(self.forms.verbalisations),
            "verbs": ["\t".join(verbs) for verbs in self.forms.verbalisations.values()],
        }
        for name, values in strings.items():
            arrays |= pack_strings(values, name)
        arrays["lemma_counts"] = np.array([self.lemma_counts[key] for key in self.keys], np.int32)
        arrays["label_counts"] = np.array([self.label_counts[label] for label in self.labels], np.int32)
        arrays["leaf_pairs"] = np.array(self.leaf_pairs, np.int32).reshape(-1, 2)
        for name in _TABLES:
            arrays[name] = np.array(
                [
                    (key, parameter, count)
                    for key, counts in getattr(self.parameters, name).items()
                    for parameter, count in counts.items()
                ],
                np.int32,
            ).reshape(-1, 3)
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Encoder:
        """The encoder whose arrays these are."""
        verbs = [text.split("\t") for text in unpack_strings(arrays, "verbs")]
        verbalised = unpack_strings(arrays, "verbalised")
        encoder = cls(Forms(unpack_strings(arrays, "frames"), dict(zip(verbalised, verbs, strict=True))))
        for name in ("labels", "roles", "keys"):
            setattr(encoder, name, {text: number for number, text in enumerate(unpack_strings(arrays, name))})
        for name, known in (("lemma_counts", encoder.keys), ("label_counts", encoder.labels)):
            setattr(encoder, name, Counter(dict(zip(known, arrays[name].tolist(), strict=True))))
        encoder.leaf_pairs = [(role, label) for role, label in arrays["leaf_pairs"].tolist()]
        for name in _TABLES:
            table = getattr(encoder.parameters, name)
            for key, parameter, count in arrays[name].tolist():
                table.setdefault(key, Counter())[parameter] = count
        encoder._tables = encoder._make_tables()  # now, so that nothing changes while parsing
        return encoder

    # ---- arrays

    def role_number(self, role: str) -> int:
        """Twice the number of the role, plus 1 for its inverse; −1 for an unknown role."""
        base, is_inverse = _base(role)
        number = self.roles.get(base, -1)
        return number if number < 0 else 2 * number + is_inverse

    def role_name(self, number: int) -> str:
        """The role of a number."""
        return list(self.roles)[number >> 1] + ("-of" if number & 1 else "")

    def _concept_keys(self) -> Ints:
        return np.array([self.keys.get(_inserted(label), _UNSEEN) for label in self.labels], np.int32)

    def task(self, options: Sequence[int]) -> GraphParsing:
        """The task with the parameters learned so far."""
        if self._tables is None:
            self._tables = self._make_tables()
        return GraphParsing({"options": np.array(options, np.int32), **self._tables})

    def _make_tables(self) -> dict[str, Any]:
        keys = len(self.keys)
        tables: dict[str, Any] = {}
        for name in ("inserts", "leaves", "roles_out", "roles_in"):
            tables[name], tables[name + "_at"] = self.parameters.table(name, keys)
        tables["leaf_pairs"] = np.array(self.leaf_pairs, np.int32).reshape(-1)
        for name, most in _COMMON.items():
            tables[f"common_{name}"] = np.array(self.parameters.common(name, most), np.int32)
        tables["concept_keys"] = self._concept_keys()
        counts = np.array([self.label_counts[label] for label in self.labels], np.int64)
        sorts = [1 if _SENSE.search(label) else 2 if is_constant(label) else 0 for label in self.labels]
        tables["concept_sorts"] = np.array(sorts, np.int32)
        tables["concept_classes"] = np.searchsorted([1, 2, 5, 20], counts, side="right").astype(np.int32)
        tables["label_codes"] = np.array(label_codes([*self.labels]), np.int32)
        tables["role_codes"] = np.array(role_codes([*self.roles]), np.int32)
        return tables

    def pack(self, examples: Sequence[Example], options: Sequence[int]) -> tuple[Packed, list[list[str]]]:
        """The arrays of sentences, and for each the concepts that only it has, numbered after the known labels."""
        own: list[list[str]] = []
        names = list(self.labels)
        columns: dict[str, list[Any]] = {name: [] for name in GraphParsing.instance}
        for example in examples:
            local: dict[str, int] = {}
            for name, values in self._arrays(example, local, names).items():
                columns[name].append(np.asarray(values, np.int32))
            own.append(list(local))
        flat: dict[str, Any] = {}
        for name, column in columns.items():
            flat[name] = np.concatenate(column) if column else np.zeros(0, np.int32)
            flat[name + "_at"] = np.cumsum([0, *map(len, column)], dtype=np.int64)
        lengths = np.array([len(example.words) for example in examples], np.int32)
        return self.task(options).packed(lengths, flat), own

    def _arrays(self, example: Example, local: dict[str, int], names: Sequence[str]) -> dict[str, Any]:
        words = example.words

        def label_number(label: str | None) -> int:
            if label is None:
                return -1
            number = self.labels.get(label)
            return local.setdefault(label, len(self.labels) + len(local)) if number is None else number

        labels = self.labels
        particles: dict[int, str] = {w.head: w.lemma for w in words if w.relation == "compound:prt"}
        realised: list[int] = []
        known: list[int] = []
        candidates: list[int] = []
        firsts = [0]
        for k, word in enumerate(words):
            concepts = self.forms.realise(word, particles.get(k))
            known += self.forms.known(concepts)
            for concept in concepts:  # as label_number does, without forty calls for each word
                number = -1 if concept is None else labels.get(concept)
                if number is None:
                    number = local.setdefault(cast(str, concept), len(labels) + len(local))
                realised.append(number)
            candidates += self._candidates(word, concepts, names)
            firsts.append(len(candidates))
        gold = self._gold_arrays(example, label_number)
        return {
            "heads": [word.head for word in words],
            "order": _children_first([word.head for word in words]),
            "lemmas": [string_hash(lemma_of(word)) for word in words],
            "words": [string_hash(word.form.lower()) for word in words],
            "tags": [string_hash(word.xpos if word.xpos != "_" else word.upos) for word in words],
            "relations": [string_hash(word.relation) for word in words],
            "entities": [string_hash(word.entity or _shape(word.form)) for word in words],
            "suffixes": [string_hash(word.lemma[-3:]) for word in words],
            "keys": [self.keys.get(lemma_of(word), _UNSEEN) for word in words],
            "sentence": [example.signs, example.number],
            "candidates": candidates,
            "candidate_edges": firsts,
            "realised": realised,
            "known_forms": known,
            **gold,
            # only losses read them, and without a gold graph there is no loss
            "own_codes": [0] * (2 * len(local)) if example.gold is None else label_codes([*local]),
        }

    def _candidates(self, word: Word, concepts: Sequence[str | None], names: Sequence[str]) -> list[int]:
        """The forms to offer: those of the lemma, and the usual ones if the lemma is rare; each concept once."""
        key = self.keys.get(lemma_of(word), _UNSEEN)
        known = self.parameters.forms.get(key)
        seen = [] if known is None else [form for form, _ in known.most_common()]
        rare = self.lemma_counts[lemma_of(word)] < _RARE or bool(word.stand_in)
        found: dict[str, int] = {}
        for form in [*seen, *(self.forms.usual(word, concepts) if rare else [LEMMA])]:
            concept = concepts[form] if form < len(FORMS) else names[form - len(FORMS)]
            if concept is not None:
                found.setdefault(concept, form)
        return list(found.values())

    def _gold_arrays(self, example: Example, label_number: Callable[[str | None], int]) -> dict[str, Any]:
        gold = example.gold
        if gold is None or example.gold_of is None:
            empty: list[int] = []
            names = [name for name in GraphParsing.instance if name.startswith("gold_")]
            return {**dict.fromkeys(names, empty), "gold_of": [-1] * len(example.words)}
        labels = [label_number(label) for label in gold.labels]
        roles = [self.role_number(role) for role in gold.roles]
        edges: list[int] = []
        for node, (parent, role) in enumerate(zip(gold.parents, roles, strict=True)):
            if parent >= 0:
                edges += [parent, role, node, node, role ^ 1 if role >= 0 else role, parent]
        for source, name, target in gold.further:
            role = self.role_number(name)
            edges += [source, role, target, target, role ^ 1 if role >= 0 else role, source]
        coded = example.coded or coded_graph(gold.graph)
        return {
            "gold_of": example.gold_of,
            "gold_label": labels,
            "gold_parent": gold.parents,
            "gold_role": roles,
            "gold_edges": edges,
            "gold_entries": coded.entries,
            "gold_labels": coded.labels,
            "gold_links": coded.links,
        }

    # ---- graphs out of states

    def graph(self, state: Any, words: Sequence[Word], own: Sequence[str]) -> Graph:
        """The graph of a final state, with the alignment of its nodes with words."""
        names, roles = [*self.labels, *own], list(self.roles)
        alive = [node for node in range(state.registers[NODES]) if not state.flags[node] & DELETED]
        alive.sort(key=lambda node: (int(state.anchor[node]), node))
        extra = state.extra[: 3 * state.registers[EXTRA]].reshape(-1, 3).tolist()
        with_edges = {int(state.parent[node]) for node in alive} | {end for s, _, t in extra for end in (s, t)}

        def is_attribute(node: int) -> bool:
            forward = state.parent[node] >= 0 and not state.role[node] & 1
            return forward and node not in with_edges and is_constant(names[state.concept[node]])

        variables: dict[int, str] = {}
        instances: list[tuple[str, str]] = []
        alignments: dict[str, tuple[int, ...]] = {}
        top = next(node for node in alive if state.parent[node] < 0)
        for node in [top, *(node for node in alive if node != top)]:
            if not is_attribute(node):
                variables[node] = f"n{len(variables)}"
                instances.append((variables[node], clean_concept(names[state.concept[node]])))
                if node < len(words):
                    alignments[variables[node]] = words[node].positions
        edges: list[Triple] = []
        attributes: list[Triple] = []
        for node in alive:
            if node == top:
                continue
            parent, role = variables[int(state.parent[node])], roles[state.role[node] >> 1]
            if node not in variables:
                attributes.append((parent, role, names[state.concept[node]]))
            elif state.role[node] & 1:
                edges.append((variables[node], role, parent))
            else:
                edges.append((parent, role, variables[node]))
        for source, role, target in extra:
            edges.append((variables[source], roles[role >> 1], variables[target]))
        # a list may have a member twice; all other triples are kept once
        graph = number_ops(Graph(variables[top], tuple(instances), tuple(edges), tuple(attributes), alignments))
        return replace(
            graph, edges=tuple(dict.fromkeys(graph.edges)), attributes=tuple(dict.fromkeys(graph.attributes))
        )


def lemma_of(word: Word) -> str:
    """The lemma for features and tables: one for all numbers, and the replacement of an unseen one (§4.8)."""
    return "#" if word.number is not None and word.upos == "NUM" else word.stand_in or word.lemma


def _inserted(label: str) -> str:
    """The key of an inserted node."""
    return "\t" + label


def _base(role: str) -> tuple[str, int]:
    """A role in its normal direction, and whether it was inverted."""
    if role.endswith("-of") and role not in NOT_INVERSE:
        return role[: -len("-of")], 1
    return role, 0


def _shape(form: str) -> str:
    """The shape of a word: capitals, lower case, digits, each once."""
    kinds = ["X" if c.isupper() else "x" if c.isalpha() else "9" if c.isdigit() else c for c in form]
    return "".join(kind for before, kind in pairwise(["", *kinds]) if kind != before)


def _children_first(heads: Sequence[int]) -> list[int]:
    """The words in the order in which they are visited: the children of a word before it, from left to right."""
    children: dict[int, list[int]] = {}
    for k, head in enumerate(heads):
        children.setdefault(head, []).append(k)
    found: list[int] = []
    waiting = list(children.get(-1, []))
    while waiting:
        node = waiting.pop()
        found.append(node)
        waiting += children.get(node, [])
    return found[::-1]
