"""A transition system of your own, whole: Covington's (2001), which builds trees with crossing arcs.

Run it with ``python examples/covington.py``, or make it known to the command line by an entry point:

    [project.entry-points."treewright.systems"]
    covington = "covington:SYSTEM"

The system goes through all pairs of words. For each word j it visits the words i before it, from the nearest one to the
root, and decides whether one of them is the head of the other (Nivre 2008, Section 4):

* Left-Arc makes j the head of i, which must not be the root and must not have a head; then i − 1 is visited.
* Right-Arc makes i the head of j, which must not have a head; then i − 1 is visited. The root takes one child.
* No-Arc goes on to i − 1.
* Shift goes on to the next word, j + 1, and visits j first.

No arc may close a cycle. In the configuration of all systems, i is the top of the stack, j the head of the buffer, and
what lies between them stays in the cells above the stack: the stack is always 0, 1, …, i.

When the buffer is empty, words without a head are attached to the child of the root (the last of them to the root, if
it has no child). No transition has made these arcs, and so the oracle and the loss count them as errors.
"""

import numpy as np

from treewright.dependency import Move, TransitionSystem
from treewright.dependency.configuration import DEPTH, FRONT, NO_HEAD, RIGHT_CHILD
from treewright.search import compiled, inlined

SHIFT, LEFT, RIGHT, NO_ARC = range(4)


@inlined
def is_below(state, node, other):
    """Is a node below another one, or the same?"""
    while node >= 0 and node != other:
        node = np.int64(state.heads[node])
    return node == other


@inlined
def is_late(x, state):
    """Is the buffer empty?"""
    return state.registers[FRONT] >= x.n


@inlined
def admissible(x, state):
    """The moves that may be made, as bits."""
    if is_late(x, state):
        return 1 << RIGHT
    i, j = np.int64(state.registers[DEPTH]) - 1, np.int64(state.registers[FRONT]) + 1
    moves = 1 << SHIFT
    if i >= 0:
        moves |= 1 << NO_ARC
    if i > 0 and state.heads[i] == NO_HEAD and not is_below(state, j, i):
        moves |= 1 << LEFT
    free = i > 0 or (i == 0 and state.family[RIGHT_CHILD] == 0)  # the family of node 0, the root, comes first
    if free and state.heads[j] == NO_HEAD and not is_below(state, i, j):
        moves |= 1 << RIGHT
    return moves


@inlined
def arc(x, state, move):
    """The head and the dependent of the arc that a move makes."""
    i = np.int64(state.registers[DEPTH]) - 1
    if is_late(x, state):
        return np.int64(state.family[RIGHT_CHILD]), i  # 0, the root itself, as long as it has no child
    j = np.int64(state.registers[FRONT]) + 1
    return (j, i) if move == LEFT else (i, j)


@inlined
def move(x, state, action):
    """Go on to the next pair; at the end, to the last word without a head."""
    if action == SHIFT:
        j = state.registers[FRONT] + 1
        state.stack[j] = j
        state.registers[DEPTH] = j + 1
        state.registers[FRONT] = j
    else:
        state.registers[DEPTH] -= 1
    if is_late(x, state):
        while state.registers[DEPTH] > 1 and state.heads[state.registers[DEPTH] - 1] != NO_HEAD:
            state.registers[DEPTH] -= 1


@compiled
def static(x, state):
    """The arc of the pair if it is gold, No-Arc if j has a gold arc with a word further left, or Shift."""
    if is_late(x, state):
        return RIGHT
    i, j = state.registers[DEPTH] - 1, state.registers[FRONT] + 1
    if i > 0 and x.gold_heads[i] == j:
        return LEFT
    if i >= 0 and x.gold_heads[j] == i:
        return RIGHT
    for k in range(i):
        if x.gold_heads[k] == j or x.gold_heads[j] == k:
            return NO_ARC
    return SHIFT


@compiled
def lost_arcs(x, state, i, j):
    """How many words without a head will get a wrong one, if the next pair to decide is (i, j).

    This is exact (Gómez-Rodríguez & Fernández-González 2015). A gold arc can be made unless its pair has been passed,
    or the root has another child. If all of those were made, together with the arcs that are there, every word would
    have at most one head; and each cycle among them costs one arc.
    """
    n = np.int64(x.n)
    heads = np.full(n + 1, -1, np.int64)  # the arcs that are there, and the gold arcs that can be made
    root_is_taken = False
    for word in range(1, n + 1):
        heads[word] = state.heads[word]
        root_is_taken = root_is_taken or state.heads[word] == 0
    lost = 0
    for word in range(1, n + 1):
        if heads[word] < 0:
            gold = np.int64(x.gold_heads[word])
            first, last = min(word, gold), max(word, gold)
            if (last > j or (last == j and first <= i)) and not (gold == 0 and root_is_taken):
                heads[word] = gold
            else:
                lost += 1
    walk = np.zeros(n + 1, np.int64)  # the word from which a node was reached
    for word in range(1, n + 1):
        node = np.int64(word)
        while node > 0 and walk[node] == 0:
            walk[node] = word
            node = heads[node]
        if node > 0 and walk[node] == word:  # a cycle
            lost += 1
    return lost


@compiled
def least_loss(x, state):
    """How many words without a head will get a wrong one, whatever is done."""
    return lost_arcs(x, state, np.int64(state.registers[DEPTH]) - 1, np.int64(state.registers[FRONT]) + 1)


@compiled
def costs(x, state, out):
    """The dynamic oracle: what is lost after each move, and its own arc if that is wrong."""
    if is_late(x, state):
        out[RIGHT] = 0.0
        return
    i, j = np.int64(state.registers[DEPTH]) - 1, np.int64(state.registers[FRONT]) + 1
    out[SHIFT] = lost_arcs(x, state, j, j + 1)
    if i >= 0:
        out[NO_ARC] = lost_arcs(x, state, i - 1, j)
    if i > 0 and state.heads[i] == NO_HEAD:
        state.heads[i] = j
        out[LEFT] = lost_arcs(x, state, i - 1, j) + (0 if x.gold_heads[i] == j else 1)
        state.heads[i] = NO_HEAD
    if i >= 0 and state.heads[j] == NO_HEAD:
        state.heads[j] = i
        out[RIGHT] = lost_arcs(x, state, i - 1, j) + (0 if x.gold_heads[j] == i else 1)
        state.heads[j] = NO_HEAD


SYSTEM = TransitionSystem(
    name="covington",
    moves=(Move("SHIFT"), Move("LEFTARC", "b0", "s0"), Move("RIGHTARC", "s0", "b0"), Move("NOARC")),
    admissible=admissible,
    move=move,
    static=static,
    costs=costs,
    least_loss=least_loss,
    arc=arc,
    is_late=is_late,
    max_steps="n*n + 3*n",
    projective=False,
)


def main():
    """Check the system, train a parser with a sentence that has crossing arcs, and show how it parses that."""
    from treewright import DependencyParser, Sentence, builtin_corpus
    from treewright.dependency import check_system

    print(check_system(SYSTEM))
    words = ["A", "hearing", "is", "scheduled", "on", "the", "issue", "today"]
    heads, labels = [2, 4, 4, 0, 7, 7, 2, 4], ["det", "nsubj", "aux", "root", "case", "det", "nmod", "obl"]
    crossing = Sentence.from_words(words).with_tree(heads, labels)
    train, dev, test = builtin_corpus(train=300, dev=50, test=50)
    learner = {"name": "exploration", "passes": 4}
    parser = DependencyParser(SYSTEM, learner=learner, features="basic", bits=14).fit([*train, *[crossing] * 5], dev)
    print(f"LAS on the built-in corpus: {parser.evaluate(test).las:.3f}")
    names = ["root", *words]
    for step in parser.trace(crossing).steps:
        stack, buffer = (" ".join(names[node] for node in step.state[place]) for place in ("stack", "buffer"))
        print(f"{stack:45} | {buffer:45} | {step.action or 'done'}")


if __name__ == "__main__":
    main()
