"""From raw text to tagged words: tokenizer, morphological tagger and lemmatizer, each learned from a treebank."""

from treewright.text.lemmatizer import Lemmatizer
from treewright.text.tagger import MorphTagger
from treewright.text.tokenizer import Tokenizer

__all__ = ["Lemmatizer", "MorphTagger", "Tokenizer"]
