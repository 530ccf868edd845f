from hypothesis import given
from hypothesis import strategies as st

from treewright.tagging.words import ATTRIBUTES, word_rows, word_shape

FORM, LOWER = ATTRIBUTES.index("form"), ATTRIBUTES.index("lower")


@given(st.text(min_size=1))
def test_shape_is_short_and_has_no_run_of_three(form):
    shape = word_shape(form)
    assert len(shape) <= 40
    assert not any(shape[i] == shape[i + 1] == shape[i + 2] for i in range(len(shape) - 2))


def test_a_form_has_the_same_row_wherever_it_stands():
    rows, table = word_rows(["w1", "w2", "w1"], {"w1", "w2"})
    assert rows.tolist() == [1, 2, 1]
    assert len(table) == 3
    _, more = word_rows([f"w{i}" for i in range(3000)], {f"w{i}" for i in range(3000)})
    assert more[2].tolist() == table[1].tolist()


def test_words_outside_the_vocabulary_share_their_form_but_not_their_affixes():
    rows, table = word_rows(["Known", "walking", "talked"], {"known"})
    a, b, c = (table[row] for row in rows)
    assert b[FORM] == c[FORM] != a[FORM]
    assert b[LOWER] == c[LOWER] != a[LOWER]
    assert b.tolist() != c.tolist()
