"""Tables and slides of traces, from values made by hand."""

from __future__ import annotations

import math

import pytest

from treewright.errors import ConfigError
from treewright.reports import LAYOUTS, STYLES, trace_slides, trace_table
from treewright.tracing import KINDS, Candidate, Feature, Step, Trace


def arc(head, dependent, label):
    return {"head": head, "dependent": dependent, "label": label}


def configuration(stack, buffer, arcs=(), pending=None):
    return {"stack": stack, "buffer": buffer, "arcs": list(arcs), "pending": pending}


def staged(labelled=True):
    """Moves and labels chosen one after the other."""
    made = [arc(2, 1, "nsubj")]
    moves = (Candidate("SHIFT", 1.0, 2.0, 0.2), Candidate("LEFTARC", 3.0, 0.0, 0.8))
    labels = (Candidate("nsubj", 0.5, 0.0), Candidate("obj", 0.25, 1.0))
    root = [*made, arc(0, 2, "root")]
    steps = (
        Step(0, configuration([0], [1, 2]), (Candidate("SHIFT", 0.0, 0.0, 1.0),), 0, ("SHIFT",), {"errors": 0}),
        Step(1, configuration([0, 1], [2]), moves, 1, ("LEFTARC",), {"errors": 0}),
        Step(2, configuration([0, 1], [2], pending="LEFTARC"), labels, 0, ("nsubj",), {"errors": 0}),
        Step(3, configuration([0], [2], made), (Candidate("RIGHTARC", 0.0, 0.0, 1.0),), 0, (), {"errors": 0}),
        Step(4, configuration([0], [2], made, "RIGHTARC"), (Candidate("root", 0.0, 0.0, 1.0),), 0, (), {"errors": 0}),
        Step(5, configuration([0], [], root), measures={"errors": 1}),
    )
    about = {"moves": ["SHIFT", "LEFTARC", "RIGHTARC"], "labelled": labelled}
    return Trace("dependency", "transitions", ("They", "sat"), steps, {}, True, about)


def test_moves_and_their_labels_are_one_row():
    assert trace_table(staged()).text().splitlines() == [
        "step  stack         buffer       transition     arc         costs               scores                    "
        "label-scores",
        "0     [root]        [They, sat]  SHIFT                      SHIFT 0",
        "1     [root, They]  [sat]        LEFTARC_nsubj  They ← sat  SHIFT 2, LEFTARC 0  LEFTARC 3.00, SHIFT 1.00  "
        "nsubj 0.50, obj 0.25",
        "2     [root]        [sat]        RIGHTARC_root  root → sat  RIGHTARC 0",
        "3     [root]        []           Done",
    ]  # fmt: skip


def test_without_labels():
    table = trace_table(staged(labelled=False), columns=["transition", "label", "label-scores", "errors"])
    assert table.tsv().splitlines() == [
        "transition\tlabel\tlabel-scores\terrors", "SHIFT\t\t\t0", "LEFTARC\t\t\t0", "RIGHTARC\t\t\t0", "Done\t\t\t1",
    ]  # fmt: skip


def test_joint_transitions_count_by_moves():
    candidates = (
        Candidate("SH", 1.0, 1.0),
        Candidate("RE", 0.0, 0.0),
        Candidate("LA_x", 5.0, 1.0),
        Candidate("LA_y", 4.0, 0.0),
    )
    steps = (Step(0, configuration([0, 1], [2]), candidates, 2), Step(1, configuration([0], [2], [arc(2, 1, "x")])))
    about = {"moves": ["SH", "LA", "RA", "RE"]}
    trace = Trace("dependency", "transitions", ("a", "b"), steps, {}, True, about)
    found = trace_table(trace, columns=["transition", "costs", "zero-cost", "scores"], top=2)
    assert found.rows[0] == ("LA_x", "SH 1, LA 0, RE 0", "LA, RE", "LA_x 5.00, LA_y 4.00")
    bare = Trace("dependency", "transitions", ("a", "b"), steps, {}, True, {**about, "labelled": False})
    assert trace_table(bare, columns=["transition", "scores"], top=2).rows[0] == ("LA", "LA 5.00, SH 1.00")


def test_styles_of_the_lectures():
    assert trace_table(staged(), style="fig-14.8").header == ("Step", "Stack", "Word List", "Predicted Action")
    actions = trace_table(staged(), style="actions")
    assert actions.rows == (
        ("S", "", "", "", ""), ("l", "2", "sat", "1", "They"), ("r", "0", "None", "2", "sat"),
    )  # fmt: skip
    assert (
        trace_slides(staged()).split("\n\n")[2]
        == "Stack   Buffer\n[root]  [sat]\nEdges\n  They ← sat\nNext action: 3. RIGHTARC"
    )
    assert "Next action" not in trace_slides(staged()).split("\n\n")[-1]


def test_tags():
    right, wrong = Candidate("DET", 2.0, 0.0, 0.9), Candidate("NOUN", 1.0, 1.0, 0.1)
    steps = (
        Step(0, {"position": 0, "labels": []}, (right, wrong), 0, ("DET",)),
        Step(1, {"position": 1, "labels": ["DET"]}, (right, wrong), 1, ("DET",)),
        Step(2, {"position": 2, "labels": ["DET", "NOUN"]}),
    )
    trace = Trace("tagging", "tags", ("the", "a"), steps, {}, True)
    assert trace_table(trace, top=1).text().splitlines() == [
        "step  word  label  probability  correct  expert  scores",
        "0     the   DET    0.900        yes              DET 2.00",
        "1     a     NOUN   0.100        no       DET     DET 2.00",
    ]


def test_arcs():
    focus = {"kind": "left", "first": 1, "last": 2}
    label = {"kind": "arc", "first": 2, "last": 1}
    choices = (Candidate("1 They ← 2 sat", 0.0, 0.0), Candidate("other", -1.5, 2.0))
    steps = (
        Step(0, {"arcs": [], "open": [focus], "focus": focus}, choices, 0, ("1 They ← 2 sat",)),
        Step(1, {"arcs": [], "open": [label], "focus": label}, (Candidate("nsubj", 0.0, 1.0),), 0, ("obj",)),
        Step(2, {"arcs": [], "open": [], "focus": None}),
    )
    table = trace_table(Trace("eisner", "arcs", ("They", "sat"), steps, {}, True))
    assert table.header == ("step", "span", "action", "correct", "expert", "rivals")
    assert table.rows == (
        ("0", "← They sat", "1 They ← 2 sat", "yes", "", "other -1.500"),
        ("1", "They ← sat", "nsubj", "no", "obj", ""),
        ("2", "", "Done", "", "", ""),
    )


def test_derivations():
    top = {"symbol": "S", "start": 0, "end": 3}
    rivals = (
        Candidate("S -> A B at 1", 0.0, 0.0),
        Candidate("S -> A B at 2", -2.0, 1.0),
        Candidate("S -> C", -math.inf),
    )
    steps = (
        Step(0, {"constituents": [top], "open": [top], "focus": top}, rivals, 1, (),
             {"reward": -0.5, "value": -1.0, "total": -2.0}),
        Step(1, {"constituents": [top], "open": [], "focus": None}, measures={"value": 0.0, "total": -math.inf}),
    )  # fmt: skip
    table = trace_table(
        Trace("constituency", "derivation", ("a", "b", "c"), steps, {}, True), columns=LAYOUTS["derivation"].columns
    )
    first, done = (dict(zip(table.header, row, strict=True)) for row in table.rows)
    assert first == {
        "step": "0", "constituent": "S[0:3]", "rule": "S -> A B", "split": "2", "words": "a b | c", "reward": "-0.500",
        "advantage": "-2.000", "value": "-1.000", "total": "-2.500", "correct": "no", "expert": "no such constituent",
        "rivals": "S -> A B at 1 0.000",
    }  # fmt: skip
    assert (done["rule"], done["words"], done["total"], done["advantage"]) == ("Done", "a b c", "−∞", "")


def test_pops():
    features = (Feature("inside", -1.0, 1.0), Feature("length", 2.0, -3.0), Feature("other", 4.0, 0.0))
    item = {"symbol": "NP", "start": 0, "end": 2}
    pop = Step(0, {"item": item, "used": True}, (Candidate("NP[0:2]", -7.0, 1.0, features=features),), 0, (),
               {"inside": -1.0, "priority": -7.0})  # fmt: skip
    trace = Trace("constituency", "pops", ("a", "b"), (*[pop] * 120, Step(1, {"item": None, "used": False})), {}, True)
    table = trace_table(trace, top=1)
    assert table.rows[0] == ("0", "NP[0:2]", "a b", "-1.000", "-7.000", "yes", "no", "length -6.00")
    assert (len(table.rows), table.left_out) == (100, 20)
    everything = trace_table(trace, columns=["features", "shares"], for_people=False)
    assert (len(everything.rows), everything.left_out) == (120, 0)
    assert everything.rows[0] == ("inside -1, length 2, other 4", "length -6.00, inside -1.00")


def graph_state(stack, buffer, role=None):
    nodes = [
        {"node": 0, "label": "boy", "is_concept": True, "words": [0]},
        {"node": 1, "label": "go-02", "is_concept": False, "words": [1]},
    ]
    tree = {"source": 1, "target": 0, "role": role, "relation": "nsubj", "in_tree": True}
    further = {"source": 0, "target": 1, "role": ":mod", "relation": None, "in_tree": False}
    return {"nodes": nodes, "edges": [further, tree] if role else [tree], "stack": stack, "buffer": buffer,
            "focus": None, "phase": "tree", "pending": None}  # fmt: skip


def graphs():
    choices = (Candidate("NextEdge", 1.0, 0.0), Candidate("Swap", 0.5, 0.0))
    steps = (
        Step(0, graph_state([1, 0], []), choices, 0, ("NextEdge",)),
        Step(1, graph_state([1], [0]), choices, 1, ("any",)),
        Step(2, graph_state([1], [0]), (Candidate("Swap", 0.5, 1.0),), 0, ("NextEdge",)),
        Step(3, graph_state([], [], ":ARG0")),
    )
    return Trace("amr", "graph", ("boy", "go"), steps, {}, True)


def test_graphs():
    table = trace_table(graphs(), top=1)
    assert table.header == ("step", "σ (stack)", "β (buffer)", "action", "correct", "expert", "scores")
    assert table.rows == (
        ("0", "[go-02, boy]", "[]", "NextEdge", "yes", "", "NextEdge 1.00"),
        ("1", "[go-02]", "[boy]", "Swap", "", "any", "NextEdge 1.00"),
        ("2", "[go-02]", "[boy]", "Swap", "no", "NextEdge", ""),
    )
    assert table.footnote.startswith("any: all actions are equally good")
    assert trace_table(graphs(), columns=["action"]).footnote == ""
    plain = trace_table(graphs(), columns=["stack", "graph"], for_people=False)
    assert plain.header == ("stack", "graph")
    assert plain.rows[0][1] == "(n1 / go-02 ~nsubj (n0 / boy))"


def test_slides_of_graphs():
    first, second, third, last = trace_slides(graphs()).split("\n\n")
    assert first.splitlines() == [
        "0.  σ (stack) [go-02, boy]  β (buffer) []",
        "    (n1 / go-02",
        "       ~nsubj (n0 / boy))",
        "Next action: NextEdge",
    ]
    assert second.startswith("1.  σ [go-02]  β [boy]")
    assert second.endswith("Next action: Swap\nExpert: any")
    assert third.endswith("Expert: NextEdge")
    assert last == "    (n1 / go-02\n       :ARG0 (n0 / boy\n          :mod n1))"


def test_every_kind_has_a_layout_and_every_style_a_kind():
    assert set(LAYOUTS) == set(KINDS)
    for layout in LAYOUTS.values():
        assert set(layout.usual) <= set(layout.columns)
    for style in STYLES.values():
        assert set(style.kinds) <= set(KINDS)
        assert all(set(style.columns) <= set(LAYOUTS[kind].columns) for kind in style.kinds)


def test_mistakes():
    with pytest.raises(ConfigError, match=r"there is no style 'baroque'; choose one of steps, fig-14\.8"):
        trace_table(staged(), style="baroque")
    with pytest.raises(ConfigError, match="the style 'edges' is not for graph; choose one of steps, graphs"):
        trace_table(graphs(), style="edges")
    with pytest.raises(ConfigError, match="there is no column 'heap'; there are: step, stack"):
        trace_table(staged(), columns=["heap"])
    with pytest.raises(ConfigError, match="name some columns"):
        trace_table(staged(), columns=[])
    with pytest.raises(ConfigError, match="top must be"):
        trace_table(staged(), top=-1)
    with pytest.raises(ConfigError, match="not of tags"):
        trace_slides(Trace("tagging", "tags", ("a",)))
