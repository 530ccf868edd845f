"""Cross-validation: for each fold of a corpus, learn from all other folds and score on this one.

The score on one test set does not show how much scores vary; the scores of ten folds do. Neu and
Szepesvári (2009, §6.4) compare learners in this way:

>>> from treewright.constituency import ConstituencyParser
>>> from treewright.corpora import builtin_corpus
>>> train, _, _ = builtin_corpus(train=60, dev=5, test=5)
>>> counting = cross_validate(ConstituencyParser("v1h0", learner="maximum-likelihood"), train, folds=3)
>>> learned = cross_validate(ConstituencyParser("v1h0", learner={"name": "max-margin", "passes": 2}), train, folds=3)
>>> counting.name, len(counting.values), counting.box.low <= counting.mean <= counting.box.high
('F1', 3, True)
>>> compared = learned.against(counting)
>>> compared.error_reduction == (learned.mean - counting.mean) / (1 - counting.mean), 0 < compared.test.p <= 1
(True, True)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from treewright.corpora import Sentence, corpus_hash
from treewright.errors import ConfigError, CorpusError
from treewright.estimators.base import Estimator, clone
from treewright.estimators.corpus import Corpus, read_corpus
from treewright.metrics import FiveNumbers, KolmogorovSmirnov, Scores, error_reduction, five_numbers, kolmogorov_smirnov
from treewright.settings import whole_number

__all__ = ["CrossValidation", "FoldComparison", "cross_validate", "split_folds"]


class FoldComparison(NamedTuple):
    """A comparison of two cross-validations over the same folds."""

    error_reduction: float
    """The share of the baseline's errors that are avoided, computed from the means of both."""
    by_fold: tuple[float, ...]
    """The same in each fold."""
    wins: int
    """The number of folds in which the score is higher than the baseline's."""
    test: KolmogorovSmirnov
    """Whether the scores of the folds come from the same distribution."""

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        plain = {"error_reduction": self.error_reduction, "by_fold": list(self.by_fold), "wins": self.wins}
        return {**plain, "ks_statistic": self.test.statistic, "ks_p": self.test.p}


@dataclass(frozen=True)
class CrossValidation:
    """The scores of an estimator on each fold of a corpus."""

    scores: tuple[Scores, ...]
    """The result of ``evaluate`` for each fold."""
    corpus: str
    """The digest of the corpus."""
    seed: int
    """The seed by which sentences were assigned to folds."""

    @property
    def name(self) -> str:
        """The name of the main score."""
        return self.scores[0].name

    @property
    def values(self) -> tuple[float, ...]:
        """The main score of each fold."""
        return tuple(scores.main for scores in self.scores)

    @property
    def mean(self) -> float:
        """The mean of the main score over the folds."""
        return float(np.mean(self.values))

    @property
    def deviation(self) -> float:
        """The standard deviation of the main score over the folds."""
        return float(np.std(self.values, ddof=1))

    @property
    def box(self) -> FiveNumbers:
        """The extremes, the quartiles and the median of the main score."""
        return five_numbers(self.values)

    def against(self, baseline: CrossValidation) -> FoldComparison:
        """Compare with the scores of another estimator on the same folds.

        Raises:
            ConfigError: if the folds are not the same.
        """
        mine, theirs = ((each.corpus, each.seed, len(each.scores), each.name) for each in (self, baseline))
        if mine != theirs:
            raise ConfigError(
                f"cross-validations over other folds cannot be compared: {mine[2]} folds of corpus {mine[0][:12]} with "
                f"seed {mine[1]} ({mine[3]}), and {theirs[2]} of {theirs[0][:12]} with seed {theirs[1]} ({theirs[3]})"
            )
        pairs = list(zip(baseline.values, self.values, strict=True))
        return FoldComparison(
            error_reduction(baseline.mean, self.mean),
            tuple(error_reduction(*pair) for pair in pairs),
            sum(new > old for old, new in pairs),
            kolmogorov_smirnov(baseline.values, self.values),
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the scores as plain values."""
        return {
            "score": self.name,
            "folds": list(self.values),
            "mean": self.mean,
            "deviation": self.deviation,
            **self.box._asdict(),
            "corpus": self.corpus,
            "seed": self.seed,
        }


def cross_validate(
    estimator: Estimator[Any],
    corpus: Corpus,
    *,
    folds: int = 10,
    seed: int = 0,
    dev: bool = False,
    jobs: int = 1,
    report: Callable[[int, Scores], None] | None = None,
    **options: Any,
) -> CrossValidation:
    """For each fold, learn from all other folds and score on this one.

    Args:
        estimator: an estimator with the settings. Clones of it are fitted, and the estimator itself is not changed.
        corpus: sentences with gold annotation, or a file of them.
        folds: the number of folds, 2 or more. Sentences are assigned to them at random.
        seed: the seed of the assignment. The same corpus, folds and seed give the same folds for every estimator.
        dev: whether the next fold is used as development data, and not for training.
        jobs: the number of threads, which does not change the result.
        report: is called with the number of each fold (1, 2, …) and its scores.
        options: of ``evaluate``, such as ``max_length`` of constituency parsers.

    Raises:
        CorpusError: if there are fewer sentences than folds.
    """
    folds, seed, jobs = whole_number("folds", folds, 2), whole_number("seed", seed, 0), whole_number("jobs", jobs, 1)
    if dev and folds < 3:
        raise ConfigError("development data is a fold of its own: make 3 folds or more", setting="folds", value=folds)
    sentences = read_corpus(corpus)
    parts = split_folds(sentences, folds, seed)
    found = list[Scores]()
    for k, test in enumerate(parts):
        after = (k + 1) % folds
        rest = [s for j, part in enumerate(parts) if j != k and not (dev and j == after) for s in part]
        learned = clone(estimator).fit(rest, parts[after] if dev else None, jobs=jobs)
        found.append(learned.evaluate(test, jobs=jobs, **options))
        if report is not None:
            report(k + 1, found[-1])
    return CrossValidation(tuple(found), corpus_hash(sentences), seed)


def split_folds(sentences: Sequence[Sentence], folds: int, seed: int) -> list[list[Sentence]]:
    """Return the sentences of each fold, in the order of the corpus; sizes differ by at most one."""
    if len(sentences) < folds:
        raise CorpusError(f"{len(sentences)} sentences are too few for {folds} folds")
    order = np.random.default_rng(seed).permutation(len(sentences))
    return [[sentences[i] for i in sorted(order[k::folds].tolist())] for k in range(folds)]
