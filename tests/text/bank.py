"""A small treebank with text: commas and full stops without spaces before them, multiword tokens, paragraphs."""

from __future__ import annotations

from treewright.corpora import Sentence, Token

_NOUNS = {"dog": "dogs", "cat": "cats", "bird": "birds", "horse": "horses", "child": "children"}
_VERBS = {"see": "saw", "chase": "chased", "like": "liked", "hear": "heard"}


def sentence(subject: str, verb: str, object: str, *, negated: bool, new: bool) -> Sentence:
    """The dogs saw the cats. / The dogs didn't see the cats!"""
    no = "SpaceAfter=No"
    rows = [
        ("The", "the", "DET", "DT", "Definite=Def", 2, "det", "_"),
        (_NOUNS[subject], subject, "NOUN", "NNS", "Number=Plur", 0, "nsubj", "_"),
    ]
    if negated:
        rows += [
            ("did", "do", "AUX", "VBD", "Tense=Past", 0, "aux", "_"),
            ("n't", "not", "PART", "RB", "_", 0, "advmod", "_"),
        ]
    root = len(rows) + 1
    rows.append((verb if negated else _VERBS[verb], verb, "VERB", "VB" if negated else "VBD", "_", 0, "root", "_"))
    rows += [
        ("the", "the", "DET", "DT", "Definite=Def", root + 2, "det", "_"),
        (_NOUNS[object], object, "NOUN", "NNS", "Number=Plur", root, "obj", no),
        ("!" if negated else ".", ".", "PUNCT", ".", "_", root, "punct", "_"),
    ]
    tokens = [
        Token(form, lemma, upos, xpos, feats, root if head == 0 and deprel != "root" else head, deprel, "_", misc)
        for form, lemma, upos, xpos, feats, head, deprel, misc in rows
    ]
    extras = ((2, "3-4\tdidn't" + "\t_" * 8),) if negated else ()
    return Sentence(tuple(tokens), ("# newpar",) if new else (), extras)


def treebank() -> list[Sentence]:
    """Eighty sentences, four in a paragraph."""
    chosen = [(s, v, o, n) for s in _NOUNS for v in _VERBS for o in ("dog", "cat") for n in (False, True)]
    return [sentence(s, v, o, negated=negated, new=number % 4 == 0) for number, (s, v, o, negated) in enumerate(chosen)]
