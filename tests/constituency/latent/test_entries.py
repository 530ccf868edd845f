"""The entries of a lexicon with substates, and those that they back off to."""

from __future__ import annotations

from treewright.constituency.latent.lexicon import LatentLexicon

SENTENCES = [
    [("The", "DT"), ("dogs", "NNS"), ("bark", "VBP"), ("at", "IN"), ("Ford", "NNP"), (".", ".")],
    [("Dogs", "NNS"), ("bark", "VBP"), (".", ".")],
    [("the", "DT"), ("bark", "NN"), ("of", "IN"), ("the", "DT"), ("cats", "NNS"), (".", ".")],
    [("Cats", "NNP"), ("walked", "VBD"), ("the", "DT"), ("walked", "VBN"), ("dogs", "NNS"), (".", ".")],
] * 3


def test_each_entry_knows_its_sibling_and_the_nearest_coarser_entry_with_its_tag():
    lexicon = LatentLexicon.learn(SENTENCES, rare=3)
    found, rows, at = lexicon.entries, lexicon._rows, lexicon.base.to_arrays()[1]["at"].tolist()
    place = {(row, int(found.tag[e])): e for row in range(len(at) - 1) for e in range(at[row], at[row + 1])}
    for (row, tag), entry in place.items():
        assert found.sibling[entry] == place.get((int(rows.sibling[row]), tag), -1)
        towards = int(rows.backoff[row])
        while towards != -1 and (towards, tag) not in place:
            towards = int(rows.backoff[towards])
        assert found.backoff[entry] == place.get((towards, tag), -1)
    assert (found.sibling >= 0).any()
    assert (found.backoff >= 0).any()
