"""Task 3, constituency parsing: treebank and latent-variable grammars, exact charts, and many ways to learn.

Each name is imported when it is first asked for, so that a part (``treewright.constituency.charts``) can be imported
without the others.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treewright.constituency.charts import CKYPlanner, TopDownMDP
    from treewright.constituency.grammar import Grammar, Lexicon, Markovisation, NotInGrammar, head_child
    from treewright.constituency.latent import LatentGrammar
    from treewright.constituency.latent_parser import LatentParser
    from treewright.constituency.parser import ML, ConstituencyParser, KBest
    from treewright.constituency.scores import ConstituencyScores, compare_constituents, score_constituents

_HOMES = {
    "ML": "parser",
    "CKYPlanner": "charts",
    "ConstituencyParser": "parser",
    "ConstituencyScores": "scores",
    "Grammar": "grammar",
    "KBest": "parser",
    "LatentGrammar": "latent",
    "LatentParser": "latent_parser",
    "Lexicon": "grammar",
    "Markovisation": "grammar",
    "NotInGrammar": "grammar",
    "TopDownMDP": "charts",
    "compare_constituents": "scores",
    "head_child": "grammar",
    "score_constituents": "scores",
}

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


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
