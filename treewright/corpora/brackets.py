r"""Trees in brackets, the format of the Penn Treebank: read as a stream, written one tree per line.

A tree is a label and its children between brackets; a word is the only child of its tag::

    ((S (NP-SBJ-1 (PRP They)) (VP (VBD sat) (NP (-NONE- *T*-1))) (. .)))

The tree of a sentence is kept *as it is in the file*: the outermost node without a label (its label is then ``""``),
traces (``-NONE-``), function tags and indices (``NP-SBJ-1``), escapes (``-LRB-``). :func:`clean_tree` removes what
parsers do not predict. The tokens are the words that are not traces, and their ``xpos`` is the tag without functions.

>>> import io
>>> text = "((S (NP-SBJ-1 (PRP They)) (VP (VBD sat) (NP (-NONE- *T*-1))) (. .)))\n"
>>> [sentence] = read_ptb(io.StringIO(text))
>>> sentence.forms, sentence.column("xpos")
(('They', 'sat', '.'), ('PRP', 'VBD', '.'))
>>> print(clean_tree(sentence.tree))
(S (NP (PRP They)) (VP (VBD sat)) (. .))
>>> format_ptb(sentence) == text
True

A tree may span lines, and a line may contain several trees. Spaces, tabs and line ends are separators; every other
character may be part of a label or a word. Two cases are less obvious:

- Several bare words under one tag, as in ``(NN Xpd TTD)``, are *one* leaf with a space in it: CRAFT has a few.
- Words beside trees, as in ``(NP the (NN cat))``, are an error: a word without a tag is most likely one whose
  brackets were lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from operator import is_
from sys import intern

from treewright.corpora.files import MOST_WORDS, Source, Target, source_name, text_lines, text_writer, too_long
from treewright.corpora.trees import Tree
from treewright.corpora.types import Sentence, Token
from treewright.errors import CorpusError

__all__ = [
    "TOP_LABELS",
    "TRACE",
    "clean_label",
    "clean_tree",
    "format_ptb",
    "parse_ptb",
    "read_ptb",
    "write_ptb",
]

TRACE = "-NONE-"
"""The tag of traces and other empty elements."""

TOP_LABELS = frozenset(["", "TOP", "ROOT", "S1"])
"""Labels of the node that treebanks and parsers put around the whole sentence."""

# A tag with its word, as nearly all are written; the beginning of a tree; its end; a word or label by itself.
_PIECE = re.compile(r"\([^ \t\r()]+ [^ \t\r()]+\)|\([^ \t\r()]*|\)|[^ \t\r()]+")
_LABEL = re.compile(r"[^ \t\r\n\0()]*")
_LEAF = re.compile(r"[^ \t\r\n\0()]+(?: [^ \t\r\n\0()]+)*")
_FUNCTIONS = re.compile(r"(?<=[^-=])[-=].*", re.DOTALL)
_WORDS_TO_REMEMBER = 1 << 16
_LONG = 1 << 16  # characters of a line from which on a list of its pieces would take too much memory


def read_ptb(source: Source) -> Iterator[Sentence]:
    """Yield the sentences of a file or stream of bracketed trees; memory does not grow with the file.

    Raises :class:`CorpusError`, with the line, at the first text that is not a tree, and for a source without trees.
    """
    return parse_ptb(text_lines(source), source_name(source))


def write_ptb(sentences: Iterable[Sentence], target: Target) -> None:
    """Write the trees of sentences, one per line; a path is written whole or not at all."""
    with text_writer(target) as write:
        for sentence in sentences:
            write(format_ptb(sentence))


def parse_ptb(lines: Iterable[str], path: str | None = None) -> Iterator[Sentence]:
    """The sentences in lines of bracketed trees (without line ends); ``path`` is for messages."""
    words = _Words()
    # The innermost tree that is open: its label, what it has so far, and how much of that are bare words (all or
    # nothing). Those around it wait on the stack.
    label = ""
    children: list[Tree | str] = []
    bare = 0
    stack: list[tuple[str, list[Tree | str]]] = []
    tokens: list[Token] = []
    number, begun, empty = 0, 0, True
    for number, line in enumerate(lines, 1):
        if "\0" in line:
            raise _error("a zero byte: this looks like a binary file or UTF-16; save it as UTF-8 text", path, number)
        for piece in _PIECE.findall(line) if len(line) < _LONG else (found[0] for found in _PIECE.finditer(line)):
            if piece[-1] != ")":
                if piece[0] == "(":
                    if bare:
                        raise _error(_mixed(label, children), path, number)
                    if not stack:
                        begun = number
                    stack.append((label, children))
                    if len(stack) > MOST_WORDS:
                        raise too_long(path, number)
                    label, children = intern(piece[1:]), []
                elif not stack:
                    raise _error(_outside(piece), path, number)
                elif not label and not children:  # a label after a space, as in "( S"
                    label = intern(piece)
                elif children and not bare:
                    raise _error(_mixed(label, [piece]), path, number)
                else:
                    children.append(piece)
                    bare += 1
                    if bare > MOST_WORDS:
                        raise too_long(path, number)
                continue
            if len(piece) > 1:
                tree, token = words[piece]
                if bare:
                    raise _error(_mixed(label, children), path, number)
                if not stack:
                    begun = number
            else:
                if not children:
                    raise _error(_no_children(label, bool(stack)), path, number)
                if bare:
                    tree, token = _word(label, " ".join(map(str, children)))
                    bare = 0
                else:
                    tree, token = Tree(label, tuple(children)), None
                label, children = stack.pop()
            if token is not None:
                tokens.append(token)
                if len(tokens) > MOST_WORDS:
                    raise too_long(path, number)
            if stack:
                children.append(tree)
            else:
                yield Sentence(tuple(tokens), tree=tree, path=path, line=begun)
                tokens, empty = [], False
    if stack:
        raise _error(
            f"the tree that begins here has no end: {len(stack)} closing bracket(s) missing, here or in a tree below",
            path,
            begun,
        )
    if empty:
        raise CorpusError(f"no tree in it: {'only blank lines' if number else 'it is empty'}", path=path)


class _Words(dict[str, tuple[Tree, Token | None]]):
    """``(DT the)`` as a tree and a token. Most words have been seen before, and trees and tokens can be shared."""

    def __missing__(self, piece: str) -> tuple[Tree, Token | None]:
        if len(self) >= _WORDS_TO_REMEMBER:
            self.clear()  # memory must not grow with the file
        tag, word = piece[1:-1].split(" ")
        self[piece] = found = _word(intern(tag), word)
        return found


def _word(tag: str, word: str) -> tuple[Tree, Token | None]:
    """A preterminal, and its token unless it is a trace."""
    return Tree(tag, (word,)), None if tag == TRACE else Token(word, xpos=intern(clean_label(tag)))


def _error(message: str, path: str | None, line: int) -> CorpusError:
    return CorpusError(message, path=path, line=line)


def _outside(piece: str) -> str:
    return f"{_quoted(piece)} stands outside of all brackets; remove it, or is this not a file of trees?"


def _no_children(label: str, inside: bool) -> str:
    if not inside:
        return "a closing bracket too many: no tree is open here; remove it, or is an opening one missing above?"
    what = f"({label})" if len(label) <= 40 else f"({label[:40]}…)"
    return f"an empty tree, {what}; write a word or a tree in it, or remove it"


def _mixed(label: str, words: list[Tree | str]) -> str:
    return (
        f"a word, {_quoted(str(words[0]))}, beside a tree under {_quoted(label)}; "
        "give the word brackets and a tag of its own, as in (NN cat), or is a bracket missing?"
    )


def _quoted(value: str) -> str:
    return repr(value if len(value) <= 40 else value[:40] + "…")


def escaped_brackets(tree: Tree | None) -> Tree | None:
    """Return a tree that can be written in brackets: those in words are as the Penn Treebank has them.

    >>> print(escaped_brackets(Tree("NP", (Tree("-LRB-", ("(",)), Tree("NN", ("cat",))))))
    (NP (-LRB- -LRB-) (NN cat))
    """
    if tree is None or not any("(" in word or ")" in word for word in tree.leaves()):
        return tree
    done: list[Tree] = []
    for node in reversed(list(tree.subtrees())):  # children before parents, the last first
        if node.is_preterminal:
            word = str(node.children[0]).replace("(", "-LRB-").replace(")", "-RRB-")
            done.append(Tree(node.label, (word,)))
        else:
            children = [done.pop() for _ in node.children]
            done.append(Tree(node.label, tuple(children)))
    return done.pop()


def format_ptb(sentence: Sentence) -> str:
    r"""The tree of one sentence as a line, with its end; a label that is empty leaves no space behind it.

    >>> words = Tree("NP", (Tree("DT", ("the",)), Tree("NN", ("cat",))))
    >>> format_ptb(Sentence((), tree=Tree("", (words,))))
    '((NP (DT the) (NN cat)))\n'

    What could not be read back is refused: a sentence without a tree, words beside trees or beside words, brackets
    and tabs in labels and words.
    """
    if sentence.tree is None:
        raise CorpusError(
            "cannot be written as a tree: it has none; choose another format, or parse it first",
            path=sentence.path,
            line=sentence.line,
        )
    parts: list[str] = []
    problem = None
    opening = "("
    stack: list[Tree | str | None] = [sentence.tree]
    while stack:
        node = stack.pop()
        if node is None:
            parts.append(")")
            continue
        if isinstance(node, str):
            problem = f"the word {_quoted(node)} has no tag of its own"
            break
        label, children = node.label, node.children
        if not _LABEL.fullmatch(label):
            problem = f"the label {_quoted(label)} has a space, a bracket or a line end in it"
            break
        if len(children) == 1 and isinstance(children[0], str):
            if not label:
                problem = f"the tag of the word {_quoted(children[0])} is empty"
                break
            if not _LEAF.fullmatch(children[0]):
                problem = f"the word {_quoted(children[0])} is empty, or has a bracket or white space in it"
                break
            parts.append(f"{opening}{label} {children[0]})")
            opening = " ("
        else:
            parts.append(opening + label)
            opening = " (" if label else "("
            stack.append(None)
            stack.extend(reversed(children))
    if problem:
        message = f"cannot be written in brackets: {problem}; correct the tree"
        raise CorpusError(message, path=sentence.path, line=sentence.line)
    return "".join(parts) + "\n"


def clean_label(label: str) -> str:
    """A label without function tags and indices; a label that begins with a hyphen is returned unchanged.

    >>> [clean_label(label) for label in ["NP-SBJ-1", "NP=2", "ADVP|PRT", "PRP$", "-LRB-", "-NONE-", ""]]
    ['NP', 'NP', 'ADVP|PRT', 'PRP$', '-LRB-', '-NONE-', '']
    """
    return label if label[:1] in ("-", "=", "") else _FUNCTIONS.sub("", label, count=1)


def clean_tree(tree: Tree, *, traces: bool = True, functions: bool = True, top: bool = True) -> Tree | None:
    """The tree without the parts that parsers usually do not predict; None if nothing is left.

    Unchanged subtrees are shared with the given tree. Each option removes one kind of part:

    - ``traces``: words tagged ``-NONE-``, and nodes that have no other words;
    - ``functions``: function tags and indices, so that ``NP-SBJ-1`` and ``NP=2`` become ``NP``
      (:func:`clean_label`);
    - ``top``: an outermost node labelled ``""``, ``TOP``, ``ROOT`` or ``S1``, if it has one child and that is a tree. A
      node with several children stays, because without it there would be several trees.

    >>> clean_tree(Tree("NP-SBJ", (Tree("-NONE-", ("*",)),))) is None
    True
    """
    found = _rebuilt(tree, traces, functions) if traces or functions else tree
    while top and found is not None and found.label in TOP_LABELS and len(found.children) == 1:
        (child,) = found.children
        if isinstance(child, str):
            break
        found = child
    return found


def _rebuilt(tree: Tree, traces: bool, functions: bool) -> Tree | None:
    parents_first: list[Tree | str] = []  # and from right to left, so that backwards, children come in their order
    stack: list[Tree | str] = [tree]
    while stack:
        node = stack.pop()
        parents_first.append(node)
        if not isinstance(node, str):
            children = node.children
            if len(children) > 1 or not isinstance(children[0], str):
                stack.extend(children)
    done: list[Tree | str | None] = []
    for node in reversed(parents_first):
        if isinstance(node, str):
            done.append(node)
            continue
        label, children = node.label, node.children
        if functions:
            label = _known_clean_label(label)
        if len(children) == 1 and isinstance(children[0], str):
            if traces and node.label == TRACE:
                done.append(None)
            else:
                done.append(node if label == node.label else Tree(label, children))
            continue
        arity = len(children)
        kept = done[-arity:]
        del done[-arity:]
        if label == node.label and all(map(is_, kept, children)):
            done.append(node)  # nothing has changed below
        elif remaining := tuple([child for child in kept if child is not None]):
            done.append(Tree(label, remaining))
        else:
            done.append(None)
    (found,) = done
    assert not isinstance(found, str)
    return found


_known_clean_label = lru_cache(maxsize=4096)(clean_label)  # a look-up is faster than a regular expression
