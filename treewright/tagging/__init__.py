"""Task 1, sequence labelling: the search space, the estimator, the scores."""

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
