"""One derivation, four layers: the parts of a constituent.

The grammar builds a sentence once, from three kinds of things: a :class:`Word` knows its tags and its
governor; a :class:`Node` is a concept of the AMR graph; a :class:`Phrase` is a constituent with a lexical
head and a meaning. :func:`combine` states a constituent *and* its dependency arcs at once, so the layers
agree by construction. :func:`finish` reads off a :class:`~treewright.corpora.types.Sentence`.

>>> cat, sat = Word("cat", "cat", "NOUN", "NN"), Word("sat", "sit", "VERB", "VBD")
>>> animal = Node("cat", cat)
>>> event = Node("sit-01", sat).add(":ARG1", animal)
>>> subject = combine("NP", animal, ("det", Word("the", "the", "DET", "DT")), (HEAD, cat))
>>> sentence = finish(combine("S", event, ("nsubj", subject), (HEAD, combine("VP", event, (HEAD, sat)))))
>>> print(sentence.tree)
(S (NP (DT The) (NN cat)) (VP (VBD sat)))
>>> [(token.form, token.head, token.deprel) for token in sentence]
[('The', 2, 'det'), ('cat', 3, 'nsubj'), ('sat', 0, 'root')]
>>> print(sentence.graph.to_penman())
(s / sit-01
   :ARG1 (c / cat))
"""

from __future__ import annotations

from treewright.corpora.builtin.morphology import indefinite
from treewright.corpora.graphs import Alignment, Graph
from treewright.corpora.trees import Tree
from treewright.corpora.types import Sentence, Token

__all__ = ["HEAD", "Node", "Part", "Phrase", "Word", "combine", "coordinate", "finish"]

HEAD = "head"
"""The relation of the part that is the head of a phrase."""


class Word:
    """A future token: its position is known when the sentence is finished.

    ``glued`` words follow without a space: punctuation, *'s*, *n't*.
    """

    __slots__ = ("form", "glued", "governor", "lemma", "position", "relation", "upos", "xpos")

    def __init__(self, form: str, lemma: str, upos: str, xpos: str, glued: bool = False) -> None:
        self.form, self.lemma, self.upos, self.xpos, self.glued = form, lemma, upos, xpos, glued
        self.governor: Word | None = None
        self.relation = "root"
        self.position = -1

    @property
    def lexical(self) -> Word:
        """The lexical head of a word is the word."""
        return self


class Node:
    """A future concept. Its source is words, or the name of a construction, such as ``"imperative-you"``.

    ``reflexive`` is the pronoun that points back to it (*herself*), if known.
    """

    __slots__ = ("attributes", "concept", "construction", "incoming", "outgoing", "reflexive", "words")

    def __init__(self, concept: str, *sources: Word | str) -> None:
        self.concept = concept
        self.words = [source for source in sources if isinstance(source, Word)]
        self.construction = next((source for source in sources if isinstance(source, str)), "")
        self.outgoing: list[tuple[str, Node]] = []
        self.incoming: list[tuple[Node, str]] = []
        self.attributes: list[tuple[str, str]] = []
        self.reflexive = ""

    def add(self, role: str, target: Node | str) -> Node:
        """Add an edge to a node, or an attribute with a constant; return this node."""
        if isinstance(target, str):
            self.attributes.append((role, target))
        else:
            self.outgoing.append((role, target))
            target.incoming.append((self, role))
        return self


class Phrase:
    """A constituent: its parts, its lexical head, its meaning.

    For noun phrases, ``agreement`` is person and number (``"3s"``) and ``kind`` is the class of the noun and its lemma,
    by which verbs select their arguments. ``light`` phrases (pronouns) avoid modifiers and the end of the clause.
    """

    __slots__ = ("agreement", "kind", "label", "lexical", "light", "meaning", "parts")

    def __init__(self, label: str, parts: tuple[Phrase | Word, ...], lexical: Word, meaning: Node) -> None:
        self.label, self.parts, self.lexical, self.meaning = label, parts, lexical, meaning
        self.agreement, self.kind, self.light = "3s", "thing", False

    def like(self, other: Phrase) -> Phrase:
        """Copy the agreement and the kind of another phrase; return this phrase."""
        self.agreement, self.kind = other.agreement, other.kind
        return self

    def append(self, relation: str, part: Phrase | Word) -> Phrase:
        """Add a part at the end, which depends on the head; return this phrase."""
        part.lexical.governor, part.lexical.relation = self.lexical, relation
        self.parts = (*self.parts, part)
        return self

    def prepend(self, relation: str, part: Phrase | Word) -> Phrase:
        """Add a part at the beginning, which depends on the head; return this phrase."""
        part.lexical.governor, part.lexical.relation = self.lexical, relation
        self.parts = (part, *self.parts)
        return self


Part = tuple[str, Phrase | Word]
"""A relation and the part that has it."""


def combine(label: str, meaning: Node, *parts: Part | None) -> Phrase:
    """A phrase of these parts (``None`` is skipped); all depend on the part with the relation ``HEAD``."""
    present = [part for part in parts if part is not None]
    head = next(part.lexical for relation, part in present if relation == HEAD)
    for relation, part in present:
        if relation != HEAD:
            part.lexical.governor, part.lexical.relation = head, relation
    return Phrase(label, tuple([part for _, part in present]), head, meaning)


def coordinate(label: str, meaning: Node, first: Phrase | Word, second: Phrase | Word, *between: Word) -> Phrase:
    """A coordination: the first conjunct is the head; comma and conjunction depend on the second."""
    marks = [("punct" if word.upos == "PUNCT" else "cc", word) for word in between]
    phrase = combine(label, meaning, (HEAD, first), *marks, ("conj", second))
    for word in between:
        word.governor = second.lexical
    return phrase


_BY_TAG = {
    "NN": "Number=Sing",
    "NNS": "Number=Plur",
    "NNP": "Number=Sing",
    "NNPS": "Number=Plur",
    "VB": "VerbForm=Inf",
    "VBD": "Mood=Ind|Tense=Past|VerbForm=Fin",
    "VBG": "Tense=Pres|VerbForm=Part",
    "VBN": "Tense=Past|VerbForm=Part",
    "VBP": "Mood=Ind|Tense=Pres|VerbForm=Fin",
    "VBZ": "Mood=Ind|Number=Sing|Person=3|Tense=Pres|VerbForm=Fin",
    "MD": "VerbForm=Fin",
    "CD": "NumType=Card",
    "JJ": "Degree=Pos",
    "JJR": "Degree=Cmp",
    "RBR": "Degree=Cmp",
    "POS": "_",
}
_BY_FORM = {
    "a": "Definite=Ind|PronType=Art",
    "an": "Definite=Ind|PronType=Art",
    "the": "Definite=Def|PronType=Art",
    "not": "Polarity=Neg",
    "n't": "Polarity=Neg",
    "no": "Polarity=Neg",
    "i": "Case=Nom|Number=Sing|Person=1|PronType=Prs",
    "me": "Case=Acc|Number=Sing|Person=1|PronType=Prs",
    "he": "Case=Nom|Gender=Masc|Number=Sing|Person=3|PronType=Prs",
    "him": "Case=Acc|Gender=Masc|Number=Sing|Person=3|PronType=Prs",
    "she": "Case=Nom|Gender=Fem|Number=Sing|Person=3|PronType=Prs",
    "her": "Case=Acc|Gender=Fem|Number=Sing|Person=3|PronType=Prs",
    "it": "Gender=Neut|Number=Sing|Person=3|PronType=Prs",
    "we": "Case=Nom|Number=Plur|Person=1|PronType=Prs",
    "us": "Case=Acc|Number=Plur|Person=1|PronType=Prs",
    "you": "Person=2|PronType=Prs",
    "they": "Case=Nom|Number=Plur|Person=3|PronType=Prs",
    "them": "Case=Acc|Number=Plur|Person=3|PronType=Prs",
}


def _features(word: Word) -> str:
    if word.xpos == "PRP$":
        return "Poss=Yes|PronType=Prs"
    if word.upos in ("DET", "PRON", "PART"):
        return _BY_FORM.get(word.form.lower(), "_")
    return _BY_TAG.get(word.xpos, "_")


def finish(top: Phrase) -> Sentence:
    """Number the words, decide capitals and *a* / *an*, and read off the four layers."""
    words: list[Word] = []
    _collect(top, words)
    for position, word in enumerate(words):
        word.position = position
        if word.form == "a" and word.xpos == "DT":
            word.form = indefinite(words[position + 1].form)
    words[0].form = words[0].form[0].upper() + words[0].form[1:]
    followers = [*words[1:], None]
    tokens = [
        Token(
            form=word.form,
            lemma=word.lemma,
            upos=word.upos,
            xpos=word.xpos,
            feats=_features(word),
            head=0 if word.governor is None else word.governor.position + 1,
            deprel=word.relation,
            misc="SpaceAfter=No" if follower is not None and follower.glued else "_",
        )
        for word, follower in zip(words, followers, strict=True)
    ]
    return Sentence(tuple(tokens), tree=_tree(top), graph=_graph(top.meaning))


def _collect(phrase: Phrase, words: list[Word]) -> None:
    for part in phrase.parts:
        if isinstance(part, Word):
            words.append(part)
        else:
            _collect(part, words)


def _tree(part: Phrase | Word) -> Tree:
    if isinstance(part, Word):
        return Tree(part.xpos, (part.form,))
    return Tree(part.label, tuple([_tree(child) for child in part.parts]))


def _graph(top: Node) -> Graph:
    """The graph, its triples in reading order: first the roles of a node, then the inverse ones."""
    reached = {top}
    below: dict[Node, list[Node]] = {}  # a spanning tree: the nodes that are written below a node

    def reach(node: Node, others: list[Node]) -> None:
        for other in others:
            if other not in reached:
                reached.add(other)
                below.setdefault(node, []).append(other)
                reach(other, [target for _, target in other.outgoing])

    reach(top, [target for _, target in top.outgoing])
    agenda = [top]
    for node in agenda:  # it grows in the loop; edges are followed backwards only to nodes not reached otherwise
        reach(node, [source for source, _ in node.incoming])
        agenda += below.get(node, [])

    variables: dict[Node, str] = {}
    taken: dict[str, int] = {}
    edges: list[tuple[Node, str, Node]] = []

    def write(node: Node) -> None:
        letter = node.concept[0].lower()
        taken[letter] = taken.get(letter, 0) + 1
        variables[node] = letter if taken[letter] == 1 else f"{letter}{taken[letter]}"
        for role, target in node.outgoing:
            edges.append((node, role, target))
            if target in below.get(node, ()) and target not in variables:
                write(target)
        for other in below.get(node, []):
            if other not in variables:
                write(other)

    write(top)
    alignments: dict[str, Alignment] = {
        variable: node.construction or tuple(sorted([word.position for word in node.words]))
        for node, variable in variables.items()
    }
    return Graph(
        top=variables[top],
        instances=tuple([(variable, node.concept) for node, variable in variables.items()]),
        edges=tuple([(variables[source], role, variables[target]) for source, role, target in edges]),
        attributes=tuple([(variables[node], role, value) for node in variables for role, value in node.attributes]),
        alignments=alignments,
    )
