"""Random constituency trees of every kind: words beside trees, and labels that are long, wide, or missing."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.reports.sentences import FORMS
from treewright.corpora import Tree

LABELS = ["S", "NP", "WHADVP-TMP-12345", "<a&b>", "猫", ""]
TAGS = ["NN", "-NONE-", ".", "", "PROPN-OF-SOME-SORT"]

preterminals = st.builds(lambda tag, word: Tree(tag, (word,)), st.sampled_from(TAGS), st.sampled_from(FORMS))
trees = st.recursive(
    preterminals,
    lambda parts: st.builds(
        Tree, st.sampled_from(LABELS), st.lists(parts | st.sampled_from(FORMS), min_size=1, max_size=5).map(tuple)
    ),
    max_leaves=25,
)


def chain(depth: int) -> Tree:
    tree = Tree("NN", ("w",))
    for _ in range(depth):
        tree = Tree("X", (tree,))
    return tree
