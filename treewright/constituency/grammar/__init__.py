"""Treebank grammars: binary trees, weighted rules, and the tags of words. Charts and searches are built on this."""

from treewright.constituency.grammar.binarisation import Markovisation
from treewright.constituency.grammar.heads import head_child
from treewright.constituency.grammar.lexicon import Lexicon
from treewright.constituency.grammar.pcfg import Grammar, NotInGrammar
from treewright.constituency.grammar.rules import Lexical, Rules

__all__ = ["Grammar", "Lexical", "Lexicon", "Markovisation", "NotInGrammar", "Rules", "head_child"]
