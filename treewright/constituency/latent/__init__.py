"""Latent-variable grammars: split and merge, coarse-to-fine parsing, and learned pruning."""

from typing import TYPE_CHECKING

from treewright.lazy import lazy_names

if TYPE_CHECKING:
    from treewright.constituency.latent.grammar import LatentGrammar
    from treewright.constituency.latent.parsing import CoarseToFine, Product
    from treewright.constituency.latent.pruning import PruningPolicy
    from treewright.constituency.latent.training import SplitMerge, train_latent

__all__ = ["CoarseToFine", "LatentGrammar", "Product", "PruningPolicy", "SplitMerge", "train_latent"]

__getattr__ = lazy_names(
    __name__,
    {
        "grammar": "LatentGrammar",
        "parsing": "CoarseToFine Product",
        "pruning": "PruningPolicy",
        "training": "SplitMerge train_latent",
    },
)
