"""What is wrong with a text that should be a graph, in plain words."""

from __future__ import annotations

import penman
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewright.corpora import Graph
from treewright.corpora.notation import what_follows
from treewright.errors import CorpusError


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "there is nothing in it"),
        ("# ::id 1", 1, "there is nothing in it"),
        ("(a / b", 1, "a closing bracket is missing at the end; add it"),
        ('(a / b\n  :op1 "x)"\n  :ARG0 (c / d', 3, "2 closing brackets are missing at the end; add them"),
        ("(a\v/ b", 1, "a closing bracket is missing at the end; add it"),
        ("The boy goes .", 1, "a graph begins with a bracket, as in (b / boy), and not with 'The boy goes .'"),
        ("(/ boy)", 1, "a variable must follow an opening bracket, as in (b / boy), and not '/ boy)'"),
        ("(a b)", 1, "the variable 'a' has no concept before 'b)'; write (a / concept)"),
        ("(a / b\n  :ARG0 (c (d / e)))", 2, "the variable 'c' has no concept before '(d / e)))'"),
        ("(a / (b))", 1, "the concept of the variable 'a' is missing before '(b))'"),
        ("(a / b\n  :ARG0 / c)", 2, "a variable, a constant or a bracket must follow :ARG0, and not '/ c)'"),
        ("(a / b :ARG0 c d)", 1, "a role, as in :ARG0 (b / boy), or a closing bracket must come before 'd)'"),
        ('(a / b :op1 "x)', 1, "the quotation mark before 'x)' has no partner; add it"),
        ("1\tDogs\tdog\tNOUN\tNNS\t_\t0\troot\t_\t_", 1, "this looks like CoNLL-U; give a file of graphs"),
        ("( (S (NP (NN 1\\/2))))", 1, "this looks like a constituency tree in brackets"),
        ("(S\n  (NP (DT the) (NN cat)))", 1, "this looks like a constituency tree in brackets"),
    ],
)
def test_what_is_wrong_is_said_in_plain_words(text, line, message):
    with pytest.raises(CorpusError) as caught:
        Graph.from_penman(text)
    assert str(caught.value).startswith("not a graph in PENMAN notation: ")
    assert message in str(caught.value)
    assert caught.value.line == line


PIECES = st.sampled_from(
    ["(", ")", "a", "b", " ", "\n", "\v", "/", ":x", '"', "~e.1", "# c\n", "\t" * 9, "(a / b", ":y 1 "]
)


@given(st.lists(PIECES, max_size=12).map("".join))
def test_no_text_is_too_strange_for_a_message(text):
    problem = what_is_wrong(text)
    assert problem is None or "Expected" not in str(problem)
    assert problem is None or 1 <= (problem.line or 1) <= text.count("\n") + 1


def what_is_wrong(text):
    try:
        Graph.from_penman(text)
    except CorpusError as error:
        return error
    return None


@pytest.mark.parametrize(
    ("text", "line", "rest"),
    [
        ("(a / b) (c / d)", 1, "'(c / d)'"),
        ('(a / b :op1 ")" :op2 c)\n\n(c / d)\n', 3, "'(c / d)'"),
        ("# ::snt a ( b\n(a / b))", 2, "')'"),
    ],
)
def test_a_second_graph_is_not_dropped(text, line, rest):
    with pytest.raises(CorpusError, match="follows the end of the graph; remove it") as caught:
        Graph.from_penman(text)
    assert rest in str(caught.value)
    assert caught.value.line == line


@given(st.lists(st.sampled_from(["(a / b)", "(c / d :x (e / f))", '# i )\n(g / h# :op1 "(")']), max_size=4))
def test_what_follows_is_what_the_library_leaves(graphs):
    rest, line = what_follows("\n".join(graphs))
    assert list(penman.iterdecode(rest)) == list(penman.iterdecode("\n".join(graphs[1:])))
    assert line == 1 + (graphs[0].count("\n") + 1 if graphs[1:] else 0) or not rest
