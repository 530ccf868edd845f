r"""Files of AMR graphs in PENMAN notation with metadata, read as a stream and written back.

A block of lines is a graph: first its metadata in comments, then the graph; an empty line ends it::

    # ::id lpp_1943.289
    # ::snt Chapter 7 .
    (c / chapter :mod 7)

The comments of a sentence are kept unchanged (:func:`metadata` reads them). Its words are those of ``::tok`` or else of
``::snt``, separated by spaces; there may be none. Its graph has all edges in their normal direction.

>>> import io
>>> text = "# ::id 1\n# ::snt The boy wants to go .\n(w / want-01 :ARG0 (b / boy) :ARG1 (g / go-02 :ARG0 b))\n"
>>> [sentence] = read_amr(io.StringIO(text))
>>> sentence.forms[:2], sentence.graph.edges
(('The', 'boy'), (('w', ':ARG0', 'b'), ('w', ':ARG1', 'g'), ('g', ':ARG0', 'b')))
>>> metadata(sentence)
{'id': '1', 'snt': 'The boy wants to go .'}
>>> print(format_amr(sentence), end="")
# ::id 1
# ::snt The boy wants to go .
(w / want-01
   :ARG0 (b / boy)
   :ARG1 (g / go-02
            :ARG0 b))
<BLANKLINE>

Plain graphs, which are nearly all graphs of a corpus, are read here, because reading dominates the time of scoring. The
`penman` library reads everything else (alignments, nodes without a concept) and explains errors. Both give the same
graph.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator
from sys import intern

from treewright.corpora.files import Source, Target, source_name, text_lines, text_writer
from treewright.corpora.graphs import Graph, Triple, normal
from treewright.corpora.notation import DEEPEST
from treewright.corpora.types import Sentence
from treewright.errors import CorpusError

__all__ = ["format_amr", "metadata", "parse_amr", "read_amr", "write_amr"]

# Possessive quantifiers (*+) do not backtrack.
_SPACE, _SYMBOL, _STRING = r"[ \t\r\n\v\f]*+", r'[^ \t\r\n\v\f"()/:~]++', r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
# A role and its node, up to the concept; a role and its atom; the end of a node; any other character.
_PIECE = re.compile(
    rf"{_SPACE}(?:"
    rf"(?:(:{_SYMBOL}){_SPACE})?\({_SPACE}({_SYMBOL}){_SPACE}/{_SPACE}({_SYMBOL})(?=[ \t\r\n\v\f()])"
    rf"|(:{_SYMBOL})[ \t\r\n\v\f]{_SPACE}({_SYMBOL}|{_STRING})(?=[ \t\r\n\v\f)])"
    r"|(\))"
    r"|([^ \t\r\n\v\f]))"
)
MOST_CHARACTERS = 500_000
"""The size of the longest graph that is read: graphs of sentences have a few hundred characters."""

_SENT_ID = re.compile(r"#\s*sent_id\s*=\s*(\S+)")
_PLAIN_TEXT = re.compile(r"#\s*text\s*=\s*((?:(?!::).)*\S)\s*$")  # a text with "::" would be read as metadata
_KEY = re.compile(r"(?:^|\s)::(\S+)")


def read_amr(source: Source) -> Iterator[Sentence]:
    """Yield the sentences of a file or stream of AMR graphs; memory does not grow with the file.

    Raises :class:`CorpusError`, with the line, at the first text that is not a graph, and for a source without graphs.
    A triple that occurs twice is accepted, because parsers produce such graphs; :meth:`Graph.validate` reports it.
    """
    return parse_amr(text_lines(source), source_name(source))


def write_amr(sentences: Iterable[Sentence], target: Target) -> None:
    """Write the graphs of sentences with their metadata; a file is written completely or not at all."""
    with text_writer(target) as write:
        for sentence in sentences:
            write(format_amr(sentence))


def parse_amr(lines: Iterable[str], path: str | None = None) -> Iterator[Sentence]:
    """The sentences in lines of a file of graphs (without line ends); ``path`` is for messages."""
    comments: list[str] = []
    graph: list[str] = []
    number, begun, size, empty, apart = 0, 0, 0, True, False
    for number, line in enumerate(lines, 1):
        start = line.lstrip()[:1]
        if start in ("", "#"):
            if graph:
                yield _sentence(comments, graph, path, begun)
                comments, graph, empty = [], [], False
            if start == "#":
                if apart and {"id", "snt", "tok"} & _metadata(comments).keys():
                    message = "metadata without a graph after it; remove it, or write its graph"
                    raise CorpusError(message, path=path, line=number - 1)
                comments.append(line)
            apart = not start
        else:
            if not graph:
                begun, size = number, 0
            graph.append(line)
            size += len(line)
            if size > MOST_CHARACTERS:
                message = f"a graph of more than {MOST_CHARACTERS:,} characters; is the empty line after it missing?"
                raise CorpusError(message, path=path, line=number)
    if graph:
        yield _sentence(comments, graph, path, begun)
    elif comments and not empty:
        message = "metadata without a graph after it; remove it, or was the end of the file cut off?"
        raise CorpusError(message, path=path, line=number)
    elif empty:
        found = "only comments" if comments else "only blank lines" if number else "it is empty"
        raise CorpusError(f"no graph in it: {found}", path=path)


def _sentence(comments: list[str], graph: list[str], path: str | None, line: int) -> Sentence:
    known = _metadata(comments)
    words = (known.get("tok") or known.get("snt") or "").split()
    text = "\n".join(graph)
    found = _ordinary(text) or _through_penman(text, path, line)
    for message in found.undefined_variables():
        warnings.warn(f"{path or '<stream>'}:{line}: {message}", stacklevel=2)
    return Sentence(Sentence.from_words(words).tokens, tuple(comments), graph=found, path=path, line=line)


def _ordinary(text: str) -> Graph | None:
    """The graph of a text that contains only nodes with concepts, roles, variables and constants; else None."""
    concepts: dict[str, str] = {}
    triples: list[Triple] = []
    open_nodes: list[str] = []
    for role, variable, concept, atom_role, atom, end, surprise in _PIECE.findall(text):
        if end:
            if not open_nodes:
                return None
            open_nodes.pop()
        elif surprise or variable in concepts or bool(open_nodes) != bool(role or atom_role):
            return None  # unexpected text, a node without a role inside another node, or a role outside all nodes
        elif atom_role:
            triples.append((open_nodes[-1], intern(atom_role), atom))
        else:
            if role:
                triples.append((open_nodes[-1], intern(role), variable))
            elif concepts:
                return None  # a second graph
            concepts[variable] = intern(concept)
            open_nodes.append(variable)
            if len(open_nodes) > DEEPEST:
                return None
    if open_nodes or not concepts:
        return None
    edges, attributes = [], []
    for triple in triples:
        _, role, target = triple
        if target not in concepts:
            attributes.append(triple)
        elif role.endswith("-of"):
            edges.append(normal(triple))
        else:
            edges.append(triple)
    instances = tuple(concepts.items())
    return Graph(instances[0][0], instances, tuple(edges), tuple(attributes))


def _through_penman(text: str, path: str | None, line: int) -> Graph:
    """The graph of a text, read by the `penman` library; errors name the line."""
    try:
        graph = Graph._decoded(text)
    except CorpusError as error:
        raise CorpusError(str(error), path=path, line=line + (error.line or 1) - 1) from None
    if twice := graph.named_twice():
        raise CorpusError(f"the variable {twice!r} has more than one concept; rename one", path=path, line=line)
    return graph


def metadata(sentence: Sentence) -> dict[str, str]:
    """The metadata in the comments of a sentence, by key.

    >>> metadata(Sentence((), ("# ::id lpp.1 ::date 2012 ::preferred", "# ::snt Chapter 7 .")))
    {'id': 'lpp.1', 'date': '2012', 'preferred': '', 'snt': 'Chapter 7 .'}
    """
    return _metadata(sentence.comments)


def _metadata(comments: Iterable[str]) -> dict[str, str]:
    known: dict[str, str] = {}
    for comment in comments:
        _, *pairs = _KEY.split(comment.lstrip().lstrip("#"))
        known.update(zip(pairs[::2], map(str.strip, pairs[1::2]), strict=True))
    return known


def format_amr(sentence: Sentence, *, penman: str | None = None) -> str:
    """The text of the graph of one sentence with its metadata, and the empty line that ends it.

    ``penman`` is the graph in PENMAN notation, if it is written already.

    Comments that are not metadata are omitted, but the ``sent_id`` of a file in CoNLL-U becomes an ``::id``. If no
    comment has the words, ``::snt`` is the ``text`` of a file in CoNLL-U, and ``::tok`` are the words if they differ.
    """
    if sentence.graph is None:
        raise CorpusError(
            "cannot be written as a graph: it has none; choose another format, or parse it first",
            path=sentence.path,
            line=sentence.line,
        )
    lines = [comment for comment in sentence.comments if "::" in comment]
    known = metadata(sentence).keys()
    if "id" not in known:
        lines[:0] = [f"# ::id {match[1]}" for comment in sentence.comments if (match := _SENT_ID.match(comment))]
    if len(sentence) and not {"snt", "tok"} & known:
        words = str(sentence)
        text = next((match[1] for comment in sentence.comments if (match := _PLAIN_TEXT.match(comment))), words)
        lines += [f"# ::snt {text}"] if text == words else [f"# ::snt {text}", f"# ::tok {words}"]
    return "\n".join([*lines, sentence.graph.to_penman() if penman is None else penman]) + "\n\n"
