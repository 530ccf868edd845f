"""Fit an estimator on shards of a corpus, by iterative parameter mixing (:mod:`treewright.learners`).

A shard is a range of bytes of a corpus file, so that the process that distributes the work never loads the corpus.
First each shard is *surveyed* for its labels and words. The results are merged, and every shard is packed with the same
labels and the same vocabulary. Then passes and mixing alternate.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from treewright.corpora import Sentence, corpus_hash, load_corpus
from treewright.corpora.reading import format_of
from treewright.errors import ConfigError, CorpusError
from treewright.estimators.base import Estimator
from treewright.estimators.corpus import Corpus, read_corpus
from treewright.estimators.registry import estimator_class

if TYPE_CHECKING:
    from treewright.learners import Pass
    from treewright.learners.parameter_mixing import Round, ShardLearner, State

__all__ = ["FileShard", "LocalShards", "MixableEstimator", "ShardRunner", "Survey", "cut_file", "fit_mixed"]

_BLOCK = 1 << 20


class FileShard(NamedTuple):
    """A range of bytes of a file, of whole sentences with blank lines between them."""

    path: str
    start: int
    end: int

    def read(self) -> list[Sentence]:
        """Return its sentences."""
        try:
            with open(self.path, "rb") as file:
                file.seek(self.start)
                data = file.read(self.end - self.start)
        except OSError as error:
            raise CorpusError(
                f"a worker cannot read it ({(error.strerror or str(error)).lower()}): training on a cluster needs a "
                "corpus on a file system that all machines share",
                path=self.path,
            ) from None
        return load_corpus(BytesIO(data), format_of(self.path) or "conllu")


def cut_file(path: str | Path, shards: int) -> list[FileShard]:
    """Return ranges of a file of about equal size, cut at blank lines; fewer if there are not enough sentences.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile(suffix=".conllu") as file:
    ...     _ = file.write(b"1\\n\\n22\\n\\n333\\n\\n"), file.flush()
    ...     [(shard.start, shard.end) for shard in cut_file(file.name, 2)]
    [(0, 7), (7, 12)]
    """
    path = Path(path).resolve()
    if not path.is_file():
        raise CorpusError("there is no such file; check the path", path=path)
    size, cuts = path.stat().st_size, [0]
    with path.open("rb") as file:
        for k in range(1, shards):
            cut = _after_blank_line(file, max(size * k // shards, cuts[-1]))
            if cuts[-1] < cut < size:
                cuts.append(cut)
    return [FileShard(str(path), a, b) for a, b in zip(cuts, [*cuts[1:], size], strict=True)]


def _after_blank_line(file: Any, position: int) -> int:
    """The position after the first blank line at or after a position."""
    file.seek(max(position - 1, 0))
    if position:
        file.readline()
    blank = False
    while line := file.readline():
        if not line.strip():
            blank = True
        elif blank:
            return int(file.tell() - len(line))
    return int(file.tell())


class Survey(NamedTuple):
    """The information on one shard that is needed before weights are learned."""

    digest: str
    sentences: int
    words: Counter[str]
    labels: tuple[frozenset[str], ...]
    """Sets of labels, as the estimator needs them."""

    @staticmethod
    def merged(surveys: Sequence[Survey]) -> Survey:
        """Merge the surveys of all shards; the digest of a single shard is the digest of the corpus."""
        digests = [survey.digest for survey in surveys]
        digest = digests[0] if len(digests) == 1 else hashlib.sha256("\n".join(digests).encode()).hexdigest()
        words = Counter[str]()
        for survey in surveys:
            words.update(survey.words)
        labels = tuple(frozenset().union(*sets) for sets in zip(*(s.labels for s in surveys), strict=True))
        return Survey(digest, sum(survey.sentences for survey in surveys), words, labels)


class MixableEstimator(Protocol):
    """The interface of estimators that can be fitted on shards."""

    def _survey(self, sentences: list[Sentence]) -> Survey: ...
    def _adopt(self, survey: Survey) -> None: ...
    def _pack_shard(self, sentences: list[Sentence]) -> Any: ...
    def _judge(self, dev: list[Sentence], jobs: int) -> Callable[[Any], float]: ...
    def _finish(self, policy: Any, history: list[Pass], corpora: Mapping[str, str]) -> None: ...
    def _training_settings(self) -> dict[str, Any]: ...


class ShardRunner(Protocol):
    """Runs functions on shards, in this process or on a cluster. The shards are given when it is made."""

    shards: Sequence[FileShard]

    def survey(self, task: str, params: dict[str, Any]) -> list[Survey]:
        """Return what each shard has."""

    def advance(
        self, task: str, params: dict[str, Any], survey: Survey, when: Round, state: State
    ) -> list[tuple[State, dict[str, Any]]]:
        """Learn for one round on each shard, from the same state."""


def survey_shard(shard: FileShard, task: str, params: dict[str, Any]) -> Survey:
    """Return the survey of a shard."""
    estimator: Any = estimator_class(task)(**params)
    found: Survey = estimator._survey(shard.read())
    return found


def advance_shard(
    shard: FileShard,
    task: str,
    params: dict[str, Any],
    survey: Survey,
    when: Round,
    state: State,
    learners: dict[Any, ShardLearner] | None = None,
) -> tuple[State, dict[str, Any]]:
    """Learn for one round on a shard. Its sentences are read and packed once, and kept in ``learners``.

    By default they are kept as long as the process lives.
    """
    learners = _LEARNERS if learners is None else learners
    key = (shard, survey.digest, repr(sorted(params.items(), key=lambda item: item[0])))
    if key not in learners:
        from treewright.learners.parameter_mixing import ShardLearner

        estimator: Any = estimator_class(task)(**params)
        estimator._adopt(survey)
        packed = estimator._pack_shard(shard.read())
        learners[key] = ShardLearner(estimator._make_learner(), packed, **estimator._training_settings())
    return learners[key].advance(when, state)


_LEARNERS: dict[Any, ShardLearner] = {}  # by shard, corpus and settings


class LocalShards:
    """Runs shards in this process, one at a time: the reference for clusters."""

    def __init__(self, shards: Sequence[FileShard]) -> None:
        self.shards = shards
        self._learners: dict[Any, ShardLearner] = {}

    def survey(self, task: str, params: dict[str, Any]) -> list[Survey]:
        """Return what each shard has."""
        return [survey_shard(shard, task, params) for shard in self.shards]

    def advance(
        self, task: str, params: dict[str, Any], survey: Survey, when: Round, state: State
    ) -> list[tuple[State, dict[str, Any]]]:
        """Learn for one round on each shard, from the same state."""
        return [advance_shard(shard, task, params, survey, when, state, self._learners) for shard in self.shards]


def fit_mixed(
    estimator: Estimator[Any],
    runner: ShardRunner,
    dev: Corpus | None = None,
    *,
    rounds: int | None = None,
    jobs: int = 1,
    report: Callable[[Pass], None] | None = None,
    checkpoint: Path | None = None,
    resume: bool = False,
) -> Estimator[Any]:
    """Fit an estimator on shards by iterative parameter mixing; with ``dev``, the best pass on these data is kept.

    ``rounds`` is the number of mixtures in a pass, by default ``treewright.learners.parameter_mixing.ROUNDS``; more of
    them learn more in a pass, and weights travel more often. With one shard, the result is equal to that of ``fit``.

    Raises:
        ConfigError: if the estimator or its learner cannot be trained in this way.
    """
    from treewright.learners.checkpoints import Judge
    from treewright.learners.parameter_mixing import ROUNDS, ShardLearner, check_online, train_mixed

    estimator._check_settings()
    learner = estimator._make_learner()
    if not hasattr(estimator, "_survey"):
        raise ConfigError(f"{estimator.task} cannot be trained on shards; tagging and dependency can")
    policy = getattr(estimator, "policy", "linear")
    if policy != "linear":
        raise ConfigError("must be 'linear' for training on shards", setting="policy", value=policy)
    check_online(learner)
    mixable: Any = estimator
    task, params = estimator.task, estimator.resolved_config()
    surveys = runner.survey(task, params)
    survey = Survey.merged(surveys)
    rounds = rounds or (ROUNDS if len(surveys) > 1 else 1)
    mixable._adopt(survey)
    corpora, evaluate = {"train": survey.digest}, None
    if dev is not None:
        sentences = read_corpus(dev)
        corpora["dev"] = corpus_hash(sentences)
        evaluate = Judge(mixable._judge(sentences, jobs), corpora["dev"])
    first = FileShard(*runner.shards[0])
    start = ShardLearner(learner, mixable._pack_shard(first.read()[:1]), **mixable._training_settings()).trainer
    trained = train_mixed(
        learner,
        _Passes(runner, task, params, survey),
        start,
        about={"data": survey.digest, "shards": len(runner.shards), "seed": params.get("seed", 0)},
        rounds=min(rounds, *(each.sentences for each in surveys)),  # a round needs a sentence of each shard
        evaluate=evaluate,
        report=report,
        checkpoint=checkpoint,
        resume=resume,
    )
    mixable._finish(trained.policy, trained.history, corpora)
    if len(runner.shards) > 1:
        estimator.card_["shards"] = len(runner.shards)
    return estimator


class _Passes(NamedTuple):
    """The shards, with the interface that parameter mixing needs."""

    runner: ShardRunner
    task: str
    params: dict[str, Any]
    survey: Survey

    def advance(self, when: Round, state: State) -> list[tuple[State, dict[str, Any]]]:
        return self.runner.advance(self.task, self.params, self.survey, when, state)
