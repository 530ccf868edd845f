"""The settings of estimators that offer both linear policies and policies with an encoder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from treewright.corpora import Token
from treewright.errors import ConfigError
from treewright.settings import Choice, File, Like, Real, Setting, Whole, one_of

__all__ = [
    "DEVICE",
    "MAX_VECTORS",
    "OUTPUT_COLUMNS",
    "POLICY",
    "TAG_LOSS",
    "TEACHER",
    "VECTORS",
    "EncodedSettings",
    "input_columns",
]

_SIZES = {
    "linear": "hashed features",
    "small": "a small encoder",
    "medium": "a larger one",
    "large": "the best and slowest",
    "stack-lstm": "an encoder of stacks, for dependency parsing",
}
#: defaults of learners, by the data that they learn from
_USUAL: dict[str, dict[str, Any]] = {
    "online": {"passes": 40},
    "first": {"passes": 40},
    "all": {"passes": 10, "epochs": 4},
    "current": {"passes": 5, "epochs": 8},
}


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


def _column_names(value: Any) -> tuple[str, ...]:
    names = value.replace(",", " ").split() if isinstance(value, str) else value
    if not isinstance(names, (list, tuple)):
        raise ValueError
    return tuple(dict.fromkeys(names))


def _columns(setting: str, possible: tuple[str, ...], help: str) -> Setting:
    def checked(value: Any) -> tuple[str, ...]:
        names = _column_names(value)
        for name in names:
            if name not in possible:
                raise ConfigError(one_of(name, possible))
        return names

    return Setting(setting, Like(checked, f"names of columns: {', '.join(possible)}", list), help)


def input_columns(*readable: str) -> Setting:
    """The setting of the columns that an encoder reads, for a task that has some of them."""
    help = "Encoders: the columns that are read besides words, as in 'upos xpos'; '' for none"
    return _columns("input_columns", readable, help)


OUTPUT_COLUMNS = _columns(
    "output_columns",
    ("upos", "xpos", "feats"),
    "Encoders: columns that the first layer predicts, and that parsing fills where they are empty; '' for none",
)


POLICY = Setting("policy", _Policies(_SIZES), "The model that scores actions; encoders are trained with PyTorch")
VECTORS = Setting(
    "vectors",
    File(),
    "Encoders: fixed word vectors, a text file in the format of word2vec, GloVe or fastText",
    none="none",
    metavar="FILE",
)
MAX_VECTORS = Setting("max_vectors", Whole(1), "Encoders: the number of vectors to read from the file")
TEACHER = Setting(
    "teacher", File(), "Encoders: a model to learn from besides the oracle (distillation)", none="none", metavar="FILE"
)
TAG_LOSS = Setting("tag_loss", Real(0), "Encoders: the weight of the loss of the tags that the first layer predicts")
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
    output_columns: Any = ()
    teacher: Any = None
    tag_loss: float = 0.0
    device: str
    min_count: int
    seed: int

    _has_structure: ClassVar[bool] = False
    """Whether the states of the task have a stack and arcs, which a stack-LSTM reads."""

    inputs_: Any = None
    """The vocabularies of the encoder; None for linear policies."""

    @property
    def _is_encoded(self) -> bool:
        return bool(self.policy != "linear")

    @property
    def _reads_structure(self) -> bool:
        from treewright.policies.encoders.architecture import find_architecture

        return self._is_encoded and find_architecture(POLICY.check(self.policy)).reads_structure

    def resolved_config(self) -> dict[str, Any]:
        """Return every setting as a plain value. With an encoder the learner has no update, as linear policies do."""
        config: dict[str, Any] = super().resolved_config()  # type: ignore[misc]
        if self._is_encoded:
            config["learner"].pop("update", None)
        return config

    def _trained_with(self) -> tuple[str, ...]:
        return ("torch",) if self._is_encoded else ()

    def _check_ready(self) -> None:
        """Raise an error for invalid settings; with an encoder also if PyTorch, device or vectors are missing."""
        super()._check_ready()  # type: ignore[misc]
        if self._is_encoded:
            from treewright.policies.encoders import read_vectors
            from treewright.policies.encoders.torch_import import find_device

            find_device(self.device)
            if self.vectors is not None:
                read_vectors(self.vectors, 1)

    def _check_policy(self) -> None:
        """Raise :class:`~treewright.errors.ConfigError` for settings of encoders with a linear policy."""
        if self._is_encoded:
            if self._reads_structure and not self._has_structure:
                problem = "cannot be a stack-LSTM, which reads a stack and arcs: it is for dependency parsing"
                raise ConfigError(problem, setting="policy", value=self.policy)
            outputs = _column_names(self.output_columns)
            if outputs and not self.tag_loss:
                problem = "must be above 0, so that the output columns are learned"
                raise ConfigError(problem, setting="tag_loss", value=self.tag_loss)
            if both := set(outputs) & set(_column_names(self.input_columns)):
                problem = f"contains {min(both)}, which the encoder reads: a column cannot be input and output"
                raise ConfigError(problem, setting="output_columns", value=list(outputs))
            return
        for name in ("vectors", "teacher", "tag_loss", "output_columns"):
            if getattr(self, name):
                problem = "is a setting of policies with an encoder: choose a policy other than linear"
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

        place = Token._fields.index
        vectors = None if self.vectors is None else read_vectors(self.vectors, self.max_vectors)
        self.inputs_ = Inputs.learn(
            tokens,
            columns={name: place(name) for name in _column_names(self.input_columns)},
            targets={name: place(name) for name in self._targets()},
            min_count=self.min_count,
            vectors=vectors,
        )

    def _targets(self) -> tuple[str, ...]:
        """The columns that the first layer learns to predict."""
        return tuple(dict.fromkeys(("upos", "xpos", *_column_names(self.output_columns)))) if self.tag_loss else ()

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
