"""Task 3, constituency parsing: treebank and latent-variable grammars, exact charts, and many ways to learn."""

from treewright.constituency.charts.mdp import TopDownMDP
from treewright.constituency.charts.planner import CKYPlanner
from treewright.constituency.grammar.binarisation import Markovisation
from treewright.constituency.grammar.grammar import Grammar, NotInGrammar
from treewright.constituency.grammar.heads import head_child
from treewright.constituency.grammar.lexicon import Lexicon
from treewright.constituency.latent.grammar import LatentGrammar
from treewright.constituency.latent_parser import LatentParser
from treewright.constituency.parser import ML, ConstituencyParser, KBest
from treewright.constituency.scores import ConstituencyScores, compare_constituents, score_constituents

__all__ = [
    "ML",
    "CKYPlanner",
    "ConstituencyParser",
    "ConstituencyScores",
    "Grammar",
    "KBest",
    "LatentGrammar",
    "LatentParser",
    "Lexicon",
    "Markovisation",
    "NotInGrammar",
    "TopDownMDP",
    "compare_constituents",
    "head_child",
    "score_constituents",
]
