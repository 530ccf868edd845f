"""Task 3, constituency parsing: treebank and latent-variable grammars, exact charts, and many ways to learn."""

from treewright.constituency.binarisation import Markovisation
from treewright.constituency.grammar import Grammar, NotInGrammar
from treewright.constituency.heads import head_child
from treewright.constituency.latent import LatentGrammar
from treewright.constituency.latent_parser import LatentParser
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
