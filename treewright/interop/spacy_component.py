"""Treewright in spaCy: a component that annotates documents, and a tokenizer.

spaCy finds both by entry points, without an import::

    nlp = spacy.blank("en", config={"nlp": {"tokenizer": {"@tokenizers": "treewright.Tokenizer.v1"}}})
    nlp.add_pipe("treewright", config={"model": "english"})

The component sets tags, lemmas, morphology, dependencies and sentence starts. ``doc._.constituents`` is a list of
constituency trees in bracket notation, and ``doc._.amr`` is a list of meaning graphs in PENMAN notation; each list has
one element per sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from spacy.attrs import DEP, HEAD, LEMMA, MORPH, POS, TAG
from spacy.language import Language
from spacy.symbols import IDS
from spacy.tokens import Doc
from spacy.vocab import Vocab

from treewright.corpora import Sentence
from treewright.errors import ConfigError
from treewright.loading import load
from treewright.pipeline import Document, Pipeline
from treewright.text import Tokenizer

__all__ = ["TreewrightComponent", "TreewrightTokenizer", "make_component", "make_tokenizer"]

_FILE = "model.tw"
_UNKNOWN = IDS["X"]

for _name in ("constituents", "amr"):
    if not Doc.has_extension(_name):
        Doc.set_extension(_name, default=None)


@Language.factory(
    "treewright",
    default_config={"model": "english"},
    assigns=["token.pos", "token.tag", "token.lemma", "token.morph", "token.dep", "token.head", "token.is_sent_start"],
)
def make_component(nlp: Language, name: str, model: str) -> TreewrightComponent:
    """Make the component with a model: a file, or the name of a bundled model."""
    return TreewrightComponent(nlp.vocab, model, name=name)


def make_tokenizer(model: str = "english") -> Callable[[Language], TreewrightTokenizer]:
    """Make a tokenizer from the tokenizer of a model: a file, or the name of a bundled model."""
    return lambda nlp: TreewrightTokenizer(nlp.vocab, model)


class _Saved:
    """The common base class: it has a model, and writes it to disk in Treewright's format."""

    def __init__(self, model: Any) -> None:
        self.model = load(model) if isinstance(model, str) or hasattr(model, "__fspath__") else model

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Write the model to a folder."""
        Path(path).mkdir(parents=True, exist_ok=True)
        self.model.save(Path(path) / _FILE)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> Any:
        """Read the model from a folder."""
        self.model = load(Path(path) / _FILE)
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Return the model as bytes."""
        from tempfile import TemporaryDirectory

        with TemporaryDirectory() as folder:
            self.to_disk(folder)
            return (Path(folder) / _FILE).read_bytes()

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> Any:
        """Read the model from bytes."""
        from tempfile import TemporaryDirectory

        with TemporaryDirectory() as folder:
            (Path(folder) / _FILE).write_bytes(data)
            return self.from_disk(folder)


class TreewrightComponent(_Saved):
    """A spaCy component that annotates batches of documents with a pipeline of Treewright."""

    def __init__(self, vocab: Vocab, model: Any = "english", *, name: str = "treewright") -> None:
        super().__init__(model)
        if not isinstance(self.model, Pipeline):
            raise ConfigError("the component of spaCy takes a pipeline: treewright train pipeline makes one")
        self.vocab, self.name = vocab, name

    def __call__(self, doc: Doc) -> Doc:
        """Annotate a document."""
        return next(self.pipe([doc]))

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Annotate a stream of documents, ``batch_size`` at a time."""
        docs = iter(stream)
        while batch := list(islice(docs, batch_size)):
            divided = [self._sentences(doc) for doc in batch]
            flat = [Sentence.from_words([token.text for token in each]) for sentences in divided for each in sentences]
            found = iter(self.model.annotate(flat))
            for doc, sentences in zip(batch, divided, strict=True):
                yield _annotated(doc, sentences, [next(found) for _ in sentences])

    def _sentences(self, doc: Doc) -> list[list[Any]]:
        """The tokens of each sentence, without white space."""
        if doc.has_annotation("SENT_START"):
            found = [[token for token in sentence if not token.is_space] for sentence in doc.sents]
            return [each for each in found if each]
        tokens = [token for token in doc if not token.is_space]
        starts: list[int] = [0]
        if self.model.tokenizer is not None and tokens:
            document = Document(list(self.model.tokenizer.stream([doc.text])), doc.text)
            starts = [each.start for each in document if each.start is not None] or [0]
        found = []
        for token in tokens:
            if not found or (starts and token.idx >= starts[0] and found[-1]):
                found.append([])
            while starts and token.idx >= starts[0]:
                starts.pop(0)
            found[-1].append(token)
        return found


def _annotated(doc: Doc, sentences: list[list[Any]], found: list[Sentence]) -> Doc:
    """Write the annotation of the sentences into the document."""
    strings = doc.vocab.strings
    values = np.zeros((len(doc), 6), np.int64)  # HEAD, DEP, POS, TAG, LEMMA, MORPH
    previous = 0
    for tokens, sentence in zip(sentences, found, strict=True):
        for token, word in zip(tokens, sentence.tokens, strict=True):
            head = token.i if not word.head else tokens[word.head - 1].i
            feats = doc.vocab.morphology.add(word.feats if word.feats != "_" else "")
            row = [
                head - token.i,
                strings.add("ROOT" if not word.head else word.deprel) if word.head is not None else 0,
                IDS.get(word.upos, _UNKNOWN) if word.upos != "_" else 0,
                strings.add(word.xpos) if word.xpos != "_" else 0,
                strings.add(word.lemma) if word.lemma != "_" else 0,
                feats,
            ]
            values[token.i] = np.array(row, np.uint64).astype(np.int64) if row[0] >= 0 else _signed(row)
            previous = token.i
    for token in doc:  # white space belongs to the previous token
        if token.is_space:
            before = max((t.i for t in doc[: token.i] if not t.is_space), default=previous)
            values[token.i, 0] = before - token.i
            values[token.i, 1] = strings.add("dep")
    doc.from_array([HEAD, DEP, POS, TAG, LEMMA, MORPH], values.astype(np.uint64))
    trees, graphs = [each.tree for each in found], [each.graph for each in found]
    if any(tree is not None for tree in trees):
        doc._.constituents = [None if tree is None else str(tree) for tree in trees]
    if any(graph is not None for graph in graphs):
        doc._.amr = [None if graph is None else graph.to_penman() for graph in graphs]
    return doc


def _signed(row: list[int]) -> Any:
    """A row with a negative head offset as signed integers; the hashes are converted from unsigned integers."""
    return np.array([row[0], *np.array(row[1:], np.uint64).astype(np.int64).tolist()], np.int64)


class TreewrightTokenizer(_Saved):
    """A spaCy tokenizer that uses the tokenizer of a model of Treewright, and marks sentence starts.

    A token such as *don't* becomes two words if they spell the token together; otherwise it stays one word.
    """

    def __init__(self, vocab: Vocab, model: Any = "english") -> None:
        super().__init__(model)
        self.vocab = vocab
        self._tokenizer  # noqa: B018 - raises an error if there is none

    @property
    def _tokenizer(self) -> Tokenizer:
        found = self.model if isinstance(self.model, Tokenizer) else getattr(self.model, "tokenizer", None)
        if found is None:
            raise ConfigError("this model has no tokenizer")
        return found

    def __call__(self, text: str) -> Doc:
        """Tokenize a text."""
        words: list[str] = []
        spaces: list[bool] = []
        starts: list[bool] = []
        at = 0

        def add(form: str, start: bool) -> None:
            words.append(form)
            spaces.append(False)
            starts.append(start)

        def gap(white: str) -> None:
            """Add white space: one space belongs to the previous token, and further white space is a token."""
            if words and white.startswith(" "):
                spaces[-1] = True
                white = white[1:]
            if white:
                add(white, False)

        for analysis in Document(list(self._tokenizer.stream([text])), text):
            for number, span in enumerate(analysis.tokens):
                assert span.start is not None
                assert span.end is not None
                gap(text[at : span.start])
                forms = [token.form for token in analysis.sentence.tokens[span.first - 1 : span.last]]
                if "".join(forms) != text[span.start : span.end]:
                    forms = [text[span.start : span.end]]
                for k, form in enumerate(forms):
                    add(form, number == 0 and k == 0)
                at = span.end
        gap(text[at:])
        if words and not any(starts):
            starts[0] = True
        return Doc(self.vocab, words=words, spaces=spaces, sent_starts=starts if words else None)

    def pipe(self, texts: Iterable[str], *, batch_size: int = 128) -> Iterator[Doc]:
        """Tokenize a stream of texts."""
        yield from map(self, texts)
