"""Rules that divide tokens give the words back."""

from hypothesis import given
from hypothesis import strategies as st

from treewright.corpora import Sentence, Token
from treewright.text.multiword import WHOLE, MultiwordTokens, divide, division

pieces = st.lists(st.text("abA'é", min_size=1, max_size=4), min_size=2, max_size=4)


@given(pieces)
def test_cuts_give_the_pieces_back(words):
    token = "".join(words)
    assert divide(token, division(token, words)) == words


@given(pieces, st.text("xyz", min_size=1))
def test_words_that_are_no_pieces_are_spelt_out(words, token):
    lower = [word.lower() for word in words]
    assert divide(token, division(token, words)) == lower
    assert divide(token.upper(), division(token, words))[1:] == lower[1:]


def test_a_token_that_is_too_short_stays_whole():
    assert divide("n't", division("don't", ["do", "n't"])) is None
    assert divide("cat", WHOLE) is None


def sentence(*tokens):
    words, extras = [], []
    for token in tokens:
        if isinstance(token, tuple):
            form, *own = token
            extras.append((len(words), f"{len(words) + 1}-{len(words) + len(own)}\t{form}" + "\t_" * 8))
            words += own
        else:
            words.append(token)
    return Sentence(tuple(map(Token, words)), extras=tuple(extras))


def test_rules_are_offered_to_tokens_that_had_them_and_to_new_ones_with_their_ending():
    learned = MultiwordTokens.learn([sentence("I", ("don't", "do", "n't"), "see", ("du", "de", "le")), sentence("cat")])
    rules = lambda token: {learned.rules[k] for k in learned.offered(token)}  # noqa: E731
    assert rules("don't") == {"-3", WHOLE}
    assert rules("won't") == {"-3", WHOLE}
    assert rules("du") == {"\tde\tle", WHOLE}
    assert rules("dog") == {WHOLE}
    again = MultiwordTokens.from_arrays(learned.to_arrays())
    assert [again.offered(t) for t in ("don't", "won't", "dog")] == [
        learned.offered(t) for t in ("don't", "won't", "dog")
    ]
