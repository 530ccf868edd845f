"""``check_estimator`` checks that an estimator follows the common conventions, and explains what is wrong.

Every estimator of this library passes. For your own estimator, give a corpus with the annotation that it learns, and
settings that train fast: it is fitted three times.

>>> from treewright.corpora import builtin_corpus
>>> from treewright.tagging import ViterbiTagger
>>> train, dev, test = builtin_corpus(train=20, dev=5, test=5)
>>> check_estimator(ViterbiTagger(learner={"name": "max-margin", "passes": 2}, bits=6), train, dev, test, long=50)
"""

from __future__ import annotations

import copy
import hashlib
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from treewright.corpora import Sentence
from treewright.errors import ConfigError, CorpusError, ModelError, TreewrightError
from treewright.estimators.base import Estimator, NotFittedError, clone
from treewright.learners import Pass
from treewright.metrics import Scores, score_of
from treewright.search.rows import Rows
from treewright.tracing import Trace

__all__ = ["CHECKS", "EstimatorError", "Subject", "check_estimator"]

_THREADS = 8


class EstimatorError(TreewrightError):
    """An estimator breaks its contract."""


@dataclass
class Subject:
    """An unfitted estimator, and training, development and test corpora.

    ``long`` is the number of words of the longest sentence that it must annotate.
    """

    estimator: Estimator[Any]
    train: Sequence[Sentence]
    dev: Sequence[Sentence]
    test: Sequence[Sentence]
    long: int = 500

    @cached_property
    def fitted(self) -> Estimator[Any]:
        """The estimator after ``fit``, for all checks that do not change it."""
        return self.fit()

    @property
    def has_traces(self) -> bool:
        """Whether it has traces; your own estimator need not."""
        return type(self.estimator)._trace is not Estimator._trace

    @cached_property
    def predicted(self) -> list[Sentence]:
        """The test sentences with its annotation."""
        return self.fitted.predict(self.test)

    def fit(self, **options: Any) -> Estimator[Any]:
        """Fit another estimator with the same settings."""
        fresh, given = clone(self.estimator), list(self.train)
        _expect(fresh.fit(given, dev=self.dev, **options) is fresh, "fit does not return the estimator")
        _expect(given == list(self.train), "fit changes the list of sentences")
        return fresh

    def file_of(self, estimator: Estimator[Any]) -> bytes:
        """Return the bytes of its model file, without the date."""
        dated = copy.copy(estimator)
        dated.card_ = {**estimator.card_, "date": ""}
        with tempfile.TemporaryDirectory() as folder:
            return dated.save(Path(folder, "model.tw")).read_bytes()


def check_estimator(
    estimator: Estimator[Any],
    train: Sequence[Sentence],
    dev: Sequence[Sentence],
    test: Sequence[Sentence],
    *,
    long: int = 500,
) -> None:
    """Run all :data:`CHECKS` on an estimator.

    Args:
        estimator: an unfitted estimator, which is not changed. Its learner should make two passes or more.
        train, dev, test: small corpora with the annotation that it learns.
        long: the number of words of the longest sentence that it is given.

    Raises:
        EstimatorError: if a check fails; the message has a line for each that does.
    """
    subject, problems = Subject(estimator, train, dev, test, long), []
    for name, check in CHECKS.items():
        try:
            check(subject)
        except Exception as error:  # a user's estimator may raise anything
            what = str(error) if isinstance(error, EstimatorError) else f"{type(error).__name__}: {error}"
            problems.append(f"{name}: {what}")
    if problems:
        name, lines = type(estimator).__name__, "\n  ".join(problems)
        raise EstimatorError(f"{name} breaks its contract in {len(problems)} way(s)\n  {lines}")


# ---- the checks


def constructor_only_stores(subject: Subject) -> None:
    """The constructor stores its arguments under their names, without checking them, and does nothing else."""
    kind = type(subject.estimator)
    for given in (subject.estimator.get_params(), {name: object() for name in subject.estimator.get_params()}):
        made = kind(**given)
        _expect(vars(made).keys() == given.keys(), f"it sets the attributes {', '.join(vars(made))}")
        for name, value in given.items():
            _expect(getattr(made, name) is value, f"{name} is not what was given")


def settings_can_be_read_and_changed(subject: Subject) -> None:
    """``get_params``, ``set_params`` and ``clone`` work as in scikit-learn."""
    params = subject.estimator.get_params()
    other = clone(subject.fitted)
    _expect(other.get_params() == params, "a clone has other settings")
    _expect(vars(other).keys() == params.keys(), "a clone has learned something")
    for name, value in params.items():
        if isinstance(value, (dict, list)):
            _expect(getattr(other, name) is not value, f"a clone shares the setting {name}")
    _expect(other.set_params(**params) is other, "set_params does not return the estimator")
    with _raises(ConfigError, "set_params takes a setting that there is not", naming="no_such_setting"):
        other.set_params(no_such_setting=1)


def settings_take_effect_at_the_next_fit(subject: Subject) -> None:
    """``set_params`` of training settings does not change what a fitted estimator predicts and saves."""
    fitted = copy.copy(subject.fitted)
    at_once = {setting.name for setting in type(fitted).settings if setting.annotates}
    for name, value in fitted.get_params().items():
        other = object()  # no setting accepts it
        if name in at_once:
            with _raises(ConfigError, f"set_params accepts any {name}", naming=name):
                fitted.set_params(**{name: other})
            continue
        fitted.set_params(**{name: other})
        _expect(fitted.get_params()[name] is other, f"set_params does not change {name}")
        _expect(clone(fitted).get_params()[name] is not value, f"a clone has the old {name}")
    _expect(fitted.predict(subject.test) == subject.predicted, "it annotates otherwise after set_params")
    _expect(fitted.evaluate(subject.test).main == subject.fitted.evaluate(subject.test).main, "it is scored otherwise")
    _expect(subject.file_of(fitted) == subject.file_of(subject.fitted), "it is saved otherwise after set_params")
    if type(fitted).settings:
        with _raises(ConfigError, "fit does not take the settings of set_params, or accepts any"):
            fitted.fit(subject.train)
        _expect(fitted.predict(subject.test) == subject.predicted, "settings that fit refuses change what it predicts")


def learning_changes_no_settings(subject: Subject) -> None:
    """``fit`` returns the estimator, does not change its settings, and sets ``card_`` and ``history_``."""
    fitted = subject.fitted
    _expect(fitted.get_params() == subject.estimator.get_params(), "fit changes settings")
    _expect(isinstance(fitted.card_, dict) and set(fitted.card_["corpora"]) == {"train", "dev"}, "card_ is incomplete")
    _expect(all(isinstance(row, Pass) for row in fitted.history_), "history_ is no list of passes")


def nothing_learned_is_said(subject: Subject) -> None:
    """Before ``fit``, everything that needs it raises :class:`NotFittedError`."""
    fresh = clone(subject.estimator)
    uses: dict[str, Callable[[], Any]] = {
        "predict": lambda: fresh.predict(subject.test),
        "predict of an iterator": lambda: fresh.predict(iter(subject.test)),
        "trace": lambda: fresh.trace(subject.test[0]),
        "evaluate": lambda: fresh.evaluate(subject.test),
        "compare": lambda: fresh.compare(subject.fitted, subject.test),
        "compare with": lambda: subject.fitted.compare(fresh, subject.test),
        "save": lambda: fresh.save("never written"),
    }
    for name, use in uses.items():
        with _raises(NotFittedError, f"{name} does not say that nothing is learned"):
            use()


def lists_give_lists_and_iterators_iterators(subject: Subject) -> None:
    """``predict`` returns annotated sentences: a list for a list, a lazy iterator for an iterator."""
    found = subject.predicted
    _expect(isinstance(found, list) and all(isinstance(each, Sentence) for each in found), "no list of sentences")
    _expect([each.forms for each in found] == [each.forms for each in subject.test], "the sentences have other words")
    _expect([each.comments for each in found] == [each.comments for each in subject.test], "comments are lost")
    stream = subject.fitted.predict(iter(subject.test))
    _expect(isinstance(stream, Iterator), "for an iterator the result is no iterator")
    _expect(list(stream) == found, "an iterator gives other results than a list")
    read = 0

    def endless() -> Iterator[Sentence]:
        nonlocal read
        while True:
            read += 1
            yield subject.test[read % len(subject.test)]

    small = copy.copy(subject.fitted)
    small.__dict__["_batch_size"] = 1
    next(iter(small.predict(endless())))
    _expect(read <= 3, f"{read} sentences are read before the first result, with batches of one")
    _expect(subject.fitted.predict([]) == [], "no sentences give something")
    _expect(list(subject.fitted.predict(iter([]))) == [], "an empty iterator gives something")


def bad_sentences_are_refused(subject: Subject) -> None:
    """Input that is not a sentence raises an error that says so."""
    for wrong in (["she sees"], [3], [None], [[1, 2]]):
        with _raises(ConfigError, f"{wrong!r} is taken for sentences", naming="is not a sentence"):
            subject.fitted.predict(wrong)  # type: ignore[arg-type]
        with _raises(ConfigError, f"{wrong[0]!r} is taken for a sentence", naming="is not a sentence"):
            subject.fitted.trace(wrong[0])  # type: ignore[arg-type]
    with _raises(ConfigError, "jobs=0 is accepted", naming="jobs"):
        subject.fitted.predict(subject.test, jobs=0)


def annotating_changes_nothing(subject: Subject) -> None:
    """``predict``, ``evaluate`` and ``trace`` do not change the estimator."""
    fitted = subject.fitted
    before = _digest(fitted)
    unknown = [replace(s, tokens=tuple(t._replace(form=t.form + "ish") for t in s)) for s in subject.test]
    fitted.predict(unknown)
    fitted.evaluate(subject.test)
    if subject.has_traces:
        fitted.trace(unknown[0])
    after = _digest(fitted)
    changed = [name for name in after if before.get(name) != after[name]]
    _expect(not changed, f"annotating changes {', '.join(changed)}")


def threads_may_share_it(subject: Subject) -> None:
    """Eight threads that annotate at the same time get the same result as one."""
    wanted = subject.predicted
    with ThreadPoolExecutor(_THREADS) as pool:
        futures = [pool.submit(subject.fitted.predict, subject.test) for _ in range(2 * _THREADS)]
        _expect(all(future.result() == wanted for future in futures), "threads get other results than one of them")
    _expect(subject.fitted.predict(subject.test, jobs=3) == wanted, "jobs=3 gives other results")


def sentences_of_any_length(subject: Subject) -> None:
    """Sentences without words, with one word, and with very many words are annotated."""
    words = [token for sentence in subject.test for token in sentence]
    chain = [words[k % len(words)]._replace(head=k, deprel="dep" if k else "root") for k in range(subject.long)]
    odd = [Sentence(()), Sentence((words[0]._replace(head=0, deprel="root"),)), Sentence(tuple(chain)), Sentence(())]
    found = subject.fitted.predict(odd)
    _expect([each.forms for each in found] == [each.forms for each in odd], "sentences lose or gain words")


def traces_end_with_what_is_predicted(subject: Subject) -> None:
    """``trace`` shows the decisions that lead to the prediction, with probabilities, and survives JSON."""
    if not subject.has_traces:
        return
    for sentence, predicted in zip(subject.test, subject.predicted, strict=True):
        trace = subject.fitted.trace(sentence)
        _expect(trace.words == sentence.forms, "a trace has other words than its sentence")
        _expect(_is_result(trace, predicted), f"the trace ends with {dict(trace.result)}, and not with the prediction")
        _expect(Trace.from_json(json.loads(json.dumps(trace.to_json(), allow_nan=False))) == trace, "JSON changes it")
        _expect(all(c.cost is None for s in trace.steps for c in s.candidates), "there are costs without a gold answer")
        for step in trace.decisions:
            shares = [each.probability for each in step.candidates if each.probability is not None]
            _expect(
                not shares or abs(sum(shares) - 1.0) < 1e-6, f"probabilities of step {step.number} are not 1 in sum"
            )


def the_expert_pays_nothing(subject: Subject) -> None:
    """``trace`` of the gold answer costs nothing, and changes no decision of the model."""
    if not subject.has_traces:
        return
    for sentence in subject.train[:5]:
        gold = subject.fitted.trace(sentence, sentence, follow="gold")
        error = gold.first_error
        _expect(gold.has_gold and error is None, f"the gold answer costs something: {error and error.action}")
        judged = subject.fitted.trace(sentence, sentence)
        _expect(judged.actions == subject.fitted.trace(sentence).actions, "a gold answer changes decisions")
    with _raises(ConfigError, "nothing is said of a gold answer that is missing", naming="gold"):
        subject.fitted.trace(subject.train[0], follow="gold")


def _is_result(trace: Trace, sentence: Sentence) -> bool:
    """Whether a trace ends with the annotation of a sentence."""
    result = trace.result
    if trace.kind == "tags":
        columns = (sentence.column(name) for name in trace.metadata["column"].split(","))
        return bool(result["labels"] == tuple(" ".join(values) for values in zip(*columns, strict=True)))
    if trace.kind == "tokens":
        return "".join(result["tokens"]) == "".join(sentence.forms)
    if trace.kind in ("transitions", "arcs"):
        heads = tuple(token.head for token in sentence)
        return bool(result == {"heads": heads, "labels": sentence.column("deprel")})
    if trace.kind == "graph":
        return sentence.graph is not None and bool(result["graph"] == sentence.graph.to_penman())
    return bool(result["tree"] == str(sentence.tree))


def scores_have_one_shape(subject: Subject) -> None:
    """``evaluate`` returns :class:`~treewright.metrics.Scores`."""
    scores = subject.fitted.evaluate(subject.test)
    _expect(isinstance(scores, Scores), f"{type(scores).__name__} lacks name, main, interval or as_dict")
    _expect(0.0 <= scores.main <= 1.0, f"{scores.name} is {scores.main}, not between 0 and 1")
    low, high = scores.interval
    _expect(low <= high, f"the interval goes from {low} to {high}")
    _expect(isinstance(json.loads(json.dumps(scores.as_dict())), dict), "as_dict has no plain values")
    _expect(subject.fitted.evaluate(subject.test, jobs=2) == scores, "jobs=2 gives other scores")
    if type(subject.fitted)._count_by_sentence is not Estimator._count_by_sentence:
        found, counts = subject.fitted.evaluate_by_sentence(subject.test)
        counted = float(score_of(counts)(counts.sum(0)))
        _expect(found == scores, "evaluate_by_sentence gives other scores than evaluate")
        _expect(
            abs(counted - scores.main) < 1e-9, f"the counts of sentences make {counted}, and evaluate {scores.main}"
        )


def comparisons_with_itself_find_nothing(subject: Subject) -> None:
    """``compare`` finds no difference to itself, and raises an error for another kind of annotation."""
    found = subject.fitted.compare(subject.fitted, subject.test, samples=20)
    _expect(found.difference == 0.0 and found.p_bootstrap == found.p_randomization == 1.0, "it differs from itself")
    main = subject.fitted.evaluate(subject.test).main
    _expect(abs(found.a - main) < 1e-9, f"compare scores {found.a}, and evaluate {main}")

    class Other(Estimator[Any]):
        annotates, card_ = "something else", {}

    with _raises(ConfigError, "it is compared with something that annotates something else", naming="something else"):
        subject.fitted.compare(Other(), subject.test)


def a_model_file_gives_it_back(subject: Subject) -> None:
    """``save`` and ``load`` keep annotation, settings and card; a damaged file raises an error."""
    kind = type(subject.fitted)
    with tempfile.TemporaryDirectory() as folder:
        path = subject.fitted.save(Path(folder, "model.tw"))
        loaded = kind.load(path)
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        with _raises(ModelError, "half a file is loaded", naming="model.tw"):
            kind.load(path)
    _expect(type(loaded) is kind, f"it is a {type(loaded).__name__} after loading")
    _expect(loaded.predict(subject.test) == subject.predicted, "it annotates otherwise after loading")
    _expect(loaded.resolved_config() == subject.fitted.resolved_config(), "it has other settings after loading")
    _expect(loaded.card_ == subject.fitted.card_, "it has another card after loading")
    _expect(subject.file_of(loaded) == subject.file_of(subject.fitted), "what is loaded is saved otherwise")


def the_same_seed_gives_the_same_file(subject: Subject) -> None:
    """Fitting again gives the same bytes, except for the date, with any number of threads."""
    again = subject.fit(jobs=2)
    _expect(subject.file_of(again) == subject.file_of(subject.fitted), "the same seed gives another model")


def resuming_gives_the_same(subject: Subject) -> None:
    """Training that is interrupted after its first pass and resumed gives the same bytes as without."""

    class Stop(Exception):
        pass

    def stop(row: Pass) -> None:
        raise Stop

    with tempfile.TemporaryDirectory() as folder:
        checkpoint = Path(folder, "checkpoint")
        try:
            subject.fit(checkpoint=checkpoint, report=stop)
        except Stop:
            pass
        else:
            _expect(not subject.fitted.history_, "report is not called")
        resumed = subject.fit(checkpoint=checkpoint, resume=True)
    _expect(subject.file_of(resumed) == subject.file_of(subject.fitted), "resumed training gives another model")


def bad_corpora_are_named(subject: Subject) -> None:
    """An empty corpus, something that is not a corpus, and a missing file raise clear errors."""
    fresh = clone(subject.estimator)
    for use in (fresh.fit, subject.fitted.evaluate):
        with _raises(CorpusError, "an empty corpus is accepted", naming="no sentences"):
            use([])
        for wrong in ([["a", "dog"]], [None], 3):
            with _raises(ConfigError, f"{wrong!r} is taken for a corpus", naming="Sentence"):
                use(wrong)  # type: ignore[arg-type]
        with _raises(CorpusError, "a file that is not there is read", naming="nowhere.conllu"):
            use("nowhere.conllu")
    with _raises(CorpusError, "empty development data are accepted", naming="no sentences"):
        fresh.fit(subject.train, dev=[])


_ALL = (
    constructor_only_stores,
    settings_can_be_read_and_changed,
    settings_take_effect_at_the_next_fit,
    learning_changes_no_settings,
    nothing_learned_is_said,
    lists_give_lists_and_iterators_iterators,
    bad_sentences_are_refused,
    annotating_changes_nothing,
    threads_may_share_it,
    sentences_of_any_length,
    traces_end_with_what_is_predicted,
    the_expert_pays_nothing,
    scores_have_one_shape,
    comparisons_with_itself_find_nothing,
    a_model_file_gives_it_back,
    the_same_seed_gives_the_same_file,
    resuming_gives_the_same,
    bad_corpora_are_named,
)

#: what is checked, by name
CHECKS: dict[str, Callable[[Subject], None]] = {check.__name__.replace("_", " "): check for check in _ALL}


# ---- helpers


def _expect(condition: bool, problem: str) -> None:
    if not condition:
        raise EstimatorError(problem)


class _raises:
    """A block that must raise an error of some class, whose message contains ``naming``."""

    def __init__(self, kind: type[Exception], otherwise: str, naming: str = "") -> None:
        self.kind, self.otherwise, self.naming = kind, otherwise, naming

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> bool:
        if error is None:
            raise EstimatorError(self.otherwise)
        if not isinstance(error, self.kind):
            return False
        _expect(self.naming in str(error), f"the error does not say {self.naming!r}: {error}")
        return True


def _digest(estimator: Estimator[Any]) -> dict[str, str]:
    """A digest of each attribute and everything in it, without the rows of words that it remembers."""
    found = {}
    for name, value in vars(estimator).items():
        if isinstance(value, Rows):
            continue
        digest = hashlib.sha256()
        _feed(digest, value, set())
        found[name] = digest.hexdigest()
    return found


def _feed(digest: Any, value: Any, above: set[int]) -> None:
    """Add a value and all its parts, without what is cached: properties, and the rows of words."""
    digest.update(type(value).__name__.encode())
    if isinstance(value, Rows):
        return
    if value is None or isinstance(value, (str, bytes, int, float, type)) or callable(value):
        digest.update(getattr(value, "__qualname__", repr(value)).encode())
    elif isinstance(value, np.ndarray):
        digest.update(f"{value.dtype}{value.shape}".encode() + np.ascontiguousarray(value).tobytes())
    elif id(value) not in above:
        above = {*above, id(value)}
        for part in _parts(value):
            _feed(digest, part, above)


def _parts(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        yield from (part for item in value.items() for part in item)
    elif isinstance(value, (set, frozenset)):
        yield from sorted(value, key=repr)
    elif isinstance(value, (list, tuple)):
        yield from value
    else:
        kept = {
            name for kind in type(value).__mro__ for name, v in vars(kind).items() if isinstance(v, cached_property)
        }
        yield from (part for item in getattr(value, "__dict__", {}).items() if item[0] not in kept for part in item)
        yield from (getattr(value, name, None) for name in getattr(type(value), "__slots__", ()))
