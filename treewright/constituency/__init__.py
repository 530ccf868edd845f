"""Constituency parsing: treebank and latent-variable grammars, exact charts, agendas, and their learners.

Each name is imported when it is first used, so that a part (``treewright.constituency.charts``) can be imported
without the others.
"""

from typing import TYPE_CHECKING

from treewright.lazy import lazy_names

if TYPE_CHECKING:
    from treewright.constituency.charts import CKYPlanner, TopDownMDP
    from treewright.constituency.grammar import Grammar, Lexicon, Markovisation, NotInGrammar, head_child
    from treewright.constituency.grammar.written import ScoredTree, WrittenGrammar
    from treewright.constituency.latent import LatentGrammar
    from treewright.constituency.latent_parser import LatentParser
    from treewright.constituency.parser import ML, ConstituencyParser, KBest
    from treewright.constituency.scores import ConstituencyScores, compare_constituents, score_constituents
    from treewright.constituency.written_trace import trace_written

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
    "ScoredTree",
    "TopDownMDP",
    "WrittenGrammar",
    "compare_constituents",
    "head_child",
    "score_constituents",
    "trace_written",
]

__getattr__ = lazy_names(
    __name__,
    {
        "parser": "ML ConstituencyParser KBest",
        "charts": "CKYPlanner TopDownMDP",
        "scores": "ConstituencyScores compare_constituents score_constituents",
        "grammar": "Grammar Lexicon Markovisation NotInGrammar head_child",
        "grammar.written": "ScoredTree WrittenGrammar",
        "latent": "LatentGrammar",
        "latent_parser": "LatentParser",
        "written_trace": "trace_written",
    },
)
