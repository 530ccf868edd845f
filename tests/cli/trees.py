"""Small treebanks for the tests of the command line."""

from __future__ import annotations

# One set of templates for all tests and the documentation: every set is compiled, which takes a while.
SMALL = ("--bits", 12, "--passes", 2, "--features", "basic")


def conllu(text: str, tag: str = "X") -> str:
    """A sentence such as ``a:2 b:0:root`` (form, head and perhaps relation) as CoNLL-U."""
    rows = []
    for number, word in enumerate(text.split(), 1):
        form, head, label = [*word.split(":", 2), "dep"][:3]
        rows.append(f"{number}\t{form}\t_\t{tag}\t_\t_\t{head}\t{label}\t_\t_\n")
    return "".join(rows) + "\n"
