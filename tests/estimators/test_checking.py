"""What breaks the contract is found: estimators that are wrong in one way each."""

from __future__ import annotations

import time
from collections import Counter
from itertools import islice

import pytest

from treewright.corpora import builtin_corpus, corpus_hash
from treewright.estimators import Estimator, EstimatorError, check_estimator, read_corpus
from treewright.estimators.checking import CHECKS, Subject
from treewright.learners import Pass
from treewright.learners.loop import run
from treewright.tagging import compare_taggings, score_tagging


class Counting:
    """A learner that counts: pairs of forms and labels, in two passes over the corpus."""

    def __init__(self, pairs):
        self.pairs, self.seen = pairs, Counter()

    def advance(self, iteration):
        self.seen.update(self.pairs)
        return {"beta": 0.0, "loss": 0.0, "decisions": 0, "examples": 0}

    def current(self):
        return self.seen

    def keep(self, score, best):
        pass

    def arrays(self, folder):
        return {}

    def restore(self, arrays, folder):
        self.seen.update(self.pairs)  # those of the first pass


class Majority(Estimator):
    task = "majority"
    annotates = "tagging"

    def __init__(self, column="upos", about=None, seed=0):
        self.column = column
        self.about = about
        self.seed = seed

    def _fit(self, corpus, dev, running):
        sentences = read_corpus(corpus)
        corpora = {"train": corpus_hash(sentences)}
        if dev is not None:
            corpora["dev"] = corpus_hash(read_corpus(dev))
        counting = Counting([(t.form, getattr(t, self.column)) for s in sentences for t in s])
        running = {name: running[name] for name in ("report", "checkpoint", "resume")}
        self.history_ = run(counting, 2, Pass, fingerprint=lambda: corpora, **running)
        self.labels_ = {form: label for (form, label), n in sorted(counting.seen.items()) if n}
        self.card_ = self._make_card(corpora, {})

    def _decode(self, batch, jobs):
        return [s.with_column(self.column, [self.labels_.get(form, "X") for form in s.forms]) for s in batch]

    def _gold(self, corpus):
        return read_corpus(corpus)

    def _score(self, gold, predicted, **options):
        return score_tagging(gold, predicted, self.column, seed=self.seed)

    def _compare(self, gold, a, b, **options):
        return compare_taggings(gold, a, b, self.column, **options)

    def _learned(self):
        return {"labels": self.labels_}, {}

    def _restore(self, settings, arrays):
        self.labels_ = settings["labels"]


@pytest.fixture(scope="module")
def corpus():
    return builtin_corpus(train=12, dev=4, test=6)


def test_an_estimator_with_manners(corpus):
    check_estimator(Majority(about={"made": "for tests"}), *corpus)


class Converting(Majority):
    def __init__(self, column="upos", about=None, seed=0):
        self.column, self.about, self.seed = str(column), about, seed


class Ready(Majority):
    def __init__(self, column="upos", about=None, seed=0):
        super().__init__(column, about, seed)
        self.labels_ = {}


class Tidy(Majority):
    def _fit(self, corpus, dev, running):
        super()._fit(corpus, dev, running)
        self.column = self.column.upper().lower() + ""
        self.seed += 1


class Hasty(Majority):
    def set_params(self, **params):
        self.seed = params.get("seed", self.seed)
        return super().set_params(**params)

    def _decode(self, batch, jobs):
        return [s.with_column(self.column, [f"X{self.seed}"] * len(s)) for s in batch]


class Silent(Majority):
    def _check_fitted(self):
        self.labels_ = getattr(self, "labels_", {})
        self.card_ = getattr(self, "card_", {})


class Greedy(Majority):
    def _batches(self, sentences):
        yield list(islice(sentences, 100))


class Remembering(Majority):
    def _decode(self, batch, jobs):
        for sentence in batch:
            for form in sentence.forms:
                self.labels_.setdefault(form, "X")
        return super()._decode(batch, jobs)


class Forgetful(Majority):
    def _restore(self, settings, arrays):
        self.labels_ = {}


class Moody(Majority):
    fits = 0

    def _fit(self, corpus, dev, running):
        super()._fit(corpus, dev, running)
        Moody.fits += 1
        self.labels_["the"] = str(Moody.fits)


class Restarting(Majority):
    def _fit(self, corpus, dev, running):
        super()._fit(corpus, dev, running)
        if running["resume"]:
            self.labels_ = {**self.labels_, "resumed": "yes"}


class Picky(Majority):
    def _decode(self, batch, jobs):
        assert all(len(sentence) for sentence in batch)
        return super()._decode(batch, jobs)


class Trusting(Majority):
    def _gold(self, corpus):
        return list(corpus)


class Shapeless(Majority):
    def _score(self, gold, predicted, **options):
        return {"accuracy": 1.0}


@pytest.mark.parametrize(
    ("kind", "broken"),
    [
        (Converting, "constructor only stores"),
        (Ready, "constructor only stores"),
        (Tidy, "learning changes no settings"),
        (Hasty, "settings take effect at the next fit"),
        (Silent, "nothing learned is said"),
        (Greedy, "lists give lists and iterators iterators"),
        (Remembering, "annotating changes nothing"),
        (Forgetful, "a model file gives it back"),
        (Moody, "the same seed gives the same file"),
        (Restarting, "resuming gives the same"),
        (Picky, "sentences of any length"),
        (Trusting, "bad corpora are named"),
        (Shapeless, "scores have one shape"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_what_is_broken_is_named(kind, broken, corpus):
    with pytest.raises((EstimatorError, AssertionError)):
        CHECKS[broken](Subject(kind(), *corpus))
    with pytest.raises(EstimatorError, match=f"{kind.__name__} breaks its contract") as error:
        check_estimator(kind(), *corpus)
    assert f"\n  {broken}: " in str(error.value)


def test_threads_that_get_in_each_others_way_are_noticed(corpus):
    class Shared(Majority):
        def _decode(self, batch, jobs):
            self.batch = batch
            time.sleep(0.001)
            return super()._decode(batch, jobs) if self.batch is batch else batch

    with pytest.raises(EstimatorError, match="other results"):
        CHECKS["threads may share it"](Subject(Shared(), *corpus))
