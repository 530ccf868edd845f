"""The built-in corpus: generated English sentences with four consistent layers of annotation."""

from treewright.corpora.builtin.checks import validate_sentence
from treewright.corpora.builtin.generator import Splits, builtin_corpus, generate

__all__ = ["Splits", "builtin_corpus", "generate", "validate_sentence"]
