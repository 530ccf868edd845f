"""The gold tokens and sentences of a treebank's text, character by character."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from treewright.corpora import Sentence
from treewright.text.raw import surface_tokens
from treewright.text.tokenization import INSIDE, SENTENCE, TOKEN

__all__ = ["gold_paragraphs", "letters_meet"]


def gold_paragraphs(blocks: Iterable[Sequence[Sentence]]) -> Iterator[tuple[str, npt.NDArray[np.int32]]]:
    """Yield the text of each paragraph, with single spaces between chunks, and the gold action at each character.

    >>> [(text, labels)] = gold_paragraphs([[Sentence.from_words(["Go", "on"]), Sentence.from_words(["No"])]])
    >>> text, labels.tolist()
    ('Go on No', [0, 1, 0, 0, 2, 0, 0, 2])
    """
    for block in blocks:
        parts: list[str] = []
        labels: list[int] = []
        for sentence in block:
            tokens = list(surface_tokens(sentence))
            for number, token in enumerate(tokens):
                form = " ".join(token.form.split())
                if not form:
                    continue
                parts.append(form)
                labels += [INSIDE] * (len(form) - 1) + [SENTENCE if number == len(tokens) - 1 else TOKEN]
                if token.after:
                    parts.append(" ")
                    labels.append(INSIDE)
        text = "".join(parts)
        if text.strip():
            yield text.rstrip(), np.array(labels[: len(text.rstrip())], np.int32)


def letters_meet(sentences: Iterable[Sentence]) -> float:
    """Return the share of tokens that end between two letters, without white space."""
    meeting = tokens = 0
    for sentence in sentences:
        previous = None
        for token in surface_tokens(sentence):
            tokens += 1
            if previous is not None and not previous.after and previous.form[-1:].isalpha():
                meeting += token.form[:1].isalpha()
            previous = token
    return meeting / max(1, tokens)
