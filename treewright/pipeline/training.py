"""Training of all components of a pipeline from a treebank.

A component is left out if the treebank lacks the annotation that it learns from. Lemmatizer and parser learn from each
sentence twice: with the tags of the treebank, and with those of a tagger that has not seen the sentence
(*jackknifing*), because they get predicted tags in use. Taggers and linear parsers are trained twice, with different
seeds, and the mean of the weights is used. The checkpoint keeps each finished component, so that an interrupted
training continues with the next one.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treewright.corpora import Sentence, corpus_hash
from treewright.dependency import DependencyParser
from treewright.dependency.trees import check_trees
from treewright.errors import ConfigError, CorpusError, ModelError
from treewright.estimators import Corpus, Estimator, clone, read_corpus
from treewright.files import atomic_write
from treewright.pipeline.pipeline import Pipeline
from treewright.policies.linear import mean_policy
from treewright.text import Lemmatizer, MorphTagger, Tokenizer
from treewright.text.raw import surface_tokens
from treewright.text.tagger import check_columns

if TYPE_CHECKING:
    from treewright.learners import Pass

__all__ = ["PipelineTrainer", "encoded_parser", "pipeline_parser", "train_pipeline"]

_COLUMNS = ("upos", "xpos", "feats", "lemma")
_NEXT_SEED = 1_000  # from one training of the parser to the next
_PARSER_WEIGHTS = 4_700_000  # the largest weights are kept: the others only increase the size of the file
_ROWS_PER_WORD = 40  # rows of the parser's table of features for each word, so that few features share a row
_ALL_WEIGHTS = 1 << 62
_FEWEST_BITS, _MOST_BITS = 16, 24


def pipeline_parser(*, passes: int = 8, **settings: Any) -> DependencyParser:
    """Return the parser of a pipeline: fast, with many templates; the size of its table follows the treebank."""
    learner = {"name": "exploration", "passes": passes}
    return DependencyParser(**{"mode": "fast", "features": "full", "learner": learner, **settings})


def encoded_parser(policy: Any, *, passes: int | None = None, **settings: Any) -> DependencyParser:
    """Return the parser of a pipeline with an encoder: it reads words, and predicts tags and trees together."""
    learner = {"name": "exploration", **({} if passes is None else {"passes": passes})}
    columns = {"input_columns": (), "output_columns": ("upos", "xpos", "feats"), "tag_loss": 0.5}
    return DependencyParser(**{"policy": policy, "learner": learner, **columns, **settings})


@dataclass
class PipelineTrainer:
    """The settings of a training: the untrained components, and the execution and reporting of the training.

    Args:
        tokenizer, tagger, lemmatizer, parser: the components to train; None leaves a component out. Without a tagger, a
            parser with output columns (:func:`encoded_parser`) comes before the lemmatizer and gives the tags.
        folds: the number of parts of the treebank for jackknifing: each is tagged by a tagger that learned from the
            others. With 1, the parser learns from gold tags only.
        runs: the number of trainings of a tagger and of a linear parser, with different seeds; the mean of their
            weights is used.
        jobs: the number of threads.
        stage: called with the name of each stage and a remark about it.
        report: called after each pass.
        progress: called regularly with (stage, done, total).
        checkpoint: a folder for the state of the training, which survives an interruption.
        resume: whether to continue from the checkpoint.
    """

    tokenizer: Tokenizer | None = field(default_factory=Tokenizer)
    tagger: MorphTagger | None = field(default_factory=MorphTagger)
    lemmatizer: Lemmatizer | None = field(default_factory=Lemmatizer)
    parser: Estimator[Any] | None = field(default_factory=pipeline_parser)
    folds: int = 5
    runs: int = 2
    jobs: int = 1
    stage: Callable[[str, str], None] | None = None
    report: Callable[[Pass], None] | None = None
    progress: Callable[[str, int, int], None] | None = None
    checkpoint: Path | None = None
    resume: bool = False

    def train(self, corpus: Corpus, dev: Corpus | None = None) -> Pipeline:
        """Train all components on a treebank; with ``dev``, each component keeps the pass with the best score there."""
        for component in self._all():
            if component is not None:
                component._check_ready()
        sentences = read_corpus(corpus)
        if not any(map(len, sentences)):
            raise CorpusError("there is nothing to learn from: no words", path=sentences[0].path)
        dev_sentences = None if dev is None else read_corpus(dev)
        if self.parser is not None and _has_heads(sentences):  # before any component learns
            check_trees(sentences)
            check_trees(dev_sentences or ())
        corpora = _corpora(sentences, dev_sentences)
        with self._checkpoint(corpora):
            components = self._components(sentences, dev_sentences)
        if not components:
            raise CorpusError(
                "there is nothing to learn: no SpaceAfter=No, no tags, no lemmas and no trees", path=sentences[0].path
            )
        pipeline = Pipeline(components)
        pipeline.card = self._origin(corpora)
        if dev_sentences is not None and pipeline.tokenizer is not None:
            scores = pipeline.evaluate(dev_sentences, raw=True, jobs=self.jobs)
            pipeline.card["scores"] = {f"dev {name}": score.f1 for name, score in scores.items() if score.annotated}
        elif dev_sentences is not None:
            why = "without a tokenizer there is no analysis of raw text; evaluate scores that of given words"
            self._say("scores", f"left out: {why}")
        return pipeline

    def has_made(self, card: Mapping[str, Any], corpus: Corpus, dev: Corpus | None = None) -> bool:
        """Return whether the card of a pipeline says that it was trained with these settings on these data."""
        mine = self._origin(_corpora(read_corpus(corpus), None if dev is None else read_corpus(dev)))
        return all(card.get(name) == value for name, value in mine.items())

    def _origin(self, corpora: dict[str, str]) -> dict[str, Any]:
        """Return what a card says of the training: the hashes of the corpora and of the settings."""
        return {"corpora": corpora, "settings": sha256(json.dumps(self._settings()).encode()).hexdigest()}

    def _settings(self) -> dict[str, Any]:
        components = [c and c.resolved_config() for c in self._all()]
        return {"components": components, "folds": self.folds, "runs": self.runs}

    def _components(self, sentences: list[Sentence], dev: list[Sentence] | None) -> list[Estimator[Any]]:
        filled = [name for name in _COLUMNS if _has(sentences, name)]
        tags = [name for name in filled if name != "lemma"]
        has_trees = _has_heads(sentences)
        components: list[Estimator[Any]] = []
        treebank, sentences = sentences, self._with_tags(sentences, tags)
        if self._wanted("tokenizer", self.tokenizer, _has_spaces(treebank), "the treebank has no SpaceAfter=No"):
            components.append(self._fitted("tokenizer", self.tokenizer, treebank, dev))
        if self._wanted("tagger", self.tagger, bool(tags), "the treebank has no tags"):
            self._say_empty(self.tagger, tags)
            dev_tags = self._scored("tagger", dev, tags[0])
            components.append(self._averaged("tagger", self.tagger, sentences, dev_tags, MorphTagger._most_weights))
        outputs = tuple(name for name in getattr(self.parser, "output_columns", ()) if name in tags)
        tags_and_trees = self.tagger is None and bool(outputs)
        if tags_and_trees and self._wanted("parser", self.parser, has_trees, "the treebank has words without heads"):
            joint: Any = clone(self.parser)  # type: ignore[type-var]
            components.append(self._fitted("parser", joint.set_params(output_columns=outputs), sentences, dev))
        with_lemmas = self._wanted("lemmatizer", self.lemmatizer, "lemma" in filled, "the treebank has no lemmas")
        with_trees = not tags_and_trees and self._wanted(
            "parser", self.parser, has_trees, "the treebank has words without heads"
        )
        given = [name for component in components if isinstance(component, MorphTagger) for name in component.gives()]
        tagged = self._jackknifed(sentences, given) if given and (with_lemmas or with_trees) else []
        if with_lemmas:
            dev_tagged = self._scored("lemmatizer", dev, "lemma")
            if dev_tagged is not None and (tagged or not any(_has(dev_tagged, name) for name in tags)):
                dev_tagged = _without_tokenizer(components).annotate(map(_without_tags, dev_tagged), jobs=self.jobs)
            components.append(self._fitted("lemmatizer", self.lemmatizer, [*sentences, *tagged], dev_tagged))
        if with_trees:
            known = _without_tokenizer(components)
            both = [*sentences, *known.annotate(map(_without_lemmas, tagged), jobs=self.jobs)]
            dev_found = None if dev is None else known.annotate(map(_words_and_tree, dev), jobs=self.jobs)
            parser: Any = self._averaged("parser", _sized(self.parser, both), both, dev_found, _PARSER_WEIGHTS)
            parser.card_["columns"] = [name for name in filled if name in known.gives]
            components.append(parser)
        return components

    def _with_tags(self, sentences: list[Sentence], tags: Sequence[str]) -> list[Sentence]:
        """Return the sentences in which all words have a tag, and say how many have not; words may have no features."""
        column = next((name for name in tags if name != "feats"), None)
        if column is None:
            return sentences
        tagged = [sentence for sentence in sentences if "_" not in sentence.column(column)]
        if not tagged:
            raise CorpusError(f"every sentence has words without {column}", path=sentences[0].path)
        if len(tagged) < len(sentences):
            left_out = f"{len(sentences) - len(tagged):,} of {len(sentences):,} sentences"
            self._say("tags", f"{left_out} are left out: they have words without {column}")
        return tagged

    def _scored(self, name: str, dev: list[Sentence] | None, column: str) -> list[Sentence] | None:
        """Return the development data; None if they lack the column that a component fills, which is said."""
        if dev is None or _has(dev, column):
            return dev
        self._say(
            name, f"the development data have no {column}: it learns without them, and its scores on them mean nothing"
        )
        return None

    def _wanted(self, name: str, component: Any, possible: bool, why: str) -> bool:
        if component is not None and not possible:
            self._say(name, f"left out: {why}")
        return component is not None and possible

    def _say_empty(self, tagger: Any, tags: Sequence[str]) -> None:
        """Name the columns that the tagger should fill and the treebank does not have."""
        for name in check_columns(tagger.columns).split(","):
            if name not in tags:
                self._say("tagger", f"{name} is left out: the treebank has no {name}")

    def _say(self, stage: str, text: str) -> None:
        if self.stage is not None:
            self.stage(stage, text)

    def _fitted(
        self, name: str, component: Any, sentences: Sequence[Sentence], dev: Any, most: int | None = None
    ) -> Estimator[Any]:
        """Return the component after training, or from the checkpoint."""
        path = None if self.checkpoint is None else self.checkpoint / f"{name}.tw"
        if self.resume and path is not None and path.exists():
            with suppress(ModelError):  # a damaged file is written again
                found: Estimator[Any] = type(component).load(path)
                self._say(name, "from the checkpoint")
                return found
        self._say(name, f"learns from {sum(map(len, sentences)):,} words")
        fresh: Any = clone(component)
        if most is not None:
            fresh._most_weights = most
        fresh.fit(
            sentences,
            dev,
            jobs=self.jobs,
            report=self.report,
            progress=self.progress,
            checkpoint=None if self.checkpoint is None else self.checkpoint / name,
            resume=self.resume,
        )
        if path is not None:
            fresh.save(path)
        trained: Estimator[Any] = fresh
        return trained

    def _averaged(
        self, name: str, component: Any, sentences: Sequence[Sentence], dev: list[Sentence] | None, most: int
    ) -> Estimator[Any]:
        """Return the component after training; a linear one has the mean of the weights of several trainings.

        Each training keeps all weights, and the mean keeps the ``most`` largest.
        """
        is_linear = isinstance(component, MorphTagger) or getattr(component, "policy", None) == "linear"
        if not is_linear:
            return self._fitted(name, component, sentences, dev)
        first: Any = self._fitted(name, component, sentences, dev, _ALL_WEIGHTS)
        policies = [first.policy_]
        is_mixture = len(first.policy_.weights) > 1  # of SEARN; a mean of mixtures would be none of them
        for run in range(1, 1 if is_mixture else self.runs):
            own = clone(component).set_params(seed=component.seed + run * _NEXT_SEED)
            other: Any = self._fitted(f"{name}-{run + 1}", own, sentences, dev, _ALL_WEIGHTS)
            policies.append(other.policy_)
        policy = first.policy_ if len(policies) == 1 else mean_policy(policies)
        first.policy_ = policy.compressed(most).coded()
        if dev is not None and self.runs > 1 and isinstance(first, DependencyParser):
            first.card_["scores"] = {"dev LAS": first.evaluate(dev, jobs=self.jobs).las}
        found: Estimator[Any] = first
        return found

    def _jackknifed(self, sentences: list[Sentence], tags: Sequence[str]) -> list[Sentence]:
        """Return the sentences with tags from taggers that have not seen them; they keep their lemmas and trees."""
        least = 2 * self.folds
        if self.tagger is None or self.folds < 2:
            return []
        if "upos" not in tags or len(sentences) < least:
            why = "the tagger gives no upos" if "upos" not in tags else f"{self.folds} parts need {least} sentences"
            self._say("jackknife", f"left out: {why}; lemmatizer and parser learn from gold tags only")
            return []
        bounds = [len(sentences) * k // self.folds for k in range(self.folds + 1)]
        found: list[Sentence] = []
        for number, (a, b) in enumerate(pairwise(bounds), 1):
            self._say("jackknife", f"part {number} of {self.folds}")
            tagger = clone(self.tagger).fit(sentences[:a] + sentences[b:], jobs=self.jobs, progress=self.progress)
            found += tagger.predict([_without_tags(sentence) for sentence in sentences[a:b]], jobs=self.jobs)
        return found

    @contextmanager
    def _checkpoint(self, corpora: dict[str, str]) -> Iterator[None]:
        """Record the identity of the training; remove the checkpoint of another, or with ``resume`` raise an error."""
        if self.checkpoint is None:
            yield
            return
        about = self.checkpoint / "pipeline.json"
        mine = json.loads(json.dumps({"corpora": corpora, **self._settings()}))
        if self.resume and about.exists() and json.loads(about.read_text()) != mine:
            raise ConfigError(
                f"{self.checkpoint} belongs to a training with other data or settings: give the same ones, or "
                "train without resuming"
            )
        if not self.resume or not about.exists():  # first the file that identifies the training
            about.unlink(missing_ok=True)
            if self.checkpoint.exists():
                shutil.rmtree(self.checkpoint)
        self.checkpoint.mkdir(parents=True, exist_ok=True)
        with atomic_write(about) as file:
            file.write(json.dumps(mine))
        yield

    def _all(self) -> tuple[Any, ...]:
        return self.tokenizer, self.tagger, self.lemmatizer, self.parser


def train_pipeline(corpus: Corpus, dev: Corpus | None = None, **settings: Any) -> Pipeline:
    """Train a pipeline on a treebank; the settings are those of :class:`PipelineTrainer`."""
    return PipelineTrainer(**settings).train(corpus, dev)


def _corpora(sentences: list[Sentence], dev: list[Sentence] | None) -> dict[str, str]:
    """Return the hashes of the training and development data."""
    return {"train": corpus_hash(sentences), **({} if dev is None else {"dev": corpus_hash(dev)})}


def _sized(parser: Any, sentences: Sequence[Sentence]) -> Any:
    """Return the parser with a table that is large enough for a treebank, unless its settings fix the size."""
    if not isinstance(parser, DependencyParser) or parser.mode != "fast" or parser.bits is not None:
        return parser
    bits = (_ROWS_PER_WORD * sum(map(len, sentences))).bit_length()
    return clone(parser).set_params(bits=min(max(bits, _FEWEST_BITS), _MOST_BITS))


def _has(sentences: Sequence[Sentence], column: str) -> bool:
    """Whether any word has a value in a column."""
    return any(value != "_" for sentence in sentences for value in sentence.column(column))


def _has_heads(sentences: Sequence[Sentence]) -> bool:
    """Whether all words have heads."""
    return all(token.head is not None for sentence in sentences for token in sentence)


def _has_spaces(sentences: Sequence[Sentence]) -> bool:
    """Whether any two tokens have no white space between them."""
    return any(not token.after for sentence in sentences for token in list(surface_tokens(sentence))[:-1])


def _without_tokenizer(components: Sequence[Estimator[Any]]) -> Pipeline:
    return Pipeline([component for component in components if not isinstance(component, Tokenizer)])


def _without_tags(sentence: Sentence) -> Sentence:
    return _replaced(sentence, upos="_", xpos="_", feats="_")


def _without_lemmas(sentence: Sentence) -> Sentence:
    return _replaced(sentence, lemma="_")


def _words_and_tree(sentence: Sentence) -> Sentence:
    return _replaced(sentence, lemma="_", upos="_", xpos="_", feats="_")


def _replaced(sentence: Sentence, **columns: Any) -> Sentence:
    return replace(sentence, tokens=tuple(token._replace(**columns) for token in sentence.tokens))
