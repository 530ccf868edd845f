"""The transition-based dependency parser."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.corpora import Sentence, Token, corpus_hash
from treewright.corpora.columns import Columns, filled_columns
from treewright.dependency.base import DependencyEstimator
from treewright.dependency.projective import LIFTED
from treewright.dependency.systems import TransitionSystem, find_system, system_names
from treewright.dependency.task import DependencyParsing, parsing_task
from treewright.dependency.templates import FEATURE_SETS, WORD_ATTRIBUTES, Templates
from treewright.dependency.trace import trace_transitions
from treewright.dependency.treebank import (
    count_words,
    framed,
    gold_arcs,
    las_against,
    named_arcs,
    named_trees,
    offsets,
    read_treebank,
    words_of,
)
from treewright.dependency.trees import check_trees
from treewright.dependency.words import NOTHING_ROW, ROOT_ROW, WordRows, word_rows
from treewright.errors import ConfigError, ModelError
from treewright.estimators import Corpus, Running
from treewright.estimators.encoded import (
    DEVICE,
    MAX_VECTORS,
    OUTPUT_COLUMNS,
    POLICY,
    TAG_LOSS,
    TEACHER,
    VECTORS,
    EncodedSettings,
    input_columns,
)
from treewright.estimators.settings import BEAM, BITS, MIN_COUNT, SEED
from treewright.models import pack_strings, unpack_strings
from treewright.policies import LinearPolicy
from treewright.search import Decoded, Packed, TransitionEnvironment
from treewright.settings import Choice, Like, Real, Setting, one_of
from treewright.tracing import Trace

if TYPE_CHECKING:
    from treewright.estimators.mixing import Survey
    from treewright.learners import Learner, Pass
    from treewright.learners.checkpoints import Judge
    from treewright.learners.rl import PolicyGradient
    from treewright.policies.encoders import Architecture, Teaching

__all__ = ["DependencyParser"]

Features = str | Sequence[str] | dict[str, Sequence[str]]

MODE_BITS = {"accurate": 19, "fast": 20}
#: in the mode fast, if costs are regressed: this changes the weights of all features in every state, not only after
#: errors, and features that share a row spoil each other (all of EWT, ``lols``: 82.3 LAS with 2²⁰ rows, 85.0 with 2²²)
REGRESSION_BITS = 22
#: the number of weights that are kept, the largest ones; each takes about three bytes in the model file
MOST_WEIGHTS = {"accurate": 10_000_000, "fast": 4_000_000}
#: defaults of learners, chosen on development data
UPDATES: dict[str, dict[str, Any]] = {
    "accurate": {"name": "perceptron", "margin": 30.0},
    "fast": {"name": "perceptron", "margin": 50.0},
}
EXPLORING: dict[str, dict[str, Any]] = {"accurate": {"k": 0, "passes": 12}, "fast": {"k": 0, "passes": 20}}

#: the same for reinforcement learners; the reward of a step is about 1 / (number of transitions)
REINFORCED: dict[str, dict[str, Any]] = {
    "policy-gradient": {"passes": 10, "step_size": 1.0, "baseline": True},
    "apprenticeship": {"passes": 10, "step_size": 0.3},
    "D-": {"passes": 10, "step_size": 1.0},
    "D+": {"passes": 10, "step_size": 1.0},
    "I-": {"passes": 10, "step_size": 10.0},
    "I+": {"passes": 10, "step_size": 10.0},
}


def _check_features(features: Any) -> Any:
    parts = features.values() if isinstance(features, dict) else [features]
    if not isinstance(features, str) and not all(_are_texts(part) for part in parts):
        raise ValueError
    _make_templates(features, "accurate")
    return features


def _are_texts(part: Any) -> bool:
    return isinstance(part, (list, tuple)) and all(isinstance(each, str) for each in part)


class _Systems(Choice):
    """The names of transition systems, and transition systems."""

    def normal(self, value: Any) -> Any:
        """Return the system."""
        return find_system(value if isinstance(value, TransitionSystem) else super().normal(value))

    def plain(self, value: Any) -> Any:
        """Return the name of the system."""
        return value.name


SYSTEM = Setting("system", _Systems(system_names), "The transition system, which builds the trees")
FEATURES = Setting(
    "features",
    Like(_check_features, "the name of a set, a list of templates, or a table of such lists, moves and labels"),
    "The feature templates: rich, full, basic, or templates such as 's0.w; s0.t b0.t'",
)
MODE = Setting(
    "mode",
    Choice({"accurate": "a move and its label at once", "fast": "first the move"}),
    "How moves and labels are chosen",
)
ORACLE = Setting(
    "oracle",
    Choice({"dynamic": "knows the costs in every state", "static": "knows one way"}),
    "The oracle, which knows the correct actions",
)
LABEL_WEIGHT = Setting(
    "label_weight", Real(0, 1), "The cost of a wrong label with a correct head; a wrong head costs 1"
)


class DependencyParser(EncodedSettings, DependencyEstimator):
    """Parses sentences into dependency trees, by transitions.

    Args:
        system: ``arc-standard``, ``arc-standard-buffer``, ``arc-eager``, ``arc-hybrid``, ``swap``, the name of a system
            of an installed package, or a :class:`~treewright.dependency.systems.TransitionSystem`. All but swap build
            projective trees; crossing arcs are lifted before learning and put back after parsing
            (:mod:`treewright.dependency.projective`).
        learner: a learner by name, as settings, or as an object. By default it uses the averaged perceptron with a
            margin of 30 (accurate) or 50 (fast).
        features: ``rich``, ``full`` (more templates), ``basic`` (the lecture's Fig. 14.9), a list of templates such as
            ``["s0.w", "s0.t b0.w"]``, or lists for ``moves`` and ``labels``; see
            :mod:`treewright.dependency.templates`.
        mode: ``accurate`` chooses a move and its label together; ``fast`` first the move and then the label.
        oracle: ``dynamic``, which knows the cost of every action in every state, or ``static``.
        beam: the width of the beam in parsing; 1 is greedy.
        bits: the size of the table of hashed features, 2^bits rows; by default 19 (accurate) or 20 (fast; 22 with the
            update ``regression``, which ``lols`` has).
        min_count: words rarer than this in training count as unknown.
        label_weight: the cost of a wrong label with a correct head; a wrong head costs 1.
        policy: ``linear``; ``small``, ``medium`` or ``large``, which encode sentences and are trained with PyTorch;
            ``stack-lstm``, which encodes stacks; or an :class:`~treewright.policies.encoders.Architecture`. Encoders
            do not use ``features``.
        vectors: for encoders: a file of fixed word vectors.
        max_vectors: for encoders: the number of vectors to read from the file.
        input_columns: for encoders: the columns that are read besides words.
        teacher: for encoders: a trained model to learn from besides the oracle.
        output_columns: for encoders: the tags that the parser predicts together with the tree, from the same encoder;
            it needs ``tag_loss``. A word that has a tag keeps it.
        tag_loss: for encoders: the weight of the loss of tags, which the first layer learns to predict: UPOS and XPOS,
            and the output columns.
        device: for encoders: ``auto``, ``cpu`` or ``cuda``.
        seed: the same seed gives the same model.

    >>> from treewright.corpora import builtin_corpus
    >>> train, dev, test = builtin_corpus(train=300, dev=50, test=50)
    >>> parser = DependencyParser(learner={"name": "exploration", "passes": 3}, features="basic", bits=14)
    >>> parser = parser.fit(train, dev=dev)
    >>> scores = parser.evaluate(test)
    >>> scores.las > 0.7
    True
    """

    task: ClassVar[str] = "dependency"
    _has_structure = True
    settings: ClassVar[tuple[Setting, ...]] = (
        SYSTEM,
        FEATURES,
        MODE,
        ORACLE,
        BEAM,
        replace(
            BITS,
            none=f"{MODE_BITS['accurate']}, or {MODE_BITS['fast']} in the mode fast ({REGRESSION_BITS} if costs are "
            "regressed)",
        ),
        MIN_COUNT,
        LABEL_WEIGHT,
        POLICY,
        VECTORS,
        MAX_VECTORS,
        input_columns("lemma", "upos", "xpos", "feats"),
        OUTPUT_COLUMNS,
        TEACHER,
        TAG_LOSS,
        DEVICE,
        SEED,
    )

    def __init__(
        self,
        system: str | TransitionSystem = "arc-hybrid",
        *,
        learner: str | Learner | dict[str, Any] = "exploration",
        features: Features = "rich",
        mode: str = "accurate",
        oracle: str = "dynamic",
        beam: int = 1,
        bits: int | None = None,
        min_count: int = 2,
        label_weight: float = 1.0,
        policy: str | Architecture | dict[str, Any] = "linear",
        vectors: str | os.PathLike[str] | None = None,
        max_vectors: int = 100_000,
        input_columns: str | Sequence[str] = ("upos", "xpos"),
        output_columns: str | Sequence[str] = (),
        teacher: str | os.PathLike[str] | None = None,
        tag_loss: float = 0.0,
        device: str = "auto",
        seed: int = 0,
    ) -> None:
        self.system = system
        self.learner = learner
        self.features = features
        self.mode = mode
        self.oracle = oracle
        self.beam = beam
        self.bits = bits
        self.min_count = min_count
        self.label_weight = label_weight
        self.policy = policy
        self.vectors = vectors
        self.max_vectors = max_vectors
        self.input_columns = input_columns
        self.output_columns = output_columns
        self.teacher = teacher
        self.tag_loss = tag_loss
        self.device = device
        self.seed = seed

    root_labels_: list[int]
    word_labels_: list[int]
    templates_: Templates
    policy_: Any
    """A :class:`~treewright.policies.LinearPolicy`, or one with an encoder."""
    _system: TransitionSystem
    _most_weights: int | None = None
    """The number of weights that are kept, if it is not that of the mode."""

    @classmethod
    def learners(cls) -> tuple[type[Learner], ...]:
        """Return the classes of supported learners."""
        from treewright.learners import Imitation, PolicyGradient, Structured

        return (Imitation, Structured, PolicyGradient)

    def needs(self) -> tuple[str, ...]:
        """Return the layers of annotation that it needs; with an encoder, only the columns that the encoder reads."""
        layers = super().needs()
        if self.inputs_ is None:
            return layers
        read = {"words", *(column.name for column in self.inputs_.columns)}
        return tuple(layer for layer in layers if layer in read)

    def gives(self) -> tuple[str, ...]:
        """Return the layers that it adds: the tree, and its output columns."""
        return (*OUTPUT_COLUMNS.check(self.output_columns), self.annotates)

    def _check_together(self) -> None:
        from treewright.learners import PolicyGradient

        self._check_policy()
        if self._is_encoded and isinstance(self._make_learner(), PolicyGradient):
            raise ConfigError("must be 'linear' for learners by reinforcement", setting="policy", value=self.policy)

    def _fit(self, corpus: Corpus, dev: Corpus | None, running: Running) -> None:
        from treewright.learners import PolicyGradient, train
        from treewright.learners.checkpoints import Judge

        learner = self._make_learner()
        sentences = read_treebank(corpus)
        dev_sentences = None if dev is None else read_treebank(dev)
        corpora = {"train": corpus_hash(sentences)}
        columns = filled_columns(sentences)
        self._learn_words(sentences)
        self._warn_of_path(learner)
        packed = self._pack_gold(sentences, learn_labels=True)
        untrained = self._untrained(self._teaching(sentences)) if self._is_encoded else None
        evaluate = None
        if dev_sentences is not None:
            corpora["dev"] = corpus_hash(dev_sentences)
            evaluate = Judge(self._las_on(dev_sentences, running["jobs"]), corpora["dev"])
        del sentences, dev_sentences  # they are packed, so free the memory
        if isinstance(learner, PolicyGradient):
            policy: Any
            policy, self.history_ = self._reinforced(learner, packed, evaluate, running)
        else:
            trained = train(
                learner, packed, policy=untrained, **self._training_settings(), evaluate=evaluate, **running
            )
            policy, self.history_ = trained.policy, trained.history
        self._finish(policy, self.history_, corpora)
        self.card_["columns"] = columns

    def _training_settings(self) -> dict[str, Any]:
        return {"bits": self._bits, "beam": self.beam, "seed": self.seed}

    def _finish(self, policy: LinearPolicy, history: list[Pass], corpora: Mapping[str, str]) -> None:
        self.policy_, self.history_ = policy.compressed(self._most_weights or MOST_WEIGHTS[self.mode]), history
        self.card_ = self._make_card(corpora, self._dev_score("dev LAS"))

    def _teaching(self, sentences: Sequence[Sentence]) -> Teaching | None:
        """The teacher, with its inputs for the words of the corpus."""
        if self.teacher is None:
            return None
        from treewright.policies.encoders import Teaching

        teacher = type(self).load(self.teacher)
        same = ("labels_", "root_labels_", "word_labels_")
        if not teacher._is_encoded:
            raise ConfigError("must be a model with an encoder; this one is linear", setting="teacher")
        if teacher._reads_structure != self._reads_structure:
            problem = "must read what this policy reads: of a stack-LSTM and another encoder, neither teaches the other"
            raise ConfigError(problem, setting="teacher")
        if find_system(teacher.system) is not self._system or teacher.mode != self.mode:
            raise ConfigError(
                f"must have the same system and mode; this one has {teacher.system!r} and {teacher.mode!r}",
                setting="teacher",
            )
        if any(getattr(teacher, name) != getattr(self, name) for name in same):
            raise ConfigError("must know the same relations: train it on the same corpus", setting="teacher")
        words = teacher.inputs_.read([sentence.tokens for sentence in sentences])
        policy: Any = teacher.policy_
        return Teaching(policy, words)

    # ---- learning on shards (treewright.estimators.mixing)

    def _survey(self, sentences: list[Sentence]) -> Survey:
        from treewright.estimators.mixing import Survey

        check_trees(sentences)
        self._learn_words(sentences)
        heads, labels, _ = gold_arcs(sentences, lifted=self._system.projective)
        of_root = frozenset(label for label, head in zip(labels, heads.tolist(), strict=True) if head == 0)
        of_words = frozenset(label for label, head in zip(labels, heads.tolist(), strict=True) if head != 0)
        return Survey(corpus_hash(sentences), len(sentences), count_words(sentences), (of_root, of_words))

    def _adopt(self, survey: Survey) -> None:
        self._learn_words(())
        self.vocabulary_ = {word for word, count in survey.words.items() if count >= self.min_count}
        self._set_labels(*survey.labels)

    def _pack_shard(self, sentences: list[Sentence]) -> Packed:
        return self._pack_gold(sentences, learn_labels=False)

    def _judge(self, dev: list[Sentence], jobs: int) -> Callable[[LinearPolicy], float]:
        check_trees(dev)
        return self._las_on(dev, jobs)

    def _warn_of_path(self, learner: Learner) -> None:
        """Warn if the learner uses a static oracle outside its path."""
        from treewright.learners import Imitation

        has_costs = self._system.costs is not None or self._system.estimate is not None
        if isinstance(learner, Imitation) and learner.leaves_path and not (has_costs and self.oracle == "dynamic"):
            cure = "oracle 'dynamic'" if has_costs else "another system"
            warnings.warn(
                f"the static oracle is correct only on its own path, which the learner {learner.name!r} leaves: choose "
                f"learner 'supervised', or {cure}",
                stacklevel=2,
            )

    def _reinforced(
        self, learner: PolicyGradient, packed: Packed, evaluate: Judge[LinearPolicy] | None, running: Running
    ) -> tuple[LinearPolicy, list[Pass]]:
        """Learn from rewards: the share of correct words."""
        from treewright.learners import train_rl
        from treewright.learners.checkpoints import Judge

        environment = TransitionEnvironment(packed, bits=self._bits)

        def policy(θ: npt.NDArray[np.float64]) -> LinearPolicy:
            return LinearPolicy(environment.policy_weights(θ))

        judge: Judge[npt.NDArray[np.float64]] | None = None
        if evaluate is not None:
            judge = Judge(lambda θ: evaluate(policy(θ)), evaluate.by)
        trained = train_rl(learner, environment, seed=self.seed, evaluate=judge, **running)
        return policy(trained.weights), list(trained.history)

    def _filled(self, columns: Columns, jobs: int) -> Columns:
        packed = self._pack_words(zip(*(columns[name] for name in Token._fields[:5]), strict=True), columns.lengths)
        decoded = self.policy_.decode(packed, beam=self.beam, seed=self.seed, jobs=jobs)
        columns["head"], columns["deprel"] = named_arcs(*_trees(decoded), self.labels_)
        for name, values in self._predicted_tags(packed).items():
            given = columns[name]
            columns[name] = [new if old == "_" else old for old, new in zip(given, values, strict=True)]
        return columns

    def _predicted_tags(self, packed: Packed) -> dict[str, list[str]]:
        """The output columns of all words, after decoding."""
        return {name: self.inputs_.values(packed.words, name) for name in OUTPUT_COLUMNS.check(self.output_columns)}

    def _prepare(self, batch: list[Sentence], jobs: int) -> Callable[[], list[Any]]:
        packed = self._pack([sentence.tokens for sentence in batch])

        def decode() -> list[Any]:
            decoded = self.policy_.decode(packed, beam=self.beam, seed=self.seed, jobs=jobs)
            trees = named_trees(*_trees(decoded), self.labels_)
            tags = self._predicted_tags(packed)
            if not tags:
                return trees
            ends = pairwise(np.cumsum([0, *map(len, batch)]).tolist())
            return [
                Tagged(*tree, {name: values[a:b] for name, values in tags.items()})
                for tree, (a, b) in zip(trees, ends, strict=True)
            ]

        return decode

    def _annotate(self, batch: list[Sentence], found: list[Any]) -> Iterator[Sentence]:
        for sentence, (heads, labels, *tags) in zip(batch, found, strict=True):
            with_tree = sentence.with_tree(heads, labels)
            yield _with_tags(with_tree, tags[0]) if tags else with_tree

    def _trace(self, sentence: Sentence, gold: Sentence | None, follow: str, *, labelled: bool = True) -> Trace:
        return trace_transitions(self, sentence, gold, follow, labelled=labelled)

    def environment(
        self, corpus: Corpus, *, tradeoff: float = 0.0, initial: npt.ArrayLike | None = None
    ) -> TransitionEnvironment:
        """A treebank as an environment, for :func:`~treewright.learners.rl_training.train_rl`.

        The accuracy is the share of correct words, where a wrong label counts ``label_weight``; ``tradeoff`` is the
        cost of a transition, and ``initial`` are the initial weights, by default zeros. An unfitted parser takes its
        words and labels from this treebank.
        """
        self._check_settings()
        sentences = read_treebank(corpus)
        is_new = not hasattr(self, "labels_")
        if is_new:
            self._learn_words(sentences)
        packed = self._pack_gold(sentences, learn_labels=is_new)
        return TransitionEnvironment(packed, bits=self._bits, tradeoff=tradeoff, initial=initial)

    def _usual(self, learner: Mapping[str, Any]) -> Mapping[str, Any]:
        from treewright.learners import Imitation, learner_rows, make_learner

        if self._is_encoded:
            return self._usual_for_encoders(learner)
        if learner["name"] in REINFORCED:
            return REINFORCED[learner["name"]]
        if learner["name"] not in learner_rows(Imitation):  # the others have no such choices
            return {}
        own = make_learner(learner["name"], Imitation).update != Imitation().update  # lols regresses costs
        update = {} if own else {"update": UPDATES[self.mode]}
        return {**update, **(EXPLORING[self.mode] if learner["name"] == "exploration" else {})}

    def resolved_config(self) -> dict[str, Any]:
        """Return every setting as a plain value, including all settings of the learner, for a model file."""
        config = super().resolved_config()
        return {**config, "bits": self._bits}

    @property
    def _bits(self) -> int:
        if self.bits is not None:
            return int(self.bits)
        from treewright.policies.updates import Regression

        regressed = isinstance(getattr(self._make_learner(), "update", None), Regression)
        return REGRESSION_BITS if regressed and self.mode == "fast" else MODE_BITS[self.mode]

    # ---- preparations for training

    def _learn_words(self, sentences: Sequence[Sentence]) -> None:
        """Set the vocabulary, the templates, and the transition system."""
        self._system = find_system(self.system)
        self.vocabulary_ = words_of(sentences, self.min_count)
        if self._is_encoded:
            self._learn_inputs([sentence.tokens for sentence in sentences])
        self.templates_ = _make_templates(self.features, self.mode)

    def _set_labels(self, of_root: Collection[str], of_words: Collection[str]) -> None:
        """The labels, and which of them the root and other words may have."""
        # plain labels first, then the labels of lifted words
        self.labels_ = sorted({*of_root, *of_words}, key=lambda label: (LIFTED in label, label))
        self.root_labels_ = [k for k, label in enumerate(self.labels_) if label in of_root]
        # if all sentences have one word, words other than the root may have any label
        self.word_labels_ = [k for k, label in enumerate(self.labels_) if label in (of_words or of_root)]

    def _pack_gold(self, sentences: Sequence[Sentence], *, learn_labels: bool) -> Packed:
        """Sentences with their gold trees, made projective if the system requires it."""
        heads, labels, _ = gold_arcs(sentences, lifted=self._system.projective)
        if learn_labels:
            of_root = {label for label, head in zip(labels, heads.tolist(), strict=True) if head == 0}
            of_words = {label for label, head in zip(labels, heads.tolist(), strict=True) if head != 0}
            self._set_labels(of_root, of_words)
        numbers = {label: number for number, label in enumerate(self.labels_)}
        tokens = [sentence.tokens for sentence in sentences]
        return self._pack(tokens, heads, np.array([numbers.get(label, -1) for label in labels], np.int32))

    def _task(self) -> DependencyParsing:
        return parsing_task(self._system, self.templates_, recording=self._reads_structure)(
            len(self.labels_),
            staged=self.mode == "fast",
            static=self.oracle == "static",
            label_weight=self.label_weight,
            root_labels=self.root_labels_,
            word_labels=self.word_labels_,
        )

    def _pack(
        self,
        tokens: Sequence[Sequence[Token]],
        heads: npt.NDArray[np.int32] | None = None,
        labels: npt.NDArray[np.int32] | None = None,
    ) -> Packed:
        """The attributes of the root, of the words and of no word, and the gold tree in the same form."""
        return self._pack_words(chain.from_iterable(tokens), list(map(len, tokens)), heads, labels)

    def _pack_words(
        self,
        words: Iterable[Sequence[Any]],
        lengths: Sequence[int],
        heads: npt.NDArray[np.int32] | None = None,
        labels: npt.NDArray[np.int32] | None = None,
    ) -> Packed:
        """The words of sentences of some lengths, each by its first five columns, with gold trees if they are known."""
        at = np.cumsum([0, *lengths], dtype=np.int64)
        tokens = None if self.inputs_ is None else list(words)
        if tokens is not None and heads is None:  # an encoder does not use features
            rows, table = np.zeros(int(at[-1]), np.int32), np.zeros((2, len(WORD_ATTRIBUTES)), np.int32)
        else:
            rows, table = self._word_rows(words if tokens is None else tokens, learning=heads is not None)
        framed_at = at + 2 * np.arange(len(at))
        missing = np.full(int(at[-1]), -1, np.int32)
        flat: dict[str, Any] = {
            "attributes": table[framed(rows, at, ROOT_ROW, NOTHING_ROW)].reshape(-1),
            "attributes_at": framed_at * table.shape[1],
            "gold_heads": framed(missing if heads is None else heads, at, -1, -1),
            "gold_heads_at": framed_at,
            "gold_labels": framed(missing if labels is None else labels, at, -1, -1),
            "gold_labels_at": framed_at,
            "prepared": np.zeros(0, np.int32),
            "prepared_at": np.zeros(len(at), np.int64),
        }
        if self._system.prepare is not None and heads is not None:
            prepared = [self._system.prepare(heads[a:b]) for a, b in pairwise(at.tolist())]
            flat |= {"prepared": np.concatenate(prepared), "prepared_at": offsets(prepared)}
        packed = self._task().packed(np.array(lengths, np.int32), flat)
        if tokens is None:
            return packed
        sentences = [tokens[a:b] for a, b in pairwise(at.tolist())]
        predicting = heads is None and bool(self.output_columns)
        return packed.with_words(self.inputs_.read(sentences, targets=heads is not None, predicting=predicting))

    def _word_rows(
        self, words: Iterable[Sequence[Any]], *, learning: bool
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """The row of each word, and the table of rows: the parser remembers those of words that it has parsed."""
        if learning:
            return word_rows(words, self.vocabulary_)
        known: WordRows | None = self.__dict__.get("_rows")
        if known is None or known.vocabulary is not self.vocabulary_:  # it has been trained since
            known = WordRows(self.vocabulary_)
        self._rows = known = known.renewed()
        return known.numbers(words), known.table

    def _las_on(self, sentences: Sequence[Sentence], jobs: int) -> Callable[[LinearPolicy], float]:
        """A function that parses with a policy and returns the LAS."""
        packed = self._pack_gold(sentences, learn_labels=False)
        las = las_against(sentences, self.labels_)
        return lambda policy: las(*_trees(policy.decode(packed, beam=self.beam, seed=self.seed, jobs=jobs)))

    # ---- the model file

    def _learned(self) -> tuple[dict[str, Any], dict[str, Any]]:
        settings = {
            "labels": self.labels_,
            "root_labels": self.root_labels_,
            "word_labels": self.word_labels_,
            "moves": list(self.templates_.moves),
            "label_templates": list(self.templates_.labels),
        }
        if self._is_encoded:
            about, arrays = self._policy_arrays(self.policy_)
            return {**settings, **about}, arrays
        return settings, {**self.policy_.to_arrays(), **pack_strings(sorted(self.vocabulary_), "words")}

    def _restore(self, settings: dict[str, Any], arrays: dict[str, Any]) -> None:
        self.labels_ = list(settings["labels"])
        self.root_labels_ = [int(k) for k in settings["root_labels"]]
        self.word_labels_ = [int(k) for k in settings["word_labels"]]
        self.templates_ = Templates(settings["moves"], settings["label_templates"])
        try:
            self._system = find_system(self.system)
        except ConfigError as error:
            raise ModelError(
                f"this model needs the transition system {self.system!r}: {error}. Install the package that has it"
            ) from error
        self.vocabulary_ = set(unpack_strings(arrays, "words"))
        self.policy_ = self._restored_policy(arrays) if self._is_encoded else LinearPolicy.from_arrays(arrays)


class Tagged(NamedTuple):
    """The tree of a sentence, and the values of the output columns."""

    heads: Sequence[int]
    labels: Sequence[str]
    tags: dict[str, list[str]]


def _with_tags(sentence: Sentence, tags: dict[str, list[str]]) -> Sentence:
    """Return the sentence with tags where it has none."""
    rows = zip(sentence.tokens, *tags.values(), strict=True)
    tokens = [
        token._replace(**{name: new for name, new in zip(tags, values, strict=True) if getattr(token, name) == "_"})
        for token, *values in rows
    ]
    return replace(sentence, tokens=tuple(tokens))


def _make_templates(features: Features, mode: str) -> Templates:
    """Templates from the name of a set, a list of templates, or two lists by the names ``moves`` and ``labels``."""
    if isinstance(features, str):
        if features not in FEATURE_SETS:
            raise ConfigError(one_of(features, FEATURE_SETS), setting="features", value=features)
        templates = FEATURE_SETS[features]
    elif isinstance(features, dict):
        if not set(features) <= {"moves", "labels"}:
            raise ConfigError(
                f"are given for 'moves' and 'labels', not for {', '.join(map(repr, features))}",
                setting="features",
                value=features,
            )
        templates = Templates(features.get("moves", ()), features.get("labels", ()))
    else:
        templates = Templates(features)
    if mode == "fast" and not templates.labels:
        return Templates(templates.moves, FEATURE_SETS["rich"].labels)
    return templates


def _trees(decoded: Decoded) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """The heads and labels of all words in final states, and the offset of each sentence."""
    heads, framed_at = decoded.field("heads")
    labels, _ = decoded.field("labels")
    inner = np.ones(len(heads), np.bool_)
    inner[framed_at[:-1]] = inner[framed_at[1:] - 1] = False
    return heads[inner], labels[inner], framed_at - 2 * np.arange(len(framed_at))
