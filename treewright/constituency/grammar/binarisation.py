"""Binarisation of trees and its inverse, with vertical and horizontal Markovisation.

Chart parsers need rules with at most two children. A treebank has longer ones, and its labels are not specific enough:
an NP below S is more often a pronoun than one below VP. :class:`Markovisation` solves both. It adds the nearest
ancestors of a constituent to its name (*vertical* memory), and builds a long constituent child by child, through
intermediate symbols that remember the last generated children (*horizontal* memory; Klein and Manning 2003). Because
they do not remember the others, a grammar read off such trees derives long rules that are not in the treebank.

>>> from treewright.corpora import Tree
>>> children = Tree("DT", ("the",)), Tree("JJ", ("fat",)), Tree("JJ", ("old",)), Tree("NN", ("cat",))
>>> tree = Tree("S", (Tree("NP", children), Tree("VP", (Tree("VBD", ("sat",)),))))
>>> binary = Markovisation(vertical=2, horizontal=1).binarise(tree)
>>> print(binary)
(TOP (S^TOP (NP^S (DT the) (@NP^S|DT (JJ fat) (@NP^S|JJ (JJ old) (NN cat)))) (VP^S (VBD sat))))
>>> Markovisation().restore(binary) == tree
True

Names of symbols
----------------
``TOP``
    the root of every binarised tree, over the tree itself.
``NP^S^TOP``
    a label and up to ``vertical - 1`` ancestors, the nearest first. Tags (the labels directly above words) stay plain
    unless ``tag_parents`` is set.
``@NP^S|DT,JJ``
    a part of an NP^S: the last ``horizontal`` generated siblings, plain, the latest at the end; all of them if
    ``horizontal`` is None, and none after the bar if it is 0.
``@VP^S|VBD#NP,PP~ADVP``
    the same when heads come first: the head, which is always included, then ``#`` and siblings to its right, then ``~``
    and siblings to its left. With a short memory only the last few of them remain, so ``@VP^S|VBD~ADVP`` if it is 1; a
    ``~`` means, even without a sibling, that the right side is complete.

Labels are escaped, so that names are unambiguous: each of ``% ^ @ | , ~ #``, brackets and white space becomes the
hexadecimal numbers of its bytes (``%2C``), the empty label ``%``, and a label ``TOP`` of the treebank ``%54OP``.

The order of generation
-----------------------
A → X₁ X₂ … Xₙ with n ≤ 2 is not changed. Longer rules end with two children at once, to save a symbol:

* ``right``: A → X₁ @A|X₁, @A|X₁ → X₂ @A|X₂, …, @A|Xₙ₋₂ → Xₙ₋₁ Xₙ.
* ``left``, the mirror image: A → @A|Xₙ Xₙ, @A|Xₙ → @A|Xₙ₋₁ Xₙ₋₁, …, @A|X₃ → X₁ X₂.
* ``head``, here with head H, R to its right and L to its left, built up from the head: @A|H#R₁ → H R₁,
  @A|H#R₂ → @A|H#R₁ R₂, …, @A|H~L₁ → L₁ @A|H#Rₖ, …, A → Lₘ @A|H~Lₘ₋₁. As in Collins (1999) and in Klein and Manning,
  the right side is complete before the left one begins, so each rule is built in one way only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import unquote

from treewright.constituency.grammar.heads import head_child
from treewright.corpora import Tree
from treewright.errors import ConfigError, CorpusError
from treewright.settings import whole_number

__all__ = ["DIRECTIONS", "TOP", "Markovisation", "escape_label", "is_intermediate", "plain_label", "project"]

TOP = "TOP"
"""The root of every binarised tree."""

DIRECTIONS = ("right", "left", "head")
"""The orders in which the children of long rules can be generated."""

_RESERVED = re.compile(r"[%^@|,~#\s()\[\]{}]")
_NO_LABEL = "%"  # an escape sequence has two digits after it, so this is none


@dataclass(frozen=True)
class Markovisation:
    """How trees are binarised, and the memory of their symbols.

    ``vertical`` counts the label itself: 1 is no ancestor, 2 the parent. ``horizontal`` counts siblings; None means all
    of them, so that the grammar derives exactly the rules of the treebank. ``direction`` is ``"right"``, ``"left"`` or
    ``"head"``.
    """

    vertical: int = 2
    horizontal: int | None = 1
    direction: str = "right"
    tag_parents: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "vertical", whole_number("vertical", self.vertical, 1))
        if self.horizontal is not None:
            object.__setattr__(self, "horizontal", whole_number("horizontal", self.horizontal, 0))
        if self.direction not in DIRECTIONS:
            raise ConfigError(f"direction must be one of {', '.join(DIRECTIONS)}, not {self.direction!r}")
        if not isinstance(self.tag_parents, bool):
            raise ConfigError(f"tag_parents must be true or false, not {self.tag_parents!r}")

    def binarise(self, tree: Tree) -> Tree:
        """The tree below ``TOP``, with one or two children everywhere; time is linear in its size.

        The children of a constituent must be constituents or a single word, as in every cleaned treebank; anything else
        raises :class:`CorpusError`.
        """
        if not isinstance(tree, Tree):
            raise CorpusError(f"only a Tree can be made binary, not {tree!r}; a sentence has one as .tree")
        memory = self.vertical - 1
        done: list[Tree] = []  # finished trees, left to right; a constituent replaces its children here
        stack: list[tuple[Tree, tuple[str, ...], str]] = [(tree, (TOP,)[:memory], "")]
        while stack:
            node, above, symbol = stack.pop()
            if symbol:  # the way back up
                arity = len(node.children)
                done[-arity:] = [self._joined(symbol, node, done[-arity:])]
                continue
            label = escape_label(node.label)
            if node.is_preterminal:
                done.append(Tree("^".join((label, *above)) if self.tag_parents else label, node.children))
                continue
            stack.append((node, above, "^".join((label, *above))))
            below = (label, *above)[:memory]
            for child in reversed(node.children):
                if isinstance(child, str):
                    raise CorpusError(
                        f"the word {child!r} stands beside other children of {node.label!r}; a tree that is made "
                        "binary has a tag over each word"
                    )
                stack.append((child, below, ""))
        return Tree(TOP, tuple(done))

    def restore(self, tree: Tree) -> Tree:
        """The inverse of :meth:`binarise`: intermediate symbols are removed, and the others become plain labels again.

        This needs only the names of symbols, so it works with any direction and memory.
        """
        if tree.label != TOP or tree.is_preterminal:
            raise CorpusError(f"the root of a binary tree is {TOP}, over a tree, and not {tree.label!r}")
        done: list[Tree | str] = []
        stack: list[Tree | str | tuple[str, int]] = list(reversed(tree.children))
        while stack:
            node = stack.pop()
            if isinstance(node, str):
                done.append(node)
            elif isinstance(node, tuple):  # the way back up: all from here on are its children
                label, first = node
                done[first:] = [Tree(label, tuple(done[first:]))]
            else:
                plain = plain_label(node.label)
                if plain is not None:
                    stack.append((plain, len(done)))
                elif not is_intermediate(node.label):
                    raise CorpusError(f"{TOP} is the root of a binary tree, and cannot be within it")
                stack.extend(reversed(node.children))
        if len(done) != 1 or not isinstance(done[0], Tree):
            raise CorpusError(f"below {TOP} there are {len(done)} trees or words; in a binary tree it is one tree")
        return done[0]

    def _joined(self, symbol: str, node: Tree, parts: Sequence[Tree]) -> Tree:
        """A constituent over its finished children."""
        if len(parts) <= 2:
            return Tree(symbol, tuple(parts))
        labels = [child.label for child in node.children if not isinstance(child, str)]
        if self.direction == "head":
            return self._around(symbol, head_child(node.label, labels), list(map(escape_label, labels)), parts)
        names = list(map(escape_label, labels))
        rightwards = self.direction == "right"
        if not rightwards:
            names, parts = names[::-1], parts[::-1]
        inner = parts[-1]
        for i in range(len(parts) - 2, -1, -1):  # from the innermost pair outwards, which is generated last
            name = symbol if i == 0 else f"@{symbol}|{','.join(names[self._oldest(i) : i])}"
            inner = Tree(name, (parts[i], inner) if rightwards else (inner, parts[i]))
        return inner

    def _around(self, symbol: str, head: int, names: Sequence[str], parts: Sequence[Tree]) -> Tree:
        """Join the head with its siblings to the right, then to the left."""
        order = [*range(head + 1, len(parts)), *range(head - 1, -1, -1)]
        rights = len(parts) - head - 1
        siblings = [names[place] for place in order]
        inner = parts[head]
        for i, place in enumerate(order, 1):
            if i == len(order):
                name = symbol
            else:
                since = self._oldest(i)
                right, left = siblings[since : min(i, rights)], siblings[max(since, rights) : i]
                name = f"@{symbol}|{_outward(names[head], right, left if i > rights else None)}"
            inner = Tree(name, (inner, parts[place]) if place > head else (parts[place], inner))
        return inner

    def _oldest(self, generated: int) -> int:
        """The first of the generated siblings that is within the memory."""
        return 0 if self.horizontal is None else max(0, generated - self.horizontal)


@lru_cache(maxsize=65536)
def escape_label(label: str) -> str:
    """A label as it appears in the names of symbols.

    >>> escape_label("NP-SBJ"), escape_label(","), escape_label(""), escape_label("TOP")
    ('NP-SBJ', '%2C', '%', '%54OP')
    """
    if label == TOP:
        return "%54OP"
    return _RESERVED.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), label) or _NO_LABEL


def unescaped(names: str) -> str:
    """Names of symbols without escapes, for messages.

    >>> unescaped("@S| -> NP %2C @S|")
    '@S| -> NP , @S|'
    """
    return unquote(names)


def is_intermediate(symbol: str) -> bool:
    """Whether a symbol was made for a part of a long rule.

    >>> is_intermediate("@NP^S|DT"), is_intermediate("NP^S")
    (True, False)
    """
    return symbol.startswith("@")


@lru_cache(maxsize=65536)
def plain_label(symbol: str) -> str | None:
    """The treebank's label of a symbol; None for intermediate symbols and ``TOP``.

    >>> plain_label("NP^S"), plain_label("%2C"), plain_label("@NP^S|DT"), plain_label("TOP")
    ('NP', ',', None, None)
    """
    if symbol == TOP or is_intermediate(symbol):
        return None
    label = symbol.partition("^")[0]
    return "" if label == _NO_LABEL else unquote(label)


def project(symbol: str, vertical: int, horizontal: int | None) -> str:
    """The name of a symbol with a shorter memory: more distant ancestors and siblings are removed.

    The symbols of binarised trees become those of the same trees, binarised with this memory (where the other settings
    are equal). A symbol that remembers less is not changed, and neither is ``TOP``.

    >>> project("@NP^S^TOP|DT,JJ", 2, 1), project("NP^S^TOP", 1, None), project("@VP^S|VBD#NP,PP~ADVP", 1, 0)
    ('@NP^S|JJ', 'NP', '@VP|VBD~')
    """
    vertical = whole_number("vertical", vertical, 1)
    if horizontal is not None:
        horizontal = whole_number("horizontal", horizontal, 0)
    name, bar, memory = symbol.partition("|")
    coarse = "^".join(name.split("^", vertical)[:vertical])
    if horizontal is None or not bar:
        return coarse + bar + memory
    marks = re.split("([#~])", memory)
    if len(marks) == 1:
        return coarse + bar + ",".join(_last(_names(memory), horizontal))
    right = _names(marks[2]) if marks[1] == "#" else []
    if marks[-2] == "#":
        return coarse + bar + _outward(marks[0], _last(right, horizontal), None)
    left = _last(_names(marks[-1]), horizontal)
    return coarse + bar + _outward(marks[0], _last(right, horizontal - len(left)), left)


def _outward(head: str, right: Sequence[str], left: Sequence[str] | None) -> str:
    """The memory of a symbol around a head; ``left`` is None as long as the right side is not complete."""
    memory = head
    if right or left is None:
        memory += "#" + ",".join(right)
    return memory if left is None else memory + "~" + ",".join(left)


def _names(text: str) -> list[str]:
    return text.split(",") if text else []


def _last(names: list[str], count: int) -> list[str]:
    return names[max(0, len(names) - count) :]
