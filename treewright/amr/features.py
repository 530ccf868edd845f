"""The features of Table 4.2 of Goodman (2015), and a few for unseen words and deleted prepositions.

A feature is a number, hashed from the number of its template and its values. The attributes of words are hashes of
strings; the lemma of an inserted node is its concept, and its other attributes mark it as inserted.

Some features belong to a *group* (:data:`GROUP_NAMES`), which can be left out. If an action and its parameter are one
choice, all features are those of actions: a node κ is described by its own features, because its number has no meaning.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from treewright.amr.transitions import (
    DELETED,
    FORMS,
    GROUPS,
    INSERTED,
    JOINT,
    KAPPA,
    KEEP,
    LABELLING,
    LAST,
    MERGED,
    NEXT_NODE,
    NODES,
    PENDING,
    PHASE,
    REATTACH,
    REENTRANCE,
    STEPS,
    TARGET,
    beta,
    concept_of,
    is_above,
    kind_of,
    param_of,
    sigma,
    tree_distance,
)
from treewright.search import cross2, cross3
from treewright.search.compiling import lean
from treewright.search.hashing import mix

__all__ = ["GROUP_NAMES", "MOST_FEATURES", "action_features", "state_features"]

MOST_FEATURES = 280  # of a state and of a node κ together
GROUP_NAMES = {
    "actions": "the last four actions",
    "words": "words, where they are not their lemmas",
    "merged": "nodes that ReplaceHead merged into another one",
    "deleted": "nodes that were deleted below another one",
    "children": "the other children, and their roles",
    "paths": "paths and distances between two nodes",
    "entities": "named entities, or the shapes of words",
    "concepts": "concepts that nodes have already",
    "signs": "whether the sentence has a question mark, an exclamation mark, quotes",
    "suffixes": "the last letters of the lemma",
    "neighbours": "the lemmas before and after",
}
"""The groups of features that can be left out. The last four are added here; the others are in Table 4.2."""

(_ACTIONS, _WORDS, _MERGED_NODES, _DELETED_NODES, _CHILDREN, _PATHS, _ENTITIES, _CONCEPTS, _SIGNS, _SUFFIXES, _NEAR) = (
    2**k for k in range(len(GROUP_NAMES))
)
_INSERTED = 7
_NOBODY = 11
_MOST_OTHERS = 6  # children, and deleted nodes, that have features


@lean
def lemma_of(x: Any, state: Any, node: int) -> int:
    """The lemma of a word; the concept of an inserted node."""
    if node < 0:
        return np.int64(_NOBODY)
    if node < x.n:
        return np.int64(x.lemmas[node])
    return np.int64(state.concept[node]) + np.int64(1 << 28)


@lean
def _attribute(x: Any, values: Any, node: int) -> int:
    if node < 0:
        return np.int64(_NOBODY)
    return np.int64(values[node]) if node < x.n else np.int64(_INSERTED)


@lean
def pos_of(x: Any, node: int) -> int:
    """The part of speech."""
    return _attribute(x, x.tags, node)


@lean
def relation_of(x: Any, node: int) -> int:
    """The label of a word in the dependency tree (dl)."""
    return _attribute(x, x.relations, node)


@lean
def entity_of(x: Any, node: int) -> int:
    """The kind of named entity (ner) of a word, if the file has it; else the shape of the word."""
    return _attribute(x, x.entities, node)


@lean
def _path(x: Any, one: int, two: int) -> int:
    """The labels on the path between two words in the dependency tree, as one hash; 0 for inserted nodes."""
    if one < 0 or two < 0 or one >= x.n or two >= x.n:
        return np.int64(0)
    found: Any = np.int64(3)
    node = np.int64(one)
    for up in range(6):
        steps: Any = np.int64(5)
        other = np.int64(two)
        for _ in range(6):
            if other == node:
                return cross2(found, steps, up)
            steps = cross2(1, steps, x.relations[other])
            other = np.int64(x.heads[other])
            if other < 0:
                break
        found = cross2(2, found, x.relations[node])
        node = np.int64(x.heads[node])
        if node < 0:
            break
    return np.int64(1)


@lean
def _gap(state: Any, one: int, two: int) -> int:
    """The distance of two nodes in the sentence, in classes, and which comes first."""
    gap = np.int64(state.anchor[two]) - np.int64(state.anchor[one])
    size = abs(gap)
    if size > 3:
        size = np.int64(4) if size < 7 else np.int64(5)
    return size * 2 + np.int64(gap > 0)


@lean
def _sort_of(x: Any, state: Any, node: int) -> int:
    """Whether a node's concept is a frame, a constant, or neither; 3: not in the training data, 4: none yet."""
    concept = np.int64(state.concept[node])
    if concept < 0:
        return np.int64(4)
    return np.int64(x.concept_sorts[concept]) if concept < x.concept_sorts.shape[0] else np.int64(3)


@lean
def _has(x: Any, group: int) -> bool:
    """Whether a group of features is used."""
    return (np.int64(x.options[GROUPS]) & np.int64(group)) == 0


@lean
def _plain_node(x: Any, state: Any, node: int, t: int, out: Any, n: int) -> int:
    """A node by itself: lemma, dl, ner, POS, each alone; its word, if that is not its lemma."""
    lemma = lemma_of(x, state, node)
    out[n] = cross2(t, 0, lemma)
    out[n + 1] = cross2(t, 1, pos_of(x, node))
    out[n + 2] = cross2(t, 2, relation_of(x, node))
    n += 3
    if _has(x, _ENTITIES):
        out[n] = cross2(t, 3, entity_of(x, node))
        n += 1
    word = _attribute(x, x.words, node)
    if word == lemma or node >= x.n or not _has(x, _WORDS):
        return n
    out[n] = cross2(t, 4, word)
    return n + 1


@lean
def _node(x: Any, state: Any, node: int, t: int, out: Any, n: int) -> int:
    """The features of a single node, pairs of them, and its concept, if it has one."""
    n = _plain_node(x, state, node, t, out, n)
    lemma, pos, relation = lemma_of(x, state, node), pos_of(x, node), relation_of(x, node)
    out[n] = cross3(t, 5, pos, relation)
    out[n + 1] = cross3(t, 6, lemma, relation)
    out[n + 2] = cross3(t, 7, lemma, pos)
    if not _has(x, _CONCEPTS):
        return n + 3
    out[n + 3] = cross2(t, 8, state.concept[node] if node >= 0 else -2)
    return n + 4


@lean
def _pair(x: Any, state: Any, one: int, two: int, t: int, out: Any, n: int) -> int:
    """Two nodes together: pairs of lemmas, POS, dl and ner, distance and path."""
    lemma, pos, relation = lemma_of(x, state, one), pos_of(x, one), relation_of(x, one)
    lemma2, pos2, relation2 = lemma_of(x, state, two), pos_of(x, two), relation_of(x, two)
    gap, path = _gap(state, one, two), _path(x, one, two)
    out[n] = cross3(t, 0, lemma, pos2)
    out[n + 1] = cross3(t, 1, lemma, relation2)
    out[n + 2] = cross3(t, 2, pos, lemma2)
    out[n + 3] = cross3(t, 3, relation, lemma2)
    out[n + 4] = cross3(t, 4, lemma, lemma2)
    out[n + 5] = cross3(t, 5, pos, pos2)
    out[n + 6] = cross3(t, 6, cross2(0, pos, pos2), relation2)
    out[n + 7] = cross2(t, 7, gap)
    out[n + 8] = cross2(t, 8, path)
    out[n + 9] = cross3(t, 9, path, gap)
    out[n + 10] = cross3(t, 10, cross2(0, lemma, lemma2), path)
    out[n + 11] = cross3(t, 11, path, pos)
    out[n + 12] = cross3(t, 12, path, pos2)
    out[n + 13] = cross3(t, 13, state.concept[two], relation2)
    out[n + 14] = cross3(t, 14, lemma, path)
    out[n + 15] = cross3(t, 15, path, lemma2)
    sort = _sort_of(x, state, two)
    out[n + 16] = cross3(t, 16, sort, relation2)
    out[n + 17] = cross3(t, 17, sort, path)
    out[n + 18] = cross3(t, 18, sort, lemma)
    out[n + 19] = cross3(t, 19, sort, pos)
    out[n + 20] = cross3(t, 20, entity_of(x, one), entity_of(x, two))
    if x.options[GROUPS] == 0:
        return n + 21
    kept = np.int64(0)
    for k in range(21):
        is_path, is_concept = k in (7, 8, 9, 10, 11, 12, 14, 15, 17), k in (13, 16, 17, 18, 19)
        out[n + kept] = out[n + k]
        left_out = is_path and not _has(x, _PATHS)
        left_out = left_out or (is_concept and not _has(x, _CONCEPTS)) or (k == 20 and not _has(x, _ENTITIES))
        if not left_out:
            kept += np.int64(1)
    return n + kept


@lean
def _family(x: Any, state: Any, node: int, but: int, head: int, t: int, out: Any, n: int) -> int:
    """Children (lemma, role, both), and nodes that were deleted below a node or merged into it, such as prepositions.

    A preposition is combined with the lemma ``head`` of the node above, as in *look at*.
    """
    count, gone = np.int64(0), np.int64(0)
    relation = relation_of(x, node)
    for other in range(state.registers[NODES]):
        if state.parent[other] != node or other == but:
            continue
        lemma = lemma_of(x, state, np.int64(other))
        if state.flags[other] & DELETED:
            if gone < _MOST_OTHERS and _has(x, _MERGED_NODES if state.flags[other] & MERGED else _DELETED_NODES):
                kind = np.int64((state.flags[other] & MERGED) > 0)
                out[n] = cross3(t, 0 + kind, lemma, relation_of(x, np.int64(other)))
                out[n + 1] = cross3(t, 2 + kind, lemma, relation)
                out[n + 2] = cross3(t, 9, lemma, head)
                n += 3
            gone += np.int64(1)
        else:
            if count < _MOST_OTHERS and _has(x, _CHILDREN):
                role = np.int64(state.role[other])
                out[n] = cross2(t, 4, role)
                out[n + 1] = cross3(t, 5, lemma, role)
                out[n + 2] = cross3(t, 6, relation_of(x, np.int64(other)), pos_of(x, np.int64(other)))
                n += 3
            count += np.int64(1)
    if not _has(x, _CHILDREN):
        return n
    out[n] = cross2(t, 7, min(count, np.int64(4)))
    out[n + 1] = cross3(t, 8, min(count, np.int64(2)), relation)
    return n + 2


@lean
def state_features(x: Any, state: Any, out: Any) -> int:
    """The features of a state; none where a node κ is chosen, because its number has no meaning."""
    pending = np.int64(state.registers[PENDING])
    if pending in (REATTACH + 1, REENTRANCE + 1) or x.options[JOINT] != 0:
        return 0
    return _situation(x, state, out)


@lean
def _situation(x: Any, state: Any, out: Any) -> int:
    """The features of a state."""
    pending = np.int64(state.registers[PENDING])
    top = sigma(state)
    other: Any = beta(state)
    if pending == LABELLING:
        other = np.int64(state.registers[KAPPA])
    parent = np.int64(state.parent[top])
    history = np.int64(state.registers[LAST])
    situation = pending * np.int64(4) + np.int64(state.registers[PHASE]) * np.int64(2) + np.int64(other >= 0)
    t = np.int64(100) * (np.int64(1) + situation)
    out[0] = cross2(t, 0, 0)
    n: Any = np.int64(1)
    if _has(x, _ACTIONS):
        out[1] = cross2(t, 1, history % 16)
        out[2] = cross2(t, 2, history // 16 % 16)
        out[3] = cross2(t, 3, history // 256 % 16)
        out[4] = cross2(t, 4, history // 4096)
        out[5] = cross2(t, 5, history % 256)
        out[6] = cross2(t, 6, history % 4096)
        n += np.int64(6)
    if _has(x, _SIGNS):
        out[n] = cross2(t, 7, x.sentence[0])
        out[n + 1] = cross3(t, 8, x.sentence[0], relation_of(x, top))
        n += np.int64(2)
    n = _node(x, state, top, t + 10, out, n)
    lemma, pos, relation = lemma_of(x, state, top), pos_of(x, top), relation_of(x, top)
    n = _family(x, state, top, other, lemma, t + 20, out, n)
    n = _plain_node(x, state, parent, t + 80, out, n)
    above, pos_above = lemma_of(x, state, parent), pos_of(x, parent)
    out[n] = cross3(t, 30, relation, above)
    out[n + 1] = cross3(t, 31, lemma, above)
    out[n + 2] = cross3(t, 32, pos, pos_above)
    out[n + 3] = cross3(t, 33, lemma, relation_of(x, parent))
    out[n + 4] = cross3(t, 34, cross2(0, pos, pos_above), relation)
    out[n + 5] = cross3(t, 35, lemma, pos_above)
    out[n + 6] = cross3(t, 36, pos, above)
    n += 7
    if _has(x, _ENTITIES):
        out[n] = cross3(t, 37, entity_of(x, top), entity_of(x, parent))
        n += 1
    out[n] = cross2(t, 38, state.role[top])
    n += 1
    if _has(x, _SUFFIXES):
        out[n] = cross2(t, 39, _attribute(x, x.suffixes, top))
        out[n + 1] = cross3(t, 40, _attribute(x, x.suffixes, top), pos)
        n += 2
    if other >= 0:
        n = _node(x, state, other, t + 40, out, n)
        n = _pair(x, state, top, other, t + 50, out, n)
        n = _family(x, state, other, np.int64(-1), lemma, t + 70, out, n)
    elif top < x.n and _has(x, _NEAR):
        out[n] = cross3(t, 41, lemma, _attribute(x, x.lemmas, top - 1))
        out[n + 1] = cross3(t, 42, lemma, _attribute(x, x.lemmas, top + 1 if top + 1 < x.n else -1))
        n += 2
    if x.sentence[1] != 0:  # a "Shenanigan" feature (§4.5): no other state will ever have it
        out[n] = cross3(t, 43, x.sentence[1], state.registers[STEPS])
        n += 1
    return n


@lean
def action_features(x: Any, state: Any, action: int, out: Any) -> int:
    """The features of an action that its number does not determine: those of κ, and those of a concept.

    If choices are joint, they follow those of the state, combined with the action, or with its kind if it has a κ.
    """
    kind, param = kind_of(action), param_of(action) - np.int64(1)
    is_target = param >= 0 and kind in (TARGET, REATTACH, REENTRANCE)
    n = np.int64(0)
    if x.options[JOINT] != 0:
        n = np.int64(_situation(x, state, out))
        for k in range(n):
            out[k] = mix(out[k], kind if is_target else action)
    return _parameter(x, state, kind, param, is_target, out, n)


@lean
def _parameter(x: Any, state: Any, kind: int, param: int, is_target: bool, out: Any, n: int) -> int:
    """The features of a node κ, or of the form of a concept."""
    top = sigma(state)
    if is_target:
        pending = np.int64(state.registers[PENDING])
        situation = pending if pending != 0 else kind + np.int64(1)
        return _target(x, state, top, param, np.int64(10000) + np.int64(100) * situation, out, n)
    if kind == NEXT_NODE and param >= 0 and top < x.n and param != KEEP:
        forms = np.int64(x.options[FORMS])
        concept = concept_of(x, top, param)
        seen = np.int64(x.concept_classes[concept]) if concept < x.concept_classes.shape[0] else np.int64(0)
        known = np.int64(x.known_forms[top * forms + param]) if param < forms else np.int64(3)
        form = param if param < forms else forms
        pos = pos_of(x, top)
        out[n] = cross3(90, form, seen, known)
        out[n + 1] = cross3(91, seen, known, pos)
        out[n + 2] = cross3(92, cross2(0, seen, known), form, pos)
        return n + 3
    return n


@lean
def _target(x: Any, state: Any, top: int, kappa: int, t: int, out: Any, n: int) -> int:
    """The features of κ, alone and with σ₀ and β₀, and its position: above σ₀, below it, beside it, the distance."""
    child = beta(state)
    n = _node(x, state, kappa, t, out, n)
    n = _pair(x, state, top, kappa, t + 10, out, n)
    place = np.int64(0)
    if state.parent[top] == kappa:
        place = np.int64(1)
    elif state.parent[kappa] == top:
        place = np.int64(2)
    elif state.parent[kappa] == state.parent[top]:
        place = np.int64(3)
    elif is_above(state, kappa, top):
        place = np.int64(4)
    elif is_above(state, top, kappa):
        place = np.int64(5)
    inserted = np.int64((state.flags[kappa] & INSERTED) > 0)
    done = np.int64(state.concept[kappa] >= 0)
    where = cross3(0, place, tree_distance(state, top, kappa, 6), inserted * 2 + done)
    subject = child if child >= 0 else top
    out[n] = cross2(t, 60, where)
    out[n + 1] = cross2(t, 61, place)
    out[n + 2] = cross3(t, 62, place, relation_of(x, subject))
    out[n + 3] = cross3(t, 63, place, lemma_of(x, state, subject))
    out[n + 4] = cross3(t, 64, place, lemma_of(x, state, kappa))
    out[n + 5] = cross3(t, 65, place, lemma_of(x, state, top))
    out[n + 6] = cross3(t, 66, place, cross2(0, pos_of(x, kappa), relation_of(x, subject)))
    out[n + 7] = cross3(t, 67, place, cross3(0, pos_of(x, kappa), pos_of(x, subject), pos_of(x, top)))
    n += 8
    if child >= 0:
        n = _pair(x, state, kappa, child, t + 30, out, n)
        if _has(x, _CONCEPTS):
            out[n] = cross2(t, 68, state.concept[child])
            out[n + 1] = cross3(t, 69, place, state.concept[child])
            n += 2
    return n
