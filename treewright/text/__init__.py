"""From raw text to tagged words: tokenizer, morphological tagger and lemmatizer, each learned from a treebank."""

from typing import TYPE_CHECKING

from treewright.lazy import lazy_names

if TYPE_CHECKING:
    from treewright.text.lemmatizer import Lemmatizer
    from treewright.text.tagger import MorphTagger
    from treewright.text.tokenizer import Tokenizer

__all__ = ["Lemmatizer", "MorphTagger", "Tokenizer"]

__getattr__ = lazy_names(
    __name__,
    {
        "lemmatizer": "Lemmatizer",
        "tagger": "MorphTagger",
        "tokenizer": "Tokenizer",
    },
)
