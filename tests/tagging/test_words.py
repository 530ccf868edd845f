from hypothesis import given
from hypothesis import strategies as st

from treewright.tagging.words import ATTRIBUTES, WordTable, word_shape

FORM, LOWER = ATTRIBUTES.index("form"), ATTRIBUTES.index("lower")


@given(st.text(min_size=1))
def test_shape_is_short_and_has_no_run_of_three(form):
    shape = word_shape(form)
    assert len(shape) <= 40
    assert not any(shape[i] == shape[i + 1] == shape[i + 2] for i in range(len(shape) - 2))


def test_rows_are_stable_while_the_table_grows():
    words = WordTable({f"w{i}" for i in range(3000)})
    first = words.numbers(["w1", "w2", "w1"])
    before = words.array()[first[0]].tolist()
    words.numbers([f"w{i}" for i in range(3000)])
    assert words.numbers(["w1", "w2", "w1"]) == first
    assert words.array()[first[0]].tolist() == before
    assert len(words) == 3001


def test_words_outside_the_vocabulary_share_their_form_but_not_their_affixes():
    words = WordTable({"known"})
    numbers = words.numbers(["Known", "walking", "talked"])
    a, b, c = (words.array()[number] for number in numbers)
    assert b[FORM] == c[FORM] != a[FORM]
    assert b[LOWER] == c[LOWER] != a[LOWER]
    assert b.tolist() != c.tolist()
