"""Sequence labelling: the search space, the estimators, the scores."""

from typing import TYPE_CHECKING

from treewright.lazy import lazy_names

if TYPE_CHECKING:
    from treewright.tagging.scores import TaggingScores, compare_taggings, majority_baseline, score_tagging
    from treewright.tagging.tagger import Tagger
    from treewright.tagging.task import SequenceLabelling
    from treewright.tagging.viterbi import ViterbiPlanner, ViterbiTagger

__all__ = [
    "SequenceLabelling",
    "Tagger",
    "TaggingScores",
    "ViterbiPlanner",
    "ViterbiTagger",
    "compare_taggings",
    "majority_baseline",
    "score_tagging",
]

__getattr__ = lazy_names(
    __name__,
    {
        "scores": "TaggingScores compare_taggings majority_baseline score_tagging",
        "tagger": "Tagger",
        "task": "SequenceLabelling",
        "viterbi": "ViterbiPlanner ViterbiTagger",
    },
)
