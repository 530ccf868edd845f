"""Sentences, trees and graphs; the file formats that they are read from and written to; the built-in corpus."""

from typing import TYPE_CHECKING

from treewright.corpora.amr import format_amr, metadata, read_amr, write_amr
from treewright.corpora.brackets import clean_tree, format_ptb, read_ptb, write_ptb
from treewright.corpora.conllu import format_conllu, read_conllu, write_conllu
from treewright.corpora.graphs import Graph
from treewright.corpora.reading import corpus_hash, format_sentence, formats, load_corpus, read_sentences
from treewright.corpora.tabular import read_tabular, write_tabular
from treewright.corpora.trees import Tree
from treewright.corpora.types import Sentence, Token
from treewright.lazy import lazy_names

if TYPE_CHECKING:
    from treewright.corpora.builtin import builtin_corpus, generate

__all__ = [
    "Graph",
    "Sentence",
    "Token",
    "Tree",
    "builtin_corpus",
    "clean_tree",
    "corpus_hash",
    "format_amr",
    "format_conllu",
    "format_ptb",
    "format_sentence",
    "formats",
    "generate",
    "load_corpus",
    "metadata",
    "read_amr",
    "read_conllu",
    "read_ptb",
    "read_sentences",
    "read_tabular",
    "write_amr",
    "write_conllu",
    "write_ptb",
    "write_tabular",
]

# The built-in corpus has a grammar of its own.
__getattr__ = lazy_names(__name__, {"builtin": "builtin_corpus generate"})
