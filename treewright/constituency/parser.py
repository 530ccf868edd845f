"""The constituency parser: a treebank grammar, parsed with exactly, whose weights are learned as an apprentice."""

from __future__ import annotations

import math
import os
import re
import warnings
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise, zip_longest
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from treewright.constituency.agenda.agenda import room_bytes
from treewright.constituency.agenda.environment import AgendaEnvironment, seconds_per_step
from treewright.constituency.agenda.parser import AgendaParser
from treewright.constituency.agenda.policy import AgendaPolicy
from treewright.constituency.agenda.priorities import Priorities
from treewright.constituency.charts.chart import chart_bytes
from treewright.constituency.charts.corpus import Sentences, Shard, new_parsed
from treewright.constituency.charts.passes import (
    BEST_TREE,
    COVERED,
    MAX_RULE,
    Coarse,
    Decoding,
    KBestTrees,
    k_best_pass,
    parse_pass,
)
from treewright.constituency.charts.planner import TRAINED, CKYPlanner
from treewright.constituency.grammar.binarisation import DIRECTIONS, TOP, Markovisation, is_intermediate
from treewright.constituency.grammar.lexicon import Lexicon
from treewright.constituency.grammar.pcfg import BOTTOM, TAG, Grammar, NotInGrammar
from treewright.constituency.grammar.rules import Lexical, Weighted
from treewright.constituency.scores import ConstituencyScores, score_constituents
from treewright.corpora import Sentence, Tree, corpus_hash, load_corpus
from treewright.corpora.brackets import clean_tree
from treewright.errors import ConfigError, CorpusError
from treewright.estimators import Corpus, Estimator, Running
from treewright.estimators.settings import SEED
from treewright.learners import Learner, MaximumLikelihood, learner_settings, make_learner
from treewright.learners.checkpoints import Judge
from treewright.learners.irl import InverseRL
from treewright.learners.irl_training import train_irl
from treewright.learners.steps import STEPS
from treewright.search.running import run_shards
from treewright.settings import Choice, Like, Real, Setting, Whole, whole_number

__all__ = ["ML", "ConstituencyParser", "KBest", "grammar_settings", "memory_of"]

Input = Iterable[Sentence | Sequence[str]]

ML = MaximumLikelihood.name
DECODERS = {"viterbi": BEST_TREE, "max-rule": MAX_RULE}
SEARCHES = ("cky", "agenda")
_HELD_OUT = 10  # without development data, one sentence in so many is for learning priorities
_ENOUGH = 100  # sentences to learn priorities from: there are few weights
_BATCH = 4_000  # words parsed at a time when streaming
_SPECIFICATION = re.compile(r"v(\d+)h(\d+|inf)(?:-(left|right|head))?(-tags)?")
# brackets as the Penn Treebank writes them, for words that come from elsewhere
_BRACKETS = {"(": "-LRB-", ")": "-RRB-", "[": "-LSB-", "]": "-RSB-", "{": "-LCB-", "}": "-RCB-"}

#: what a learner is given where it says nothing of these, chosen on development data
_STOCHASTIC = {"passes": 10, "batch": 1, "averaged": True, "normalise": False, "step_size": 0.1}
USUAL: dict[str, dict[str, Any]] = {
    "irl-perceptron": {**_STOCHASTIC, "l2": 1e-5},
    "max-margin": {**_STOCHASTIC, "passes": 15, "l2": 1e-5},
    "policy-matching": {**_STOCHASTIC, "passes": 12, "step_size": 0.5, "temperature": 0.2},
    "maxent": {**_STOCHASTIC, "n_best": 0},
}


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


def memory_of(grammar: Grammar) -> Markovisation:
    """How trees were made binary for a grammar, as far as the names of its symbols tell.

    >>> from treewright.corpora import Tree
    >>> tree = Tree("S", tuple(Tree(tag, (tag.lower(),)) for tag in "ABCD"))
    >>> memory_of(Grammar.learn([Markovisation(3, 2, "left").binarise(tree)]))
    Markovisation(vertical=2, horizontal=2, direction='left', tag_parents=False)

    No name here is longer than ``S^TOP``, so that three generations look like two.
    """
    tags = {grammar.symbols[k] for k in grammar.tags.values()}
    phrases = [name for name in grammar.symbols if name != TOP and name not in tags and not is_intermediate(name)]
    parts = {name: name.partition("|")[2] for name in grammar.symbols if is_intermediate(name)}
    siblings = [re.findall("[^,#~]+", part) for part in parts.values()]
    if any("#" in part or "~" in part for part in parts.values()):
        direction, siblings = "head", [names[1:] for names in siblings]  # the head, which comes first, always counts
    else:
        lefts = {grammar.symbols[k] for k in grammar.binary[:, 1].tolist()}
        direction = "left" if any(name in parts for name in lefts) else "right"
    vertical = max((1 + name.rstrip(BOTTOM + TAG).count("^") for name in phrases), default=1)
    horizontal = max(map(len, siblings), default=0)
    # all, since phrases whose rules are missing look like tags
    return Markovisation(vertical, horizontal, direction, bool(tags) and all("^" in name for name in tags))


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

    @property
    def piece_rows(self) -> list[npt.NDArray[np.int32]]:
        """The rows of each piece."""
        return [self.rows[first:last] for first, last in pairwise(self.at.tolist())]


def _check_grammar(grammar: Any) -> Any:
    if not isinstance(grammar, Grammar):
        grammar_settings(grammar)
    return grammar


GRAMMAR = Setting(
    "grammar",
    Like(_check_grammar, "a name such as v2h1, its settings, or a Grammar"),
    "What symbols remember: v2h1 is the parent and one sibling; v3hinf, v2h1-head, v2h1-tags",
)
LEXICON = Setting(
    "lexicon",
    Choice({"ratio": "log P(tag|word)/P(tag)", "word": "log P(word|tag)"}),
    "What is known of words",
)
TAGS = Setting("tags", Choice({"lexicon": "the parser chooses", "gold": "they are given"}), "Where tags come from")
TRAINED_RULES = Setting("trained", Choice(*reversed(TRAINED)), "The rules whose weights are learned")
LOSS = Setting(
    "loss",
    Choice({"rules": "rules that the expert does not use", "constituents": "constituents that are not the expert's"}),
    "What counts as wrong in learning",
    old_flags="--loss-on",
)
DECODER = Setting("decoder", Choice("viterbi"), "Which tree the parser returns")
PRUNE = Setting("prune", Real(0, below=1), "Skip what coarser grammars find less probable than this; 0: nothing")
MAX_GAP = Setting(
    "max_gap",
    Real(above=0),
    "Drop what is worse than the best of its span by more than this, in logarithms",
    none="nothing",
    none_written=0,
)
SEARCH = Setting(
    "search",
    Choice({"cky": "everything", "agenda": "what has the highest priority first"}),
    "What is built, until there is a tree",
)
TRADEOFF = Setting(
    "tradeoff",
    Real(0, 1),
    "λ, the price of work where a constituent found is worth 1: how to work less is learned for it",
    note="Here it is the price of a pop from an agenda, such as 1e-5",
    none="that is not learned",
    none_written=0,
)
MAX_LENGTH = Setting(
    "max_length",
    Whole(1),
    "Leave longer sentences out of training and development data",
    none="none",
    none_written=0,
)
MEMORY = Setting(
    "memory", Real(above=0), "Gigabytes that a chart may take in each thread; longer sentences are parsed in parts"
)


class ConstituencyParser(Estimator):
    """Parses sentences into constituency trees, by exact search with a weighted grammar.

    Args:
        grammar: how the grammar is read off the treebank: ``v2h1`` remembers the parent of a constituent and one
            sibling, see :func:`grammar_settings`; or a :class:`Grammar`, whose rules and weights are taken as they are.
            Then trees that it cannot derive are left out of learning, and words whose tags it lacks may have any tag.
        learner: ``maximum-likelihood`` (relative frequencies), or one of inverse reinforcement learning, by name, as
            settings, or as an object: ``projection``, ``mwal``, ``irl-perceptron``, ``max-margin``,
            ``policy-matching``, ``maxent``. They begin with relative frequencies.
        lexicon: ``ratio``, log P(tag|word)/P(tag), or ``word``, log P(word|tag).
        tags: ``lexicon`` lets the parser choose tags; ``gold`` takes those of the XPOS column.
        trained: whose weights are learned: those of ``binary`` rules, as in the paper, or of ``all`` rules.
        loss: what Max-Margin counts as wrong: ``rules`` (Algorithm 4) or ``constituents``.
        decoder: ``viterbi``, the best tree; or ``max-rule``, the tree whose rules are together the most probable.
        prune: constituents less probable than this under a coarser grammar are not looked at; 0 is exact.
        max_gap: constituents worse than the best one of their span by more than this (in logarithms) are dropped;
            None is exact.
        search: ``cky``, which builds everything; or ``agenda``, which builds what has the highest priority first and
            stops with the first complete tree (:mod:`treewright.constituency.agenda.agenda`).
        tradeoff: with an agenda, the price λ of a pop: priorities are learned such that as many constituents as
            possible are right, less λ for each pop, on a hundred sentences of the development data; without such data,
            on every tenth sentence of the treebank, which the grammar is then not read off. None learns nothing:
            priorities are inside scores.
        max_length: longer sentences are left out of training and development data.
        memory: gigabytes that a chart may take, for each of the ``jobs``; longer sentences are parsed in parts.
        seed: the same seed gives the same model.

    A sentence that the grammar cannot derive gets the fewest constituents that cover it, below the most frequent label
    of whole sentences (``covered_`` counts such sentences). So every sentence that has words has a tree.

    >>> from treewright.corpora import builtin_corpus
    >>> train, dev, test = builtin_corpus(train=100, dev=20, test=20)
    >>> parser = ConstituencyParser(learner={"name": "max-margin", "passes": 2}).fit(train, dev=dev)
    >>> parser.evaluate(test).f1 > 0.7
    True
    >>> [sentence] = parser.parse([["the", "cat", "sees", "the", "dog", "."]])
    >>> sentence.tree.label
    'S'
    """

    task: ClassVar[str] = "constituency"
    settings: ClassVar[tuple[Setting, ...]] = (
        GRAMMAR,
        LEXICON,
        TAGS,
        TRAINED_RULES,
        LOSS,
        replace(DECODER, values=Choice({"viterbi": "the best tree", "max-rule": "the most probable rules together"})),
        PRUNE,
        MAX_GAP,
        SEARCH,
        TRADEOFF,
        MAX_LENGTH,
        MEMORY,
        SEED,
    )
    learners: ClassVar[tuple[type[Learner], ...]] = (MaximumLikelihood, InverseRL)

    def __init__(
        self,
        grammar: str | dict[str, Any] | Markovisation | Grammar = "v2h1",
        *,
        learner: str | Learner | dict[str, Any] = "max-margin",
        lexicon: str = "ratio",
        tags: str = "lexicon",
        trained: str = "all",
        loss: str = "rules",
        decoder: str = "viterbi",
        prune: float = 0.0,
        max_gap: float | None = None,
        search: str = "cky",
        tradeoff: float | None = None,
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
        self.max_gap = max_gap
        self.search = search
        self.tradeoff = tradeoff
        self.max_length = max_length
        self.memory = memory
        self.seed = seed

    grammar_: Grammar
    lexicon_: Lexicon
    top_: str | None
    """The label above whole trees in the treebank, which parsed trees get too; None if there is none."""
    cover_: str
    """The label over the pieces of a sentence without a tree."""
    covered_: int = 0
    """How many of the sentences parsed last had no tree in the grammar, or were parsed in parts."""
    priority_: AgendaPolicy | None = None
    """Of an agenda: the priorities, and the threshold by which constituents are pruned."""
    pops_: int = 0
    """Of an agenda: how many constituents were popped for the sentences parsed last."""
    pushes_: int = 0
    """And how many were built, also if they were known."""

    # ---- learning

    def _fit(self, corpus: Corpus, dev: Corpus | None, running: Running) -> None:
        learner = self._make_learner()
        self.priority_ = None
        corpus, held_out = self._for_priorities(corpus, dev)
        sentences, trees, binary = self._read_treebank(corpus)
        corpora = {"train": corpus_hash([*sentences, *held_out])}
        self.grammar_ = self.grammar if isinstance(self.grammar, Grammar) else Grammar.learn(binary)
        self.lexicon_ = Lexicon.learn(
            [list(zip(tree.leaves(), tree.tags(), strict=True)) for tree in binary], kind=self.lexicon
        )
        if not {*self.lexicon_.tags} & {*self._tag_numbers()}:  # only with a grammar that was given
            raise CorpusError(
                f"the grammar has none of the treebank's tags ({', '.join(self.lexicon_.tags[:5])}, …); tags are the "
                "symbols that none of its rules expands. Give a grammar with the same tags"
            )
        self._restored()
        self.history_ = []
        scores: dict[str, Any] = {}
        evaluate, dev_sentences = None, list[Sentence]()
        if dev is not None:
            dev_sentences = self._treebank(dev, self.max_length)
            corpora["dev"] = corpus_hash(dev_sentences)
            evaluate = Judge(self._f1_on(dev_sentences, running["jobs"]), corpora["dev"])
        if isinstance(learner, InverseRL):
            planner = self._planner(binary, trees, sentences)
            trained = train_irl(
                learner,
                planner,
                seed=self.seed,
                evaluate=None if evaluate is None else lambda θ: evaluate(planner.weights(θ)),
                **running,
            )
            self.history_ = trained.history
            self._use(planner.weights(trained.weights))
            scores = self._dev_score("dev F1")
        elif evaluate is not None:
            scores = {"dev F1": evaluate(self.grammar_.weights)}
        if self.search == "agenda":
            features = self._features_of(binary, sentences)
            self._learn_priorities(features, dev_sentences or held_out, running["jobs"], running["progress"])
            if evaluate is not None:
                scores = {"dev F1": evaluate(self.grammar_.weights)}
        self.card_ = self._make_card(corpora, scores)

    def tune_speed(
        self,
        corpus: Corpus,
        tradeoff: float | None,
        *,
        time: str = "pops",
        learner: str | dict[str, Any] = "dagger",
        jobs: int = 1,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> Self:
        """Learn priorities for a parser that is there, from a treebank that is new to it; from now on it has an agenda.

        ``tradeoff`` is λ, the price of a unit of ``time``, which is ``pops``, ``pushes`` or ``seconds``; with None
        nothing is learned, and priorities are inside scores. ``learner`` is one of
        :data:`~treewright.constituency.agenda.policy.LEARNERS`.
        """
        self._check_fitted()
        before = self.search, self.tradeoff
        self.search, self.tradeoff = "agenda", tradeoff
        try:
            self._check_settings()
        except ConfigError:
            self.search, self.tradeoff = before
            raise
        sentences = self._treebank(corpus, self.max_length)
        binary = _binarised(self._markovisation(), _clean_trees(sentences), sentences)
        features = self._features_of(binary, sentences)
        self._learn_priorities(features, sentences, jobs, progress, time=time, learner=learner)
        return self

    def _for_priorities(self, corpus: Corpus, dev: Corpus | None) -> tuple[Corpus, list[Sentence]]:
        """The treebank, and what is held out of it to learn priorities from; nothing where there is no need."""
        if self.search != "agenda" or self.tradeoff is None or dev is not None:
            return corpus, []
        sentences = self._treebank(corpus, self.max_length)
        if len(sentences) < 2 * _HELD_OUT:
            raise CorpusError(
                f"{len(sentences)} sentences are too few to learn a grammar and priorities from: give dev, or "
                f"{2 * _HELD_OUT} sentences or more"
            )
        rest = [sentence for k, sentence in enumerate(sentences, 1) if k % _HELD_OUT]
        return rest, sentences[_HELD_OUT - 1 :: _HELD_OUT]

    def _features_of(self, binary: Sequence[Tree], sentences: Sequence[Sentence]) -> Priorities:
        """What the features of priorities learn from trees, as far as the grammar can derive them."""
        derivations, words, rows = [], [], []
        for tree, sentence in zip(binary, sentences, strict=True):
            try:
                derivations.append(self.grammar_.derivation(tree))
            except NotInGrammar:
                continue
            words.append(sentence.forms)
            rows.append(self._rows(list(sentence.forms), tree.tags()))
        if not derivations:
            raise CorpusError("the grammar can derive no tree of this treebank, to learn priorities from")
        return Priorities.learn(self.grammar_, derivations, words, rows=rows, lexical=self._lexical)

    def _learn_priorities(
        self,
        features: Priorities,
        sentences: Sequence[Sentence],
        jobs: int,
        progress: Callable[[str, int, int], None] | None,
        *,
        time: str = "pops",
        learner: str | dict[str, Any] = "dagger",
    ) -> None:
        """Priorities for λ = ``tradeoff``, or those of A*₀ without it."""
        self._agenda = AgendaParser(self.grammar_, self._lexical, features)
        if self.tradeoff is None:
            self.priority_ = AgendaPolicy.a_star(self._agenda)
            return
        sentences = sentences[:: -(-len(sentences) // _ENOUGH)]
        trees = _clean_trees(sentences)
        words = [list(sentence.forms) for sentence in sentences]
        rows = [self._rows(each, tree.tags()) for each, tree in zip(words, trees, strict=True)]
        environment = AgendaEnvironment(self._agenda, words, rows, trees, tradeoff=float(self.tradeoff))
        if time != "pops":
            costs = seconds_per_step(environment, np.arange(len(words))) if time == "seconds" else None
            environment = environment.but(time=time, seconds=costs)
        learned = AgendaPolicy.learn(environment, learner=learner, seed=self.seed, jobs=jobs, progress=progress)
        self.priority_ = learned.policy

    def _read_treebank(self, corpus: Corpus) -> tuple[list[Sentence], list[Tree], list[Tree]]:
        """The sentences to learn from, their clean trees, and these made binary; what is usual at the top is noted."""
        sentences = self._treebank(corpus, self.max_length)
        trees = _clean_trees(sentences)
        tops = Counter(map(_top_label, sentences, trees))
        self.top_ = tops.most_common(1)[0][0]
        labels = Counter(tree.label for tree in trees if not tree.is_preterminal)
        self.cover_ = labels.most_common(1)[0][0] if labels else trees[0].label
        return sentences, trees, _binarised(self._markovisation(), trees, sentences)

    def _planner(self, binary: Sequence[Tree], trees: Sequence[Tree], sentences: Sequence[Sentence]) -> CKYPlanner:
        """The corpus as the learner sees it; trees that a given grammar lacks rules for are left out."""
        derivations, rows = [], []
        lacking = ""
        for small, tree, sentence in zip(binary, trees, sentences, strict=True):
            try:
                derivations.append(self.grammar_.derivation(small))
            except NotInGrammar as error:
                if not isinstance(self.grammar, Grammar):
                    raise
                lacking = lacking or str(error)
                continue
            rows.append(self._rows(list(sentence.forms), tree.tags()))
        if lacking and rows:
            warnings.warn(
                f"{len(trees) - len(rows):,} of {len(trees):,} trees cannot be derived with the grammar that was "
                f"given, and are left out of learning: for the first, {lacking}",
                stacklevel=3,
            )
        if not rows:
            raise CorpusError(
                f"no tree of the treebank can be derived with the grammar that was given: for the first, {lacking}. "
                f"Give a grammar that fits, or learn nothing but the lexicon: learner={ML!r}"
            )
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

    def _make_learner(self) -> MaximumLikelihood | InverseRL:
        """The learner, with what is good for parsing where it says nothing."""
        if isinstance(self.learner, Learner):
            return make_learner(self.learner, MaximumLikelihood, InverseRL)
        settings = learner_settings(self.learner, MaximumLikelihood, InverseRL)
        usual = USUAL.get(settings["name"], {})
        if (rule := STEPS.get(str(settings.get("step")))) is not None and rule.whole:
            usual = {**usual, "batch": None}  # such steps go with no other
        return make_learner({**usual, **settings}, MaximumLikelihood, InverseRL)

    def resolved_config(self) -> dict[str, Any]:
        """Every setting, with the learner's choices spelled out: what a model file records."""
        return {**super().resolved_config(), "grammar": asdict(self._markovisation())}

    def _markovisation(self) -> Markovisation:
        return memory_of(self.grammar) if isinstance(self.grammar, Grammar) else grammar_settings(self.grammar)

    def _check_together(self) -> None:
        if self.search == "agenda" and (self.decoder != "viterbi" or self.max_gap is not None or self.prune > 0):
            raise ConfigError(
                "'agenda' goes with decoder 'viterbi', and learns for itself what to drop: leave out prune and max_gap",
                setting="search",
                value=self.search,
            )
        if self.search != "agenda" and self.tradeoff is not None:
            raise ConfigError(
                "is about an agenda: set search to 'agenda', or leave it out", setting="tradeoff", value=self.tradeoff
            )

    def _treebank(self, corpus: Corpus, max_length: int | None = None) -> list[Sentence]:
        """Sentences with trees, those of the right length, each with at least one word."""
        sentences = load_corpus(corpus) if isinstance(corpus, (str, os.PathLike)) else list(corpus)
        for sentence in sentences:
            if not isinstance(sentence, Sentence):
                raise ConfigError(
                    f"a treebank is a file or a list of Sentence objects with trees, not of {type(sentence).__name__}; "
                    "treewright.corpora.brackets.parse_ptb makes some from lines in brackets"
                )
        if not sentences:
            raise CorpusError("there is nothing to learn from or to score: no sentences")
        for sentence in sentences:
            if sentence.tree is None:
                raise CorpusError(
                    "this sentence has no constituency tree; give a treebank in brackets (.ptb, .mrg)",
                    path=sentence.path,
                    line=sentence.line,
                )
        some = [s for s in sentences if len(s) > 0 or (s.tree is not None and clean_tree(s.tree) is not None)]
        if not some:
            raise CorpusError("there are no words in it, only traces", path=sentences[0].path)
        short = [s for s in some if max_length is None or len(s) <= max_length]
        if not short:
            raise CorpusError(
                f"no sentence has {max_length} words or fewer: the shortest has {min(map(len, some))}; "
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
        jobs = whole_number("jobs", jobs, 1)
        self.covered_ = self.pops_ = self.pushes_ = 0
        for batch in _batches(sentences):
            for sentence, tree in zip(batch, self._trees(batch, jobs), strict=True):
                if tree is None:
                    yield sentence
                    continue
                tokens = tuple(
                    token if token.xpos != "_" else token._replace(xpos=tag)
                    for token, tag in zip(sentence.tokens, tree.tags(), strict=True)
                )
                yield replace(sentence, tokens=tokens, tree=self._topped(tree))

    def parse_k_best(self, sentences: Input, k: int = 10, *, jobs: int = 1) -> list[list[KBest]]:
        """The k best trees of each sentence, best first, with their scores; fewer where there are no more.

        They are the best ones by score, whatever the decoder. A sentence that the grammar cannot derive has the tree
        that :meth:`parse` gives it, with the score −∞; one without words has none.
        """
        self._check_fitted()
        k, jobs = whole_number("k", k, 1), whole_number("jobs", jobs, 1)
        self.covered_ = 0
        found: list[list[KBest]] = []
        for batch in _batches(sentences):
            found += self._k_best_of(batch, k, jobs)
        return found

    def _k_best_of(self, batch: Sequence[Sentence], k: int, jobs: int) -> Iterator[list[KBest]]:
        longest = self._longest(12)  # bytes: values, and the numbers of nodes
        rows = [self._rows(list(s.forms), self._given_tags(s)) if 0 < len(s) <= longest else None for s in batch]

        def work(first: int, last: int, control: npt.NDArray[np.int64], slot: int) -> list[list[KBest]]:
            places = [i for i in range(first, last) if control[0] == 0]
            return [self._k_best(list(batch[i].forms), rows[i], k) for i in places]

        lists = (each for shard in run_shards(work, len(batch), jobs=jobs) for each in shard)
        for sentence, trees in zip(batch, lists, strict=True):
            [tree] = [None] if trees else self._trees([sentence], 1)
            yield trees if tree is None else [KBest(self._topped(tree), -math.inf)]

    def _k_best(self, words: list[str], rows: npt.NDArray[np.int32] | None, k: int) -> list[KBest]:
        """The k best trees; none where there are no rows for the words, or no tree."""
        if rows is None:
            return []
        n, wanted, beam = len(words), k, np.inf if self.max_gap is None else float(self.max_gap)
        grammar, sentence = self.grammar_.weighted(self._lexical), Sentences(rows, np.array([0, n]))
        while True:
            nodes = np.zeros((wanted, 2 * n - 1, 5), np.int32)
            best = KBestTrees(np.zeros((1, wanted)), nodes, np.zeros(1, np.int64))
            shard = Shard(np.zeros(1, np.int64), np.zeros(2, np.int64), 1)
            k_best_pass(grammar, sentence, shard, wanted, beam, best)
            # around heads, one tree may have several derivations: the best of them counts
            found: dict[Tree, float] = {}
            for r in range(best.found[0]):
                found.setdefault(self._topped(self.grammar_.tree(nodes[r], words)), float(best.scores[0, r]))
            if not found and beam < np.inf:  # dropped all of them
                beam = np.inf
            elif len(found) >= k or best.found[0] < wanted:
                return [KBest(tree, score) for tree, score in found.items()][:k]
            else:
                wanted *= 2

    def _topped(self, tree: Tree) -> Tree:
        """The tree below the label that the treebank has above whole trees."""
        return tree if self.top_ is None or tree.label == self.top_ else Tree(self.top_, (tree,))

    def evaluate(
        self, corpus: Corpus, *, rules: str = "evalb", max_length: int | None = None, jobs: int = 1
    ) -> ConstituencyScores:
        """Parse a treebank and compare: as EVALB does, or with ``rules="parseval"`` as the paper does.

        Only sentences of up to ``max_length`` words are scored; the setting of the same name is about learning.
        """
        self._check_fitted()
        gold = self._treebank(corpus, None if max_length is None else whole_number("max_length", max_length, 1))
        _clean_trees(gold)  # complain before parsing, not after
        return score_constituents(gold, self.parse(gold, jobs=jobs), rules=rules, seed=self.seed)  # type: ignore[arg-type]

    def _trees(self, sentences: Sequence[Sentence], jobs: int) -> list[Tree | None]:
        """The tree of each sentence, without the node above it; None where there are no words."""
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
        if self.priority_ is not None:
            parses = self.priority_.parse(self._agenda, self._agenda.pack(batch.words, batch.piece_rows), jobs=jobs)
            self.pops_ += int(parses.pops.sum())
            self.pushes_ += int(parses.pushes.sum())
            yield from zip(parses.derivations, (not is_whole for is_whole in parses.whole), strict=True)
            return
        parsed, sentences = new_parsed(batch.at), Sentences(batch.rows, batch.at)
        beam = np.inf if self.max_gap is None else float(self.max_gap)
        decoding = Decoding(DECODERS[self.decoder], beam, float(self.prune))
        coarse = self._coarse() if self.prune > 0.0 else self._no_coarse

        def work(first: int, last: int, control: npt.NDArray[np.int64], slot: int) -> None:
            shard = Shard(np.arange(first, last), control, slot)
            parse_pass(self._scored, sentences, shard, decoding, coarse, self._eligible, parsed)

        if batch.words:
            run_shards(work, len(batch.words), jobs=jobs)
        yield from zip(parsed.derivations(batch.at), (parsed.status == COVERED).tolist(), strict=True)

    def _packed(self, sentences: Sequence[Sentence]) -> _Batch:
        longest = self._longest()
        batch = _Batch(list(sentences), [], np.zeros(0, np.int32), np.zeros(1, np.int64), [])
        rows = []
        for i, sentence in enumerate(sentences):
            words = list(sentence.forms)
            found = self._rows(words, self._given_tags(sentence)) if words else np.zeros(0, np.int32)
            for first in range(0, len(words), longest):
                batch.words.append(words[first : first + longest])
                rows.append(found[first : first + longest])
                batch.of.append(i)
        if rows:
            batch.rows = np.concatenate(rows)
            batch.at = np.concatenate([[0], np.cumsum([len(each) for each in rows])]).astype(np.int64)
        return batch

    def _given_tags(self, sentence: Sentence) -> tuple[str, ...]:
        return sentence.column("xpos") if self.tags == "gold" else ()

    def _rows(self, words: list[str], tags: Sequence[str]) -> npt.NDArray[np.int32]:
        """The rows of the lexicon for a sentence's words, or for its tags if these are given."""
        seen = _as_in_treebank(words, self.lexicon_.knows)
        return self.lexicon_.gold_rows(tags, seen) if self.tags == "gold" else self.lexicon_.rows(seen)

    def _longest(self, bytes_each: int | None = None) -> int:
        """The longest sentence whose chart fits into the memory: a multiple of ten."""
        each = bytes_each or (24 if self.decoder == "max-rule" else 8 if self.prune else 4)
        symbols = len(self.grammar_.symbols)
        lengths = range(20, 2_010, 10)

        def taken(n: int) -> int:
            return room_bytes(symbols, n) if self.priority_ is not None else chart_bytes(symbols, n, each)

        fitting = bisect_right(lengths, self.memory * 1e9, key=taken)
        return 10 + 10 * fitting

    # ---- what follows from what is learned

    def _tag_numbers(self) -> dict[str, int]:
        """The symbols that words can have, by the names that the lexicon has for them."""
        return {name: k for name, k in self.grammar_.tags.items() if self.grammar_.labels[k] is not None}

    def _restored(self) -> None:
        """Prepare what kernels need of the grammar and the lexicon."""
        numbers = self._tag_numbers()
        at, tag, score = self.lexicon_.table()
        symbols = np.array([numbers.get(name, -1) for name in self.lexicon_.tags], np.int32)
        self._lexical = Lexical(at, symbols[tag], score)
        if (symbols < 0).any():  # only with a grammar that was given
            self._lexical = _without_missing(self._lexical, np.array([*numbers.values()], np.int32))
        self._eligible = self.grammar_.is_whole
        nothing = Weighted(self.grammar_.rules, np.zeros(0), np.zeros(0), self._lexical)
        self._no_coarse = Coarse(nothing, np.zeros(1, np.int32))
        self._coarse_grammar: Any = None
        self._use(self.grammar_.weights)

    def _coarse(self) -> Any:
        """The grammar to prune with, as kernels take it: made when it is first needed."""
        if self._coarse_grammar is None:
            coarse, of = self.grammar_.projected()
            lexical = Lexical(self._lexical.at, of[self._lexical.symbol], self._lexical.score)
            self._coarse_grammar = Coarse(coarse.weighted(lexical, np.exp(coarse.weights)), of)
        return self._coarse_grammar

    def _use(self, weights: npt.NDArray[np.float64]) -> None:
        """Parse with these weights from now on."""
        self.grammar_ = self.grammar_.with_weights(weights)
        self._scored = self.grammar_.weighted(self._lexical, self.grammar_.weights.astype(np.float32))

    def _learned(self) -> tuple[dict[str, Any], dict[str, Any]]:
        settings, arrays = self.lexicon_.to_arrays()
        lexicon = {f"lexicon.{name}": array for name, array in arrays.items()}
        grammar = {f"grammar.{name}": array for name, array in self.grammar_.to_arrays().items()}
        learned = {} if self.priority_ is None else self.priority_.to_arrays()
        priority = {f"priority.{name}": array for name, array in learned.items()}
        return {"lexicon": settings, "top": self.top_, "cover": self.cover_}, {**lexicon, **grammar, **priority}

    def _restore(self, settings: dict[str, Any], arrays: dict[str, Any]) -> None:
        parts: dict[str, dict[str, Any]] = {"lexicon": {}, "grammar": {}, "priority": {}}
        for name, array in arrays.items():
            part, _, rest = name.partition(".")
            parts[part][rest] = array
        self.grammar_ = Grammar.from_arrays(parts["grammar"])
        self.lexicon_ = Lexicon.from_arrays(settings["lexicon"], parts["lexicon"])
        self.top_, self.cover_ = settings["top"], settings["cover"]
        self._restored()
        if parts["priority"]:
            self.priority_ = AgendaPolicy.from_arrays(parts["priority"])
            self._agenda = AgendaParser(self.grammar_, self._lexical, self.priority_.priorities)


def _as_in_treebank(words: list[str], knows: Callable[[str], bool]) -> list[str]:
    """Words with brackets as the treebank writes them."""
    return [_BRACKETS[w] if w in _BRACKETS and not knows(w) and knows(_BRACKETS[w]) else w for w in words]


def _without_missing(lexical: Lexical, tags: npt.NDArray[np.int32]) -> Lexical:
    """The table without the tags that the grammar lacks; a word with no others may have any tag of the grammar.

    All of these score 0: so says log P(tag|word)/P(tag) of a word that tells nothing.
    """
    rows = [slice(*bounds) for bounds in pairwise(lexical.at.tolist())]
    kept = [lexical.symbol[row] >= 0 for row in rows]
    symbols = [lexical.symbol[row][keep] if keep.any() else tags for row, keep in zip(rows, kept, strict=True)]
    none = np.zeros(len(tags), np.float32)
    scores = [lexical.score[row][keep] if keep.any() else none for row, keep in zip(rows, kept, strict=True)]
    at = np.cumsum([0, *map(len, symbols)], dtype=np.int64)
    return Lexical(at, np.concatenate(symbols), np.concatenate(scores))


def _number(value: Any) -> float:
    """A setting as a number; not a number, which no comparison holds for, if it is none."""
    return float(value) if isinstance(value, (int, float, np.number)) and not isinstance(value, bool) else math.nan


def _clean_trees(sentences: Iterable[Sentence]) -> list[Tree]:
    """Trees without traces and functions, which have the words of their sentences."""
    trees = []
    for sentence in sentences:
        tree = None if sentence.tree is None else clean_tree(sentence.tree)
        if tree is None:
            raise CorpusError("this tree has no words", path=sentence.path, line=sentence.line)
        if (leaves := tree.leaves()) != sentence.forms:
            other = next((x, y) for x, y in zip_longest(leaves, sentence.forms) if x != y)
            raise CorpusError(
                f"the words of this tree are not those of its sentence: where it has {other[0]!r}, the tokens have "
                f"{other[1]!r}. Make both of the same words",
                path=sentence.path,
                line=sentence.line,
            )
        trees.append(tree)
    return trees


def _binarised(markovisation: Markovisation, trees: Sequence[Tree], sentences: Sequence[Sentence]) -> list[Tree]:
    binary = []
    for tree, sentence in zip(trees, sentences, strict=True):
        try:
            binary.append(markovisation.binarise(tree))
        except CorpusError as error:
            raise CorpusError(str(error), path=sentence.path, line=sentence.line) from None
    return binary


def _top_label(sentence: Sentence, cleaned: Tree) -> str | None:
    """The label that cleaning takes away above a tree; None if it takes none."""
    kept = None if sentence.tree is None else clean_tree(sentence.tree, top=False)
    return None if kept is None or kept == cleaned else kept.label


def _as_sentence(sentence: Sentence | Sequence[str]) -> Sentence:
    if isinstance(sentence, Sentence):
        return sentence
    words = list(sentence) if isinstance(sentence, Iterable) and not isinstance(sentence, (str, bytes)) else [None]
    if not all(isinstance(word, str) for word in words):
        raise ConfigError(
            "what is parsed is a list of sentences, each a Sentence or a list of words, such as "
            f'[["she", "can", "see"]]; {sentence!r} is not a sentence'
        )
    return Sentence.from_words(map(str, words))


def _batches(sentences: Input) -> Iterator[list[Sentence]]:
    """Some thousand words at a time."""
    batch: list[Sentence] = []
    words = 0
    for sentence in sentences:
        whole = _as_sentence(sentence)
        batch.append(whole)
        words += len(whole)
        if words >= _BATCH:
            yield batch
            batch, words = [], 0
    if batch:
        yield batch
