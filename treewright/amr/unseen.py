"""Smatch by the share of a sentence that is not in the training data (§7.2.1 of Goodman 2015).

Sentences that consist of words and concepts of the training data should be near the states that a parser was trained
in, and get better graphs. Sentences are put into bins by the share of their words, or of the concepts of their gold
graphs, that the training data do not have.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from treewright.amr.scores import SmatchScores

__all__ = ["BINS", "UnseenScore", "bins_of", "unseen_share"]

BINS = (0.0, 0.1, 0.2, 0.3, 1.0)
"""The upper bounds of the bins; the first one has sentences without anything unseen."""


@dataclass(frozen=True)
class UnseenScore:
    """Smatch of the sentences whose share of unseen ``what`` (words or concepts) is above ``above``, at most ``most``.

    In the first bin, ``above`` is 0 and ``most`` too: nothing is unseen.
    """

    what: str
    above: float
    most: float
    sentences: int
    precision: float
    recall: float
    f1: float


def unseen_share(items: Iterable[str], seen: Container[str]) -> float:
    """The share of items that are not among those seen; 0 if there are none.

    >>> unseen_share(["boy", "go", "zorg", "go"], {"boy", "go"})
    0.25
    """
    listed = list(items)
    return sum(item not in seen for item in listed) / max(len(listed), 1)


def bins_of(what: str, shares: Sequence[float], scores: SmatchScores) -> Iterator[UnseenScore]:
    """The scores of each bin that has sentences."""
    for above, most in zip((0.0, *BINS), BINS, strict=False):
        chosen = [k for k, share in enumerate(shares) if (above < share <= most) or share == most == 0.0]
        matched, gold, predicted = (
            sum(column[k] for k in chosen) for column in (scores.matched, scores.gold, scores.predicted)
        )
        if chosen:
            precision, recall = matched / max(predicted, 1), matched / max(gold, 1)
            yield UnseenScore(what, above, most, len(chosen), precision, recall, 2 * matched / max(gold + predicted, 1))
