"""Beam search over the states of an episode: for decoding here, and for structured learning.

A beam holds hypotheses: states, and the sums of the scores of the actions that led to them. One step of the search has
two parts. :func:`expand` scores every action of every hypothesis and keeps the best candidates; :func:`advance` takes
these actions. A finished hypothesis stays in the beam with its score and competes with the others; the search ends when
all are final. Ties go to the hypothesis, then to the action, that comes first.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.search.compiling import compiled, kernel, lean
from treewright.search.engine import Episode, Sentences, Shard, admissible, begin, score_state
from treewright.search.policy import Scorer, Scratch
from treewright.search.trouble import INTERRUPTED, NOT_FINAL

__all__ = ["Beam", "advance", "beam_pass", "expand", "new_beam", "show", "start", "turned"]


class Beam(NamedTuple):
    """The hypotheses of a step, and space for the hypotheses of the next step."""

    states: npt.NDArray[np.int32]  # width × cells of a state
    successors: npt.NDArray[np.int32]
    scores: npt.NDArray[np.float64]
    candidates: npt.NDArray[np.float64]  # the scores of the successors, highest first
    cells: npt.NDArray[np.int32]  # for the state under consideration


def new_beam(width: int, size: int) -> Beam:
    """A beam of ``width`` hypotheses with states of at most ``size`` cells."""
    states, scores = np.zeros((2, width, size), np.int32), np.zeros((2, width), np.float64)
    return Beam(states[0], states[1], scores[0], scores[1], np.zeros(size, np.int32))


@lean
def show(beam: Beam, b: int, episode: Episode) -> None:
    """Set the episode to the state of hypothesis ``b``."""
    for j in range(episode.buffer.shape[0]):
        episode.buffer[j] = beam.states[b, j]


@lean
def start(beam: Beam, episode: Episode) -> None:
    """Make the state of the episode the only hypothesis, with score 0."""
    for j in range(episode.buffer.shape[0]):
        beam.states[0, j] = episode.buffer[j]
    beam.scores[0] = 0.0


@lean
def expand(
    task: Any, episode: Episode, scorer: Scorer, beam: Beam, alive: int, parents: Any, moves: Any, scratch: Scratch
) -> tuple[int, int]:
    """Find the best candidates for the next step: ``parents[k]`` takes the action ``moves[k]``, −1 if it is finished.

    Returns the number of candidates, or an error code, and how many of the ``alive`` hypotheses are not final.
    """
    found = 0
    unfinished = 0
    for b in range(alive):
        show(beam, b, episode)
        if task.is_final(episode.x, episode.state):
            found = _insert(beam.candidates, parents, moves, found, beam.scores[b], b, -1)
            continue
        unfinished += 1
        n = admissible(task, episode.x, episode.state, scratch)
        if n < 0:
            return n, unfinished
        size = score_state(task, episode, scorer, 0, n, scratch)
        if size < 0:
            return size, unfinished
        for k in range(n):
            total = beam.scores[b] + np.float64(scratch.scores[k])
            found = _insert(beam.candidates, parents, moves, found, total, b, np.int64(scratch.actions[k]))
    return found, unfinished


@lean
def advance(task: Any, episode: Episode, beam: Beam, found: int, parents: Any, moves: Any) -> None:
    """Write the states of the candidates to ``beam.successors``, and their scores to ``beam.scores``."""
    for b in range(found):
        show(beam, parents[b], episode)
        if moves[b] >= 0:
            task.step(episode.x, episode.state, np.int64(moves[b]))
        for j in range(episode.buffer.shape[0]):
            beam.successors[b, j] = episode.buffer[j]
    for b in range(found):
        beam.scores[b] = beam.candidates[b]


@compiled
def turned(beam: Beam) -> Beam:
    """The beam of the next step: its successors are the states."""
    return Beam(beam.successors, beam.states, beam.scores, beam.candidates, beam.cells)


@lean
def _insert(scores: Any, parents: Any, moves: Any, found: int, total: float, parent: int, move: int) -> int:
    """Insert a candidate into the sorted list of the best; return the length of the list."""
    width = scores.shape[0]
    if found == width and total <= scores[width - 1]:
        return found
    place = found if found < width else width - 1
    while place > 0 and scores[place - 1] < total:
        scores[place] = scores[place - 1]
        parents[place] = parents[place - 1]
        moves[place] = moves[place - 1]
        place -= 1
    scores[place] = total
    parents[place] = parent
    moves[place] = move
    return found + 1 if found < width else found


@kernel
def beam_pass(
    task: Any,
    sentences: Sentences,
    shard: Shard,
    scorer: Scorer,
    beam: Beam,
    scratch: Scratch,
    states: Any,
    steps: Any,
    scores: Any,
) -> None:
    """Beam search for each sentence; keep the final state of the best hypothesis, its number of steps and its score."""
    parents, moves = np.zeros(beam.scores.shape[0], np.int64), np.zeros(beam.scores.shape[0], np.int64)
    for i in range(shard.first, shard.last):
        if shard.control[0] != 0:
            steps[i] = INTERRUPTED
            continue
        episode = begin(task, sentences, i, beam.cells)
        start(beam, episode)
        alive, steps[i] = 1, NOT_FINAL
        for step in range(episode.bound + 1):
            found, unfinished = expand(task, episode, scorer, beam, alive, parents, moves, scratch)
            if found < 0:
                steps[i] = found
                break
            if unfinished == 0:
                steps[i] = step
                break
            if step == episode.bound:
                break
            advance(task, episode, beam, found, parents, moves)
            beam, alive = turned(beam), found
        if steps[i] >= 0:
            scores[i] = beam.scores[0]
            for j in range(episode.buffer.shape[0]):
                states[sentences.state_at[i] + j] = beam.states[0, j]
        shard.control[shard.slot] += 1
