"""Edit scripts give the lemma back, and are shared by words that inflect alike."""

from hypothesis import given
from hypothesis import strategies as st

from treewright.text.edit_scripts import EditScript, apply_script, edit_script

words = st.text("abAB'-ßİǆé", min_size=1, max_size=8)


@given(words, words)
def test_a_script_gives_the_lemma_back(form, lemma):
    script = edit_script(form, lemma)
    assert apply_script(script, form) == lemma
    assert EditScript.decode(script.encode()) == script


def test_words_that_inflect_alike_share_a_script():
    assert edit_script("Running", "run") == edit_script("sitting", "sit") != edit_script("talking", "talk")
    assert edit_script("London", "London") == edit_script("Paris", "Paris")
    assert edit_script("NATO", "NATO").casing == "upper"
    assert edit_script("McDonald", "McDonald") == edit_script("iPhone", "iPhone") == EditScript(0, "", 0, "", "same")
    assert edit_script("MacBooks", "MacBook") == edit_script("iPods", "iPod")
    assert apply_script(edit_script("MacBooks", "MacBook"), "YouTubers") == "YouTuber"
    assert edit_script("Mcdonalds", "McDonald").absolute is False


def test_a_form_that_is_too_short_has_no_lemma_by_a_script():
    script = edit_script("walked", "walk")
    assert apply_script(script, "a") is None
    assert apply_script(script, "ed") is None
