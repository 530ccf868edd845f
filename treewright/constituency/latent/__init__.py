"""Latent-variable grammars: split and merge, coarse-to-fine parsing, and learned pruning."""

from treewright.constituency.latent.grammar import LatentGrammar
from treewright.constituency.latent.parsing import CoarseToFine, Product
from treewright.constituency.latent.pruning import PruningPolicy
from treewright.constituency.latent.training import SplitMerge, train_latent

__all__ = ["CoarseToFine", "LatentGrammar", "Product", "PruningPolicy", "SplitMerge", "train_latent"]
