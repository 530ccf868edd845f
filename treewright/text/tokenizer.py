"""The tokenizer: tokens, sentences and multiword tokens of raw text, each with its position in the text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, chain, pairwise, repeat
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from treewright.corpora import Sentence, Token, corpus_hash
from treewright.corpora.columns import make_token
from treewright.errors import ConfigError, CorpusError
from treewright.estimators import Corpus, Estimator, Running, read_corpus
from treewright.estimators.settings import BITS, SEED
from treewright.garbage import uncollected
from treewright.metrics import Comparison
from treewright.models import pack_strings, unpack_strings
from treewright.policies import LinearPolicy
from treewright.search import Packed
from treewright.search.compiling import at_once
from treewright.settings import Setting, whole_number
from treewright.text.base import usual_choices
from treewright.text.blocks import Chunks, find_chunks
from treewright.text.characters import chunk_rows, encode_chunks, known_words
from treewright.text.gold import gold_paragraphs, letters_meet
from treewright.text.multiword import WHOLE, MultiwordTokens, divide, token_rules
from treewright.text.raw import encode_spaces, paragraphs, raw_text, surface_tokens
from treewright.text.scores import TokenScores, compare_tokens, count_words, score_tokens
from treewright.text.tokenization import INSIDE, SENTENCE, TOKEN, Tokenization
from treewright.text.trace import trace_tokens
from treewright.tracing import Trace

if TYPE_CHECKING:
    from treewright.learners import Learner

__all__ = ["Tokenizer"]

Longs = npt.NDArray[np.int64]

#: the minimum share of tokens that end between two letters for every place between letters to be a decision
_DENSE = 0.005
_MULTIWORD = {"name": "exploration", "passes": 5, "update": {"name": "arow", "r": 30.0}}
_MULTIWORD_BITS = 18
_MOST_WEIGHTS = 500_000
_PIECE = 1 << 16  # the number of characters that are collected before they are tokenized


class Tokenizer(Estimator[TokenScores]):
    """Divides text into sentences and tokens, and multiword tokens into words.

    The characters of a paragraph are visited from left to right. At each place where a token could end, the policy
    decides whether the token ends, and whether the sentence ends with it. Then each token is left whole or divided into
    words, in its context. The tokenizer learns the boundaries of tokens and sentences from the treebank's
    ``SpaceAfter=No``, paragraphs and sentences.

    Args:
        learner: a row of the table of imitation learners, by name, as settings, or as an object.
        bits: the size of the table of hashed features, 2^bits rows.
        seed: the same seed gives the same model.

    >>> from treewright.corpora import Sentence, Token
    >>> tokens = [Token("Go", misc="SpaceAfter=No"), Token("!")]
    >>> treebank = [Sentence((Token("They"), Token("go", misc="SpaceAfter=No"), Token("."))), Sentence(tuple(tokens))]
    >>> tokenizer = Tokenizer(bits=10).fit(treebank * 20)
    >>> [sentence.forms for sentence in tokenizer.tokenize("They go. Go!")]
    [('They', 'go', '.'), ('Go', '!')]
    """

    task: ClassVar[str] = "tokenization"
    annotates: ClassVar[str] = "tokenization"
    settings: ClassVar[tuple[Setting, ...]] = (BITS, SEED)

    def __init__(
        self, *, learner: str | Learner | dict[str, Any] = "exploration", bits: int = 20, seed: int = 0
    ) -> None:
        self.learner = learner
        self.bits = bits
        self.seed = seed

    policy_: LinearPolicy
    words_: dict[str, int]
    """The statistics of words: a small number for how often they are capitalised and begin sentences."""
    dense_: bool
    """Whether tokens may end between two letters."""
    spaced_: bool
    """Whether tokens may have spaces in them."""
    multiword_: MultiwordTokens
    multiword_policy_: LinearPolicy | None

    def needs(self) -> tuple[str, ...]:
        """Return the required layer: the text."""
        return ("text",)

    def gives(self) -> tuple[str, ...]:
        """Return the layer that it adds: words."""
        return ("words",)

    # ---- learning

    @classmethod
    def learners(cls) -> tuple[type[Learner], ...]:
        """Return the classes of supported learners."""
        from treewright.learners import Imitation

        return (Imitation,)

    def _usual(self, learner: Mapping[str, Any]) -> Mapping[str, Any]:
        return usual_choices(learner, passes=6, r=30.0)

    def _fit(self, corpus: Corpus, dev: Corpus | None, running: Running) -> None:
        from treewright.learners import train
        from treewright.learners.checkpoints import Judge

        learner = self._make_learner()
        sentences = read_corpus(corpus)
        if not any(map(len, sentences)):
            raise CorpusError("there is nothing to learn from: no words", path=sentences[0].path)
        dev_sentences = None if dev is None else read_corpus(dev)
        corpora = {"train": corpus_hash(sentences)}
        forms = [[token.form for token in surface_tokens(sentence)] for sentence in sentences]
        self.words_ = known_words(forms)
        self.__dict__.pop("_chunk_row", None)  # left from an earlier training
        self.spaced_ = any(len(form.split()) > 1 for own in forms for form in own)
        self.dense_ = letters_meet(sentences) >= _DENSE
        packed, evaluate = self._pack_gold(sentences), None
        if dev_sentences is not None:
            corpora["dev"] = corpus_hash(dev_sentences)
            evaluate = Judge(self._accuracy_on(self._pack_gold(dev_sentences), running["jobs"]), corpora["dev"])
        trained = train(learner, packed, bits=self.bits, seed=self.seed, evaluate=evaluate, **running)
        self.policy_, self.history_ = trained.policy.compressed(_MOST_WEIGHTS).coded(), trained.history
        self._fit_multiword(sentences, running)
        self.card_ = self._make_card(corpora, self._dev_score("dev accuracy"))

    def _fit_multiword(self, sentences: Sequence[Sentence], running: Running) -> None:
        """Learn which tokens consist of several words. This takes seconds, so there is no checkpoint and no report."""
        from treewright.learners import Imitation, make_learner, train

        rules = token_rules(sentences)
        self.multiword_, self.multiword_policy_ = MultiwordTokens.learn(chain.from_iterable(rules)), None
        if self.multiword_.any:
            tokens, gold = ([[pair[place] for pair in own] for own in rules] for place in (0, 1))
            packed = self.multiword_.pack(tokens, gold)
            learner = make_learner(_MULTIWORD, Imitation)
            trained = train(learner, packed, bits=_MULTIWORD_BITS, seed=self.seed, jobs=running["jobs"])
            self.multiword_policy_ = trained.policy.compressed(_MOST_WEIGHTS).coded()

    def _accuracy_on(self, packed: Packed, jobs: int) -> Callable[[LinearPolicy], float]:
        def accuracy(policy: LinearPolicy) -> float:
            labels, _ = policy.compressed(_MOST_WEIGHTS).decode(packed, seed=self.seed, jobs=jobs).field("labels")
            return float((labels == packed.arrays.gold).sum()) / max(1, len(labels))

        return accuracy

    def _pack_gold(self, sentences: Sequence[Sentence]) -> Packed:
        texts = list(gold_paragraphs(paragraphs(sentences)))
        flat = encode_chunks([text.split(" ") for text, _ in texts], self._chunk_row, dense=self.dense_)
        labels = np.concatenate([labels for _, labels in texts])
        of = np.repeat(flat["chars_at"][:-1], np.diff(flat["points_at"]))
        return self._packed(flat, labels[flat["points"] + of])

    @cached_property
    def _chunk_row(self) -> Callable[[str], bytes]:
        return chunk_rows(self.words_)

    def _packed(self, flat: dict[str, Any], gold: npt.NDArray[np.int32] | None = None) -> Packed:
        if gold is None:
            gold = np.full(len(flat["points"]), -1, np.int32)
        lengths = np.diff(flat["points_at"]).astype(np.int32)
        return Tokenization(self.spaced_).packed(lengths, {**flat, "gold": gold, "gold_at": flat["points_at"]})

    # ---- tokenizing

    def tokenize(self, text: str, *, lines: bool = False, jobs: int = 1) -> list[Sentence]:
        """Return the sentences of a text.

        In the last column, ``TokenRange`` is the position of a token, in characters; ``SpaceAfter``, ``SpacesAfter``
        and ``SpacesBefore`` give the white space around it, so that :func:`~treewright.text.raw.raw_text` restores the
        text. A text without tokens has no sentences. Blank lines always end a sentence; with ``lines``, so does every
        line end.
        """
        if not isinstance(text, str):
            raise ConfigError(f"a text is a string, not {text!r}")
        return list(self.stream([text], lines=lines, jobs=jobs))

    def tokenize_all(self, texts: Sequence[str], *, lines: bool = False, jobs: int = 1) -> list[list[Sentence]]:
        """Return the sentences of each of several texts, as :meth:`tokenize` does.

        All texts are decoded together, which is many times faster for short texts.
        """
        self._check_fitted()
        jobs = whole_number("jobs", jobs, 1)
        return self._sentences("\n\n".join(texts), [len(text) for text in texts], lines, jobs)

    def stream(self, pieces: Iterable[str], *, lines: bool = False, jobs: int = 1) -> Iterator[Sentence]:
        """Yield the sentences of a text that comes in pieces, such as lines with their ends.

        Memory does not grow with the text, and the result does not depend on how the text is divided into pieces. After
        an empty piece, all paragraphs that are complete come at once: those after which another one has begun.
        """
        self._check_fitted()
        jobs = whole_number("jobs", jobs, 1)
        waiting: list[str] = []
        size = offset = 0
        enough = _PIECE
        number = 0
        for part in (piece[at : at + _PIECE] for piece in pieces for at in range(0, len(piece) or 1, _PIECE)):
            waiting.append(part)
            size += len(part)
            if size < enough and part:
                continue
            text = "".join(waiting)
            chunks = find_chunks(text, lines=lines)
            # the last paragraph may be incomplete; the white space before it belongs to the previous paragraph
            done = int(chunks.starts[chunks.paragraphs[-1]]) if len(chunks.paragraphs) > 1 else 0
            for sentence in self._sentences(text[:done], [done], lines, jobs, offset, number)[0] if done else ():
                number += 1
                yield sentence
            waiting, size, offset = [text[done:]], size - done, offset + done
            enough = max(_PIECE, 2 * size)  # so that a paragraph of any length is examined only a few times
        yield from self._sentences("".join(waiting), [size], lines, jobs, offset, number)[0]

    @uncollected()
    def _sentences(
        self, joint: str, sizes: Sequence[int], lines: bool, jobs: int, offset: int = 0, number: int = 0
    ) -> list[list[Sentence]]:
        """Return the sentences of each of several texts.

        ``joint`` has the texts with a blank line between them, and ``sizes`` the length of each. Positions
        within each text begin at ``offset``, and the numbers of its sentences after ``number``.
        """
        chunks = find_chunks(joint, lines=lines)
        if not len(chunks.starts):
            return [[] for _ in sizes]
        with at_once(1 + len(chunks.starts) // 4):  # its share of the time that a pipeline takes for a word
            starts, ends, last, first = self._tokens(joint, chunks, jobs)
            begins, stops = starts.tolist(), ends.tolist()
            forms = [joint[a:b] for a, b in zip(begins, stops, strict=True)]
            pairs = list(pairwise([0, *(np.flatnonzero(last) + 1).tolist()]))  # the tokens of each sentence
            divided = self._divided([forms[a:b] for a, b in pairs], jobs)
        text_starts = np.array([0, *accumulate(size + 2 for size in sizes)], np.int64)
        edges = np.searchsorted(starts, text_starts)  # the tokens of each text
        misc = _miscellaneous(joint, starts, ends, text_starts, edges, offset)
        nothing = repeat("_")
        tokens = list(map(make_token, zip(forms, *[nothing] * 4, repeat(None), *[nothing] * 2, misc, strict=False)))
        paragraphs, found = set(first.tolist()), list[list[Sentence]]()
        rest = zip(pairs, divided, strict=True)
        for at, end in pairwise(edges.tolist()):
            built: list[Sentence] = []
            while at < end:
                (a, at), words = next(rest)
                line = " ".join(joint[begins[a] : stops[at - 1]].split())
                newpar = ("# newpar",) if a in paragraphs else ()
                comments = (*newpar, f"# sent_id = {number + len(built) + 1}", f"# text = {line}")
                if words:
                    built.append(_sentence(tokens[a:at], words, comments))
                else:
                    built.append(Sentence(tuple(tokens[a:at]), comments))
            found.append(built)
        return found

    def _tokens(self, text: str, chunks: Chunks, jobs: int) -> tuple[Longs, Longs, npt.NDArray[np.bool_], Longs]:
        """Return the starts and ends of tokens, the tokens that end a sentence, and the first tokens of paragraphs."""
        strings = [text[a:b] for a, b in zip(chunks.starts.tolist(), chunks.ends.tolist(), strict=True)]
        bounds = [*chunks.paragraphs.tolist(), len(strings)]
        blocks = [strings[a:b] for a, b in pairwise(bounds)]
        flat = encode_chunks(blocks, self._chunk_row, dense=self.dense_)
        packed = self._packed(flat)
        labels = self.policy_.decode(packed, seed=self.seed, jobs=jobs).field("labels")[0]
        # the chunk of each point, and the position of the point in the text
        block = np.repeat(np.arange(len(blocks)), np.diff(flat["points_at"]))
        within = flat["points"].astype(np.int64)
        chunk = flat["chunk"][within + flat["chars_at"][block]]
        begin = flat["start"][chunk + flat["start_at"][block]]
        number = chunk + chunks.paragraphs[block]
        place = chunks.starts[number] + within - begin
        if self.spaced_:
            ended = (place + 1 == chunks.ends[number]) & self._breaks(text, chunks)[number]
            labels = np.where((labels == INSIDE) & ended, TOKEN, labels)
        kept = labels != INSIDE
        ends, number = place[kept] + 1, number[kept]
        # a token begins at the end of the previous one, or with the next chunk
        closed = ends == chunks.ends[number]
        following = np.where(closed, chunks.starts[np.minimum(number + 1, len(strings) - 1)], ends)
        starts = np.concatenate([chunks.starts[:1], following[:-1]])
        return starts, ends, labels[kept] == SENTENCE, np.searchsorted(starts, chunks.starts[chunks.paragraphs])

    def _breaks(self, text: str, chunks: Chunks) -> npt.NDArray[np.bool_]:
        """Mark the chunks after which a token always ends: those followed by anything other than one space."""
        following = np.append(chunks.starts[1:], len(text))
        one = following - chunks.ends == 1
        return np.array([not (o and text[e] in " \u00a0") for o, e in zip(one, chunks.ends, strict=True)], np.bool_)

    def _divided(self, sentences: Sequence[Sequence[str]], jobs: int) -> list[dict[int, list[str]]]:
        """Return the words of the multiword tokens of each sentence, by the position of the token."""
        found: list[dict[int, list[str]]] = [{} for _ in sentences]
        if self.multiword_policy_ is None:
            return found
        needed = {number: own for number, each in enumerate(sentences) if (own := self.multiword_.needed(each))}
        if not needed:
            return found
        packed, chosen = self.multiword_.pack(list(needed.values())), list(needed)
        labels, at = self.multiword_policy_.decode(packed, seed=self.seed, jobs=jobs).field("labels")
        several = np.flatnonzero(labels != self.multiword_.numbers[WHOLE])
        of = np.searchsorted(at, several, "right") - 1
        for token, k in zip(several.tolist(), of.tolist(), strict=True):
            sentence, place = chosen[k], token - int(at[k])
            words = divide(sentences[sentence][place], self.multiword_.rules[labels[token]])
            if words is not None:
                found[sentence][place] = words
        return found

    # ---- annotated sentences, which already have tokens

    def _decode(self, batch: list[Sentence], jobs: int) -> list[Sentence]:
        return batch

    def _analysed(self, gold: Sequence[Sentence], jobs: int) -> list[Sentence]:
        """Return the sentences found in the text of a treebank; each paragraph is a separate text."""
        return [s for own in paragraphs(gold) for s in self.tokenize(raw_text(own), jobs=jobs)]

    def _gold(self, corpus: Corpus) -> list[Sentence]:
        return read_corpus(corpus)

    def _score(self, gold: Sequence[Sentence], predicted: Sequence[Sentence], **options: Any) -> TokenScores:
        blocks = list(paragraphs(gold))
        return score_tokens(blocks, _like(blocks, predicted), seed=self.seed)

    def _compare(
        self, gold: Sequence[Sentence], a: Sequence[Sentence], b: Sequence[Sentence], **options: Any
    ) -> Comparison:
        blocks = list(paragraphs(gold))
        return compare_tokens(blocks, _like(blocks, a), _like(blocks, b), **options)

    def _count_by_sentence(self, gold: Sequence[Sentence], predicted: Any, **options: Any) -> npt.NDArray[np.float64]:
        blocks = list(paragraphs(gold))
        return count_words(blocks, _like(blocks, predicted))

    def _trace(self, sentence: Sentence, gold: Sentence | None, follow: str) -> Trace:
        return trace_tokens(self, sentence, gold, follow)

    # ---- the model file

    def _learned(self) -> tuple[dict[str, Any], dict[str, Any]]:
        words = sorted(self.words_)
        arrays = {
            **self.policy_.to_arrays(),
            **pack_strings(words, "known"),
            "known_flags": np.array([self.words_[word] for word in words], np.uint8),
            **self.multiword_.to_arrays(),
        }
        if self.multiword_policy_ is not None:
            arrays |= {f"multiword_{name}": array for name, array in self.multiword_policy_.to_arrays().items()}
        return {"dense": self.dense_, "spaced": self.spaced_}, arrays

    def _restore(self, settings: dict[str, Any], arrays: dict[str, Any]) -> None:
        self.dense_, self.spaced_ = bool(settings["dense"]), bool(settings["spaced"])
        self.policy_ = LinearPolicy.from_arrays(arrays)
        known = zip(unpack_strings(arrays, "known"), arrays["known_flags"].tolist(), strict=True)
        self.words_ = dict(known)
        self.multiword_ = MultiwordTokens.from_arrays(arrays)
        own = {name.removeprefix("multiword_"): a for name, a in arrays.items() if name.startswith("multiword_")}
        self.multiword_policy_ = LinearPolicy.from_arrays(own) if own else None


def _miscellaneous(joint: str, starts: Longs, ends: Longs, text_starts: Longs, edges: Longs, offset: int) -> list[str]:
    """Return the last column of each token: the white space around it, and its position in its text.

    ``text_starts`` has the position of each text in ``joint``, and ``edges`` the number of its first token.
    """
    counts = np.diff(edges)
    following = np.append(starts[1:], 0)  # the end of the white space after each token
    following[edges[1:][counts > 0] - 1] = text_starts[1:][counts > 0] - 2
    spaces = [joint[a:b] for a, b in zip(ends.tolist(), following.tolist(), strict=True)]
    before = {gap: "" if gap == " " else f"SpacesAfter={encode_spaces(gap)}|" for gap in set(spaces) if gap}
    before[""] = "SpaceAfter=No|"
    shift = offset - np.repeat(text_starts[:-1], counts)
    places = zip((starts + shift).tolist(), (ends + shift).tolist(), spaces, strict=True)
    misc = [f"{before[gap]}TokenRange={a}:{b}" for a, b, gap in places]
    for begin, token in zip(text_starts[:-1][counts > 0].tolist(), edges[:-1][counts > 0].tolist(), strict=True):
        if gap := joint[begin : starts[token]]:
            misc[token] = f"SpacesBefore={encode_spaces(gap)}|{misc[token]}"
    return misc


def _sentence(tokens: list[Token], divided: Mapping[int, Sequence[str]], comments: tuple[str, ...]) -> Sentence:
    """Return a sentence in which some tokens are divided into words."""
    found, extras, done = list[Token](), list[tuple[int, str]](), 0
    for place, words in divided.items():  # in the order of the text
        found += tokens[done:place]
        first, whole = len(found) + 1, tokens[place]
        row = "\t".join([f"{first}-{first + len(words) - 1}", whole.form, *["_"] * 7, whole.misc])
        extras.append((len(found), row))
        found += map(Token, words)
        done = place + 1
    return Sentence((*found, *tokens[done:]), comments, tuple(extras))


def _like(blocks: Sequence[Sequence[Sentence]], found: Sequence[Sentence]) -> list[list[Sentence]]:
    """Assign the sentences found to paragraphs by the number of their characters."""
    parted: list[list[Sentence]] = []
    rest = iter(found)
    for block in blocks:
        size, own = sum(map(_size, block)), list[Sentence]()
        while size > 0:
            sentence = next(rest)
            own.append(sentence)
            size -= _size(sentence)
        parted.append(own)
    return parted


def _size(sentence: Sentence) -> int:
    """Return the number of characters of a sentence without white space."""
    return sum(len("".join(token.form.split())) for token in surface_tokens(sentence))
