"""Constituency trees: immutable, hashable, and safe at any depth.

A :class:`Tree` has a label and children; a child is another tree or a leaf, which is a plain string. A tree
over a single leaf is a *preterminal*, and its label is a part-of-speech tag.

>>> subject = Tree("NP", (Tree("DT", ("the",)), Tree("NN", ("cat",))))
>>> tree = Tree("S", (subject, Tree("VP", (Tree("VBD", ("sat",)),))))
>>> print(tree)
(S (NP (DT the) (NN cat)) (VP (VBD sat)))
>>> tree.leaves(), tree.tags()
(('the', 'cat', 'sat'), ('DT', 'NN', 'VBD'))
>>> tree.spans()
(('S', 0, 3), ('NP', 0, 2), ('VP', 2, 3))

No method recurses, because a grammar with unary loops, or a broken file, may nest deeper than Python's stack allows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from treewright.errors import CorpusError

__all__ = ["Span", "Tree"]

Span = tuple[str, int, int]
"""A labelled span: label, first leaf, one past the last leaf; leaves are counted from 0."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tree:
    """A labelled ordered tree; ``children`` are trees or leaves (strings), at least one.

    Trees are equal if their labels, leaves and shapes are. The hash is computed once, from the hashes of the children.
    """

    label: str
    children: tuple[Tree | str, ...]
    _hash: int = field(init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.children, tuple) or not self.children:
            raise CorpusError(f"the children of {self.label!r} must be a tuple, not empty: {self.children!r}")
        object.__setattr__(self, "_hash", hash((self.label, self.children)))

    @property
    def is_preterminal(self) -> bool:
        """Whether this is a tag over one leaf."""
        return len(self.children) == 1 and isinstance(self.children[0], str)

    def subtrees(self) -> Iterator[Tree]:
        """This tree and all trees below it, parents before children, left to right."""
        stack = [self]
        while stack:
            tree = stack.pop()
            yield tree
            stack.extend([child for child in reversed(tree.children) if not isinstance(child, str)])

    def leaves(self) -> tuple[str, ...]:
        """The words, left to right."""
        words: list[str] = []
        stack: list[Tree | str] = [self]
        while stack:
            node = stack.pop()
            if isinstance(node, str):
                words.append(node)
            else:
                stack.extend(reversed(node.children))
        return tuple(words)

    def preterminals(self) -> tuple[Tree, ...]:
        """The trees over a single leaf, left to right."""
        return tuple([tree for tree in self.subtrees() if tree.is_preterminal])

    def tags(self) -> tuple[str, ...]:
        """The labels of the preterminals, left to right."""
        return tuple([tree.label for tree in self.preterminals()])

    def spans(self) -> tuple[Span, ...]:
        """The labelled span of every constituent that is not a preterminal, parents before children."""
        found: list[Span] = []
        at = 0
        stack: list[Tree | str | tuple[int, int]] = [self]
        while stack:
            node = stack.pop()
            if isinstance(node, tuple):  # the way back up: this constituent ends here
                index, start = node
                found[index] = (found[index][0], start, at)
            elif isinstance(node, str) or node.is_preterminal:
                at += 1
            else:
                stack.append((len(found), at))
                found.append((node.label, at, at))
                stack.extend(reversed(node.children))
        return tuple(found)

    def __str__(self) -> str:
        parts: list[str] = []
        stack: list[Tree | str | None] = [self]
        while stack:
            node = stack.pop()
            if node is None:
                parts.append(")")
            elif isinstance(node, str):
                parts.append(" " + node)
            else:
                parts.append((" (" if parts else "(") + node.label)
                stack.append(None)
                stack.extend(reversed(node.children))
        return "".join(parts)

    def __repr__(self) -> str:
        return f"<Tree {self}>"

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        stack: list[tuple[Tree | str, Tree | str]] = [(self, other)]
        while stack:
            one, two = stack.pop()
            if one is two:
                continue
            if isinstance(one, str) or isinstance(two, str):
                if one != two:
                    return False
            elif one._hash != two._hash or one.label != two.label or len(one.children) != len(two.children):
                return False
            else:
                stack.extend(zip(one.children, two.children, strict=True))
        return True

    def __reduce__(self) -> tuple[Callable[[Iterable[str | tuple[str, int]]], Tree], tuple[object]]:
        # Pickling and copying would recurse too: write the tree flat, children before parents.
        flat: list[str | tuple[str, int]] = []
        stack: list[Tree | str] = [self]
        while stack:
            node = stack.pop()
            if isinstance(node, str):
                flat.append(node)
            else:
                flat.append((node.label, len(node.children)))
                stack.extend(node.children)
        return _unflatten, (flat[::-1],)


def _unflatten(flat: Iterable[str | tuple[str, int]]) -> Tree:
    done: list[Tree | str] = []
    for item in flat:
        if isinstance(item, str):
            done.append(item)
        else:
            label, arity = item
            done[-arity:] = [Tree(label, tuple(done[-arity:]))]
    (tree,) = done
    assert isinstance(tree, Tree)
    return tree
