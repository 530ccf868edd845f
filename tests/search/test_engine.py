"""Decoding, beams and mixtures against slow twins; what tasks that break the contract get."""

from __future__ import annotations

import numpy as np
import pytest

from tests.search.naive import Episode, every_episode, naive_beam, naive_decode
from tests.toys import CUE, Picking, Token, Track, random_picking, random_track
from treewright.errors import TaskError
from treewright.search import Task, decode, trajectory
from treewright.search.beams import beam_pass, new_beam
from treewright.search.decoding import decode_pass, greedy_pass
from treewright.search.engine import EXPERT, LEARNED, MIX_PER_ROLL, MIX_PER_STEP, Shard
from treewright.search.running import as_policy, check_steps, prepare, run_shards, scratch_for, sentences_of
from treewright.search.trouble import INTERRUPTED


@pytest.fixture(scope="module")
def track():
    return Track().pack(random_track(np.random.default_rng(11), 14, 5))


@pytest.fixture(scope="module")
def picking():
    return Picking().pack(random_picking(np.random.default_rng(12), 8, 4))


@pytest.fixture(params=["track", "picking"])
def packed(request):
    return request.getfixturevalue(request.param)


def random_weights(packed, seed, policies=1, ties=False):
    """Weights of untrained policies; where ``ties``, whole numbers, so that scores are often equal."""
    shape = (policies, 256, 1 if packed.task.structured else packed.task.n_actions)
    rng = np.random.default_rng(seed)
    return (rng.integers(-1, 2, shape) if ties else rng.normal(size=shape)).astype(np.float32)


def assert_same_as(decoded, twins):
    for i, (episode, steps) in enumerate(twins):
        assert decoded.steps[i] == steps
        assert decoded.losses[i] == episode.loss()
        np.testing.assert_array_equal(decoded.states[decoded.state_at[i] : decoded.state_at[i + 1]], episode.buffer)


@pytest.mark.parametrize("ties", [False, True])
def test_greedy_decoding_equals_the_obvious_loop(packed, ties):
    for seed in range(4):
        weights = random_weights(packed, seed, ties=ties)
        assert_same_as(decode(packed, weights), naive_decode(packed, weights))


def test_one_policy_may_be_given_as_a_matrix(track):
    weights = random_weights(track, 3)
    np.testing.assert_array_equal(decode(track, weights[0]).states, decode(track, weights).states)


@pytest.mark.parametrize("who", [LEARNED, MIX_PER_STEP, MIX_PER_ROLL, EXPERT])
@pytest.mark.parametrize("mixture", [(0.3, 1.0), (0.25, 0.5, 0.75, 1.0), (0.0, 1.0), (1.0, 1.0)])
def test_mixtures_of_policies_equal_the_obvious_loop(packed, who, mixture):
    weights = random_weights(packed, 4, policies=len(mixture) - 1)
    decoded = decode(packed, weights, mixture=mixture, who=who, seed=7)
    assert_same_as(decoded, naive_decode(packed, weights, list(mixture), who, seed=7))


def test_the_expert_has_no_loss(packed):
    by_expert = decode(packed, random_weights(packed, 0), who=EXPERT)
    assert not by_expert.losses.any()
    without_policy = decode(packed, None)
    np.testing.assert_array_equal(without_policy.states, by_expert.states)
    np.testing.assert_array_equal(without_policy.steps, by_expert.steps)


def test_greedy_decoding_equals_the_pass_that_knows_the_expert(packed):
    policy, n = as_policy(random_weights(packed, 5, policies=3)), len(packed)
    scorer, sentences = prepare(policy, packed, np.arange(n)), sentences_of(packed)
    found = []
    for run, who in ((greedy_pass, ()), (decode_pass, (LEARNED,))):
        states, steps = np.zeros(int(packed.state_at[-1]), np.int32), np.zeros(n, np.int64)
        shard, scratch = Shard(0, n, np.zeros(2, np.int64), 1), scratch_for(scorer, packed.task)
        run(packed.task, sentences, shard, scorer, *who, scratch, 4, states, steps)
        found.append((states.tolist(), steps.tolist()))
    assert found[0] == found[1]


def test_policies_act_as_often_as_their_shares_say():
    mixture, n = (0.5, 0.6, 1.0), 2000
    packed = Track().pack(random_track(np.random.default_rng(1), n, 1))
    weights = np.zeros((2, 256, 4), np.float32)
    weights[0, :, 1], weights[1, :, 2] = 1.0, 1.0  # policy 0 always says 1, policy 1 always 2
    choosy = np.array([len(Episode(packed, i).actions()) > 1 for i in range(n)])
    labels = decode(packed, weights, mixture=mixture, who=MIX_PER_ROLL, seed=3)
    said = np.array([labels.state(i).labels[0] - 1 for i in range(n)])[choosy]
    value = np.array([packed.instance(i).value[0] for i in range(n)])[choosy]
    assert np.mean(said[value == 0] == 0) == pytest.approx(0.5, abs=0.06)  # only the expert says 0
    assert np.mean(said[value == 0] == 1) == pytest.approx(0.1, abs=0.04)
    learned = decode(packed, weights, mixture=mixture, who=LEARNED, seed=3)
    said = np.array([learned.state(i).labels[0] - 1 for i in range(n)])[choosy]
    assert np.mean(said == 1) == pytest.approx(0.2, abs=0.04)  # 0.1 of the 0.5 that is left
    assert np.mean(said == 2) == pytest.approx(0.8, abs=0.04)


def test_a_mixture_draws_a_member_for_every_decision_and_not_once_a_sentence():
    """As SEARN's docstring says: with two members that always disagree, one sentence has labels of both."""
    n, sentences = 12, 200
    packed = Track().pack([[Token(CUE, 0)] * n] * sentences)
    weights = np.zeros((2, 256, 4), np.float32)
    weights[0, :, 1], weights[1, :, 2] = 1.0, 1.0
    for labels in (
        decode(packed, weights, mixture=(0.0, 0.3, 1.0), seed=3).field("labels")[0].reshape(sentences, n) - 1,
        np.array([trajectory(packed, i, weights, mixture=(0.0, 0.3, 1.0)).actions for i in range(sentences)]),
    ):
        assert np.mean(labels == 1) == pytest.approx(0.3, abs=0.04)
        # independent draws: neighbours are the same with probability .3² + .7², not 1
        assert np.mean(labels[:, 1:] == labels[:, :-1]) == pytest.approx(0.58, abs=0.04)


@pytest.mark.parametrize("beam", [1, 2, 5])
def test_results_do_not_depend_on_the_number_of_threads(packed, beam):
    weights = random_weights(packed, 5, policies=1)
    one = decode(packed, weights, mixture=(0.4, 1.0), who=MIX_PER_STEP, beam=beam, seed=2)
    for jobs in (2, 3):
        other = decode(packed, weights, mixture=(0.4, 1.0), who=MIX_PER_STEP, beam=beam, seed=2, jobs=jobs)
        for field in ("states", "losses", "steps"):
            np.testing.assert_array_equal(getattr(one, field), getattr(other, field))


# ---- beams


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("width", [2, 3, 8])
def test_beam_search_equals_sorting_everything(packed, width, ties):
    weights = random_weights(packed, 6, ties=ties)
    decoded = decode(packed, weights, beam=width)
    for i in range(len(packed)):
        episode, score = naive_beam(packed, i, weights[0], width)
        np.testing.assert_array_equal(decoded.states[decoded.state_at[i] : decoded.state_at[i + 1]], episode.buffer)
        assert decoded.scores[i] == score
        assert decoded.losses[i] == episode.loss()


def test_a_beam_of_one_is_greedy(packed):
    weights = random_weights(packed, 7)
    greedy = decode(packed, weights)
    n, task = len(packed), packed.task
    states, steps, control = np.zeros_like(greedy.states), np.zeros(n, np.int64), np.zeros(2, np.int64)
    scorer, beam = prepare(as_policy(weights), packed, np.arange(n)), new_beam(1, int(np.diff(packed.state_at).max()))
    shard, scratch = Shard(0, n, control, 1), scratch_for(scorer, task)
    beam_pass(task, sentences_of(packed), shard, scorer, beam, scratch, states, steps, np.zeros(n))
    np.testing.assert_array_equal(states, greedy.states)
    np.testing.assert_array_equal(steps, greedy.steps)
    assert control[1] == n


def test_a_beam_wide_enough_finds_the_best_of_all_episodes(packed):
    weights = random_weights(packed, 8)
    decoded = decode(packed, weights, beam=1100)
    for i in range(len(packed)):
        scores = [score for _, score in every_episode(Episode(packed, i), weights[0])]
        assert len(scores) <= 1100
        assert decoded.scores[i] == pytest.approx(max(scores), abs=1e-9)


# ---- trajectories


def test_a_trajectory_shows_each_state_and_the_action_taken_there(packed):
    weights = random_weights(packed, 9)
    decoded = decode(packed, weights)
    for i in range(len(packed)):
        episode, shown = Episode(packed, i), trajectory(packed, i, weights)
        assert len(shown.actions) == len(shown.states) - 1 == decoded.steps[i]
        for state, action in zip(shown.states, shown.actions, strict=False):
            assert [field.tolist() for field in state] == [field.tolist() for field in episode.state]
            assert action == episode.decision(weights, 0)
            episode = episode.after(action)
        assert [field.tolist() for field in shown.states[-1]] == [field.tolist() for field in decoded.state(i)]


# ---- tasks that break the contract (interpreted, to save compiling each of them)


class NeverAdvances(Track):
    name = "loiterer"

    @staticmethod
    def step(x, state, action):
        pass


class OffersNothing(Track):
    name = "mute"

    @staticmethod
    def actions(x, state, out):
        return 0


class OffersTooMuch(Track):
    name = "generous"

    @staticmethod
    def actions(x, state, out):
        return out.shape[0] + 1


class SeesTooMuch(Track):
    name = "seer"

    @staticmethod
    def features(x, state, out):
        return out.shape[0] + 1


class SeesTooMuchOfActions(Picking):
    name = "action seer"

    @staticmethod
    def action_features(x, state, action, out):
        return out.shape[0] + 1


class CannotEncode(Track):
    name = "illiterate"
    encode = Task.encode


class EncodesHalf(Track):
    name = "forgetful"

    def encode(self, sentence):
        return {"kind": [0] * len(sentence), "value": [0] * len(sentence)}


BROKEN = [
    (NeverAdvances, r"task 'loiterer': sentence 0 \(of length 2\) is not final after 2 steps.*`max_steps`.*`step`"),
    (OffersNothing, r"task 'mute': sentence 0 .* not final and offers no action"),
    (OffersTooMuch, r"task 'generous': sentence 0 .* more actions than `n_actions`"),
    (SeesTooMuch, r"task 'seer': sentence 0 .* more features than `max_features`"),
    (SeesTooMuchOfActions, r"task 'action seer': sentence 0 .* more features than `max_features`"),
]


@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize(("broken", "message"), BROKEN, ids=[broken.name for broken, _ in BROKEN])
def test_a_task_that_breaks_the_contract_is_told_so(broken, message, beam):
    task = broken().plain()
    packed = task.pack([[2, 1]] if task.structured else random_track(np.random.default_rng(3), 1, 2, 2))
    with pytest.raises(TaskError, match=message):
        decode(packed, random_weights(packed, 0), beam=beam)


def test_the_first_sentence_in_trouble_is_named():
    class Picky(Track):
        @staticmethod
        def actions(x, state, out):
            return 0 if x.n == 3 else Track.actions(x, state, out)

    corpus = [sentence * 3 for sentence in random_track(np.random.default_rng(3), 4, 1)]
    packed = Picky().plain().pack([corpus[0][:1], corpus[1][:2], corpus[2], corpus[3]])
    with pytest.raises(TaskError, match=r"task 'Picky': sentence 2 \(of length 3\)"):
        decode(packed, random_weights(packed, 0), jobs=2)


def test_a_task_must_say_how_to_encode_what_it_declares():
    corpus = random_track(np.random.default_rng(3), 1, 2)
    with pytest.raises(TaskError, match="'illiterate' does not say how to encode a sentence: write a method `encode`"):
        CannotEncode().pack(corpus)
    with pytest.raises(TaskError, match=r"'forgetful': encode\(sentence 0\) gives no array 'hint'"):
        EncodesHalf().pack(corpus)


def test_a_task_must_declare_actions():
    class Idle(Track):
        n_actions = 0

    packed = Idle().plain().pack(random_track(np.random.default_rng(3), 1, 2))
    with pytest.raises(TaskError, match="'Idle' declares no actions: set `n_actions`"):
        decode(packed, np.zeros((1, 16, 4), np.float32))


# ---- running


def test_an_empty_corpus_is_decoded_to_nothing(track):
    empty = track.task.pack([])
    assert len(decode(empty, random_weights(track, 0)).losses) == 0


def test_a_sentence_of_no_words_is_final_at_once(track):
    packed = track.task.pack([[], random_track(np.random.default_rng(3), 1, 2)[0]])
    assert decode(packed, random_weights(track, 0)).steps[0] == 0
    assert decode(packed, random_weights(track, 0), beam=3).steps[0] == 0


def test_progress_counts_up_to_all_sentences(track):
    counts = []
    decode(track, random_weights(track, 0), progress=counts.append, jobs=2)
    assert counts[-1] == len(track)
    assert counts == sorted(counts)


def test_an_interrupted_pass_stops_and_says_so(track):
    n = len(track)
    steps, control, states = (
        np.zeros(n, np.int64),
        np.array([1, 0], np.int64),
        np.zeros(int(track.state_at[-1]), np.int32),
    )
    scorer = prepare(as_policy(random_weights(track, 0)), track, np.arange(n))
    scratch = scratch_for(scorer, track.task)
    greedy_pass(track.task, sentences_of(track), Shard(0, n, control, 1), scorer, scratch, 0, states, steps)
    assert (steps == INTERRUPTED).all()
    assert control[1] == 0
    with pytest.raises(KeyboardInterrupt):
        check_steps(track, steps)


def test_shards_cover_everything_once_and_come_in_order():
    for n in (0, 1, 5, 100):
        for jobs in (1, 2, 3):
            shards = run_shards(lambda first, last, control, slot: list(range(first, last)), n, jobs=jobs)
            assert [i for shard in shards for i in shard] == list(range(n))


def test_what_fails_in_a_thread_is_raised_and_stops_the_others():
    seen = []

    def work(first, last, control, slot):
        if first == 0:
            raise ZeroDivisionError
        seen.append(control)

    with pytest.raises(ZeroDivisionError):
        run_shards(work, 100, jobs=2)
    assert all(control[0] == 1 for control in seen)
