"""A dozen sentences with trees and graphs, for tests of the parser of meaning graphs."""

from __future__ import annotations

from treewright.corpora import Graph, Sentence, Token

# form, lemma, tag, head, relation; one word a line
_TEXT = """
The the DET 2 det
boy boy NOUN 3 nsubj
wants want VERB 0 root
to to PART 5 mark
go go VERB 3 xcomp
. . PUNCT 3 punct
= (w / want-01 :ARG0 (b / boy) :ARG1 (g / go-02 :ARG0 b))

The the DET 2 det
girl girl NOUN 5 nsubj
does do AUX 5 aux
not not PART 5 advmod
sleep sleep VERB 0 root
. . PUNCT 5 punct
= (s / sleep-01 :polarity - :ARG0 (g / girl))

Two two NUM 2 nummod
dogs dog NOUN 3 nsubj
bark bark VERB 0 root
= (b / bark-01 :ARG0 (d / dog :quant 2))

The the DET 2 det
dog dog NOUN 3 nsubj
sees see VERB 0 root
a a DET 5 det
boy boy NOUN 3 obj
and and CCONJ 8 cc
a a DET 8 det
girl girl NOUN 5 conj
= (s / see-01 :ARG0 (d / dog) :ARG1 (a / and :op1 (b / boy) :op2 (g / girl)))

Tom Tom PROPN 2 nsubj
sleeps sleep VERB 0 root
= (s / sleep-01 :ARG0 (p / person :name (n / name :op1 "Tom")))

The the DET 2 det
sleeping sleep VERB 3 amod
girl girl NOUN 4 nsubj
sees see VERB 0 root
Tom Tom PROPN 4 obj
= (s / see-01 :ARG0 (g / girl :ARG0-of (s2 / sleep-01)) :ARG1 (p / person :name (n / name :op1 "Tom")))

The the DET 2 det
boy boy NOUN 3 nsubj
lives live VERB 0 root
in in ADP 6 case
the the DET 6 det
house house NOUN 3 obl
= (l / live-01 :ARG0 (b / boy) :location (h / house))

Go go VERB 0 root
! ! PUNCT 1 punct
= (g / go-02 :mode imperative :ARG0 (y / you))

The the DET 3 det
big big ADJ 3 amod
house house NOUN 0 root
= (h / house :mod (b / big))

The the DET 2 det
girl girl NOUN 3 nsubj
can can AUX 4 aux
see see VERB 0 root
the the DET 6 det
house house NOUN 4 obj
= (p / possible-01 :ARG1 (s / see-01 :ARG0 (g / girl) :ARG1 (h / house)))

Dogs dog NOUN 2 nsubj
want want VERB 0 root
to to PART 4 mark
bark bark VERB 2 xcomp
= (w / want-01 :ARG0 (d / dog) :ARG1 (b / bark-01 :ARG0 d))

It it PRON 2 nsubj
sleeps sleep VERB 0 root
in in ADP 6 case
the the DET 6 det
big big ADJ 6 amod
house house NOUN 2 obl
= (s / sleep-01 :ARG0 (i / it) :location (h / house :mod (b / big)))
"""


def read(text):
    """Sentences as they are written above."""
    found = []
    for block in text.strip().split("\n\n"):
        rows, _, graph = block.partition("\n= ")
        tokens = []
        for row in rows.split("\n"):
            form, lemma, upos, head, relation = row.split()
            tokens.append(Token(form, lemma, upos, head=int(head), deprel=relation))
        found.append(Sentence(tuple(tokens), graph=Graph.from_penman(graph) if graph else None))
    return found


SENTENCES = read(_TEXT)
