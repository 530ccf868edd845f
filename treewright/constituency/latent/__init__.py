"""Latent-variable grammars: splitting and merging, charts, coarse-to-fine parsing, learned pruning."""
