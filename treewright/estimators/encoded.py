"""The settings of estimators that offer both linear policies and policies with an encoder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from treewright.corpora import Token
from treewright.errors import ConfigError
from treewright.settings import Choice, File, Like, Real, Setting, Whole, one_of

__all__ = [
    "DEVICE",
    "INPUT_COLUMNS",
    "MAX_VECTORS",
    "POLICY",
    "TAG_LOSS",
    "TEACHER",
    "VECTORS",
    "EncodedSettings",
]

_SIZES = {
    "linear": "hashed features",
    "small": "a small encoder",
    "medium": "a larger one",
    "large": "the best and slowest",
}
#: defaults of learners, by the data that they learn from
_USUAL: dict[str, dict[str, Any]] = {
    "online": {"passes": 40},
    "first": {"passes": 40},
    "all": {"passes": 10, "epochs": 4},
    "current": {"passes": 5, "epochs": 8},
}
_READABLE = ("lemma", "upos", "xpos", "feats")


class _Policies(Choice):
    """The names of policies, and architectures of encoders."""

    def normal(self, value: Any) -> Any:
        """Return the name, or the architecture."""
        if isinstance(value, str):
            return super().normal(value)
        from treewright.policies.encoders.architecture import Architecture

        if isinstance(value, Mapping):
            return Architecture.from_plain(value)
        return value if isinstance(value, Architecture) else super().normal(value)

    def plain(self, value: Any) -> Any:
        """Return the name, or the architecture as plain values."""
        return value if isinstance(value, str) else value.to_plain()


def _checked_columns(value: Any) -> tuple[str, ...]:
    names = value.replace(",", " ").split() if isinstance(value, str) else value
    if not isinstance(names, (list, tuple)):
        raise ValueError
    for name in names:
        if name not in _READABLE:
            raise ConfigError(one_of(name, _READABLE))
    return tuple(dict.fromkeys(names))


POLICY = Setting("policy", _Policies(_SIZES), "The model that scores actions; encoders are trained with PyTorch")
VECTORS = Setting(
    "vectors",
    File(),
    "Encoders: fixed word vectors, a text file in the format of word2vec, GloVe or fastText",
    none="none",
    metavar="FILE",
)
MAX_VECTORS = Setting("max_vectors", Whole(1), "Encoders: the number of vectors to read from the file")
INPUT_COLUMNS = Setting(
    "input_columns",
    Like(_checked_columns, f"names of columns: {', '.join(_READABLE)}", list),
    "Encoders: the columns that are read besides words, as in 'upos xpos'; '' for none",
)
TEACHER = Setting(
    "teacher", File(), "Encoders: a model to learn from besides the oracle (distillation)", none="none", metavar="FILE"
)
TAG_LOSS = Setting(
    "tag_loss", Real(0), "Encoders: the weight of the loss of UPOS and XPOS, predicted by the first layer"
)
DEVICE = Setting(
    "device",
    Choice({"auto": "a GPU where there is one", "cpu": "", "cuda": "a GPU"}),
    "Encoders: the device for training",
)


class EncodedSettings:
    """The common part of estimators with a choice of policies. Settings that an estimator lacks have their defaults."""

    policy: Any
    vectors: Any
    max_vectors: int
    input_columns: Any = ()
    teacher: Any = None
    tag_loss: float = 0.0
    device: str
    min_count: int
    seed: int

    inputs_: Any = None
    """The vocabularies of the encoder; None for linear policies."""

    @property
    def _is_encoded(self) -> bool:
        return bool(self.policy != "linear")

    def _check_policy(self) -> None:
        """Raise :class:`~treewright.errors.ConfigError` for settings of encoders with a linear policy."""
        if self._is_encoded:
            return
        for name in ("vectors", "teacher", "tag_loss"):
            if getattr(self, name):
                problem = "is a setting of policies with an encoder: choose policy small, medium or large"
                raise ConfigError(problem, setting=name, value=getattr(self, name))

    def _usual_for_encoders(self, learner: Mapping[str, Any]) -> dict[str, Any]:
        """Further settings for a learner by name: passes and epochs that an encoder needs."""
        from treewright.learners import Imitation, learner_rows, make_learner

        if learner["name"] not in learner_rows(Imitation):
            return {}
        return _USUAL[make_learner(learner["name"], Imitation).data]

    def _learn_inputs(self, tokens: Sequence[Sequence[Any]]) -> None:
        """Collect the vocabularies of an encoder, and read its fixed vectors."""
        from treewright.policies.encoders import Inputs, read_vectors
        from treewright.policies.encoders.torch_import import find_device

        find_device(self.device)  # before anything that takes time
        place = Token._fields.index
        vectors = None if self.vectors is None else read_vectors(self.vectors, self.max_vectors)
        self.inputs_ = Inputs.learn(
            tokens,
            columns={name: place(name) for name in _checked_columns(self.input_columns)},
            targets={name: place(name) for name in ("upos", "xpos")} if self.tag_loss else {},
            min_count=self.min_count,
            vectors=vectors,
        )

    def _untrained(self, teaching: Any = None) -> Any:
        """The untrained policy with an encoder."""
        from treewright.policies.encoders import UntrainedEncoder, find_architecture

        return UntrainedEncoder(
            find_architecture(POLICY.check(self.policy)),
            self.inputs_,
            seed=self.seed,
            target_weight=self.tag_loss,
            device=self.device,
            teacher=teaching,
        )

    def _policy_arrays(self, policy: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """The settings and arrays of an encoded policy for a model file."""
        about = {"encoder": policy.architecture.to_plain(), "parameters": policy.n_parameters}
        return about, policy.stored()

    def _restored_policy(self, arrays: Mapping[str, Any]) -> Any:
        """The encoded policy of a model file."""
        from treewright.policies.encoders import EncodedPolicy

        policy = EncodedPolicy.from_arrays(arrays)
        self.inputs_ = policy.inputs
        return policy
