"""Sentences with random heads, of three kinds: projective trees, trees, and whatever a bad parser may say."""

from __future__ import annotations

from hypothesis import strategies as st

from treewright.corpora import Sentence, Token

FORMS = ["I", "the", "<&>", "猫が", "cha\u0302t", "WWWWWW", ".", "Donaudampfschiff", '"']
RELATIONS = ["det", "nsubj", "obl:unmarked", "x", "<a&b>", "_"]


def sentence(heads: list[int | None], forms: list[str] | None = None, relations: list[str] | None = None) -> Sentence:
    forms = forms or [f"w{k}" for k in range(1, len(heads) + 1)]
    relations = relations or ["root" if head == 0 else f"r{k}" for k, head in enumerate(heads, 1)]
    columns = zip(forms, heads, relations, strict=True)
    return Sentence(tuple(Token(form, upos="NOUN", head=head, deprel=relation) for form, head, relation in columns))


def is_projective(heads: list[int | None]) -> bool:
    ends = [(min(k, head), max(k, head)) for k, head in enumerate(heads, 1) if head]
    return not any(a < c < b < d for a, b in ends for c, d in ends)


@st.composite
def projective_heads(draw: st.DrawFn) -> list[int | None]:
    heads: list[int | None] = [0] * draw(st.integers(1, 14))
    todo = [(0, 1, len(heads))]  # a head, and the words from here to there that are below it
    while todo:
        head, first, last = todo.pop()
        if first > last:
            continue
        # At a real head the span may fall apart into several dependents; below the artificial root it does not.
        split = last if not head else draw(st.integers(first, last))
        word = draw(st.integers(first, split))
        heads[word - 1] = head
        todo += [(word, first, word - 1), (word, word + 1, split), (head, split + 1, last)]
    return heads


@st.composite
def tree_heads(draw: st.DrawFn) -> list[int | None]:
    order = draw(st.permutations(range(1, draw(st.integers(1, 14)) + 1)))
    heads: list[int | None] = [0] * len(order)
    for k, word in enumerate(order[1:], 1):
        heads[word - 1] = draw(st.sampled_from(order[:k]))
    return heads


@st.composite
def any_heads(draw: st.DrawFn) -> list[int | None]:
    count = draw(st.integers(0, 12))
    choices = [[None, *(head for head in range(count + 1) if head != word)] for word in range(1, count + 1)]
    return [draw(st.sampled_from(heads)) for heads in choices]


@st.composite
def sentences(draw: st.DrawFn) -> Sentence:
    heads = draw(projective_heads() | tree_heads() | any_heads())
    size = {"min_size": len(heads), "max_size": len(heads)}
    return sentence(
        heads, draw(st.lists(st.sampled_from(FORMS), **size)), draw(st.lists(st.sampled_from(RELATIONS), **size))
    )
