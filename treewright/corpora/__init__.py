"""What goes in and out: sentences, trees, graphs, file formats, vocabularies, the built-in corpus."""

from treewright.corpora.types import Sentence, Token

__all__ = ["Sentence", "Token"]
