from __future__ import annotations

from treewright.corpora import Sentence
from treewright.corpora.conllu import format_conllu, parse_conllu

ENHANCED = """# text = I didn't
1\tI\t_\tPRON\t_\t_\t2\tnsubj\t2:nsubj|2.1:nsubj\t_
2-3\tdidn't\t_\t_\t_\t_\t_\t_\t_\t_
2\tdid\t_\tAUX\t_\t_\t0\troot\t0:root\t_
2.1\tsee\t_\tVERB\t_\t_\t_\t_\t0:root\t_
3\tn't\t_\tPART\t_\t_\t2\tadvmod\t2:advmod\tSpaceAfter=No
"""


def test_enhanced_dependencies_go_with_the_tree_that_they_belong_to():
    [sentence] = parse_conllu(ENHANCED.splitlines())
    changed = sentence.with_tree([3, 3, 0], ["nsubj", "aux", "root"])
    rows = [line.split("\t") for line in format_conllu(changed).splitlines() if line[:1].isdigit()]
    assert [(row[0], row[6], row[8], row[9]) for row in rows] == [
        ("1", "3", "_", "_"),
        ("2-3", "_", "_", "_"),
        ("2", "3", "_", "_"),
        ("3", "0", "_", "SpaceAfter=No"),
    ]


def test_bare_words_keep_multiword_tokens_only():
    [sentence] = parse_conllu(ENHANCED.splitlines())
    bare = sentence.bare()
    assert bare.tokens == Sentence.from_words(["I", "did", "n't"]).tokens
    assert [row.split("\t")[:2] for _, row in bare.extras] == [["2-3", "didn't"]]
    assert (bare.comments, bare.line) == ((), sentence.line)
