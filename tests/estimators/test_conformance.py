"""Every estimator keeps the manners that all of them have."""

from __future__ import annotations

import pytest

from treewright.corpora import builtin_corpus
from treewright.estimators import estimator_class, estimator_names
from treewright.estimators.checking import CHECKS, Subject

pytestmark = pytest.mark.jit  # fitted and asked to parse very long sentences: too slow interpreted

IMITATION = {"name": "exploration", "passes": 2}
PLANNING = {"name": "max-margin", "passes": 2}

#: settings with which each estimator learns in a moment
TINY = {
    "tagging": {"learner": IMITATION, "bits": 10},
    "viterbi": {"learner": PLANNING, "bits": 8},
    "dependency": {"learner": IMITATION, "features": "basic", "bits": 10},
    "eisner": {"learner": PLANNING, "bits": 10},
    "constituency": {"grammar": "v1h0", "learner": PLANNING},
    "latent": {"learner": {"name": "split-merge", "cycles": 1, "starts": 2, "split": 2, "merge": 1, "smooth": 1}},
    "amr": {"learner": IMITATION, "bits": 10},
    "tokenization": {"learner": IMITATION, "bits": 8},
    "morphology": {"learner": IMITATION, "bits": 12},
    "lemmatization": {"learner": IMITATION, "bits": 10},
}


@pytest.fixture(scope="module")
def corpus():
    parts = builtin_corpus(train=120, dev=60, test=60)
    return [[s for s in part if len(s) <= 12][:size] for part, size in zip(parts, (40, 8, 12), strict=True)]


@pytest.fixture(scope="module", params=estimator_names())
def subject(request, corpus):
    return Subject(estimator_class(request.param)(**TINY.get(request.param, {})), *corpus)


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
def test_conformance(subject, check):
    check(subject)


def test_every_estimator_shows_its_decisions(subject):
    assert subject.has_traces
