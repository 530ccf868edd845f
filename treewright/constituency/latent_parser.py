"""A constituency parser that splits the symbols of its grammar by itself: latent-variable grammars as an estimator."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from treewright.constituency.binarisation import Markovisation
from treewright.constituency.grammar import NotInGrammar
from treewright.constituency.latent import LatentGrammar
from treewright.constituency.latent_parsing import DECODERS, CoarseToFine
from treewright.constituency.latent_training import SplitMerge, make_split_merge, train_latent
from treewright.constituency.parser import (
    ConstituencyParser,
    Corpus,
    Input,
    KBest,
    _as_in_treebank,
    _Batch,
    _binarised,
    _clean_trees,
    _number,
)
from treewright.constituency.pruning import PruningPolicy
from treewright.constituency.scores import score_constituents
from treewright.corpora import Tree, corpus_hash
from treewright.errors import ConfigError, CorpusError, whole_number
from treewright.learners import Pass

__all__ = ["LatentParser"]


class LatentParser(ConstituencyParser):
    """Parses sentences into constituency trees with a grammar whose symbols were split until they fit the treebank.

    Args:
        grammar: how the grammar that is split is read off the treebank; its symbols should remember little, for
            splitting finds out what there is to remember.
        learner: ``split-merge``, or its settings, above all ``cycles``
            (:class:`~treewright.constituency.latent_training.SplitMerge`).
        decoder: ``max-rule-product``, the tree whose rules are together the most probable (Petrov & Klein 2007),
            ``max-rule-sum``, or ``viterbi``, that of the best derivation.
        prune: coarse-to-fine: what is less probable than this under the grammar of an earlier cycle is not built; 0
            builds everything. Where that leaves no tree, more is built.
        tradeoff: λ of learned pruning (:mod:`treewright.constituency.pruning`): a policy, learned from the treebank,
            chooses what is built; the larger λ is, the less. None is without it.
        max_length: longer sentences are left out of training and development data.
        memory: gigabytes that a chart may take, for each of the ``jobs``; longer sentences are parsed in parts.
        seed: the same seed gives the same model.

    With development data, the cycle whose trees are the best there is kept, with all before it, which prune for it.

    >>> from treewright.corpora import builtin_corpus
    >>> train, dev, test = builtin_corpus(train=60, dev=20, test=20)
    >>> parser = LatentParser(learner={"name": "split-merge", "cycles": 1}).fit(train, dev=dev)
    >>> parser.evaluate(test).f1 > 0.7
    True
    """

    task: ClassVar[str] = "latent"
    tags = "lexicon"  # what the parent lets people choose

    def __init__(
        self,
        grammar: str | dict[str, Any] | Markovisation = "v1h0",
        *,
        learner: str | SplitMerge | dict[str, Any] = "split-merge",
        decoder: str = "max-rule-product",
        prune: float = 1e-4,
        tradeoff: float | None = None,
        max_length: int | None = None,
        memory: float = 2.0,
        seed: int = 0,
    ) -> None:
        self.grammar = grammar
        self.learner = learner  # type: ignore[assignment]
        self.decoder = decoder
        self.prune = prune
        self.tradeoff = tradeoff
        self.max_length = max_length
        self.memory = memory
        self.seed = seed

    levels_: list[LatentGrammar]
    """The grammars of all cycles up to the one that is kept, that of the treebank first."""
    policy_: PruningPolicy | None = None
    """What learned pruning has learned."""

    # ---- learning

    def fit(
        self,
        corpus: Corpus,
        dev: Corpus | None = None,
        *,
        jobs: int = 1,
        report: Callable[[Pass], None] | None = None,
        progress: Callable[[str, int, int], None] | None = None,
        checkpoint: Path | None = None,
        resume: bool = False,
    ) -> Self:
        """Learn from a treebank: sentences with trees, or the path of a file. With ``dev``, the best cycle is kept."""
        self._check_settings()
        jobs, learner = whole_number("jobs", jobs, 1), make_split_merge(self.learner)
        sentences, _, binary = self._read_treebank(corpus)
        corpora, evaluate = {"train": corpus_hash(sentences)}, None
        self.policy_ = None
        if dev is not None:
            dev_sentences = self._treebank(dev, self.max_length)
            corpora["dev"] = corpus_hash(dev_sentences)
            gold = _clean_trees(dev_sentences)

            def evaluate(levels: Sequence[LatentGrammar]) -> float:
                self._use_levels(levels)
                return score_constituents(gold, self._trees(dev_sentences, jobs), seed=self.seed).f1

        trained = train_latent(
            binary,
            learner,
            seed=self.seed,
            jobs=jobs,
            evaluate=evaluate,
            report=report,
            progress=progress,
            checkpoint=checkpoint,
            resume=resume,
        )
        self.history_ = trained.history
        scores = {} if trained.score is None else {"dev F1": trained.score}
        self._use_levels(trained.levels)
        if self.tradeoff is not None:
            self._learn_pruning(binary, self.tradeoff)
            if evaluate is not None:
                scores = {"dev F1": evaluate(self.levels_)}
        self.card_ = self._make_card(corpora, scores)
        return self

    def tune_speed(self, corpus: Corpus, tradeoff: float, *, method: str = "dagger") -> Self:
        """Learn pruning for a parser that is there: λ = ``tradeoff``; trees that its grammar lacks are left out."""
        self._check_fitted()
        sentences = self._treebank(corpus, self.max_length)
        trees = []
        for tree in _binarised(self._markovisation(), _clean_trees(sentences), sentences):
            try:
                self.levels_[0].base.derivation(tree)
            except NotInGrammar:
                continue
            trees.append(tree)
        if not trees:
            raise CorpusError(
                "the parser's grammar can derive no tree of this treebank: give one like its training data"
            )
        self._learn_pruning(trees, tradeoff, method)
        self.tradeoff = tradeoff
        return self

    def _learn_pruning(self, trees: Sequence[Tree], tradeoff: float, method: str = "dagger") -> None:
        self.policy_ = PruningPolicy.learn(self.levels_, trees, tradeoff=tradeoff, method=method, seed=self.seed)
        self._use_levels(self.levels_)

    def resolved_config(self) -> dict[str, Any]:
        """Every setting, with the learner's choices spelled out: what a model file records."""
        markovisation = self._markovisation()
        return {
            **self.get_params(),
            "grammar": {name: getattr(markovisation, name) for name in markovisation.__dataclass_fields__},
            "learner": make_split_merge(self.learner).params(),
        }

    def _check_settings(self) -> None:
        if self.decoder not in DECODERS:
            raise ConfigError(f"decoder cannot be {self.decoder!r}; it is one of: {', '.join(DECODERS)}")
        if not isinstance(self.grammar, (str, dict, Markovisation)):
            raise ConfigError("grammar: symbols are split while learning; give a name such as 'v1h0', not a grammar")
        if self.tradeoff is not None and not 0.0 < _number(self.tradeoff) <= 1.0:
            raise ConfigError(
                f"tradeoff must be above 0 and at most 1, not {self.tradeoff!r}; leave it out for no learned pruning"
            )
        self._check_sizes()

    # ---- parsing

    def parse_k_best(self, sentences: Input, k: int = 10, *, jobs: int = 1) -> list[list[KBest]]:
        """Not to be had: a tree is the sum of many derivations here, and the best ones are not the best trees."""
        raise ConfigError("a latent-variable grammar has no k best trees; train a ConstituencyParser for them")

    def _use_levels(self, levels: Sequence[LatentGrammar]) -> None:
        """Parse with these grammars from now on."""
        self.levels_ = list(levels)
        self.grammar_ = self.levels_[0].base
        self._search = CoarseToFine(self.levels_, threshold=self.prune, decoder=self.decoder, policy=self.policy_)

    def _decode(self, batch: _Batch, jobs: int) -> Iterator[tuple[npt.NDArray[np.int32], bool]]:
        """The derivation of each piece, and whether it is a cover only."""
        for nodes, is_whole in self._search.decode(batch.rows, batch.at, jobs):
            yield nodes, not is_whole

    def _rows(self, words: list[str], tags: Sequence[str]) -> npt.NDArray[np.int32]:
        """The rows of the lexicon for a sentence's words."""
        return self.levels_[0].rows(_as_in_treebank(words, self.levels_[0].lexicon.base.knows))

    def _longest(self, bytes_each: int | None = None) -> int:
        """The longest sentence whose charts fit into the memory: 16 bytes a substate and span."""
        substates = 1.2 * len(self.levels_[-1].coarser)  # in whole blocks
        return max(20, int((self.memory * 1e9 / (8.0 * substates)) ** 0.5))

    # ---- the model file

    def _learned(self) -> tuple[dict[str, Any], dict[str, Any]]:
        arrays = {
            f"level{k}.{name}": array
            for k, level in enumerate(self.levels_)
            for name, array in level.to_arrays().items()
        }
        if self.policy_ is not None:
            arrays |= {f"policy.{name}": array for name, array in self.policy_.to_arrays().items()}
        return {"top": self.top_, "cover": self.cover_, "levels": len(self.levels_)}, arrays

    def _restore(self, settings: dict[str, Any], arrays: dict[str, Any]) -> None:
        def part(prefix: str) -> dict[str, Any]:
            return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}

        self.top_, self.cover_ = settings["top"], settings["cover"]
        self.policy_ = PruningPolicy.from_arrays(policy) if (policy := part("policy.")) else None
        self._use_levels([LatentGrammar.from_arrays(part(f"level{k}.")) for k in range(settings["levels"])])
