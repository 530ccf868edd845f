"""The built-in corpus: an endless supply of English sentences with four layers that agree with each other."""

from treewright.corpora.builtin.checks import validate_sentence
from treewright.corpora.builtin.generator import Splits, builtin_corpus, generate

__all__ = ["Splits", "builtin_corpus", "generate", "validate_sentence"]
