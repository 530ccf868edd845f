"""Rules that divide tokens give the words back."""

from hypothesis import given
from hypothesis import strategies as st

from treewright.corpora import Sentence, Token
from treewright.text.multiword import WHOLE, MultiwordTokens, cuts, divide, patterns, spelling, token_rules

pieces = st.lists(st.text("abA'é", min_size=1, max_size=4), min_size=2, max_size=4)
words_of_tokens = st.lists(st.text("abA*-é", min_size=1, max_size=5), min_size=2, max_size=4)


@given(pieces, st.data())
def test_cuts_give_the_pieces_back(words, data):
    stem = data.draw(st.integers(0, len(words) - 1))
    assert divide("".join(words), cuts(words, stem)) == words


@given(st.text("abA*-é", min_size=1, max_size=12), words_of_tokens)
def test_patterns_give_the_words_back(token, words):
    for pattern in patterns(token, words):
        found = divide(token, pattern)
        if found is not None:  # the stem is too short
            assert [word.lower() for word in found] == [word.lower() for word in words]


@given(pieces, st.text("xyz", min_size=1))
def test_words_are_spelt_out(words, token):
    lower = [word.lower() for word in words]
    assert divide(token, spelling(words)) == lower
    assert divide(token.upper(), spelling(words))[1:] == lower[1:]


def test_a_token_that_is_too_short_stays_whole():
    assert divide("n't", "-3") is None
    assert divide("wa", "2") is None
    assert divide("abc", "2 -2") is None
    assert divide("ê-lo", "*ê-lo\t*er\tlo") is None
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


def learn(*sentences):
    return MultiwordTokens.learn(pair for own in token_rules(sentences) for pair in own)


@given(st.lists(st.text("abAΣİß*'", min_size=1, max_size=4), min_size=2, max_size=4))
def test_the_rules_of_a_treebank_give_its_words_back(words):
    token = "".join(words)
    [[(_, rule)]] = token_rules([sentence((token, *words))])
    assert divide(token, rule) == words


def test_a_capital_sigma_at_the_end_of_a_word_is_not_one_of_the_token():
    assert ("ΑΣ".lower() + "ΤΟ".lower()) != "ΑΣΤΟ".lower()
    assert token_rules([sentence(("ΑΣΤΟ", "ΑΣ", "ΤΟ"))]) == [[("ΑΣΤΟ", "-2")]]


def test_rules_are_offered_to_tokens_that_had_them_and_to_new_ones_with_their_ending():
    learned = learn(sentence("I", ("don't", "do", "n't"), "see", ("du", "de", "le")), sentence("cat"))
    rules = lambda token: {learned.rules[k] for k in learned.offered(token)}  # noqa: E731
    assert rules("don't") == {"-3", WHOLE}
    assert rules("won't") == {"-3", WHOLE}
    assert rules("du") == {"\tde\tle", WHOLE}
    assert rules("dog") == {WHOLE}
    again = MultiwordTokens.from_arrays(learned.to_arrays())
    assert [again.offered(t) for t in ("don't", "won't", "dog")] == [
        learned.offered(t) for t in ("don't", "won't", "dog")
    ]


def test_prefixes_are_counted_from_the_beginning():
    stems = [f"{a}{b}" for a in "bdfgk" for b in ("ayt", "an", "irim", "ul")]
    learned = learn(sentence(*((f"wa{stem}", "wa", stem) for stem in stems)))
    assert set(learned.rules) == {WHOLE, "2"}
    assert divide("wamalik", learned.rules[learned.offered("wamalik")[-1]]) == ["wa", "malik"]
    assert [learned.rules[k] for k in learned.offered("malik")] == [WHOLE]


def test_stems_that_change_have_a_pattern():
    learned = learn(sentence(("fazê-lo", "fazer", "lo"), ("dizê-lo", "dizer", "lo"), ("Dkeer", "Die", "keer")))
    assert set(learned.rules) == {WHOLE, "*ê-lo\t*er\tlo", "\tdie\tkeer"}  # one token alone is no pattern
    assert divide("Metê-lo", learned.rules[learned.offered("Metê-lo")[-1]]) == ["Meter", "lo"]


def test_prefixes_that_stand_for_other_words_have_a_pattern():
    learned = learn(sentence(("bbayt", "b", "ha", "bayt"), ("bgan", "b", "ha", "gan")))
    assert set(learned.rules) == {WHOLE, "b*\tb\tha\t*"}
    assert divide("Bmalon", learned.rules[learned.offered("Bmalon")[-1]]) == ["B", "ha", "malon"]


def test_only_tokens_with_a_choice_and_their_neighbours_are_needed():
    learned = learn(sentence(("don't", "do", "n't"), ("can't", "ca", "n't"), ("dog", "dog")))
    assert learned.needed(["a", "b", "won't", "c", "d"]) == ["", "b", "won't", "c", ""]
    assert learned.needed(["a", "dog"]) == []
