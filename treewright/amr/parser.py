"""The parser of AMR graphs, as an estimator."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from treewright.amr.alignment import Aligner, Alignment, graph_of
from treewright.amr.concepts import FORMS, Forms
from treewright.amr.encoding import Encoder, Example
from treewright.amr.improved_aligner import ImprovedAligner
from treewright.amr.naive_smatch import KINDS as LOSSES
from treewright.amr.preparation import gold_tree, map_words, signs_of, tree_words
from treewright.amr.rule_aligner import RuleAligner
from treewright.amr.scores import SmatchScores, compare_smatch, score_smatch
from treewright.amr.trace import trace_graph
from treewright.corpora import corpus_hash
from treewright.corpora.graphs import Graph
from treewright.corpora.lemmas import learn_lemmas, with_lemmas
from treewright.corpora.types import Sentence
from treewright.errors import ConfigError, CorpusError
from treewright.estimators import Corpus, Estimator, Input, Running, batches, corpus_error, read_corpus
from treewright.estimators.settings import BITS, SEED
from treewright.learners import Imitation, Learner, train
from treewright.learners.checkpoints import Judge
from treewright.metrics import Comparison
from treewright.models import pack_strings, unpack_strings
from treewright.policies import LinearPolicy
from treewright.search import Decoded, decode, trajectory
from treewright.settings import Choice, File, Flag, Setting, Whole
from treewright.tracing import Trace

__all__ = ["AMRParser"]


#: the settings of all learners where nothing is said of them
USUAL: dict[str, Any] = {"update": {"name": "arow", "averaged": True}}

ALIGNERS = {"rules": RuleAligner, "improved": ImprovedAligner}

_REACH, _RANGE = 6, 4  # §4.3.2 and §4.3.4
_NO_WORDS = Graph("a", (("a", "amr-empty"),))

ALIGNER = Setting(
    "aligner",
    Choice("rules", "improved", {"given": "the graphs have alignments"}),
    "How gold graphs are aligned with the words that their nodes come from",
)
LOSS = Setting(
    "loss",
    Choice({"naive": "1 − F of naive Smatch", "absolute": "mistakes", "penalty": "mistakes, and a fifth of the steps"}),
    "What counts as wrong in learning",
)
REENTRANCE = Setting("reentrance", Flag(), "Add edges to the tree in a second phase")
REACH = Setting("reach", Whole(0, 2**30), "How many edges away a node may be reattached; 0: anywhere")
SHENANIGANS = Setting(
    "shenanigans", Flag(), "Give each state of the training data a feature of its own, a kind of regularisation"
)
DICTIONARIES = Setting(
    "dictionaries",
    File(),
    "A folder with the frames of PropBank and lists of verbalisations, which become part of the model",
    none="no dictionaries",
    metavar="FOLDER",
)


class AMRParser(Estimator[SmatchScores]):
    """A parser from dependency trees to AMR graphs, by imitation learning (Goodman 2015).

    Args:
        learner: a learner by name, as settings, or as an object.
        aligner: how gold graphs are aligned with words for the expert: ``rules``, ``improved``, or ``given``, the
            alignments that the graphs have.
        loss: of naive Smatch: ``naive`` (1 − F), ``absolute`` (mistakes) or ``penalty`` (mistakes, and a fifth of the
            steps); what learners with roll-outs minimise.
        reentrance: add edges to the tree in a second phase.
        reach: how many edges away a node may be reattached; 0 for any distance.
        shenanigans: give each state of the training data a feature of its own, a kind of regularisation (§4.5).
        dictionaries: a folder with the frames of PropBank and with verbalisations; they become part of the model.
        bits: the size of the table of hashed features, 2^bits.
        seed: the same seed gives the same model.
    """

    task: ClassVar[str] = "amr"
    annotates: ClassVar[str] = "amr"
    _batch_size: ClassVar[int] = 256  # sentences
    settings: ClassVar[tuple[Setting, ...]] = (
        ALIGNER,
        LOSS,
        REENTRANCE,
        REACH,
        SHENANIGANS,
        DICTIONARIES,
        BITS,
        SEED,
    )
    learners: ClassVar[tuple[type[Learner], ...]] = (Imitation,)

    def __init__(
        self,
        *,
        learner: str | Learner | dict[str, Any] = "exploration",
        aligner: str = "rules",
        loss: str = "naive",
        reentrance: bool = True,
        reach: int = _REACH,
        shenanigans: bool = False,
        dictionaries: str | os.PathLike[str] | None = None,
        bits: int = 20,
        seed: int = 0,
    ) -> None:
        self.learner = learner
        self.aligner = aligner
        self.loss = loss
        self.reentrance = reentrance
        self.reach = reach
        self.shenanigans = shenanigans
        self.dictionaries = dictionaries
        self.bits = bits
        self.seed = seed

    encoder_: Encoder
    lemmas_: dict[str, str]
    policy_: LinearPolicy

    def _fit(self, corpus: Corpus, dev: Corpus | None, running: Running) -> None:
        learner = self._make_learner()
        sentences = _graphbank(corpus)
        corpora = {"train": corpus_hash(sentences)}
        self.lemmas_, self.encoder_, examples = self._encoded(sentences)
        self._collect(examples)
        if self.shenanigans:
            examples = [example._replace(number=number) for number, example in enumerate(examples, 1)]
        packed, _ = self.encoder_.pack(examples, self._options())
        evaluate = None
        if dev is not None:
            dev_sentences = _graphbank(dev)
            corpora["dev"] = corpus_hash(dev_sentences)
            evaluate = Judge(self._smatch_on(dev_sentences, running["jobs"]), corpora["dev"])
        trained = train(learner, packed, bits=self.bits, seed=self.seed, evaluate=evaluate, **running)
        self.policy_, self.history_ = trained.policy, trained.history
        self.card_ = self._make_card(corpora, self._dev_score("dev Smatch"))

    def _trace(self, sentence: Sentence, gold: Sentence | None, follow: str) -> Trace:
        return trace_graph(self, sentence, gold, follow)

    def by_expert(self, corpus: Corpus, *, jobs: int = 1) -> list[Sentence]:
        """What the expert makes of sentences whose gold graphs it knows: the most that can be learned (Table 4.3)."""
        self._check_settings()
        sentences = _graphbank(corpus)
        _, encoder, examples = self._encoded(sentences)
        packed, own = encoder.pack(examples, self._options(open_to_gold=True))
        decoded = decode(packed, None, jobs=jobs)
        return [
            replace(sentence, graph=encoder.graph(decoded.state(i), examples[i].words, own[i]))
            for i, sentence in enumerate(sentences)
        ]

    def _encoded(self, sentences: Sequence[Sentence]) -> tuple[dict[str, str], Encoder, list[Example]]:
        """Lemmas of words, numbers for all that occurs in sentences, and what the expert needs to know of each."""
        if self.aligner == "given" and not any(graph_of(sentence).alignments for sentence in sentences):
            raise ConfigError(
                "'given' needs graphs with alignments, and there are none: take 'rules'",
                setting="aligner",
                value="given",
            )
        encoder = Encoder(Forms() if self.dictionaries is None else Forms.read(self.dictionaries))
        lemmas = learn_lemmas(sentences)
        examples = [self._example(with_lemmas(sentence, lemmas), encoder.forms) for sentence in sentences]
        encoder.learn(examples)
        return lemmas, encoder, examples

    def _collect(self, examples: Sequence[Example]) -> None:
        """Let the expert parse the training data, and remember the parameters of its actions (§4.3.5)."""
        packed, _ = self.encoder_.pack(examples, self._options(open_to_gold=True))
        self.encoder_.collect(packed, (trajectory(packed, i, None) for i in range(len(examples))))

    def _options(self, *, open_to_gold: bool = False) -> list[int]:
        reach = self.reach or 2**30
        return [len(FORMS), LOSSES.index(self.loss), open_to_gold, self.reentrance, reach, _RANGE]

    def _example(self, sentence: Sentence, forms: Forms) -> Example:
        """The words, and where there is a gold graph that too, and which words stand for which nodes of it."""
        words = tree_words(sentence)
        if sentence.graph is None:
            return Example(words, signs=signs_of(sentence))
        try:
            gold = gold_tree(sentence.graph)
        except CorpusError as error:
            raise CorpusError(str(error), path=sentence.path, line=sentence.line) from None
        return Example(
            words, gold, map_words(words, gold, self._aligned(sentence, forms), sentence.graph), signs_of(sentence)
        )

    def _aligned(self, sentence: Sentence, forms: Forms) -> Alignment:
        if self.aligner == "given":
            return {node: at for node, at in graph_of(sentence).alignments.items() if isinstance(at, tuple)}
        aligner: Aligner = ALIGNERS[self.aligner](forms.verbalisations)
        return aligner.align(sentence)

    def _smatch_on(self, sentences: Sequence[Sentence], jobs: int) -> Callable[[LinearPolicy], float]:
        """A function that parses with a policy and gives Smatch's F."""
        examples = self._unknown(sentences)
        packed, own = self.encoder_.pack(examples, self._options())

        def smatch(policy: LinearPolicy) -> float:
            decoded = policy.decode(packed, seed=self.seed, jobs=jobs)
            return score_smatch(sentences, self._graphs(decoded, examples, own)).f1

        return smatch

    def _unknown(self, sentences: Iterable[Sentence]) -> list[Example]:
        """Sentences to parse, whose graphs, if they have any, are not looked at."""
        ready = (replace(with_lemmas(sentence, self.lemmas_), graph=None) for sentence in sentences)
        return [self._example(sentence, self.encoder_.forms) for sentence in ready]

    def _graphs(self, decoded: Decoded, examples: Sequence[Example], own: Sequence[Sequence[str]]) -> list[Graph]:
        return [
            self.encoder_.graph(decoded.state(i), example.words, own[i]) if example.words else _NO_WORDS
            for i, example in enumerate(examples)
        ]

    parse = Estimator.predict

    def _batches(self, sentences: Input) -> Iterator[list[Sentence]]:
        return batches(sentences, self._batch_size, _check_sentence, lambda sentence: 1)

    def _decode(self, batch: list[Sentence], jobs: int) -> list[Graph]:
        examples = self._unknown(batch)
        packed, own = self.encoder_.pack(examples, self._options())
        return self._graphs(self.policy_.decode(packed, seed=self.seed, jobs=jobs), examples, own)

    def _annotate(self, batch: list[Sentence], found: list[Graph]) -> Iterator[Sentence]:
        for sentence, graph in zip(batch, found, strict=True):
            yield replace(sentence, graph=graph)

    def _gold(self, corpus: Corpus) -> list[Sentence]:
        return _graphbank(corpus)

    def _score(self, gold: Sequence[Sentence], predicted: Sequence[Sentence], **options: Any) -> SmatchScores:
        return score_smatch(gold, predicted, breakdown=True, seed=self.seed, **options)

    def _compare(
        self, gold: Sequence[Sentence], a: Sequence[Sentence], b: Sequence[Sentence], **options: Any
    ) -> Comparison:
        return compare_smatch(gold, a, b, **options)

    # ---- settings

    def _usual(self, learner: Mapping[str, Any]) -> Mapping[str, Any]:
        return USUAL

    def resolved_config(self) -> dict[str, Any]:
        """Return every setting as a plain value, with the learner's choices spelled out: what a model file records."""
        folder = None if self.dictionaries is None else Path(self.dictionaries).name
        return {**super().resolved_config(), "dictionaries": folder}

    def _check_together(self) -> None:
        if self.dictionaries is None:
            return
        folder = os.fspath(self.dictionaries)
        given: dict[str, Any] = {"setting": "dictionaries", "value": folder}
        if not Path(folder).is_dir():
            raise ConfigError(f"cannot be read: there is no folder {folder!r}", **given)
        if not Forms.read(folder):
            names = "propbank…frames….txt or …verbalization-….txt"
            raise ConfigError(f"are not in the folder {folder!r}: it has no {names}", **given)

    # ---- the model file

    def _learned(self) -> tuple[dict[str, Any], dict[str, Any]]:
        lemmas = pack_strings([f"{key}\t\t{lemma}" for key, lemma in self.lemmas_.items()], "lemmas")
        return {}, {**self.policy_.to_arrays(), **self.encoder_.to_arrays(), **lemmas}

    def _restore(self, settings: dict[str, Any], arrays: dict[str, Any]) -> None:
        self.encoder_ = Encoder.from_arrays(arrays)
        self.policy_ = LinearPolicy.from_arrays(arrays)
        self.lemmas_ = dict(text.split("\t\t") for text in unpack_strings(arrays, "lemmas"))


def _check_sentence(sentence: Sentence | Sequence[str]) -> Sentence:
    if not isinstance(sentence, Sentence):
        raise ConfigError(
            "what is parsed is a list of Sentence objects with dependency trees, as load_corpus gives them; "
            f"{sentence!r} is not a sentence"
        )
    return sentence


def _graphbank(corpus: Corpus) -> list[Sentence]:
    """The sentences of a corpus, all with graphs."""
    sentences = read_corpus(corpus)
    for number, sentence in enumerate(sentences, 1):
        if sentence.graph is None or not len(sentence):
            missing = "a graph" if sentence.graph is None else "words: write them in a comment, # ::snt …"
            raise corpus_error(f"a sentence without {missing}", sentence, number)
    return sentences
