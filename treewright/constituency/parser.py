"""The constituency parser: a treebank grammar, parsed with exactly, whose weights are learned as an apprentice."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from treewright.constituency.binarisation import DIRECTIONS, Markovisation
from treewright.constituency.chart import Lexical, chart_bytes
from treewright.constituency.grammar import BOTTOM, Grammar
from treewright.constituency.lexicon import KINDS, Lexicon
from treewright.constituency.passes import CHARTS, COVERED, MAX_RULE, VITERBI, k_best_pass, parse_pass
from treewright.constituency.planner import LOSSES, TRAINED, CKYPlanner
from treewright.constituency.scores import ConstituencyScores, score_constituents
from treewright.corpora import Sentence, Tree, corpus_hash, load_corpus
from treewright.corpora.brackets import clean_tree
from treewright.errors import ConfigError, CorpusError, whole_number
from treewright.learners import Learner, Pass, make_learner
from treewright.learners.estimator import Estimator
from treewright.learners.irl import IRL, InverseRL
from treewright.learners.irl_training import train_irl
from treewright.search.running import run_shards

__all__ = ["ML", "ConstituencyParser"]

Corpus = str | os.PathLike[str] | Iterable[Sentence]
Input = Iterable[Sentence | Sequence[str]]

ML = "maximum-likelihood"  # the learner that learns nothing more than relative frequencies
DECODERS = {"viterbi": VITERBI, "max-rule": MAX_RULE}
_BATCH = 4_000  # words parsed at a time when streaming
_SPECIFICATION = re.compile(r"v(\d+)h(\d+|inf)(?:-(left|right|head))?(-tags)?")
# brackets as the Penn Treebank writes them, for words that come from elsewhere
_BRACKETS = {"(": "-LRB-", ")": "-RRB-", "[": "-LSB-", "]": "-RSB-", "{": "-LCB-", "}": "-RCB-"}

#: what a learner is given where it says nothing of these, chosen on development data
USUAL: dict[str, dict[str, Any]] = {}


def grammar_settings(grammar: Any) -> Markovisation:
    """How trees are made binary, from a short name such as ``v2h1``, ``v2hinf-left``, ``v3h2-head-tags``.

    >>> grammar_settings("v2h1")
    Markovisation(vertical=2, horizontal=1, direction='right', tag_parents=False)
    """
    if isinstance(grammar, Markovisation):
        return grammar
    if isinstance(grammar, dict):
        try:
            return Markovisation(**grammar)
        except TypeError as error:
            raise ConfigError(
                f"grammar: {error}; its settings are vertical, horizontal, direction, tag_parents"
            ) from None
    found = _SPECIFICATION.fullmatch(grammar) if isinstance(grammar, str) else None
    if found is None:
        raise ConfigError(
            f"grammar cannot be {grammar!r}; it is a name such as 'v2h1' (parents and one sibling), 'v2hinf' (all "
            f"siblings), 'v2h1-left' or 'v2h1-head' (another direction: {', '.join(DIRECTIONS)}), 'v2h1-tags' (parents "
            "of tags too), or a Grammar"
        )
    horizontal = None if found[2] == "inf" else int(found[2])
    return Markovisation(int(found[1]), horizontal, found[3] or "right", bool(found[4]))


class KBest(NamedTuple):
    """One of the best trees of a sentence, and its score."""

    tree: Tree
    score: float


@dataclass
class _Batch:
    """Sentences as kernels take them: pieces of words that fit into memory."""

    sentences: list[Sentence]
    words: list[list[str]]  # of each piece
    rows: npt.NDArray[np.int32]
    at: npt.NDArray[np.int64]
    of: list[int]  # the sentence of each piece


class ConstituencyParser(Estimator):
    """Parses sentences into constituency trees, by exact search with a weighted grammar.

    Args:
        grammar: how the grammar is read off the treebank: ``v2h1`` remembers the parent of a constituent and one
            sibling, see :func:`grammar_settings`; or a :class:`Grammar`.
        learner: ``maximum-likelihood`` (relative frequencies), or one of inverse reinforcement learning, by name, as
            settings, or as an object: ``projection``, ``mwal``, ``perceptron``, ``max-margin``, ``policy-matching``,
            ``maxent``. They begin with relative frequencies.
        lexicon: ``ratio``, log P(tag|word)/P(tag), or ``word``, log P(word|tag).
        tags: ``lexicon`` lets the parser choose tags; ``gold`` takes those of the XPOS column.
        trained: whose weights are learned: those of ``binary`` rules, as in the paper, or of ``all`` rules.
        loss: what Max-Margin's loss is about: ``rules`` (Algorithm 4) or ``constituents``.
        decoder: ``viterbi``, the best tree; or ``max-rule``, the tree whose rules are together the most probable.
        prune: constituents less probable than this under a coarser grammar are not looked at; 0 is exact.
        beam: constituents worse than the best one of their span by more than this (in logarithms) are dropped; None
            is exact.
        max_length: longer sentences are left out of training and development data.
        memory: gigabytes that a chart may take; longer sentences are parsed in parts.
        seed: the same seed gives the same model.

    A sentence that the grammar cannot derive gets the fewest constituents that cover it, below the most frequent label
    of whole sentences.

    >>> from treewright.corpora import builtin_corpus
    >>> train, dev, test = builtin_corpus(train=300, dev=50, test=50)
    >>> parser = ConstituencyParser(learner={"name": "max-margin", "passes": 2}).fit(train, dev=dev)
    >>> parser.evaluate(test).f1 > 0.8
    True
    >>> [sentence] = parser.parse([["the", "cat", "sees", "the", "dog", "."]])
    >>> sentence.tree.label
    'S'
    """

    task: ClassVar[str] = "constituency"

    def __init__(
        self,
        grammar: str | dict[str, Any] | Markovisation | Grammar = "v2h1",
        *,
        learner: str | Learner | dict[str, Any] = "max-margin",
        lexicon: str = "ratio",
        tags: str = "lexicon",
        trained: str = "all",
        loss: str = "constituents",
        decoder: str = "viterbi",
        prune: float = 0.0,
        beam: float | None = None,
        max_length: int | None = None,
        memory: float = 2.0,
        seed: int = 0,
    ) -> None:
        self.grammar = grammar
        self.learner = learner
        self.lexicon = lexicon
        self.tags = tags
        self.trained = trained
        self.loss = loss
        self.decoder = decoder
        self.prune = prune
        self.beam = beam
        self.max_length = max_length
        self.memory = memory
        self.seed = seed

    grammar_: Grammar
    lexicon_: Lexicon
    top_: str | None  # the label above whole trees in the treebank, None if there is none
    cover_: str  # the label over the pieces of a sentence without a tree
    history_: list[Pass]
    covered_: int = 0
    """How many of the sentences parsed last had no tree in the grammar."""

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
        """Learn from a treebank: sentences with trees, or the path of a file. With ``dev``, the best pass is kept."""
        self._check_settings()
        learner = self._make_learner()
        sentences = self._treebank(corpus)
        trees = _clean_trees(sentences)
        corpora = {"train": corpus_hash(sentences)}
        tops = Counter(_top_label(sentence.tree) for sentence in sentences)
        self.top_ = tops.most_common(1)[0][0]
        self.cover_ = (
            Counter(tree.label for tree in trees if not tree.is_preterminal).most_common(1)[0][0]
            if any(not tree.is_preterminal for tree in trees)
            else trees[0].label
        )
        given = isinstance(self.grammar, Grammar)
        markovisation = Markovisation() if given else grammar_settings(self.grammar)
        binary = [markovisation.binarise(tree) for tree in trees]
        self.grammar_ = self.grammar if isinstance(self.grammar, Grammar) else Grammar.learn(binary)
        self.lexicon_ = Lexicon.learn(
            [list(zip(tree.leaves(), tree.tags(), strict=True)) for tree in binary], kind=self.lexicon
        )
        self._restored()
        self.history_ = []
        scores: dict[str, Any] = {}
        evaluate = None
        if dev is not None:
            dev_sentences = self._treebank(dev)
            corpora["dev"] = corpus_hash(dev_sentences)
            evaluate = self._f1_on(dev_sentences, jobs)
        if learner is not None:
            planner = self._planner(binary, sentences)
            trained = train_irl(
                learner,
                planner,
                jobs=jobs,
                seed=self.seed,
                evaluate=None if evaluate is None else lambda θ: evaluate(planner.weights(θ)),
                report=report,
                progress=progress,
                checkpoint=checkpoint,
                resume=resume,
            )
            self.history_ = trained.history
            self._use(planner.weights(trained.weights))
            best = max((p.score for p in self.history_ if p.score is not None), default=None)
            scores = {} if best is None else {"dev F1": best}
        elif evaluate is not None:
            scores = {"dev F1": evaluate(self.grammar_.weights)}
        self.card_ = self._make_card(corpora, scores)
        return self

    def _planner(self, binary: Sequence[Tree], sentences: Sequence[Sentence]) -> CKYPlanner:
        """The corpus as the learner sees it; trees that a given grammar lacks rules for are left out."""
        derivations, kept = [], []
        for tree, sentence in zip(binary, sentences, strict=True):
            try:
                derivations.append(self.grammar_.derivation(tree))
                kept.append(sentence)
            except CorpusError:
                if not isinstance(self.grammar, Grammar):
                    raise
        if not kept:
            raise CorpusError("no tree of the corpus can be derived with the grammar that was given")
        rows = [self._rows(list(sentence.forms), sentence) for sentence in kept]
        at = np.concatenate([[0], np.cumsum([len(each) for each in rows])]).astype(np.int64)
        return CKYPlanner(
            self.grammar_, self._lexical, np.concatenate(rows), at, np.concatenate(derivations), self.trained, self.loss
        )

    def _f1_on(self, dev: list[Sentence], jobs: int) -> Callable[[npt.NDArray[np.float64]], float]:
        gold = _clean_trees(dev)

        def f1(weights: npt.NDArray[np.float64]) -> float:
            self._use(weights)
            return score_constituents(gold, self._trees(dev, jobs), seed=self.seed).f1

        return f1

    def _make_learner(self) -> InverseRL | None:
        """The learner, with what is good for parsing where it says nothing; None for relative frequencies."""
        learner = self.learner
        if isinstance(learner, (str, dict)):
            settings = {"name": learner} if isinstance(learner, str) else dict(learner)
            if settings.get("name") in (ML, "ml"):
                if len(settings) > 1:
                    raise ConfigError(
                        f"learner {ML!r} has no settings: leave out {', '.join(set(settings) - {'name'})}"
                    )
                return None
            if settings.get("name") in USUAL:
                settings = {**USUAL[settings["name"]], **settings}
            learner = make_learner(settings)
        if not isinstance(learner, InverseRL):
            raise ConfigError(
                f"learner {learner.name!r} learns from single actions; a constituency parser learns from whole trees: "
                f"choose {ML!r} or one of {', '.join(IRL)}"
            )
        return learner

    def resolved_config(self) -> dict[str, Any]:
        """Every setting, with the learner's choices spelled out: what a model file records."""
        learner = self._make_learner()
        given = isinstance(self.grammar, Grammar)
        grammar = "v2h1" if given else asdict(grammar_settings(self.grammar))
        return {
            **self.get_params(),
            "grammar": grammar,
            "learner": {"name": ML} if learner is None else learner.params(),
        }

    def _check_settings(self) -> None:
        choices = (("lexicon", KINDS), ("tags", ("lexicon", "gold")), ("trained", TRAINED), ("loss", LOSSES))
        for name, known in (*choices, ("decoder", tuple(DECODERS))):
            if getattr(self, name) not in known:
                raise ConfigError(f"{name} cannot be {getattr(self, name)!r}; it is one of: {', '.join(known)}")
        if not isinstance(self.grammar, Grammar):
            grammar_settings(self.grammar)
        if not 0.0 <= float(self.prune) < 1.0:
            raise ConfigError(f"prune must lie between 0 and 1, a probability, not {self.prune!r}; 0 prunes nothing")
        if self.beam is not None and not float(self.beam) > 0.0:
            raise ConfigError(f"beam must be above 0, not {self.beam!r}; leave it out for exact search")
        if not float(self.memory) > 0.0:
            raise ConfigError(f"memory must be above 0, in gigabytes, not {self.memory!r}")
        if self.max_length is not None:
            self.max_length = whole_number("max_length", self.max_length, 1)
        self.seed = whole_number("seed", self.seed, 0, 2**31 - 1)

    def _treebank(self, corpus: Corpus) -> list[Sentence]:
        """Sentences with trees, those of the right length, each with at least one word."""
        sentences = load_corpus(corpus) if isinstance(corpus, (str, os.PathLike)) else list(corpus)
        for sentence in sentences:
            if not isinstance(sentence, Sentence):
                raise ConfigError(f"a corpus is a list of Sentence objects, not of {type(sentence).__name__}")
        if not sentences:
            raise CorpusError("there is nothing to learn from or to score: no sentences")
        for sentence in sentences:
            if sentence.tree is None:
                raise CorpusError(
                    "this sentence has no constituency tree; give a treebank in brackets (.ptb, .mrg)",
                    path=sentence.path,
                    line=sentence.line,
                )
        some = [sentence for sentence in sentences if len(sentence) > 0]
        if not some:
            raise CorpusError("there are no words in it, only traces", path=sentences[0].path)
        short = [s for s in some if self.max_length is None or len(s) <= self.max_length]
        if not short:
            raise CorpusError(
                f"no sentence has {self.max_length} words or fewer: the shortest has {min(map(len, some))}; "
                "raise max_length, or leave it out",
                path=sentences[0].path,
            )
        return short

    # ---- parsing

    def parse(self, sentences: Input, *, jobs: int = 1) -> list[Sentence]:
        """Parse sentences (or lists of words) and return them with their trees; tags go to the XPOS column."""
        return list(self.parse_stream(sentences, jobs=jobs))

    def parse_stream(self, sentences: Input, *, jobs: int = 1) -> Iterator[Sentence]:
        """Parse sentences as they come, some thousand words at a time: memory does not grow with their number."""
        self._check_fitted()
        self.covered_ = 0
        for batch in _batches(sentences):
            for sentence, tree in zip(batch, self._trees(batch, jobs, first=False), strict=True):
                if tree is None:
                    yield sentence
                    continue
                tokens = tuple(
                    token if token.xpos != "_" else token._replace(xpos=tag)
                    for token, tag in zip(sentence.tokens, tree.tags(), strict=True)
                )
                yield replace(sentence, tokens=tokens, tree=tree if self.top_ is None else Tree(self.top_, (tree,)))

    def parse_k_best(self, sentences: Input, k: int = 10, *, jobs: int = 1) -> list[list[KBest]]:
        """The k best trees of each sentence, best first, with their scores; fewer where there are no more."""
        self._check_fitted()
        k = whole_number("k", k, 1)
        found: list[list[KBest]] = []
        for batch in _batches(sentences):
            for sentence in batch:
                found.append(self._k_best(sentence, k) if len(sentence) else [])
        return found

    def _k_best(self, sentence: Sentence, k: int) -> list[KBest]:
        words = list(sentence.forms)
        n = len(words)
        if n > self._longest(8):
            [tree] = self._trees([sentence], 1)
            return [] if tree is None else [KBest(tree, float("-inf"))]
        nodes = np.zeros((k, 2 * n - 1, 5), np.int32)
        scores, count = np.zeros((1, k)), np.zeros(1, np.int64)
        weights = self.grammar_.weights
        cut = len(self.grammar_.binary)
        # fmt: off
        k_best_pass(CHARTS, self.grammar_.rules, weights[:cut], weights[cut:], self._lexical,
                    self._rows(words, sentence), np.array([0, n]), np.zeros(1, np.int64), k,
                    np.inf if self.beam is None else float(self.beam), scores, nodes, count, np.zeros(2, np.int64), 1)
        # fmt: on
        if count[0] == 0:
            [tree] = self._trees([sentence], 1)
            return [] if tree is None else [KBest(tree, float("-inf"))]
        return [KBest(self.grammar_.tree(nodes[r], words), float(scores[0, r])) for r in range(count[0])]

    def evaluate(
        self, corpus: Corpus, *, rules: str = "evalb", max_length: int | None = None, jobs: int = 1
    ) -> ConstituencyScores:
        """Parse a treebank and compare: as EVALB does, or with ``rules="parseval"`` as the paper does."""
        self._check_fitted()
        gold = self._treebank(corpus)
        if max_length is not None:
            gold = [sentence for sentence in gold if len(sentence) <= max_length]
        return score_constituents(gold, self.parse(gold, jobs=jobs), rules=rules, seed=self.seed)  # type: ignore[arg-type]

    def _trees(self, sentences: Sequence[Sentence], jobs: int, first: bool = True) -> list[Any]:
        """The tree of each sentence, without the node above it; None where there are no words."""
        if first:
            self.covered_ = 0
        batch = self._packed(sentences)
        found: list[list[Tree]] = [[] for _ in sentences]
        whole = [True] * len(sentences)
        for piece, (nodes, covered) in enumerate(self._decode(batch, jobs)):
            i = batch.of[piece]
            found[i].extend(self.grammar_.trees(nodes, batch.words[piece]))
            whole[i] = whole[i] and not covered
        self.covered_ += sum(
            len(trees) > 0 and not (ok and len(trees) == 1) for trees, ok in zip(found, whole, strict=True)
        )
        return [
            None if not trees else trees[0] if ok and len(trees) == 1 else Tree(self.cover_, tuple(trees))
            for trees, ok in zip(found, whole, strict=True)
        ]

    def _decode(self, batch: _Batch, jobs: int) -> Iterator[tuple[npt.NDArray[np.int32], bool]]:
        """The derivation of each piece, and whether it is a cover only."""
        pieces = len(batch.words)
        nodes = np.zeros((max(2 * int(batch.at[-1]) - pieces, 0), 5), np.int32)
        filled, status, values = np.zeros(pieces, np.int64), np.zeros(pieces, np.int64), np.zeros(pieces)
        beam = np.inf if self.beam is None else float(self.beam)

        def work(first: int, last: int, control: npt.NDArray[np.int64], slot: int) -> None:
            # fmt: off
            parse_pass(CHARTS, self.grammar_.rules, *self._scores, self._lexical, batch.rows, batch.at,
                       np.arange(first, last), DECODERS[self.decoder], beam, self._coarse, float(self.prune),
                       self._eligible, nodes, filled, values, status, control, slot)
            # fmt: on

        if pieces:
            run_shards(work, pieces, jobs=jobs)
        for i in range(pieces):
            start = 2 * int(batch.at[i]) - i
            yield nodes[start : start + filled[i]], bool(status[i] == COVERED)

    def _packed(self, sentences: Sequence[Sentence]) -> _Batch:
        longest = self._longest()
        batch = _Batch(list(sentences), [], np.zeros(0, np.int32), np.zeros(1, np.int64), [])
        rows = []
        for i, sentence in enumerate(sentences):
            words = list(sentence.forms)
            found = self._rows(words, sentence) if words else np.zeros(0, np.int32)
            for first in range(0, len(words), longest):
                batch.words.append(words[first : first + longest])
                rows.append(found[first : first + longest])
                batch.of.append(i)
        if rows:
            batch.rows = np.concatenate(rows)
            batch.at = np.concatenate([[0], np.cumsum([len(each) for each in rows])]).astype(np.int64)
        return batch

    def _rows(self, words: list[str], sentence: Sentence) -> npt.NDArray[np.int32]:
        """The rows of the lexicon for a sentence's words."""
        known = self.lexicon_.knows
        seen = [_BRACKETS[w] if w in _BRACKETS and not known(w) and known(_BRACKETS[w]) else w for w in words]
        if self.tags == "gold":
            return self.lexicon_.gold_rows(sentence.column("xpos"), seen)
        return self.lexicon_.rows(seen)

    def _longest(self, bytes_each: int | None = None) -> int:
        """The longest sentence whose chart fits into the memory."""
        each = bytes_each or (24 if self.decoder == "max-rule" else 8 if self.prune else 4)
        longest = 10
        while longest < 2_000 and chart_bytes(len(self.grammar_.symbols), longest + 10, each) <= self.memory * 1e9:
            longest += 10
        return longest

    # ---- what follows from what is learned

    def _restored(self) -> None:
        """Prepare what kernels need of the grammar and the lexicon."""
        numbers = self.grammar_.tags
        at, tag, score = self.lexicon_.table()
        missing = [name for name in self.lexicon_.tags if name not in numbers]
        if missing:  # only with a grammar that was given: such a tag can stand in no tree
            numbers = {**numbers, **dict.fromkeys(missing, -1)}
        symbols = np.array([numbers[name] for name in self.lexicon_.tags], np.int32)
        self._lexical = _without(Lexical(at, symbols[tag], score)) if missing else Lexical(at, symbols[tag], score)
        self._eligible = np.array(
            [
                label is not None and not name.endswith(BOTTOM)
                for label, name in zip(self.grammar_.labels, self.grammar_.symbols, strict=True)
            ]
        )
        nothing = np.zeros(1, np.int32)
        self._coarse: Any = (self.grammar_.rules, np.zeros(0), np.zeros(0), self._lexical, nothing)
        if self.prune > 0.0:
            coarse, of = self.grammar_.projected()
            cut = len(coarse.binary)
            lexical = Lexical(self._lexical.at, of[self._lexical.symbol], self._lexical.score)
            weights = np.exp(coarse.weights)
            self._coarse = (coarse.rules, weights[:cut], weights[cut:], lexical, of)
        self._use(self.grammar_.weights)

    def _use(self, weights: npt.NDArray[np.float64]) -> None:
        """Parse with these weights from now on."""
        self.grammar_ = self.grammar_.with_weights(weights)
        cut = len(self.grammar_.binary)
        scores = self.grammar_.weights.astype(np.float32)
        self._scores = scores[:cut], scores[cut:]

    def _learned(self) -> tuple[dict[str, Any], dict[str, Any]]:
        settings, arrays = self.lexicon_.to_arrays()
        lexicon = {f"lexicon.{name}": array for name, array in arrays.items()}
        grammar = {f"grammar.{name}": array for name, array in self.grammar_.to_arrays().items()}
        return {"lexicon": settings, "top": self.top_, "cover": self.cover_}, {**lexicon, **grammar}

    def _restore(self, settings: dict[str, Any], arrays: dict[str, Any]) -> None:
        parts: dict[str, dict[str, Any]] = {"lexicon": {}, "grammar": {}}
        for name, array in arrays.items():
            part, _, rest = name.partition(".")
            parts[part][rest] = array
        self.grammar_ = Grammar.from_arrays(parts["grammar"])
        self.lexicon_ = Lexicon.from_arrays(settings["lexicon"], parts["lexicon"])
        self.top_, self.cover_ = settings["top"], settings["cover"]
        self._restored()


def _without(lexical: Lexical) -> Lexical:
    """The table without the tags that the grammar does not know."""
    keep = lexical.symbol >= 0
    at = np.concatenate([[0], np.cumsum(keep)])[lexical.at]
    return Lexical(at.astype(np.int64), lexical.symbol[keep], lexical.score[keep])


def _clean_trees(sentences: Iterable[Sentence]) -> list[Tree]:
    trees = []
    for sentence in sentences:
        tree = None if sentence.tree is None else clean_tree(sentence.tree)
        if tree is None:
            raise CorpusError("this tree has no words", path=sentence.path, line=sentence.line)
        trees.append(tree)
    return trees


def _top_label(tree: Tree | None) -> str | None:
    """The label that cleaning takes away above a tree; None if it takes none."""
    cleaned = None if tree is None else clean_tree(tree)
    kept = None if tree is None else clean_tree(tree, top=False)
    return None if kept is None or kept == cleaned else kept.label


def _batches(sentences: Input) -> Iterator[list[Sentence]]:
    """Some thousand words at a time."""
    batch: list[Sentence] = []
    words = 0
    for sentence in sentences:
        if isinstance(sentence, str):
            raise ConfigError(
                "what is parsed is a list of sentences, each a Sentence or a list of words, such as "
                f'[["she", "can", "see"]]; {sentence!r} is not a sentence'
            )
        whole = sentence if isinstance(sentence, Sentence) else Sentence.from_words(sentence)
        batch.append(whole)
        words += len(whole)
        if words >= _BATCH:
            yield batch
            batch, words = [], 0
    if batch:
        yield batch
