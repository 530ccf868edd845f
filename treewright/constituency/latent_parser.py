"""The constituency parser with latent-variable grammars, whose symbols are split automatically."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from treewright.constituency.base import ConstituencyEstimator, Derivation, Pieces, repeats
from treewright.constituency.grammar.binarisation import Markovisation
from treewright.constituency.grammar.pcfg import NotInGrammar
from treewright.constituency.latent.grammar import LatentGrammar, hierarchy_from_arrays, hierarchy_to_arrays, named_so
from treewright.constituency.latent.parsing import CoarseToFine, Product, treebank_trees
from treewright.constituency.scores import score_constituents
from treewright.constituency.settings import (
    DECODER,
    GRAMMAR,
    MAX_LENGTH,
    MEMORY,
    PRUNE,
    TRADEOFF,
    grammar_settings,
)
from treewright.constituency.treebank import as_in_treebank, binarised, clean_trees, learn_treebank, read_treebank
from treewright.corpora import Sentence, Tree, corpus_hash
from treewright.errors import ConfigError, CorpusError, ModelError
from treewright.estimators import Corpus, Running
from treewright.estimators.settings import SEED
from treewright.search.compiling import at_once
from treewright.settings import Choice, Like, Real, Setting, Whole, one_of, whole_number
from treewright.tracing import Trace

if TYPE_CHECKING:
    from treewright.constituency.latent.pruning import PruningPolicy
    from treewright.constituency.latent.training import SplitMerge
    from treewright.constituency.parser import KBest
    from treewright.estimators.streams import Input
    from treewright.learners import Learner

__all__ = ["LatentParser"]


def _check_name(grammar: Any) -> Any:
    if not isinstance(grammar, (str, dict, Markovisation)):
        raise ConfigError("symbols are split while learning; give a name such as 'v1h0', not a grammar")
    grammar_settings(grammar)
    return grammar


_CANDIDATES = 20  # trees of the treebank grammar for each one that is wanted


PRODUCTS = Setting("products", Whole(1), "The number of learned grammars that parse together, as a product")


class LatentParser(ConstituencyEstimator):
    """Parses sentences into constituency trees with a latent-variable grammar.

    Args:
        grammar: how the base grammar is read off the treebank. Its symbols should have a short memory, because
            splitting finds the relevant distinctions.
        learner: ``split-merge``, or its settings, above all ``cycles`` and ``starts``
            (:class:`~treewright.constituency.latent.training.SplitMerge`).
        decoder: ``max-rule-product``, the tree whose rules are together the most probable (Petrov & Klein 2007),
            ``max-rule-sum``, or ``viterbi``, the tree of the best derivation.
        prune: coarse-to-fine: constituents that are less probable than this under the grammar of an earlier cycle are
            not built; 0 builds everything. If this leaves no tree, more is built.
        products: the number of learned grammars that parse together: the best ones on development data, as a product
            (Petrov 2010). Two are a point of F1 better than one on the WSJ sample, and take twice as long.
        tradeoff: λ of learned pruning (:mod:`treewright.constituency.latent.pruning`): a policy, learned from the
        treebank,
            chooses what is built; the larger λ is, the less. None is without it.
        max_length: longer sentences are excluded from training and development data.
        memory: gigabytes that a chart may take, for each of the ``jobs``; longer sentences are parsed in parts.
        seed: the same seed gives the same model.

    With development data, several grammars are learned from different seeds. The cycle with the best trees is kept,
    with all cycles before it, which are used for pruning. Without development data, the last cycle of a single grammar
    is kept.

    >>> from treewright.corpora import builtin_corpus
    >>> train, dev, test = builtin_corpus(train=60, dev=20, test=20)
    >>> parser = LatentParser(learner={"name": "split-merge", "cycles": 1, "starts": 1}).fit(train, dev=dev)
    >>> parser.evaluate(test).f1 > 0.7
    True
    """

    task: ClassVar[str] = "latent"
    settings: ClassVar[tuple[Setting, ...]] = (
        replace(GRAMMAR, values=Like(_check_name, "a name such as v1h0, or its settings")),
        replace(
            DECODER,
            values=Choice(
                {
                    "max-rule-product": "the most probable rules together",
                    "max-rule-sum": "the most correct rules",
                    "viterbi": "the tree of the best derivation",
                }
            ),
        ),
        PRUNE,
        PRODUCTS,
        replace(
            TRADEOFF,
            values=Real(above=0, high=1),
            note="Here it is the cost of building an unnecessary constituent, such as 0.01",
        ),
        MAX_LENGTH,
        MEMORY,
        SEED,
    )

    def __init__(
        self,
        grammar: str | dict[str, Any] | Markovisation = "v1h0",
        *,
        learner: str | SplitMerge | dict[str, Any] = "split-merge",
        decoder: str = "max-rule-product",
        prune: float = 1e-4,
        products: int = 1,
        tradeoff: float | None = None,
        max_length: int | None = None,
        memory: float = 2.0,
        seed: int = 0,
    ) -> None:
        self.grammar = grammar
        self.learner = learner
        self.decoder = decoder
        self.prune = prune
        self.products = products
        self.tradeoff = tradeoff
        self.max_length = max_length
        self.memory = memory
        self.seed = seed

    levels_: list[LatentGrammar]
    """The grammars of all cycles up to the one that is kept; the treebank grammar is first."""
    others_: Sequence[Sequence[LatentGrammar]] = ()
    """The other hierarchies of a product."""
    policy_: PruningPolicy | None = None
    """The policy of learned pruning."""

    # ---- learning

    @classmethod
    def learners(cls) -> tuple[type[Learner], ...]:
        """Return the classes of supported learners."""
        from treewright.constituency.latent.training import SplitMerge

        return (SplitMerge,)

    def _fit(self, corpus: Corpus, dev: Corpus | None, running: Running) -> None:
        from treewright.constituency.latent.training import train_latent
        from treewright.learners.checkpoints import Judge

        learner = self._make_learner()
        treebank = learn_treebank(corpus, self._markovisation(), self.max_length)
        self.top_, self.cover_, binary = treebank.top, treebank.cover, treebank.binary
        corpora, evaluate = {"train": corpus_hash(treebank.sentences)}, None
        self.policy_, self.others_ = None, ()
        self._check_products(learner, dev is not None)
        if dev is not None:
            dev_sentences = read_treebank(dev, self.max_length)
            corpora["dev"] = corpus_hash(dev_sentences)
            gold = clean_trees(dev_sentences)

            def f1(levels: Sequence[LatentGrammar]) -> float:
                self._use_levels(levels)
                return score_constituents(gold, self._trees(dev_sentences, running["jobs"]), seed=self.seed).f1

            evaluate = Judge(f1, f"{corpora['dev']} {self.decoder} {self.prune}")

        trained = train_latent(binary, learner, seed=self.seed, evaluate=evaluate, **running)
        self.history_ = trained.history
        scores = {} if trained.score is None else {"dev F1": trained.score}
        self.others_ = trained.hierarchies[1 : self.products]
        self._use_levels(trained.levels)
        if self.tradeoff is not None:
            self._learn_pruning(binary, self.tradeoff)
        if evaluate is not None and (self.others_ or self.policy_ is not None):
            scores = {"dev F1": evaluate(self.levels_)}
        self.card_ = self._make_card(corpora, scores)

    def tune_speed(
        self, corpus: Corpus, tradeoff: float, *, learner: str = "on-policy", dev: Corpus | None = None
    ) -> Self:
        """Learn pruning for a fitted parser, for λ = ``tradeoff``; trees that its grammar cannot derive are skipped.

        The card of the parser names the corpus and the learner, and its score is the F1 on ``dev``, or on ``corpus`` if
        there is no ``dev``.
        """
        self._check_fitted()
        sentences = read_treebank(corpus, self.max_length)
        trees = []
        for tree in binarised(self._markovisation(), clean_trees(sentences), sentences):
            try:
                self.levels_[0].base.derivation(tree)
            except NotInGrammar:
                continue
            trees.append(tree)
        if not trees:
            raise CorpusError(
                "the parser's grammar can derive no tree of this treebank: give one like its training data"
            )
        self._learn_pruning(trees, tradeoff, learner)
        self.tradeoff = tradeoff
        judged = sentences if dev is None else read_treebank(dev, self.max_length)
        scores = {"dev F1": score_constituents(clean_trees(judged), self._trees(judged, 1), seed=self.seed).f1}
        corpora = {**self.card_["corpora"], "dev": corpus_hash(judged), "pruning": corpus_hash(sentences)}
        about = {"learner": learner, "tradeoff": tradeoff, "sentences": len(trees)}
        self.card_ = {**self.card_, **self._make_card(corpora, scores), "pruning": about}
        return self

    def check_tuning(self, tradeoff: float, *, learner: str = "on-policy") -> None:
        """Check the arguments of :meth:`tune_speed`."""
        from treewright.constituency.latent.pruning import check_pruning

        check_pruning(tradeoff, learner)

    def _learn_pruning(self, trees: Sequence[Tree], tradeoff: float, learner: str = "on-policy") -> None:
        from treewright.constituency.latent.pruning import PruningPolicy

        self.policy_ = PruningPolicy.learn(self.levels_, trees, tradeoff=tradeoff, learner=learner, seed=self.seed)
        self._use_levels(self.levels_)

    def resolved_config(self) -> dict[str, Any]:
        """Return every setting as a plain value, including all settings of the learner, for a model file."""
        return {**super().resolved_config(), "grammar": asdict(self._markovisation())}

    def _markovisation(self) -> Markovisation:
        return grammar_settings(self.grammar)

    def _check_products(self, learner: SplitMerge, has_dev: bool) -> None:
        given: dict[str, Any] = {"setting": "products", "value": self.products}
        if self.products > 1 and not has_dev:
            raise ConfigError(
                "are of the best grammars on development data: give some, or leave products at 1", **given
            )
        if self.products > learner.starts:
            raise ConfigError(f"({self.products}) cannot be more than the learner's starts ({learner.starts})", **given)
        if self.products > 1 and self.decoder != "max-rule-product":
            raise ConfigError(f"need the decoder 'max-rule-product', not {self.decoder!r}", **given)

    # ---- parsing

    def _use_levels(self, levels: Sequence[LatentGrammar]) -> None:
        """Set the grammars for parsing."""
        self.levels_ = list(levels)
        self.grammar_ = self.levels_[0].base
        searches = [
            CoarseToFine(each, threshold=self.prune, decoder=self.decoder, policy=self.policy_)
            for each in (self.levels_, *self.others_)
        ]
        self._search = Product(searches) if self.others_ else searches[0]

    def _trace(self, sentence: Sentence, gold: Sentence | None, follow: str, *, kind: str = "derivation") -> Trace:
        if kind not in ("derivation", "chart"):
            raise ConfigError(one_of(kind, ("derivation", "chart")), setting="kind", value=kind)
        level = self.levels_[0]  # its derivations are those of the treebank grammar
        with np.errstate(divide="ignore"):
            grammar = level.base.with_weights(np.log(np.concatenate([level.binary, level.unary])))
        from treewright.constituency.trace import trace_chart, trace_derivation

        if kind == "chart":
            return trace_chart(self, sentence, gold, grammar=grammar, lexical=level.lexical())
        return trace_derivation(self, sentence, gold, follow, grammar=grammar, lexical=level.lexical())

    def parse_k_best(self, sentences: Input, k: int = 10, *, jobs: int = 1) -> list[list[KBest]]:
        """Return the k best trees of each sentence, best first, with the logarithms of their probabilities.

        They are the tree that the parser predicts, which is the first one in most sentences, and the best trees of the
        treebank grammar, sorted by their probability under the latent-variable grammar, which sums over all substates.
        Trees with a constituent over another one of the same label and the same words are omitted. A sentence that
        the grammar cannot derive has the predicted tree, with the score −∞.
        """
        self._check_fitted()
        k = whole_number("k", k, 1)
        found: list[list[KBest]] = []
        for batch in self._batches(sentences):
            with at_once(sum(len(sentence) for sentence in batch)):
                found += self._k_best_of(batch, k, jobs)
        return found

    def _k_best_of(self, batch: Sequence[Sentence], k: int, jobs: int) -> Iterator[list[KBest]]:
        from treewright.constituency.parser import KBest

        base, fine = self.levels_[0].base, self.levels_[-1]
        lexical = fine.lexical()
        for sentence, best in zip(batch, self._decode(batch, jobs), strict=True):
            if best.tree is None:
                yield []
                continue
            words = list(sentence.forms)
            rows = self._rows(words, ())
            own = -math.inf if best.nodes is None else fine.tree_score(best.nodes, lexical, rows)
            trees = {self._topped(best.tree): own}
            if len(words) <= self._longest():
                candidates = treebank_trees(self._search.treebank, rows, _CANDIDATES * k)
                for rank in range(candidates.found[0]):
                    derivation = candidates.trees[rank]
                    tree = self._topped(base.tree(derivation, words))
                    if not repeats(tree):
                        score = fine.tree_score(derivation, lexical, rows)
                        trees[tree] = max(score, trees.get(tree, -math.inf))
            yield [KBest(*each) for each in sorted(trees.items(), key=lambda each: -each[1])[:k]]

    def _derivations(self, pieces: Pieces, jobs: int) -> Iterator[Derivation]:
        for nodes, is_whole in self._search.decode(pieces.rows, pieces.at, jobs):
            yield Derivation(nodes, not is_whole)

    def _rows(self, words: list[str], tags: Sequence[str]) -> npt.NDArray[np.int32]:
        """The rows of the lexicon for a sentence's words."""
        return self.levels_[0].rows(as_in_treebank(words, self.levels_[0].lexicon.base.knows))

    def _longest(self, bytes_each: int | None = None) -> int:
        """The longest sentence whose charts fit into the memory: 16 bytes per substate and span."""
        substates = 1.2 * max(len(each[-1].coarser) for each in (self.levels_, *self.others_))  # in whole blocks
        return max(20, int((self.memory * 1e9 / (8.0 * substates)) ** 0.5))

    # ---- the model file

    def _learned(self) -> tuple[dict[str, Any], dict[str, Any]]:
        arrays = hierarchy_to_arrays(self.levels_)
        for k, other in enumerate(self.others_):
            arrays |= hierarchy_to_arrays(other, f"other{k}.level", self.levels_[0].to_arrays())
        if self.policy_ is not None:
            arrays |= {f"policy.{name}": array for name, array in self.policy_.to_arrays().items()}
        return {"top": self.top_, "cover": self.cover_, "levels": len(self.levels_)}, arrays

    def _restore(self, settings: dict[str, Any], arrays: dict[str, Any]) -> None:
        self.top_, self.cover_ = settings["top"], settings["cover"]
        policy = named_so(arrays, "policy.")
        if policy:
            from treewright.constituency.latent.pruning import PruningPolicy

            self.policy_ = PruningPolicy.from_arrays(policy)
        levels = hierarchy_from_arrays(arrays)
        common = named_so(arrays, "level0.")
        self.others_ = [hierarchy_from_arrays(arrays, f"other{k}.level", common) for k in range(self.products - 1)]
        if len(levels) != settings["levels"] or not all(self.others_):
            raise ModelError("the model lacks some of its grammars; copy or train the model again")
        self._use_levels(levels)
