from hypothesis import given
from hypothesis import strategies as st

from treewright.tagging.words import ATTRIBUTES, word_rows, word_shape

FORM, LOWER = ATTRIBUTES.index("form"), ATTRIBUTES.index("lower")


@given(st.text(min_size=1))
def test_shape_is_short_and_has_no_run_of_three(form):
    shape = word_shape(form)
    assert len(shape) <= 40
    assert not any(shape[i] == shape[i + 1] == shape[i + 2] for i in range(len(shape) - 2))


def test_the_same_forms_have_the_same_row():
    rows, table = word_rows(["w1", "w2", "w1"], {"w1", "w2"})
    assert rows.tolist() == [1, 2, 1]
    assert table.shape == (3, len(ATTRIBUTES))
    assert not table[0].any(), "what is beyond the sentence"
    assert table.flags.writeable, "compiled code has another version for arrays that cannot be written"


@given(st.lists(st.text(max_size=3), max_size=30), st.sets(st.text(max_size=3)))
def test_rows_do_not_depend_on_other_words(forms, vocabulary):
    rows, table = word_rows(forms, vocabulary)
    for form, row in zip(forms, rows, strict=True):
        assert table[row].tolist() == word_rows([form], vocabulary)[1][1].tolist()


def test_words_outside_the_vocabulary_share_their_form_but_not_their_affixes():
    rows, table = word_rows(["Known", "walking", "talked"], {"known"})
    a, b, c = table[rows]
    assert b[FORM] == c[FORM] != a[FORM]
    assert b[LOWER] == c[LOWER] != a[LOWER]
    assert b.tolist() != c.tolist()
