"""Treebank grammars: binarisation, heads, rules, lexicons and listings."""
