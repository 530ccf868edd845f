"""The segmentation example of the documentation, learned with an encoder."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from treewright.corpora import builtin_corpus
from treewright.learners import train

pytest.importorskip("torch", reason="training encoders needs PyTorch: pip install 'treewright[torch]'")

ROOT = Path(__file__).resolve().parents[3]


def test_the_page_trains_an_encoder_for_the_example():
    """The code of the page, on a few sentences, interpreted."""
    page = (ROOT / "docs" / "own-task.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n(from treewright.policies.encoders import.*?)```", page, re.DOTALL)[1]
    example = runpy.run_path(str(ROOT / "examples" / "segmentation.py"))

    class Interpreted(example["Segmentation"]):
        def pack(self, sentences):
            return super().pack(sentences).plain()

    training = [[word.lower() for word in sentence.forms] for sentence in builtin_corpus(train=8, dev=0, test=0).train]
    names = {"Segmentation": Interpreted, "train": train, "training": training}
    exec(compile(code.replace('"passes": 20', '"passes": 12'), "own-task.md", "exec"), names)
    losses = names["trained"].policy.decode(names["packed"]).losses
    assert losses.sum() / names["packed"].lengths.sum() < 0.15
