"""The parser of AMR graphs, as an estimator."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from treewright.amr.alignment import Aligner, Alignment, graph_of
from treewright.amr.concepts import FORMS, Forms
from treewright.amr.encoding import Encoder, Example, lemma_of
from treewright.amr.features import GROUP_NAMES
from treewright.amr.improved_aligner import ImprovedAligner
from treewright.amr.losses import LOSSES, coded_graph
from treewright.amr.preparation import gold_tree, map_words, signs_of, tree_words
from treewright.amr.replacement import learn_replacements, with_replacements
from treewright.amr.rule_aligner import RuleAligner
from treewright.amr.scores import SmatchScores, compare_smatch, count_triples, score_smatch
from treewright.amr.trace import trace_expert, trace_graph
from treewright.amr.unseen import UnseenScore, bins_of, unseen_share
from treewright.corpora import Token, corpus_hash
from treewright.corpora.graphs import Graph
from treewright.corpora.lemmas import learn_lemmas, with_lemmas
from treewright.corpora.types import Sentence
from treewright.errors import ConfigError, CorpusError
from treewright.estimators import Corpus, Estimator, Input, Running, batches, corpus_error, read_corpus
from treewright.estimators.encoded import DEVICE, MAX_VECTORS, POLICY, VECTORS, EncodedSettings, input_columns
from treewright.estimators.settings import BITS, MIN_COUNT, SEED
from treewright.metrics import Comparison
from treewright.models import ModelFile, new_model_file, pack_strings, unpack_strings
from treewright.policies import LinearPolicy
from treewright.search import Decoded, Packed, decode, trajectory
from treewright.search.compiling import at_once
from treewright.settings import Choice, File, Flag, Like, Setting, Whole
from treewright.tracing import Trace

if TYPE_CHECKING:
    from treewright.learners import Learner
    from treewright.policies.encoders import Architecture

__all__ = ["AMRParser"]


#: defaults of most learners
USUAL: dict[str, Any] = {"update": {"name": "arow", "averaged": True}}

_OWN_UPDATE = ("lols",)  # it regresses costs, which are noisy

ALIGNERS = {"rules": RuleAligner, "improved": ImprovedAligner}

_REACH, _RANGE = 6, 4  # §4.3.2 and §4.3.4
_SWAP_RULES = {"node": 1, "thesis": 2, "strict": 3}  # bits of treewright.amr.transitions.SWAPS
_COMPANION, _POLICY = "companion.", "policy."
_NO_WORDS = Graph("a", (("a", "amr-empty"),))

ALIGNER = Setting(
    "aligner",
    Choice("rules", "improved", {"given": "the graphs have alignments"}),
    "How gold graphs are aligned with the words that their nodes come from",
)
LOSS = Setting(
    "loss",
    Choice(
        {
            "naive": "1 − F of naive Smatch",
            "absolute": "mistakes",
            "penalty": "mistakes, and a fifth of the actions",
            "smatch": "the same three of Smatch itself",
            "smatch-absolute": "",
            "smatch-penalty": "",
        }
    ),
    "The loss in training",
)
JOINT = Setting("joint", Flag(), "Choose an action and its parameter together, not one after the other")
SWAP = Setting(
    "swap",
    Choice(
        {
            "strict": "an edge is swapped once, and a node moved down once",
            "thesis": "an edge is swapped once",
            "node": "a node is moved down once, as in models of Treewright before this setting",
        }
    ),
    "When Swap is allowed",
)
INSERT = Setting(
    "insert",
    Choice(
        {
            "word": "a concept once for a word",
            "thesis": "no concept that a parent, child, grandparent or grandchild has",
        }
    ),
    "When Insert is allowed",
)
PUNCTUATION = Setting("punctuation", Flag(), "Keep punctuation in the dependency trees")


def _group_list(value: Any) -> str:
    """The names of groups of features as one text, in the order in which they are declared."""
    if not isinstance(value, str):
        raise ValueError
    names = {name.strip() for name in value.split(",")} - {""}
    for name in names:
        if name not in GROUP_NAMES:
            raise ConfigError(f"there is no group {name!r} among {', '.join(GROUP_NAMES)}")
    return ",".join(name for name in GROUP_NAMES if name in names)


WITHOUT = Setting(
    "without",
    Like(_group_list, f"some of {', '.join(GROUP_NAMES)}, separated by commas"),
    "Groups of features that are not used",
    metavar="GROUPS",
)
SIMILAR = Setting(
    "similar",
    File(),
    "A file with vectors of words, or a list of words with similar ones, to replace lemmas that training has not seen; "
    "what is needed of it becomes part of the model",
    none="lemmas are not replaced",
    metavar="FILE",
)
REENTRANCE = Setting("reentrance", Flag(), "Add edges to the tree in a second phase")
REACH = Setting("reach", Whole(0, 2**30), "The maximum distance of reattachment, in edges; 0: any")
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


class AMRParser(EncodedSettings, Estimator[SmatchScores]):
    """A parser from dependency trees to AMR graphs, by imitation learning (Goodman 2015).

    Args:
        learner: a learner by name, as settings, or as an object.
        aligner: how gold graphs are aligned with words for the expert: ``rules``, ``improved``, or ``given``, the
            alignments that the graphs have.
        loss: the loss that learners with roll-outs minimise. Of naive Smatch: ``naive`` (1 − F), ``absolute``
            (mistakes) or ``penalty`` (mistakes, and a fifth of the actions); or of Smatch itself, by hill climbing:
            ``smatch``, ``smatch-absolute``, ``smatch-penalty``.
        reentrance: add edges to the tree in a second phase.
        reach: the maximum distance of reattachment, in edges; 0 for any distance.
        joint: choose an action together with its parameter, as in the thesis; otherwise first the action.
        swap: ``strict``: an edge is swapped once, and a node is moved down once; ``thesis``: only the first of these
            (§4.3.6); ``node``: only the second.
        insert: ``word``: a concept is inserted once for a word; ``thesis``: no concept that a parent, child,
            grandparent or grandchild of the node has (§4.3.6).
        punctuation: keep punctuation in the dependency trees.
        without: names of groups of features that are not used, separated by commas: ``words,children``.
        shenanigans: give each state of the training data a unique feature, a kind of regularisation (§4.5).
        dictionaries: a folder with the frames of PropBank and with verbalisations; they become part of the model.
        similar: a file with vectors of words (each line a word and its numbers, as GloVe's), or a list of words (each
            line a word and similar ones, the best first). A lemma that training has not seen is replaced by the most
            similar one that it has seen; concepts are still made from the word itself (§4.8).
        bits: the size of the table of hashed features, 2^bits.
        policy: ``linear``; ``small``, ``medium`` or ``large``, which encode sentences and are trained with PyTorch; or
            an :class:`~treewright.policies.encoders.Architecture`. Encoders do not use features of states.
        min_count: for encoders: rarer words have no vector.
        vectors: for encoders: a file of fixed word vectors.
        max_vectors: for encoders: the number of vectors to read from the file.
        input_columns: for encoders: the columns that are read besides words.
        device: for encoders: ``auto``, ``cpu`` or ``cuda``.
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
        JOINT,
        SWAP,
        INSERT,
        PUNCTUATION,
        WITHOUT,
        SHENANIGANS,
        DICTIONARIES,
        SIMILAR,
        BITS,
        POLICY,
        MIN_COUNT,
        VECTORS,
        MAX_VECTORS,
        input_columns("lemma", "upos", "xpos", "deprel"),
        DEVICE,
        SEED,
    )

    def __init__(
        self,
        *,
        learner: str | Learner | dict[str, Any] = "exploration",
        aligner: str = "rules",
        loss: str = "naive",
        reentrance: bool = True,
        reach: int = _REACH,
        joint: bool = False,
        swap: str = "strict",
        insert: str = "word",
        punctuation: bool = False,
        without: str = "",
        shenanigans: bool = False,
        dictionaries: str | os.PathLike[str] | None = None,
        similar: str | os.PathLike[str] | None = None,
        bits: int = 20,
        policy: str | Architecture | dict[str, Any] = "linear",
        min_count: int = 2,
        vectors: str | os.PathLike[str] | None = None,
        max_vectors: int = 100_000,
        input_columns: str | Sequence[str] = ("lemma", "upos", "xpos", "deprel"),
        device: str = "auto",
        seed: int = 0,
    ) -> None:
        self.learner = learner
        self.aligner = aligner
        self.loss = loss
        self.reentrance = reentrance
        self.reach = reach
        self.joint = joint
        self.swap = swap
        self.insert = insert
        self.punctuation = punctuation
        self.without = without
        self.shenanigans = shenanigans
        self.dictionaries = dictionaries
        self.similar = similar
        self.bits = bits
        self.policy = policy
        self.min_count = min_count
        self.vectors = vectors
        self.max_vectors = max_vectors
        self.input_columns = input_columns
        self.device = device
        self.seed = seed

    encoder_: Encoder
    lemmas_: dict[str, str]
    replacements_: dict[str, str]
    companions_: list[ModelFile]
    """The models that tag words and make their trees, if this parser was trained with theirs: they are saved with it,
    and :class:`~treewright.pipeline.Pipeline` runs them."""
    policy_: Any
    """A :class:`~treewright.policies.LinearPolicy`, or one with an encoder."""

    @classmethod
    def learners(cls) -> tuple[type[Learner], ...]:
        """Return the classes of supported learners."""
        from treewright.learners import Imitation

        return (Imitation,)

    def _fit(self, corpus: Corpus, dev: Corpus | None, running: Running) -> None:
        from treewright.learners import train
        from treewright.learners.checkpoints import Judge

        learner = self._make_learner()
        sentences = _graphbank(corpus)
        corpora = {"train": corpus_hash(sentences)}
        self.lemmas_, self.encoder_, examples = self._encoded(sentences)
        self.replacements_, self.companions_ = {}, []
        if self.similar is not None:
            self.replacements_ = learn_replacements(self.similar, self.encoder_.lemma_counts)
        self._collect(examples)
        if self.shenanigans:
            examples = [example._replace(number=number) for number, example in enumerate(examples, 1)]
        if self._is_encoded:
            self._learn_inputs([_tokens(example) for example in examples])
        packed, _ = self._pack(examples)
        evaluate = None
        if dev is not None:
            dev_sentences = _graphbank(dev)
            corpora["dev"] = corpus_hash(dev_sentences)
            evaluate = Judge(self._smatch_on(dev_sentences, running["jobs"]), corpora["dev"])
        untrained = self._untrained() if self._is_encoded else None
        trained = train(learner, packed, policy=untrained, bits=self.bits, seed=self.seed, evaluate=evaluate, **running)
        self.policy_, self.history_ = trained.policy, trained.history
        if self._is_encoded:
            self.policy_ = trained.policy.compressed()
        self.card_ = self._make_card(corpora, self._dev_score("dev Smatch"))

    def _trace(self, sentence: Sentence, gold: Sentence | None, follow: str) -> Trace:
        return trace_graph(self, sentence, gold, follow)

    def trace_expert(self, sentence: Sentence) -> Trace:
        """Return the actions of the expert from the dependency tree of a sentence to its gold graph.

        No model is needed: the expert is that of this parser's settings.
        """
        self._check_settings()
        [gold] = _graphbank([sentence])
        return trace_expert(self, gold)

    def by_expert(self, corpus: Corpus, *, jobs: int = 1) -> list[Sentence]:
        """The graphs that the expert builds for sentences with gold graphs: an upper bound of learning (Table 4.3)."""
        self._check_settings()
        sentences = _graphbank(corpus)
        _, encoder, examples = self._encoded(sentences)
        packed, own = encoder.pack(examples, self._options(open_to_gold=True))
        with at_once(sum(len(sentence) for sentence in sentences)):
            decoded = decode(packed, None, jobs=jobs)
        return [
            replace(sentence, graph=encoder.graph(decoded.state(i), examples[i].words, own[i]))
            for i, sentence in enumerate(sentences)
        ]

    def _encoded(self, sentences: Sequence[Sentence]) -> tuple[dict[str, str], Encoder, list[Example]]:
        """Collect lemmas, numbers for everything in the sentences, and the expert's information on each sentence."""
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
        """Let the expert parse the training data, and collect the parameters of its actions (§4.3.5)."""
        packed, _ = self.encoder_.pack(examples, self._options(open_to_gold=True))
        self.encoder_.collect(packed, (trajectory(packed, i, None) for i in range(len(examples))))

    def _pack(self, examples: Sequence[Example]) -> tuple[Packed, list[list[str]]]:
        """The arrays of sentences, with their words if there is an encoder, and the concepts that only they have."""
        packed, own = self.encoder_.pack(examples, self._options())
        if self.inputs_ is None:
            return packed, own
        return packed.with_words(self.inputs_.read([_tokens(example) for example in examples])), own

    def _options(self, *, open_to_gold: bool = False) -> list[int]:
        left_out = _group_list(self.without).split(",")
        return [
            len(FORMS),
            LOSSES.index(self.loss),
            open_to_gold,
            self.reentrance,
            self.reach or 2**30,
            _RANGE,
            _SWAP_RULES[self.swap],
            self.insert == "thesis",
            self.joint,
            sum(2**k for k, name in enumerate(GROUP_NAMES) if name in left_out),
        ]

    def _example(self, sentence: Sentence, forms: Forms) -> Example:
        """The words, and with a gold graph also the graph and its alignment."""
        words = tree_words(sentence, punctuation=self.punctuation)
        if sentence.graph is None:
            return Example(words, signs=signs_of(sentence))
        try:
            gold = gold_tree(sentence.graph)
        except CorpusError as error:
            raise CorpusError(str(error), path=sentence.path, line=sentence.line) from None
        gold_of = map_words(words, gold, self._aligned(sentence, forms), sentence.graph)
        return Example(words, gold, gold_of, signs_of(sentence), coded=coded_graph(gold.graph))

    def _aligned(self, sentence: Sentence, forms: Forms) -> Alignment:
        if self.aligner == "given":
            return {node: at for node, at in graph_of(sentence).alignments.items() if isinstance(at, tuple)}
        aligner: Aligner = ALIGNERS[self.aligner](forms.verbalisations)
        return aligner.align(sentence)

    def _smatch_on(self, sentences: Sequence[Sentence], jobs: int) -> Callable[[LinearPolicy], float]:
        """A function that parses with a policy and returns Smatch's F."""
        examples = self._unknown(sentences)
        packed, own = self._pack(examples)

        def smatch(policy: LinearPolicy) -> float:
            decoded = policy.decode(packed, seed=self.seed, jobs=jobs)
            return score_smatch(sentences, self._graphs(decoded, examples, own)).f1

        return smatch

    def _unknown(self, sentences: Iterable[Sentence]) -> list[Example]:
        """Sentences to parse; their graphs, if they have any, are ignored."""
        ready = (replace(with_lemmas(sentence, self.lemmas_), graph=None) for sentence in sentences)
        return [self._asked(sentence) for sentence in ready]

    def _asked(self, sentence: Sentence) -> Example:
        """A sentence with lemmas for parsing; unseen lemmas have replacements."""
        example = self._example(sentence, self.encoder_.forms)
        return example._replace(words=with_replacements(example.words, self.replacements_))

    def _graphs(self, decoded: Decoded, examples: Sequence[Example], own: Sequence[Sequence[str]]) -> list[Graph]:
        return [
            self.encoder_.graph(decoded.state(i), example.words, own[i]) if example.words else _NO_WORDS
            for i, example in enumerate(examples)
        ]

    parse = Estimator.predict

    def _batches(self, sentences: Input) -> Iterable[list[Sentence]]:
        cut = batches(sentences, self._batch_size, _check_sentence, lambda sentence: 1)
        return cut if isinstance(sentences, Iterator) else list(cut)

    def _decode(self, batch: list[Sentence], jobs: int) -> list[Graph]:
        examples = self._unknown(batch)
        packed, own = self._pack(examples)
        return self._graphs(self.policy_.decode(packed, seed=self.seed, jobs=jobs), examples, own)

    def _annotate(self, batch: list[Sentence], found: list[Graph]) -> Iterator[Sentence]:
        for sentence, graph in zip(batch, found, strict=True):
            yield replace(sentence, graph=graph)

    def _gold(self, corpus: Corpus) -> list[Sentence]:
        return _graphbank(corpus)

    def score(self, gold: Sequence[Sentence], predicted: Sequence[Sentence]) -> SmatchScores:
        """Score the predictions of this parser, as :meth:`evaluate` does, including scores by unseen words."""
        return self._score(gold, predicted)

    def _score(self, gold: Sequence[Sentence], predicted: Sequence[Sentence], **options: Any) -> SmatchScores:
        scores = score_smatch(gold, predicted, breakdown=True, seed=self.seed, **options)
        return replace(scores, unseen=self._by_unseen(gold, predicted, scores))

    def _by_unseen(
        self, gold: Sequence[Sentence], predicted: Sequence[Sentence], scores: SmatchScores
    ) -> tuple[UnseenScore, ...]:
        """Smatch by the share of words, and of concepts of the gold graph, that training has not seen (§7.2.1)."""
        lemmas, concepts = self.encoder_.lemma_counts, self.encoder_.label_counts
        words = [unseen_share(map(lemma_of, tree_words(with_lemmas(one, self.lemmas_))), lemmas) for one in predicted]
        labels = [unseen_share((concept for _, concept in graph_of(one).instances), concepts) for one in gold]
        return (*bins_of("words", words, scores), *bins_of("concepts", labels, scores))

    def _compare(
        self, gold: Sequence[Sentence], a: Sequence[Sentence], b: Sequence[Sentence], **options: Any
    ) -> Comparison:
        return compare_smatch(gold, a, b, **options)

    def _count_by_sentence(self, gold: Sequence[Sentence], predicted: Any, **options: Any) -> npt.NDArray[np.float64]:
        return count_triples(score_smatch(gold, predicted, seed=self.seed, **options))

    # ---- settings

    def _usual(self, learner: Mapping[str, Any]) -> Mapping[str, Any]:
        if self._is_encoded:
            return self._usual_for_encoders(learner)
        return {} if learner["name"] in _OWN_UPDATE else USUAL

    def resolved_config(self) -> dict[str, Any]:
        """Return every setting as a plain value, including all settings of the learner, for a model file."""
        files = {name: getattr(self, name) for name in ("dictionaries", "similar")}
        names = {name: None if path is None else Path(path).name for name, path in files.items()}
        return {**super().resolved_config(), **names}

    def _check_together(self) -> None:
        self._check_policy()
        if self.similar is not None and not Path(self.similar).is_file():
            similar = os.fspath(self.similar)
            raise ConfigError(f"cannot be read: there is no file {similar!r}", setting="similar", value=similar)
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
        tables = {"lemmas": self.lemmas_} | ({"replacements": self.replacements_} if self.replacements_ else {})
        arrays: dict[str, Any] = {}
        for name, table in tables.items():
            arrays |= pack_strings([f"{key}\t\t{lemma}" for key, lemma in table.items()], name)
        companions = []
        for number, model in enumerate(self.companions_):
            companions.append({"task": model.task, "config": model.config, "card": model.card})
            arrays |= {f"{_COMPANION}{number}.{name}": array for name, array in model.arrays.items()}
        learned: dict[str, Any] = {"companions": companions} if companions else {}
        policy = self.policy_.to_arrays()
        if self._is_encoded:
            about, stored = self._policy_arrays(self.policy_)
            learned, policy = {**learned, **about}, {f"{_POLICY}{name}": array for name, array in stored.items()}
        return learned, {**policy, **self.encoder_.to_arrays(), **arrays}

    @classmethod
    def from_model(cls, model: ModelFile) -> Self:
        """Return the parser of a model file; a file older than the setting ``swap`` gets the old rule."""
        params = model.config.get("params")
        if isinstance(params, dict):
            model = replace(model, config={**model.config, "params": {"swap": "node", **params}})
        return super().from_model(model)

    def _restore(self, settings: dict[str, Any], arrays: dict[str, Any]) -> None:
        self.encoder_ = Encoder.from_arrays(arrays)
        if self._is_encoded:
            own = {name.removeprefix(_POLICY): a for name, a in arrays.items() if name.startswith(_POLICY)}
            self.policy_ = self._restored_policy(own)
        else:
            self.policy_ = LinearPolicy.from_arrays(arrays)
        self.lemmas_ = dict(text.split("\t\t") for text in unpack_strings(arrays, "lemmas"))
        self.companions_ = []
        for number, about in enumerate(settings.get("companions", [])):
            prefix = f"{_COMPANION}{number}."
            own = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
            self.companions_.append(new_model_file(about["task"], about["config"], own, about["card"]))
        has_table = any(name.startswith("replacements") for name in arrays)
        self.replacements_ = (
            dict(text.split("\t\t") for text in unpack_strings(arrays, "replacements")) if has_table else {}
        )


def _tokens(example: Example) -> list[Token]:
    """The nodes of the initial tree as an encoder reads them."""
    return [
        Token(word.form, lemma=word.stand_in or word.lemma, upos=word.upos, xpos=word.xpos, deprel=word.relation)
        for word in example.words
    ]


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
