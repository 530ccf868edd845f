"""Policies with learned encoders. A sentence is encoded once; scoring a state then takes a few vector additions.

Training needs PyTorch; parsing needs only NumPy and the engine. See ``docs/encoders.md``.
"""

from typing import TYPE_CHECKING

from treewright.lazy import lazy_names

if TYPE_CHECKING:
    from treewright.policies.encoders.architecture import ENCODERS, SIZES, Architecture, find_architecture
    from treewright.policies.encoders.inputs import Inputs, Words
    from treewright.policies.encoders.policy import EncodedPolicy, Teaching, UntrainedEncoder
    from treewright.policies.encoders.vectors import Vectors, read_vectors

__all__ = [
    "ENCODERS",
    "SIZES",
    "Architecture",
    "EncodedPolicy",
    "Inputs",
    "Teaching",
    "UntrainedEncoder",
    "Vectors",
    "Words",
    "find_architecture",
    "read_vectors",
]

__getattr__ = lazy_names(
    __name__,
    {
        "architecture": "ENCODERS SIZES Architecture find_architecture",
        "inputs": "Inputs Words",
        "policy": "EncodedPolicy Teaching UntrainedEncoder",
        "vectors": "Vectors read_vectors",
    },
)
