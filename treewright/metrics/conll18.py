"""The measures of the CoNLL 2018 shared task for analyses of raw text, layer by layer.

A system that starts from raw text may find other tokens, words and sentences than the treebank has. So words are first
*aligned*. Both analyses are spans of one string, the text without white space. A word that is a whole token is aligned
with a word of the same span. The words of a multiword token such as *don't* have no spans: these words, and all that
overlap the token, are aligned by the longest common subsequence of their forms, in lower case. Every later measure
compares aligned words, and is an F1 score, because the two analyses may have different numbers of words:

========= ==========================================================================================================
Tokens    spans of tokens
Sentences spans of sentences
Words     aligned words
UPOS      the universal tag of aligned words
XPOS      the tag of the treebank
UFeats    the universal morphological features
AllTags   UPOS, XPOS and UFeats together
Lemmas    the lemma; any lemma is correct where the treebank has none
UAS       the head
LAS       the head and the relation, without subtypes
CLAS      LAS of content words: function words and punctuation do not count
MLAS      CLAS with UPOS and UFeats of the word and of its function words
BLEX      CLAS with lemmas
========= ==========================================================================================================

>>> from treewright.corpora import Sentence
>>> gold = [Sentence.from_words(["Do", "n't", "stop"]), Sentence.from_words(["Go"])]
>>> found = [Sentence.from_words(["Don't", "stop", "Go"])]
>>> scores = score_raw_text(gold, found)
>>> f"{scores['Tokens'].f1:.2f} {scores['Sentences'].f1:.2f}"
'0.57 0.00'
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from treewright.corpora import Sentence
from treewright.errors import CorpusError

__all__ = ["F1", "MEASURES", "score_raw_text"]

MEASURES = (
    "Tokens",
    "Sentences",
    "Words",
    "UPOS",
    "XPOS",
    "UFeats",
    "AllTags",
    "Lemmas",
    "UAS",
    "LAS",
    "CLAS",
    "MLAS",
    "BLEX",
)

_CONTENT = frozenset(
    [
        "nsubj",
        "obj",
        "iobj",
        "csubj",
        "ccomp",
        "xcomp",
        "obl",
        "vocative",
        "expl",
        "dislocated",
        "advcl",
        "advmod",
        "discourse",
        "nmod",
        "appos",
        "nummod",
        "acl",
        "amod",
        "conj",
        "fixed",
        "flat",
        "compound",
        "list",
        "parataxis",
        "orphan",
        "goeswith",
        "reparandum",
        "root",
        "dep",
    ]
)
_TAGS = frozenset(["upos", "xpos", "feats"])
_NEEDS = {
    "UPOS": {"upos"},
    "XPOS": {"xpos"},
    "UFeats": {"feats"},
    "AllTags": {"upos", "all tags"},
    "Lemmas": {"lemma"},
    "UAS": {"deprel"},
    "LAS": {"deprel"},
    "CLAS": {"deprel"},
    "MLAS": {"deprel", "upos"},
    "BLEX": {"deprel", "lemma"},
}
_FUNCTION = frozenset(["aux", "cop", "mark", "det", "clf", "case", "cc"])
_UNIVERSAL = frozenset(
    [
        "PronType",
        "NumType",
        "Poss",
        "Reflex",
        "Foreign",
        "Abbr",
        "Gender",
        "Animacy",
        "Number",
        "Case",
        "Definite",
        "Degree",
        "VerbForm",
        "Mood",
        "Tense",
        "Aspect",
        "Voice",
        "Evident",
        "Polarity",
        "Person",
        "Polite",
    ]
)


@dataclass(frozen=True)
class F1:
    """Counts of one measure, and the scores computed from them."""

    gold: int
    system: int
    correct: int
    aligned: int | None = None
    """The number of aligned words, of which ``correct`` are correct; None for spans and for the words themselves."""
    annotated: bool = True
    """Whether both sides have the layer."""

    @property
    def precision(self) -> float:
        """The share of the system's items that are correct."""
        return self.correct / self.system if self.system else 0.0

    @property
    def recall(self) -> float:
        """The share of the gold items that the system found."""
        return self.correct / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return 2 * self.correct / (self.gold + self.system) if self.gold + self.system else 0.0

    @property
    def accuracy(self) -> float | None:
        """The share of the aligned words that are correct; None for spans and for the words themselves."""
        return None if self.aligned is None else self.correct / self.aligned if self.aligned else 0.0

    def as_dict(self) -> dict[str, float | int | None]:
        """Return the counts and the scores as plain values; the scores are None if a side lacks the layer."""
        counts = {"gold": self.gold, "system": self.system, "correct": self.correct, "aligned": self.aligned}
        scores = {"f1": self.f1, "precision": self.precision, "recall": self.recall, "accuracy": self.accuracy}
        return (scores if self.annotated else dict.fromkeys(scores)) | counts


def score_raw_text(gold: Iterable[Sentence], system: Iterable[Sentence]) -> dict[str, F1]:
    """Score an analysis of raw text by the rules of CoNLL 2018; the keys are :data:`MEASURES`.

    A score whose layer one of the two lacks is marked as not :attr:`~F1.annotated`; its value means nothing.

    Raises:
        CorpusError: if the two are not analyses of the same text (white space does not count), or if a head is missing
            in only some of the words of a side.
    """
    treebank, analysis = _Analysis(gold), _Analysis(system)
    _check_text(treebank.text, analysis.text)
    pairs = _align(treebank.words, analysis.words)
    partner = {id(b): a for a, b in pairs}

    def count(key: Callable[[_Word, Callable[[_Word | None], Any]], Any], content: bool = False) -> F1:
        of_gold, of_system, correct, aligned = len(treebank.words), len(analysis.words), 0, len(pairs)
        if content:
            of_gold = sum(word.content for word in treebank.words)
            of_system = sum(word.content for word in analysis.words)
            aligned = sum(word.content for word, _ in pairs)
        for a, b in pairs:
            if (a.content or not content) and key(a, _itself) == key(b, aligned_word):
                correct += 1
        return F1(of_gold, of_system, correct, aligned)

    def aligned_word(word: _Word | None) -> Any:
        return None if word is None else partner.get(id(word), "not aligned")

    scores = {
        "Tokens": _count_spans(treebank.tokens, analysis.tokens),
        "Sentences": _count_spans(treebank.sentences, analysis.sentences),
        "Words": F1(len(treebank.words), len(analysis.words), len(pairs)),
        "UPOS": count(lambda w, _: w.upos),
        "XPOS": count(lambda w, _: w.xpos),
        "UFeats": count(lambda w, _: w.feats),
        "AllTags": count(lambda w, _: (w.upos, w.xpos, w.feats)),
        "Lemmas": count(_lemma),
        "UAS": count(lambda w, of: of(w.parent)),
        "LAS": count(lambda w, of: (of(w.parent), w.deprel)),
        "CLAS": count(lambda w, of: (of(w.parent), w.deprel), content=True),
        "MLAS": count(
            lambda w, of: (
                of(w.parent),
                w.deprel,
                w.upos,
                w.feats,
                [(of(c), c.deprel, c.upos, c.feats) for c in w.function_words],
            ),
            content=True,
        ),
        "BLEX": count(lambda w, of: (of(w.parent), w.deprel, _lemma(w, of)), content=True),
    }
    in_gold, in_system = treebank.layers(), analysis.layers()
    layers = in_gold & in_system
    if not (in_gold ^ in_system) & _TAGS:  # a tag that one side lacks would make all of them wrong
        layers.add("all tags")
    return {name: replace(score, annotated=_NEEDS.get(name, set()) <= layers) for name, score in scores.items()}


@dataclass(slots=True, eq=False)
class _Word:
    """A word with its span in the text; a word of a multiword token has the span of the token."""

    form: str
    start: int
    end: int
    multiword: bool
    lemma: str
    upos: str
    xpos: str
    feats: str
    deprel: str
    parent: _Word | None = None
    function_words: list[_Word] = field(default_factory=list)

    @property
    def content(self) -> bool:
        return self.deprel in _CONTENT


class _Analysis:
    """The text of some sentences without white space, and their sentences, tokens and words as spans of it."""

    def __init__(self, sentences: Iterable[Sentence]) -> None:
        self.sentences: list[tuple[int, int]] = []
        self.tokens: list[tuple[int, int]] = []
        self.words: list[_Word] = []
        forms: list[str] = []
        position = 0
        for sentence in sentences:
            if not len(sentence):
                continue
            start, first, last_of_token, multiword = position, len(self.words), 0, False
            ranges = dict(_multiword_tokens(sentence))
            for number, token in enumerate(sentence.tokens, 1):
                if number > last_of_token:
                    multiword = number in ranges
                    last_of_token, form = ranges.get(number, (number, token.form))
                    form = _without_spaces(form, sentence)
                    forms.append(form)
                    span = position, position + len(form)
                    position = span[1]
                    self.tokens.append(span)
                self.words.append(
                    _Word(
                        (token.form if multiword else form).lower(),
                        *span,
                        multiword,
                        token.lemma,
                        token.upos,
                        token.xpos,
                        _universal(token.feats),
                        token.deprel.partition(":")[0],
                    )
                )
            self._link(sentence, first)
            self.sentences.append((start, position))
        self.text = "".join(forms)

    def layers(self) -> set[str]:
        """The columns that some word has a value in."""
        empty = ("_", "")
        return {
            name
            for name in ("lemma", "upos", "xpos", "feats", "deprel")
            if any(getattr(word, name) not in empty for word in self.words)
        }

    def _link(self, sentence: Sentence, first: int) -> None:
        heads = [token.head for token in sentence.tokens]
        for number, head in enumerate(heads):
            word = self.words[first + number]
            if head is not None and not 0 <= head <= len(heads):
                raise CorpusError(
                    f"the head of word {number + 1} is {head}, outside the sentence",
                    path=sentence.path,
                    line=sentence.line,
                )
            if head:
                word.parent = self.words[first + head - 1]
                if word.deprel in _FUNCTION:
                    word.parent.function_words.append(word)


def _multiword_tokens(sentence: Sentence) -> Iterable[tuple[int, tuple[int, str]]]:
    """The first word of each multiword token, with its last word and its form."""
    for _, row in sentence.extras:
        number, form, *_ = row.split("\t")
        if "-" in number:
            first, _, last = number.partition("-")
            yield int(first), (int(last), form)


def _without_spaces(form: str, sentence: Sentence) -> str:
    form = "".join(character for character in form if unicodedata.category(character) != "Zs")
    if not form:
        raise CorpusError("a form has nothing but white space in it", path=sentence.path, line=sentence.line)
    return form


def _universal(feats: str) -> str:
    return "|".join(sorted(feat for feat in feats.split("|") if feat.partition("=")[0] in _UNIVERSAL))


def _itself(word: _Word | None) -> Any:
    return word


def _lemma(word: _Word, of: Callable[[_Word | None], Any]) -> str:
    return "_" if of(word).lemma == "_" else word.lemma


def _check_text(gold: str, system: str) -> None:
    if gold == system:
        return
    at = next((k for k, (a, b) in enumerate(zip(gold, system, strict=False)) if a != b), min(len(gold), len(system)))
    raise CorpusError(
        f"the two analyses are not of the same text: after {at:,} characters that are not white space, one goes on "
        f"with {gold[at : at + 20]!r} and the other with {system[at : at + 20]!r}"
    )


def _count_spans(gold: Sequence[tuple[int, int]], system: Sequence[tuple[int, int]]) -> F1:
    return F1(len(gold), len(system), len(set(gold) & set(system)))


def _align(gold: Sequence[_Word], system: Sequence[_Word]) -> list[tuple[_Word, _Word]]:
    """The pairs of aligned words, from left to right."""
    pairs = []
    g = s = 0
    while g < len(gold) and s < len(system):
        a, b = gold[g], system[s]
        if a.multiword or b.multiword:
            (g_from, g), (s_from, s) = _multiword_stretch(gold, system, g, s)
            pairs += _common_subsequence(gold[g_from:g], system[s_from:s])
        elif (a.start, a.end) == (b.start, b.end):
            pairs.append((a, b))
            g, s = g + 1, s + 1
        elif a.start <= b.start:
            g += 1
        else:
            s += 1
    return pairs


def _multiword_stretch(
    gold: Sequence[_Word], system: Sequence[_Word], g: int, s: int
) -> tuple[tuple[int, int], tuple[int, int]]:
    """The words of both sides from a multiword token on, as far as multiword tokens overlap."""
    if gold[g].multiword:
        end = gold[g].end
        if not system[s].multiword and system[s].start < gold[g].start:
            s += 1
    else:
        end = system[s].end
        if not gold[g].multiword and gold[g].start < system[s].start:
            g += 1
    g_from, s_from = g, s

    def inside(words: Sequence[_Word], k: int) -> bool:
        return k < len(words) and (words[k].start < end if words[k].multiword else words[k].end <= end)

    while inside(gold, g) or inside(system, s):
        of_gold = g < len(gold) and (s >= len(system) or gold[g].start <= system[s].start)
        word = gold[g] if of_gold else system[s]
        if word.multiword:
            end = max(end, word.end)
        if of_gold:
            g += 1
        else:
            s += 1
    return (g_from, g), (s_from, s)


def _common_subsequence(gold: Sequence[_Word], system: Sequence[_Word]) -> list[tuple[_Word, _Word]]:
    """The longest common subsequence of forms; ties go to the words that come first."""
    longest = [[0] * (len(system) + 1) for _ in range(len(gold) + 1)]
    for g in reversed(range(len(gold))):
        for s in reversed(range(len(system))):
            same = gold[g].form == system[s].form
            longest[g][s] = max(1 + longest[g + 1][s + 1] if same else 0, longest[g + 1][s], longest[g][s + 1])
    pairs = []
    g = s = 0
    while g < len(gold) and s < len(system):
        if gold[g].form == system[s].form:
            pairs.append((gold[g], system[s]))
            g, s = g + 1, s + 1
        elif longest[g][s] == longest[g + 1][s]:
            g += 1
        else:
            s += 1
    return pairs
