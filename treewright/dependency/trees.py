"""Checks of dependency trees before training, and their crossing arcs.

The head of a word is the id of another word, or 0 for the root, which is left of the first word. A list of heads starts
with word 1: in ``[2, 0, 2]`` the head of words 1 and 3 is word 2.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from treewright.corpora import Sentence
from treewright.errors import CorpusError

__all__ = ["check_tree", "check_trees", "crossing_arcs", "is_projective", "word_line"]

_NAMED_AT_MOST = 8  # words in a message


def check_trees(sentences: Iterable[Sentence]) -> None:
    """Raise a :class:`CorpusError` at the first sentence whose heads are not a tree, as :func:`check_tree` does."""
    for number, sentence in enumerate(sentences, 1):
        try:
            check_tree(sentence)
        except CorpusError as error:
            if sentence.path is not None:
                raise
            raise CorpusError(f"sentence {number}: {error}", line=error.line) from None


def check_tree(sentence: Sentence) -> None:
    """Raise a :class:`CorpusError` unless every word has a head, one word is the root, and it dominates all others.

    >>> from treewright.corpora import Token
    >>> check_tree(Sentence((Token("They", head=2), Token("sat", head=0))))
    >>> check_tree(Sentence((Token("They", head=0), Token("sat", head=0))))
    Traceback (most recent call last):
    treewright.errors.CorpusError: 2 roots (word 1 'They', word 2 'sat'); leave one with head 0 and attach the others
    """
    words = len(sentence)
    if not words:
        raise CorpusError("a sentence without words; remove it", path=sentence.path, line=sentence.line)
    heads, roots = [0], []
    for word, token in enumerate(sentence.tokens, 1):
        head = token.head
        if head is None:
            what = f"{_named(sentence, word)} has no head; write the id of its head, or 0 for the root"
            raise _error(sentence, word, what)
        if head == word:
            what = f"{_named(sentence, word)} is its own head; write the id of another word, or 0 for the root"
            raise _error(sentence, word, what)
        if not 0 <= head <= words:
            what = f"the head of {_named(sentence, word)} is {head}, outside the sentence of {words} words; correct it"
            raise _error(sentence, word, what)
        if not head:
            roots.append(word)
        heads.append(head)
    if not roots:
        raise _error(sentence, 1, "no root: every word has another one as its head; give one of them the head 0")
    if len(roots) > 1:
        what = f"{len(roots)} roots ({_listed(sentence, roots)}); leave one with head 0 and attach the others"
        raise _error(sentence, roots[1], what)
    if cycle := _cycle(heads):
        what = f"a cycle, each with the next as its head and the last with the first: {_listed(sentence, cycle)}"
        raise _error(sentence, cycle[0], what + "; correct one of their heads")


def word_line(sentence: Sentence, word: int) -> int | None:
    """The line of a word (numbered from 1) in the file that the sentence was read from; None if unknown.

    Multiword tokens and empty nodes before the word have lines of their own.
    """
    if sentence.line is None:
        return None
    return sentence.line + word - 1 + sum(words_before < word for words_before, _ in sentence.extras)


def is_projective(heads: Sequence[int]) -> bool:
    """Whether no two arcs of a tree cross, including the arc from the root.

    >>> is_projective([2, 0, 2]), is_projective([3, 0, 2])
    (True, False)
    """
    # Arcs that do not cross are nested like brackets. In this order an arc comes after all arcs that enclose it.
    arcs = sorted((word, -head) if word < head else (head, -word) for word, head in enumerate(heads, 1))
    ends = [len(heads) + 1]
    for start, minus_end in arcs:
        while ends[-1] <= start:
            ends.pop()
        if -minus_end > ends[-1]:
            return False
        ends.append(-minus_end)
    return True


def crossing_arcs(heads: Sequence[int]) -> list[int]:
    """The words of a tree whose arc is not projective: a word between them and their head is not below that head.

    >>> crossing_arcs([3, 0, 2])
    [1]
    """
    order = _heads_last(heads)
    size = [1] * (len(heads) + 1)
    for word in order:
        size[heads[word - 1]] += size[word]
    # Numbered from the root down, all that is below a word follows it without a gap.
    number, free = [0] * len(size), [1] * len(size)
    for word in reversed(order):
        head = heads[word - 1]
        number[word] = free[head]
        free[head] += size[word]
        free[word] = number[word] + 1
    # The range around a word in which all words are below it. Words below a neighbour are known and skipped, and no
    # word is visited twice, so this takes linear time.
    first, last = list(range(len(size))), list(range(len(size)))
    last[0] = len(heads)
    for word in order:
        below = range(number[word], number[word] + size[word])
        while first[word] > 1 and number[first[word] - 1] in below:
            first[word] = first[first[word] - 1]
        while last[word] < len(heads) and number[last[word] + 1] in below:
            last[word] = last[last[word] + 1]
    return [word for word, head in enumerate(heads, 1) if not first[head] <= word <= last[head]]


def _heads_last(heads: Sequence[int]) -> list[int]:
    """The words of a tree, each after all its descendants."""
    waiting = [0] * (len(heads) + 1)
    for head in heads:
        waiting[head] += 1
    order = [word for word in range(1, len(waiting)) if not waiting[word]]
    for word in order:  # it grows in the loop
        head = heads[word - 1]
        waiting[head] -= 1
        if head and not waiting[head]:
            order.append(head)
    return order


def _cycle(heads: list[int]) -> list[int]:
    """The words of one cycle, from its first word on, each before its head; ``heads[0]`` is the root's, and 0."""
    seen = [0] * len(heads)  # in the walk that started from which word
    for start in range(1, len(heads)):
        word = start
        while word and not seen[word]:
            seen[word] = start
            word = heads[word]
        if word and seen[word] == start:
            cycle = [word]
            while heads[cycle[-1]] != word:
                cycle.append(heads[cycle[-1]])
            k = cycle.index(min(cycle))
            return cycle[k:] + cycle[:k]
    return []


def _error(sentence: Sentence, word: int, what: str) -> CorpusError:
    return CorpusError(what, path=sentence.path, line=word_line(sentence, word))


def _named(sentence: Sentence, word: int) -> str:
    form = sentence.tokens[word - 1].form
    return f"word {word} {form if len(form) <= 40 else form[:40] + '…'!r}"


def _listed(sentence: Sentence, words: list[int]) -> str:
    names = [_named(sentence, word) for word in words[:_NAMED_AT_MOST]]
    return ", ".join(names) + (f" and {len(words) - len(names)} more" if len(names) < len(words) else "")
