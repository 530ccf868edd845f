"""Chunks and paragraphs of any text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewright.errors import CorpusError
from treewright.text import blocks
from treewright.text.blocks import find_chunks

TEXT = st.text("ab \n\t\r\0\ufeff\u3000\u2028é😀", max_size=60) | st.text(max_size=60)


def chunks_of(text):
    found = find_chunks(text)
    spans = list(zip(found.starts.tolist(), found.ends.tolist(), strict=True))
    return [text[a:b] for a, b in spans], spans, found.paragraphs.tolist()


@given(TEXT)
def test_chunks_hold_everything_but_separators(text):
    chunks, spans, first = chunks_of(text)
    assert all(chunks)
    between = [text[b:a] for (_, b), (a, _) in zip([(0, 0), *spans], [*spans, (len(text),) * 2], strict=True)]
    assert all(c.isspace() or ord(c) < 32 or 127 <= ord(c) < 160 or c == "\ufeff" for gap in between for c in gap)
    assert not any(c.isspace() or c in "\0\ufeff" for chunk in chunks for c in chunk)
    assert first == sorted(set(first))
    assert first[:1] == ([0] if chunks else [])


@pytest.mark.parametrize(
    ("gap", "parts"),
    [("\n", 1), ("\n\n", 2), ("\r\n", 1), ("\r\n \r\n", 2), ("\r\r", 2), (" \t ", 1), ("\n\ufeff\n", 2)],
)
def test_blank_lines_end_paragraphs(gap, parts):
    assert len(chunks_of(f"one{gap}two")[2]) == parts


def test_a_long_paragraph_is_cut_at_white_space(monkeypatch):
    monkeypatch.setattr(blocks, "MOST_CHARACTERS", 10)
    assert chunks_of("aaaa bbbb cccc\n\ndd " + 20 * "e" + " f")[2] == [0, 2, 3, 4, 5]


def test_a_long_chunk_is_cut(monkeypatch):
    """Ten megabytes without white space took 780 MB."""
    monkeypatch.setattr(blocks, "LONGEST_CHUNK", 4)
    monkeypatch.setattr(blocks, "MOST_CHARACTERS", 4)
    chunks, _, paragraphs = chunks_of("ab cdefghijk")
    assert (chunks, paragraphs) == (["ab", "cdef", "ghij", "k"], [0, 1, 2, 3])


def test_half_of_a_surrogate_pair_is_no_character():
    with pytest.raises(CorpusError, match="character 3"):
        find_chunks("abc\ud800")
