"""Labels chosen word by word: the traces of taggers.

A :class:`~treewright.tagging.Tagger` decides from left to right. A :class:`~treewright.tagging.ViterbiTagger` compares
whole labellings; its trace shows the decisions of an optimal policy that knows their values: the score of a label is
its advantage, which is 0 for the best label, and otherwise minus the loss in score of the best labelling.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from treewright.corpora import Sentence
from treewright.search.stepping import Decision, Drawing, episode_steps, expert_choice, find_action, wishes
from treewright.tagging.corpus import collect_labels
from treewright.tracing import Candidate, Step, Trace, softmax

if TYPE_CHECKING:
    from treewright.tagging.base import TaggingEstimator
    from treewright.tagging.tagger import Tagger
    from treewright.tagging.viterbi import ViterbiTagger

__all__ = ["trace_plan", "trace_tags"]

Floats = npt.NDArray[np.float64]

# the features of treewright.tagging.task, in its order: -1 is the word before, +1 the word after
_FEATURES = (
    "bias; form; lower; suffix1; suffix2; suffix3; suffix4; suffix5; prefix1; prefix2; prefix3; prefix4; shape "
    "first; shape suffix2; lower-1; lower-2; lower+1; lower+2; suffix3-1; suffix3+1; suffix2+1; shape shape+1; "
    "shape shape-1; lower lower-1; lower lower+1; lower suffix3-1; lower suffix3+1; lower-1 lower+1; label-1; "
    "label-1 label-2; label-1 lower; label-1 label-2 lower; label-1 suffix3; label-1 suffix2; label-1 shape; "
    "label-1 lower+1 "
)
FEATURE_NAMES = [name.strip() for name in _FEATURES.split(";")]


def trace_tags(tagger: Tagger, sentence: Sentence, gold: Sentence | None, follow: str) -> Trace:
    """The decisions of a tagger, or with ``follow="gold"`` the gold labels as the tagger scores them."""
    labels = _gold_labels(tagger, gold)
    steps, state = episode_steps(
        tagger._pack([sentence.forms], labels),
        _Labels(tagger.labels_, labels),
        policy=tagger.policy_,
        beam=tagger.beam,
        seed=tagger.seed,
        gold=gold is not None,
        choose=expert_choice if follow == "gold" else None,
    )
    found = [tagger.labels_[k] for k in state.labels.tolist()]
    return _trace(tagger, sentence, steps, found, gold, {"beam": tagger.beam, "follow": follow})


def trace_plan(tagger: ViterbiTagger, sentence: Sentence, gold: Sentence | None, follow: str) -> Trace:
    """The labels of the best plan from left to right, each with its alternatives."""
    names, right = tagger.labels_, _gold_labels(tagger, gold)
    planner = tagger._planner([sentence.forms])
    emissions, transitions = _scores(planner, tagger._weights, len(sentence))
    path = planner.best_labels(tagger._weights).tolist()
    if follow == "gold" and right is not None:
        path = [names.index(label) if label in names else best for label, best in zip(right, path, strict=True)]
    values = _values_to_go(emissions, transitions)
    steps, before, errors, found, prefix = [], -1, 0, list[str](), wishes().prefix
    for i in range(len(path)):
        q = transitions[before, :-1] + emissions[i] + values[i]
        q -= q.max()
        if prefix:  # the best plan that begins like this
            path[i] = find_action(prefix[i], names, i) if i < len(prefix) else int(q.argmax())
        label = path[i]
        steps.append(
            Step(
                i,
                {"position": i, "labels": found[:]},
                _candidates(names, q.tolist(), None if right is None else right[i]),
                label,
                () if right is None else (right[i],),
                {} if right is None else {"errors": errors},
            )
        )
        found.append(names[label])
        errors += right is not None and right[i] != names[label]
        before = label
    final = {"position": len(path), "labels": found}
    steps.append(Step(len(path), final, measures={} if right is None else {"errors": errors}))
    return _trace(tagger, sentence, steps, found, gold, {"order": tagger.order, "follow": follow})


class _Labels(Drawing):
    """Labels by name; ``gold`` are the right ones."""

    def __init__(self, names: Sequence[str], gold: Sequence[str] | None) -> None:
        self.names, self.gold = names, gold

    def state(self, x: Any, state: Any) -> dict[str, Any]:
        position = int(state.position[0])
        return {"position": position, "labels": [self.names[k] for k in state.labels[:position].tolist()]}

    def action(self, x: Any, state: Any, action: int) -> str:
        return self.names[action]

    def features(self, x: Any, state: Any, count: int) -> Sequence[str]:
        return FEATURE_NAMES if count == len(FEATURE_NAMES) else super().features(x, state, count)

    def measures(self, x: Any, state: Any) -> dict[str, float]:
        return {} if self.gold is None else {"errors": int(state.errors[0])}

    def judged(self, decision: Decision, names: Sequence[str]) -> tuple[Sequence[float], tuple[str, ...]]:
        """The gold label, even if the tagger does not know it."""
        assert decision.costs is not None
        assert self.gold is not None
        return decision.costs, (self.gold[int(decision.state.position[0])],)


def _gold_labels(tagger: TaggingEstimator, gold: Sentence | None) -> tuple[str, ...] | None:
    if gold is None:
        return None
    collect_labels([gold], tagger.column)  # raises an error if there are none
    return gold.column(tagger.column)


def _trace(
    tagger: TaggingEstimator,
    sentence: Sentence,
    steps: Sequence[Step],
    labels: list[str],
    gold: Sentence | None,
    about: dict[str, Any],
) -> Trace:
    about = {"model": type(tagger).__name__, "column": tagger.column, **about}
    return Trace(tagger.task, "tags", sentence.forms, tuple(steps), {"labels": labels}, gold is not None, about)


def _candidates(names: Sequence[str], scores: Sequence[float], right: str | None) -> tuple[Candidate, ...]:
    columns = zip(names, scores, softmax(scores), strict=True)
    return tuple(Candidate(y, score, None if right is None else float(y != right), p) for y, score, p in columns)


def _scores(planner: Any, weights: Any, n: int) -> tuple[Floats, Floats]:
    """The scores of a sentence's labels at each word, and of pairs of them.

    ``transitions[y, z]`` is the score of z after y; the last row has the scores of z at the beginning, and the last
    column the scores of y at the end. The last column of the last row is 0.
    """
    labels, pairs = planner.labels, planner.pairs
    scores = np.zeros(pairs + n * labels + 1)
    planner.score(weights, np.zeros(1, np.int64), np.array([0, len(scores)]), scores)
    transitions = np.zeros((labels + 1, labels + 1))
    if pairs:
        square = labels * labels
        transitions[:labels, :labels] = scores[:square].reshape(labels, labels).T
        transitions[labels, :labels] = scores[square : square + labels]
        transitions[:labels, labels] = scores[square + labels : pairs]
    return scores[pairs:-1].reshape(n, labels), transitions


def _values_to_go(emissions: Floats, transitions: Floats) -> Floats:
    """The score of the best labels of all following words, for each label of a word."""
    n, labels = emissions.shape
    values = np.empty((n, labels))
    values[-1] = transitions[:labels, labels]
    for i in range(n - 2, -1, -1):
        values[i] = (transitions[:labels, :labels] + emissions[i + 1] + values[i + 1]).max(axis=1)
    return values
