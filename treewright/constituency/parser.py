"""The constituency parser: a treebank grammar with learned weights, and exact search."""

from __future__ import annotations

import math
import warnings
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from treewright.constituency.agenda.parser import TIMES, AgendaParser
from treewright.constituency.agenda.policy import LEARNERS, AgendaPolicy, make_priority_learner
from treewright.constituency.agenda.priorities import Priorities
from treewright.constituency.agenda.queue import agenda_bytes
from treewright.constituency.base import ConstituencyEstimator, Derivation, Pieces, repeats
from treewright.constituency.charts.chart import chart_bytes
from treewright.constituency.charts.corpus import Sentences
from treewright.constituency.charts.passes import (
    BEST_TREE,
    COVERED,
    MAX_RULE,
    Coarse,
    Decoding,
    k_best_of,
    parse_all,
)
from treewright.constituency.charts.planner import TRAINED, CKYPlanner
from treewright.constituency.charts.span_rewards import SpanRewards, new_span_rewards, reward_pass, table_size
from treewright.constituency.grammar.binarisation import Markovisation
from treewright.constituency.grammar.lexicon import Lexicon
from treewright.constituency.grammar.pcfg import Grammar, NotInGrammar
from treewright.constituency.grammar.rules import Lexical
from treewright.constituency.scores import score_constituents
from treewright.constituency.settings import (
    DECODER,
    GRAMMAR,
    MAX_LENGTH,
    MEMORY,
    PRUNE,
    TRADEOFF,
    grammar_settings,
    memory_of,
)
from treewright.constituency.treebank import as_in_treebank, binarised, clean_trees, learn_treebank, read_treebank
from treewright.corpora import Sentence, Tree, corpus_hash
from treewright.errors import ConfigError, CorpusError
from treewright.estimators import Corpus, Input, Running
from treewright.estimators.settings import SEED
from treewright.search.compiling import at_once
from treewright.search.running import run_shards
from treewright.settings import Choice, Flag, Like, Real, Setting, one_of, whole_number
from treewright.tracing import Trace

if TYPE_CHECKING:
    from treewright.constituency.agenda.heuristics import HierarchicalAStar
    from treewright.learners import Learner

__all__ = ["ML", "ConstituencyParser", "KBest"]

ML = "maximum-likelihood"
COUNTED, GIVEN = "dev F1 of counting", "dev F1 of the given grammar"
"""The score before learning, of relative frequencies or of the weights of a given grammar, in the card of a parser."""
DECODERS = {"viterbi": BEST_TREE, "max-rule": MAX_RULE}
_GROWTH = 1.5  # of Δ, if IDA* has found no tree
_FIRST_GAP = 4.0  # Δ of IDA* at first, if it is not given
_HELD_OUT = 10  # without development data, every tenth sentence is for learning priorities
_ENOUGH = 100  # sentences for learning priorities, which have few weights

#: defaults of learners, chosen on development data
_STOCHASTIC = {"passes": 10, "batch": 1, "averaged": True, "normalise": False, "step_size": 0.1}
USUAL: dict[str, dict[str, Any]] = {
    "irl-perceptron": {**_STOCHASTIC, "l2": 1e-5},
    "max-margin": {**_STOCHASTIC, "passes": 15, "step_size": None, "l2": 1e-5},  # by the size of the treebank
    "policy-matching": {**_STOCHASTIC, "passes": 12, "step_size": 0.5, "temperature": 0.2},
    "maxent": {**_STOCHASTIC, "n_best": 0},
}
#: what differs with span features, which only these learners have
WITH_SPANS: dict[str, dict[str, Any]] = {
    "irl-perceptron": {"passes": 10, "l2": 0.0},
    "max-margin": {"passes": 10, "l2": 0.0, "margin": 1.0},
}
_STEPS_WITH_SPANS = {"step": "adagrad", "step_size": None}  # if the learner's settings have no rule of steps


class KBest(NamedTuple):
    """One of the best trees of a sentence, and its score."""

    tree: Tree
    score: float


class _Pruning:
    """The grammar for pruning, as arrays for kernels; made on first use."""

    def __init__(self, grammar: Grammar, lexical: Lexical) -> None:
        self._grammar, self._lexical = grammar, lexical

    @cached_property
    def coarse(self) -> Coarse:
        """The coarse grammar, and the coarse symbol of each symbol."""
        coarse, of = self._grammar.projected()
        lexical = Lexical(self._lexical.at, of[self._lexical.symbol], self._lexical.score)
        return Coarse(coarse.weighted(lexical, np.exp(coarse.weights)), of)


LEXICON = Setting(
    "lexicon",
    Choice({"ratio": "log P(tag|word)/P(tag)", "word": "log P(word|tag)"}),
    "The scores of words and their tags",
)
TAGS = Setting("tags", Choice({"lexicon": "the parser chooses", "gold": "they are given"}), "Where tags come from")
TRAINED_RULES = Setting("trained", Choice(*reversed(TRAINED)), "The rules whose weights are learned")
SHRINK = Setting("shrink", Flag(), "Choose on development data how far to move from counts to learned weights")
LOSS = Setting(
    "loss",
    Choice({"rules": "rules that the expert does not use", "constituents": "constituents that are not the expert's"}),
    "The loss in training",
    none="constituents with span features, otherwise rules",
    old_flags="--loss-on",
)
REWARDS = Setting(
    "rewards",
    Choice({"spans": "rules, and spans by the words and tags at their edges", "rules": "rules only"}),
    "What the learned rewards are for",
    note="An agenda needs rules",
    none="spans for max-margin and irl-perceptron with CKY and a grammar of the treebank, otherwise rules",
)
MAX_GAP = Setting(
    "max_gap",
    Real(above=0),
    "Δ: drop constituents that are worse than the best of their span by more than this, in logarithms",
    note="For learned priorities 0 means that Δ is chosen with them",
    none="nothing",
    none_written=0,
    flags="--max-gap --delta",
)
SEARCH = Setting(
    "search",
    Choice(
        {
            "cky": "everything",
            "agenda": "constituents of the highest priority first",
            "ida-star": "the same with pruning by Δ, which grows until there is a tree",
            "ha-star": "A*, guided by a coarser grammar",
        }
    ),
    "The search: which constituents are built",
)
TIME = Setting("time", Choice(*TIMES), "The unit of time whose price is λ, for learned priorities of an agenda")


def _plain_learner(learner: Any) -> Any:
    if learner not in list(LEARNERS):  # their settings are right
        make_priority_learner(learner)
    return learner


PRIORITY_LEARNER = Setting(
    "priority_learner",
    Like(_plain_learner, "a name, or its settings with its name"),
    f"How priorities of an agenda are learned: {', '.join(LEARNERS)}",
)


class ConstituencyParser(ConstituencyEstimator):
    """Parses sentences into constituency trees, by exact search with a weighted grammar.

    Args:
        grammar: how the grammar is read off the treebank: the symbols of ``v2h1`` remember the parent of a constituent
            and one sibling, see :func:`grammar_settings`; or a :class:`Grammar`, whose rules and weights are used
            unchanged. Then trees that it cannot derive are skipped in training, and words whose tags it lacks may have
            any tag.
        learner: ``maximum-likelihood`` (relative frequencies), or a method of inverse reinforcement learning, by name,
            as settings, or as an object: ``projection``, ``mwal``, ``irl-perceptron``, ``max-margin``,
            ``policy-matching``, ``maxent``. They begin with relative frequencies.
        lexicon: ``ratio``, log P(tag|word)/P(tag), or ``word``, log P(word|tag).
        tags: ``lexicon`` lets the parser choose tags; ``gold`` takes those of the XPOS column.
        rewards: what has learned rewards: ``rules``, as in the paper; or ``spans``, too, by the words and tags at the
            edges of constituents (:mod:`treewright.constituency.charts.span_rewards`). None: spans for the learners
            ``max-margin`` and ``irl-perceptron`` with CKY, which alone can have them; rules for other learners and
            searches, and with a given :class:`Grammar`.
        trained: the rules whose weights are learned: ``binary`` rules, as in the paper, or ``all`` rules.
        shrink: with development data, whether to choose an interpolation between relative frequencies and the weights
            of the best pass: 1, ¾, ½, ¼ or 0 of the learned weights. So the result is not worse on these data than
            relative frequencies.
        loss: the errors that Max-Margin counts: ``rules`` (Algorithm 4) or ``constituents``. None: constituents with
            span features, and otherwise rules.
        decoder: ``viterbi``, the best tree; or ``max-rule``, the tree whose rules are together the most probable.
        prune: constituents less probable than this under a coarser grammar are not built; 0 is exact.
        max_gap: Δ: constituents worse than the best one of their span by more than this (in logarithms) are dropped;
            None is exact. With learned priorities, None chooses Δ together with them.
        search: ``cky``, which builds everything; ``agenda``, which builds constituents of the highest priority first
            and stops with the first complete tree (:mod:`treewright.constituency.agenda.search`); ``ida-star``, an
            agenda with inside scores that is repeated with a larger Δ until there is a tree; ``ha-star``, A* with the
            outside scores of a coarser grammar as a heuristic (:mod:`treewright.constituency.agenda.heuristics`).
        tradeoff: with an agenda, the price λ of a unit of time: priorities are learned to maximise the number of
            correct constituents minus λ for each pop, on a hundred sentences of the development data; without such
            data, on every tenth sentence of the treebank, which is then not used for the grammar. None: priorities are
            inside scores, without learning.
        time: the unit of time: ``pops``, ``pushes`` or ``seconds``.
        priority_learner: how priorities are learned, one of
            :data:`~treewright.constituency.agenda.policy.LEARNERS`, by name or as settings with its name.
        max_length: longer sentences are excluded from training and development data.
        memory: gigabytes that a chart may take, for each of the ``jobs``; longer sentences are parsed in parts.
        seed: the same seed gives the same model.

    A sentence that the grammar cannot derive gets the fewest constituents that cover it, below the most frequent label
    of whole sentences (:meth:`analyse` reports them). So every sentence that has words has a tree.

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
        REWARDS,
        TRAINED_RULES,
        SHRINK,
        LOSS,
        replace(DECODER, values=Choice({"viterbi": "the best tree", "max-rule": "the most probable rules together"})),
        PRUNE,
        MAX_GAP,
        SEARCH,
        TRADEOFF,
        TIME,
        PRIORITY_LEARNER,
        MAX_LENGTH,
        MEMORY,
        SEED,
    )

    def __init__(
        self,
        grammar: str | dict[str, Any] | Markovisation | Grammar = "v2h1",
        *,
        learner: str | Learner | dict[str, Any] = "max-margin",
        lexicon: str = "ratio",
        tags: str = "lexicon",
        rewards: str | None = None,
        trained: str = "all",
        shrink: bool = True,
        loss: str | None = None,
        decoder: str = "viterbi",
        prune: float = 0.0,
        max_gap: float | None = None,
        search: str = "cky",
        tradeoff: float | None = None,
        time: str = "pops",
        priority_learner: str | dict[str, Any] = "on-policy",
        max_length: int | None = None,
        memory: float = 2.0,
        seed: int = 0,
    ) -> None:
        self.grammar = grammar
        self.learner = learner
        self.lexicon = lexicon
        self.tags = tags
        self.rewards = rewards
        self.trained = trained
        self.shrink = shrink
        self.loss = loss
        self.decoder = decoder
        self.prune = prune
        self.max_gap = max_gap
        self.search = search
        self.tradeoff = tradeoff
        self.time = time
        self.priority_learner = priority_learner
        self.max_length = max_length
        self.memory = memory
        self.seed = seed

    lexicon_: Lexicon
    priority_: AgendaPolicy | None = None
    """For an agenda: the priorities, and the threshold of pruning."""
    _hierarchy: HierarchicalAStar | None = None
    _spans: SpanRewards | None = None

    # ---- learning

    @classmethod
    def learners(cls) -> tuple[type[Learner], ...]:
        """Return the classes of supported learners."""
        from treewright.learners import InverseRL, MaximumLikelihood

        return (InverseRL, MaximumLikelihood)

    def _fit(self, corpus: Corpus, dev: Corpus | None, running: Running) -> None:
        from treewright.learners import InverseRL, train_irl
        from treewright.learners.checkpoints import Judge

        learner = self._make_learner()
        self.priority_, self._hierarchy = None, None
        corpus, held_out = self._for_priorities(corpus, dev)
        treebank = learn_treebank(corpus, self._markovisation(), self.max_length)
        sentences, trees, binary, self.top_, self.cover_ = treebank
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
        self._restored(table_size(sum(map(len, sentences))) if self._has_spans else 0)
        self.history_ = []
        scores: dict[str, Any] = {}
        about: dict[str, Any] = {}
        evaluate, dev_sentences = None, list[Sentence]()
        if dev is not None:
            dev_sentences = read_treebank(dev, self.max_length)
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
            counted, learned = planner.weights(planner.initial()), planner.weights(trained.weights)
            self._use(learned)
            scores, about["step_size"] = self._dev_score("dev F1"), learner.sized(planner).step_size
            if evaluate is not None:
                before = GIVEN if isinstance(self.grammar, Grammar) else COUNTED
                scores |= {before: evaluate(counted)}
                if self.shrink:
                    first, last = scores[before], scores["dev F1"]
                    about["strength"], scores["dev F1"] = _strongest(counted, learned, (first, last), evaluate)
                self._use(counted + about.get("strength", 1.0) * (learned - counted))
        elif evaluate is not None:
            scores = {"dev F1": evaluate(self.grammar_.weights)}
        if self.search != "cky":
            features = self._features_of(binary, sentences)
            about |= self._order_search(features, dev_sentences or held_out, running["jobs"], running["progress"])
            if evaluate is not None:
                scores |= {"dev F1": evaluate(self.grammar_.weights)}
        self.card_ = {**self._make_card(corpora, scores), **about}

    def tune_speed(
        self,
        corpus: Corpus,
        tradeoff: float | None,
        *,
        time: str = "pops",
        learner: str | dict[str, Any] = "on-policy",
        max_gap: float | None = None,
        search: str = "agenda",
        dev: Corpus | None = None,
        jobs: int = 1,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> Self:
        """Learn priorities for a fitted parser, from a treebank that it was not trained on; then it has an agenda.

        ``tradeoff`` is λ, the price of a unit of ``time``, which is ``pops``, ``pushes`` or ``seconds``; with None
        priorities are inside scores, without learning. ``learner`` is one of
        :data:`~treewright.constituency.agenda.policy.LEARNERS`. ``max_gap`` is Δ; None chooses it if priorities are
        learned. ``search`` may be ``ida-star`` or ``ha-star``, which learn nothing.

        The parser's settings are changed accordingly. Its card names the corpus, the learner and the unit of time, and
        its score is the F1 on ``dev``, or on ``corpus`` if there is no ``dev``.
        """
        self._check_fitted()
        self.__dict__.update(self.check_tuning(tradeoff, time=time, learner=learner, max_gap=max_gap, search=search))
        sentences = read_treebank(corpus, self.max_length)
        binary = binarised(self._markovisation(), clean_trees(sentences), sentences)
        features = self._features_of(binary, sentences)
        about = self._order_search(features, sentences, jobs, progress)
        judged = sentences if dev is None else read_treebank(dev, self.max_length)
        scores = {"dev F1": score_constituents(clean_trees(judged), self._trees(judged, jobs), seed=self.seed).f1}
        corpora = {**self.card_["corpora"], "dev": corpus_hash(judged), "priorities": corpus_hash(sentences)}
        self.card_ = {**self.card_, **self._make_card(corpora, scores), **about}
        return self

    def check_tuning(
        self,
        tradeoff: float | None,
        *,
        time: str = "pops",
        learner: str | dict[str, Any] = "on-policy",
        max_gap: float | None = None,
        search: str = "agenda",
    ) -> dict[str, Any]:
        """Check the arguments of :meth:`tune_speed`, and return the parser's settings that follow from them."""
        settings = {
            "search": search, "tradeoff": tradeoff, "time": time, "priority_learner": learner, "max_gap": max_gap
        }  # fmt: skip
        rewards = {"rewards": None if self._spans is None else "spans"}
        type(self)(**{**self._params(), **rewards, **settings})._check_settings()
        return settings

    def _for_priorities(self, corpus: Corpus, dev: Corpus | None) -> tuple[Corpus, list[Sentence]]:
        """The treebank, and the sentences that are held out for learning priorities, if any."""
        if self.search != "agenda" or self.tradeoff is None or dev is not None:
            return corpus, []
        sentences = read_treebank(corpus, self.max_length)
        if len(sentences) < 2 * _HELD_OUT:
            raise CorpusError(
                f"{len(sentences)} sentences are too few to learn a grammar and priorities from: give dev, or "
                f"{2 * _HELD_OUT} sentences or more"
            )
        rest = [sentence for k, sentence in enumerate(sentences, 1) if k % _HELD_OUT]
        return rest, sentences[_HELD_OUT - 1 :: _HELD_OUT]

    def _features_of(self, binary: Sequence[Tree], sentences: Sequence[Sentence]) -> Priorities:
        """The tables of priority features, learned from the trees that the grammar can derive."""
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

    def _order_search(
        self,
        features: Priorities,
        sentences: Sequence[Sentence],
        jobs: int,
        progress: Callable[[str, int, int], None] | None,
    ) -> dict[str, Any]:
        """Prepare a search other than CKY; return the entries of the card."""
        self.priority_, self._hierarchy = None, None
        about: dict[str, Any] = {"search": self.search, "max_gap": self.max_gap}
        if self.search == "ha-star":
            self._make_hierarchy()
            return {"priorities": about}
        self._agenda = AgendaParser(self.grammar_, self._lexical, features)
        if self.tradeoff is None:
            usual = _FIRST_GAP if self.search == "ida-star" else np.inf
            self.priority_ = AgendaPolicy.a_star(self._agenda, usual if self.max_gap is None else float(self.max_gap))
            return {"priorities": about}
        sentences = sentences[:: -(-len(sentences) // _ENOUGH)]
        trees = clean_trees(sentences)
        words = [list(sentence.forms) for sentence in sentences]
        rows = [self._rows(each, tree.tags()) for each, tree in zip(words, trees, strict=True)]
        from treewright.constituency.agenda.environment import AgendaEnvironment, seconds_per_step

        environment = AgendaEnvironment(self._agenda, words, rows, trees, tradeoff=float(self.tradeoff))
        if self.time != "pops":
            costs = seconds_per_step(environment, np.arange(len(words))) if self.time == "seconds" else None
            environment = environment.but(time=self.time, seconds=costs)
        learned = AgendaPolicy.learn(
            environment,
            learner=self.priority_learner,
            max_gap=self.max_gap,
            seed=self.seed,
            jobs=jobs,
            progress=progress,
        )
        self.priority_ = learned.policy
        learner, on_policy = make_priority_learner(self.priority_learner)
        about |= {"learner": {**learner.params(), **({"name": "on-policy"} if on_policy else {})}, **learned.as_dict()}
        about |= {"tradeoff": float(self.tradeoff), "time": self.time, "seconds": environment.seconds}
        return {"priorities": {**about, "sentences": len(sentences)}}

    def _make_hierarchy(self) -> None:
        """HA*: the grammar, and the coarser grammar without parents and siblings."""
        from treewright.constituency.agenda.heuristics import HierarchicalAStar

        _, of = self.grammar_.projected()
        gap = np.inf if self.max_gap is None else float(self.max_gap)
        self._hierarchy = HierarchicalAStar(self.grammar_, self._lexical, [of], max_gap=gap)

    def _planner(self, binary: Sequence[Tree], trees: Sequence[Tree], sentences: Sequence[Sentence]) -> CKYPlanner:
        """The corpus as a planner; trees that a given grammar cannot derive are skipped."""
        derivations, rows, kept = [], [], []
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
            kept.append(sentence)
        if lacking and rows:
            warnings.warn(
                f"{len(trees) - len(rows):,} of {len(trees):,} trees cannot be derived with the grammar that was "
                f"given, and are left out of learning: for the first, {lacking}",
                stacklevel=3,
            )
        if self._spans is not None and self.tags == "lexicon":
            rows = self._as_unknown(kept, rows, derivations)
        if not rows:
            raise CorpusError(
                f"no tree of the treebank can be derived with the grammar that was given: for the first, {lacking}. "
                f"Give a grammar that fits, or learn nothing but the lexicon: learner={ML!r}"
            )
        at = np.concatenate([[0], np.cumsum([len(each) for each in rows])]).astype(np.int64)
        loss = self.loss or ("rules" if self._spans is None else "constituents")
        words, gold = np.concatenate(rows), np.concatenate(derivations)
        return CKYPlanner(self.grammar_, self._lexical, words, at, gold, self.trained, loss, self._spans)

    def _as_unknown(
        self, sentences: Sequence[Sentence], rows: Sequence[npt.NDArray[np.int32]], derivations: Sequence[Any]
    ) -> list[npt.NDArray[np.int32]]:
        """The rows with those of unknown words for words that occur once, if their tags are possible then.

        So the features of words are learned for unknown words, too.
        """
        forms = [as_in_treebank(list(sentence.forms), self.lexicon_.knows) for sentence in sentences]
        counts = Counter(word for words in forms for word in words)
        at, symbol = self._lexical.at, self._lexical.symbol
        changed = []
        for words, own, nodes in zip(forms, rows, derivations, strict=True):
            tag_of = nodes[nodes[:, 2] < 0, 0]  # from left to right
            instead = self.lexicon_.rows(words, unknown={word for word in words if counts[word] == 1})
            possible = [tag in symbol[at[row] : at[row + 1]] for row, tag in zip(instead, tag_of, strict=True)]
            changed.append(np.where(possible, instead, own).astype(np.int32))
        return changed

    def _f1_on(self, dev: list[Sentence], jobs: int) -> Callable[[npt.NDArray[np.float64]], float]:
        gold = clean_trees(dev)

        def f1(weights: npt.NDArray[np.float64]) -> float:
            self._use(weights)
            return score_constituents(gold, self._trees(dev, jobs), seed=self.seed).f1

        return f1

    def _usual(self, learner: Mapping[str, Any]) -> Mapping[str, Any]:
        from treewright.learners.steps import STEPS

        rule = STEPS.get(str(learner.get("step")))
        whole = {"batch": None} if rule is not None and rule.whole else {}  # such steps need the whole corpus
        usual = {**USUAL.get(learner["name"], {}), **whole}
        if self._has_spans and learner["name"] in WITH_SPANS:
            usual |= WITH_SPANS[learner["name"]] | ({} if "step" in learner else _STEPS_WITH_SPANS)
        if "step_size" in usual and (not {**usual, **learner}["batch"] or learner.get("normalise")):
            usual["step_size"] = _STOCHASTIC["step_size"]  # None is for small batches
        return usual

    def resolved_config(self) -> dict[str, Any]:
        """Return every setting as a plain value, including all settings of the learner, for a model file."""
        rewards = "spans" if self._has_spans else "rules"
        loss = self.loss or ("constituents" if self._has_spans else "rules")
        resolved = {"grammar": asdict(self._markovisation()), "rewards": rewards, "loss": loss}
        return {**super().resolved_config(), **resolved}

    @property
    def _has_spans(self) -> bool:
        """Whether weights are learned for span features."""
        if self.rewards is not None:
            return self.rewards == "spans"
        return self.search == "cky" and not isinstance(self.grammar, Grammar) and self._learner_name in WITH_SPANS

    @property
    def _learner_name(self) -> str:
        from treewright.learners import Learner, learner_settings

        if isinstance(self.learner, Learner):
            return self.learner.name
        self._check_no_priorities()
        return str(learner_settings(self.learner, *self.learners())["name"])

    def _make_learner(self) -> Any:
        self._check_no_priorities()
        return super()._make_learner()

    def _check_no_priorities(self) -> None:
        """Raise an error, with advice, if the learner is one of priorities."""
        name = self.learner.get("name") if isinstance(self.learner, Mapping) else self.learner
        if isinstance(name, str) and name in LEARNERS:
            raise ConfigError(
                f"{name!r} learns the priorities of an agenda, and not weights: leave it out, and set priority_learner "
                f"(--priority-learner {name}), search = 'agenda' and tradeoff",
                setting="learner",
                value=name,
            )

    def _markovisation(self) -> Markovisation:
        return memory_of(self.grammar) if isinstance(self.grammar, Grammar) else grammar_settings(self.grammar)

    def _check_together(self) -> None:
        if self.rewards == "spans" and self._learner_name not in WITH_SPANS:
            raise ConfigError(
                f"cannot be 'spans' with the learner {self._learner_name!r}: take one of "
                f"{', '.join(WITH_SPANS)}, or rewards 'rules'",
                setting="rewards",
                value=self.rewards,
            )
        if self.rewards == "spans" and self.search != "cky":
            raise ConfigError(
                f"{self.search!r} needs a parser without span features: train it with rewards 'rules' (--rewards "
                "rules on the command line)",
                setting="search",
                value=self.search,
            )
        if self.search != "cky" and (self.decoder != "viterbi" or self.prune > 0):
            raise ConfigError(
                f"{self.search!r} goes with decoder 'viterbi' and without prune, which needs a chart of everything: "
                "set max_gap instead",
                setting="search",
                value=self.search,
            )
        if self.search != "agenda" and self.tradeoff is not None:
            raise ConfigError(
                "is about an agenda: set search to 'agenda', or leave it out", setting="tradeoff", value=self.tradeoff
            )
        if self.tradeoff is None and (self.time != "pops" or self.priority_learner != "on-policy"):
            setting = "time" if self.time != "pops" else "priority_learner"
            raise ConfigError(
                "is about learned priorities: set tradeoff, or leave it out",
                setting=setting,
                value=getattr(self, setting),
            )

    # ---- parsing

    def _trace(self, sentence: Sentence, gold: Sentence | None, follow: str, *, kind: str | None = None) -> Trace:
        from treewright.constituency.trace import trace_chart, trace_derivation, trace_pops

        if kind is None:
            kind = "pops" if self.priority_ is not None and follow == "model" else "derivation"
        if kind not in ("derivation", "chart", "pops"):
            raise ConfigError(one_of(kind, ("derivation", "chart", "pops")), setting="kind", value=kind)
        if kind == "chart":
            return trace_chart(self, sentence, gold, grammar=self.grammar_, lexical=self._lexical)
        if kind == "pops":
            return trace_pops(self, sentence, gold)
        return trace_derivation(self, sentence, gold, follow, grammar=self.grammar_, lexical=self._lexical)

    def parse_k_best(self, sentences: Input, k: int = 10, *, jobs: int = 1) -> list[list[KBest]]:
        """The k best trees of each sentence, best first, with their scores; fewer if there are fewer.

        They are the best by score, with any decoder. A sentence that the grammar cannot derive has the tree of
        :meth:`parse`, with the score −∞; an empty sentence has none.
        """
        self._check_fitted()
        k, jobs = whole_number("k", k, 1), whole_number("jobs", jobs, 1)
        found: list[list[KBest]] = []
        for batch in self._batches(sentences):
            with at_once(sum(len(sentence) for sentence in batch)):
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
        """The k best trees; empty if there are no rows for the words, or no tree."""
        if rows is None:
            return []
        wanted, beam = k, None if self.max_gap is None else float(self.max_gap)
        grammar, anchored = self.grammar_.weighted(self._lexical), self._anchored(rows)
        while True:
            best = k_best_of(grammar, rows, wanted, beam, anchored=anchored)
            # around heads, one tree may have several derivations: the best of them counts
            found: dict[Tree, float] = {}
            for r in range(best.found[0]):
                tree = self._topped(self.grammar_.tree(best.trees[r], words))
                if r == 0 or not repeats(tree):  # a doubled S over S is no other reading
                    found.setdefault(tree, float(best.scores[0, r]))
            if not found and beam is not None and beam < np.inf:  # it dropped all of them
                beam = np.inf
            elif len(found) >= k or best.found[0] < wanted:
                return [KBest(tree, score) for tree, score in found.items()][:k]
            else:
                wanted *= 2

    def _derivations(self, pieces: Pieces, jobs: int) -> Iterator[Derivation]:
        if self.priority_ is not None:
            packed, growth = self._agenda.pack(pieces.words, pieces.each_rows), self._growth
            parses = self.priority_.parse(self._agenda, packed, growth=growth, jobs=jobs)
            counts = parses.pops.tolist(), parses.pushes.tolist()
            yield from map(Derivation, parses.derivations, (not is_whole for is_whole in parses.whole), *counts)
            return
        if self._hierarchy is not None:
            found = self._hierarchy.parse(pieces.each_rows, jobs=jobs)
            counts = found.pops.sum(axis=0).tolist(), found.pushes.sum(axis=0).tolist()
            yield from map(Derivation, found.derivations, (not is_whole for is_whole in found.whole), *counts)
            return
        beam = np.inf if self.max_gap is None else float(self.max_gap)
        decoding = Decoding(DECODERS[self.decoder], beam, float(self.prune))
        coarse = self._pruning.coarse if self.prune > 0.0 else None
        sentences = Sentences(pieces.rows, pieces.at)
        parsed = parse_all(self._scored, sentences, self.grammar_.is_whole, decoding, coarse, jobs, self._spans)
        yield from map(Derivation, parsed.derivations(pieces.at), (parsed.status == COVERED).tolist())

    def _anchored(self, rows: npt.NDArray[np.int32]) -> npt.NDArray[np.float32] | None:
        """The rewards of the constituents of a sentence, in the layout of a chart; None without span features."""
        return None if self._spans is None else reward_pass(self._spans, rows)

    def _given_tags(self, sentence: Sentence) -> tuple[str, ...]:
        return sentence.column("xpos") if self.tags == "gold" else ()

    def _rows(self, words: list[str], tags: Sequence[str]) -> npt.NDArray[np.int32]:
        """The rows of the lexicon for a sentence's words, or for its tags if these are given."""
        seen = as_in_treebank(words, self.lexicon_.knows)
        return self.lexicon_.gold_rows(tags, seen) if self.tags == "gold" else self.lexicon_.rows(seen)

    def _longest(self, bytes_each: int | None = None) -> int:
        """The longest sentence whose chart fits into the memory: a multiple of ten."""
        each = bytes_each or (24 if self.decoder == "max-rule" else 8 if self.prune else 4)
        each += 0 if self._spans is None else 12 if self.decoder == "max-rule" else 4  # rewards
        symbols = len(self.grammar_.symbols)
        lengths = range(20, 2_010, 10)

        def taken(n: int) -> int:
            return agenda_bytes(symbols, n) if self._pops else chart_bytes(symbols, n, each)

        fitting = bisect_right(lengths, self.memory * 1e9, key=taken)
        return 10 + 10 * fitting

    @property
    def _growth(self) -> float:
        """The factor by which Δ grows if there is no tree; 0 for a single attempt."""
        return _GROWTH if self.search == "ida-star" else 0.0

    @property
    def _pops(self) -> bool:
        """Whether the parser has an agenda."""
        return self.priority_ is not None or self._hierarchy is not None

    # ---- tables of the fitted parser

    def _tag_numbers(self) -> dict[str, int]:
        """The symbols of tags, by their names in the lexicon."""
        return {name: k for name, k in self.grammar_.tags.items() if self.grammar_.labels[k] is not None}

    def _restored(self, spans: int = 0) -> None:
        """Prepare the grammar and the lexicon for kernels, and a table of this size for span features."""
        numbers = self._tag_numbers()
        at, tag, score = self.lexicon_.table()
        symbols = np.array([numbers.get(name, -1) for name in self.lexicon_.tags], np.int32)
        self._lexical = Lexical(at, symbols[tag], score)
        if (symbols < 0).any():  # only with a given grammar
            self._lexical = _without_missing(self._lexical, np.array([*numbers.values()], np.int32))
        self._pruning = _Pruning(self.grammar_, self._lexical)
        self._spans = None
        if spans:
            prior = np.full(len(self.grammar_.symbols), -np.inf)
            known = symbols >= 0
            prior[symbols[known]] = self.lexicon_.prior[known]
            self._spans = new_span_rewards(self.grammar_, self._lexical, prior, spans)
        self._use(self.grammar_.weights)

    def _use(self, weights: npt.NDArray[np.float64]) -> None:
        """Set the weights for parsing: those of rules, and of span features if there are more."""
        rules = len(self.grammar_)
        self.grammar_ = self.grammar_.with_weights(weights[:rules])
        self._scored = self.grammar_.weighted(self._lexical, self.grammar_.weights.astype(np.float32))
        if self._spans is not None and len(weights) > rules:
            self._spans = self._spans._replace(weights=weights[rules:].astype(np.float32))

    def _learned(self) -> tuple[dict[str, Any], dict[str, Any]]:
        settings, arrays = self.lexicon_.to_arrays()
        lexicon = {f"lexicon.{name}": array for name, array in arrays.items()}
        grammar = {f"grammar.{name}": array for name, array in self.grammar_.to_arrays().items()}
        learned = {} if self.priority_ is None else self.priority_.to_arrays()
        priority = {f"priority.{name}": array for name, array in learned.items()}
        about: dict[str, Any] = {"lexicon": settings, "top": self.top_, "cover": self.cover_}
        spans = {}
        if self._spans is not None:
            about["spans"] = self._spans.mask + 1
            places = np.flatnonzero(self._spans.weights).astype(np.int32)
            spans = {"spans.places": places, "spans.weights": self._spans.weights[places]}
        return about, {**lexicon, **grammar, **priority, **spans}

    def _restore(self, settings: dict[str, Any], arrays: dict[str, Any]) -> None:
        parts: dict[str, dict[str, Any]] = {"lexicon": {}, "grammar": {}, "priority": {}, "spans": {}}
        for name, array in arrays.items():
            part, _, rest = name.partition(".")
            parts[part][rest] = array
        self.grammar_ = Grammar.from_arrays(parts["grammar"])
        self.lexicon_ = Lexicon.from_arrays(settings["lexicon"], parts["lexicon"])
        self.top_, self.cover_ = settings["top"], settings["cover"]
        self._restored(settings.get("spans", 0))
        if self._spans is None:
            self.rewards = "rules"  # also of models from before there were others
        else:
            self._spans.weights[parts["spans"]["places"]] = parts["spans"]["weights"]
        if parts["priority"]:
            self.priority_ = AgendaPolicy.from_arrays(parts["priority"])
            self._agenda = AgendaParser(self.grammar_, self._lexical, self.priority_.priorities)
        elif self.search == "ha-star":
            self._make_hierarchy()


def _strongest(
    counted: npt.NDArray[np.float64],
    learned: npt.NDArray[np.float64],
    scores: tuple[float, float],
    evaluate: Callable[[npt.NDArray[np.float64]], float],
) -> tuple[float, float]:
    """The best interpolation between counted and learned weights, and its score; of equal ones the largest."""
    found = {0.0: scores[0], 1.0: scores[1]}
    found |= {share: evaluate(counted + share * (learned - counted)) for share in (0.75, 0.5, 0.25)}
    best = max(sorted(found, reverse=True), key=lambda share: found[share])
    return best, found[best]


def _without_missing(lexical: Lexical, tags: npt.NDArray[np.int32]) -> Lexical:
    """The table without tags that the grammar lacks; a word without other tags may have any tag of the grammar.

    All of these have the score 0, which is log P(tag|word)/P(tag) of an uninformative word.
    """
    rows = [slice(*bounds) for bounds in pairwise(lexical.at.tolist())]
    kept = [lexical.symbol[row] >= 0 for row in rows]
    symbols = [lexical.symbol[row][keep] if keep.any() else tags for row, keep in zip(rows, kept, strict=True)]
    none = np.zeros(len(tags), np.float32)
    scores = [lexical.score[row][keep] if keep.any() else none for row, keep in zip(rows, kept, strict=True)]
    at = np.cumsum([0, *map(len, symbols)], dtype=np.int64)
    return Lexical(at, np.concatenate(symbols), np.concatenate(scores))
