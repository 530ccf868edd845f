"""Task 3, constituency parsing: treebank grammars, exact charts, and six ways to learn a grammar's weights."""

from treewright.constituency.binarisation import Markovisation
from treewright.constituency.grammar import Grammar, NotInGrammar
from treewright.constituency.heads import head_child
from treewright.constituency.lexicon import Lexicon
from treewright.constituency.mdp import TopDownMDP
from treewright.constituency.parser import ML, ConstituencyParser, KBest
from treewright.constituency.planner import CKYPlanner
from treewright.constituency.scores import ConstituencyScores, compare_constituents, score_constituents

__all__ = [
    "ML",
    "CKYPlanner",
    "ConstituencyParser",
    "ConstituencyScores",
    "Grammar",
    "KBest",
    "Lexicon",
    "Markovisation",
    "NotInGrammar",
    "TopDownMDP",
    "compare_constituents",
    "head_child",
    "score_constituents",
]
