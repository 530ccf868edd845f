"""Step sizes of updates in inverse reinforcement learning (computeStepSize of Neu & Szepesvári 2009).

Algorithm 1 moves the weights by α_k·Δ_k in pass k = 1, 2, …. A rule defines α_k:

>>> [float(OverRootK(2.0, 1).size(k)) for k in (1, 4, 16)]
[2.0, 1.0, 0.5]

If updates are stochastic, a pass has several, and k remains the number of the pass. A large corpus then has more
updates of the same size in a pass, and needs a smaller constant. Three of the rules are more than a number: AdaGrad and
iRprop have a step for each weight, and the Projection method computes its own. Their state between updates is in named
arrays, which a checkpoint can store.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from treewright.errors import ConfigError
from treewright.settings import Choice, Flag, Real, Setting, Whole, one_of

__all__ = [
    "BATCH",
    "NORMALISE",
    "STEP",
    "STEPS",
    "TEMPERATURE",
    "AdaGrad",
    "ConstantStep",
    "IRprop",
    "OverK",
    "OverRootK",
    "ProjectionStep",
    "StepRule",
    "make_step",
]

Floats = npt.NDArray[np.float64]


class StepRule:
    """A rule with its constant, for ``size`` weights.

    ``whole`` rules compare one update with the next, so they need the gradient of the whole corpus in each. The others
    of the ``adaptive`` rules, whose α_k is not a number known in advance, take updates of any part of it.
    """

    name: ClassVar[str] = ""
    whole: ClassVar[bool] = False
    adaptive: ClassVar[bool] = False

    def __init__(self, constant: float, size: int) -> None:
        self.constant = constant
        self.arrays: dict[str, Floats] = {}

    def size(self, k: int) -> float:
        """α_k."""
        raise NotImplementedError

    def change(self, k: int, Δ: Floats, difference: Floats, at: Any = slice(None)) -> Floats:
        """α_k·Δ: the change of the weights ``at`` some indices (all of them), or of g⁻¹ of them.

        ``Δ`` is the update with its regularisation, −λθ; ``difference`` is the same without it.
        """
        return self.size(k) * Δ


class ConstantStep(StepRule):
    """α_k = c."""

    name: ClassVar[str] = "constant"

    def size(self, k: int) -> float:
        """α_k."""
        return self.constant


class OverK(StepRule):
    """α_k = c/k, the standard choice for convergence, and the one that improved parsers least (§6.1)."""

    name: ClassVar[str] = "1/k"

    def size(self, k: int) -> float:
        """α_k."""
        return self.constant / k


class OverRootK(StepRule):
    """α_k = c/√k, which did well for all methods (§6.1)."""

    name: ClassVar[str] = "1/sqrt(k)"

    def size(self, k: int) -> float:
        """α_k."""
        return self.constant / math.sqrt(k)


class AdaGrad(StepRule):
    """Each weight has a step, which shrinks with the updates of this weight (Duchi, Hazan & Singer 2011).

    Weight i moves by c·d_i / √(Σ d_i²), the sum being over the differences d of all updates so far, this one included:
    their algorithm with diagonal matrices. So a weight moves by c when it is first changed, and the weights of rules
    that are involved in many errors move less and less. The number of the pass does not matter, and neither does the
    length of updates. Regularisation, −λθ, is not divided: its step is c.
    """

    name: ClassVar[str] = "adagrad"
    adaptive: ClassVar[bool] = True

    def __init__(self, constant: float, size: int) -> None:
        super().__init__(constant, size)
        self.arrays = {"squares": np.zeros(size, np.float64)}

    def change(self, k: int, Δ: Floats, difference: Floats, at: Any = slice(None)) -> Floats:
        """The step of each weight times its difference, and c times its regularisation."""
        squares = self.arrays["squares"]
        squares[at] += difference**2
        roots = np.sqrt(squares[at])
        divided: Floats = np.divide(difference, roots, out=np.zeros_like(roots), where=roots > 0.0)
        return self.constant * (divided + (Δ - difference))


class IRprop(StepRule):
    """iRprop⁻: each weight has a step, which depends only on the signs of gradients (Igel & Hüsken 2000, 2003).

    A weight's step, ``constant`` at first, grows by η⁺ = 1.2 while its gradient keeps its sign, up to 50; where the
    sign has changed, the last step was too large: the step shrinks by η⁻ = 0.5, down to 10⁻⁶, and the weight is not
    changed once. Of the two improved versions of Rprop, this one needs only gradients (iRprop⁺ also reverts steps after
    which the error has increased). The paper does not say which of them it used.
    """

    name: ClassVar[str] = "irprop"
    whole: ClassVar[bool] = True
    adaptive: ClassVar[bool] = True

    def __init__(self, constant: float, size: int) -> None:
        super().__init__(constant, size)
        self.arrays = {"steps": np.full(size, constant, np.float64), "signs": np.zeros(size, np.float64)}

    def change(self, k: int, Δ: Floats, difference: Floats, at: Any = slice(None)) -> Floats:
        """The step of each weight, in the direction of Δ."""
        steps, signs = self.arrays["steps"], np.sign(Δ)
        kept = signs * self.arrays["signs"]
        steps = np.where(kept > 0.0, np.minimum(1.2 * steps, 50.0), steps)
        steps = np.where(kept < 0.0, np.maximum(0.5 * steps, 1e-6), steps)
        signs = np.where(kept < 0.0, 0.0, signs)
        self.arrays = {"steps": steps, "signs": signs}
        return steps * signs


class ProjectionStep(StepRule):
    """The Projection method's β_k (eq. 11), with which it approaches the expert in the space of feature expectations.

    Ψ is a mixture of the feature expectations of all policies so far. Each update moves it to the point nearest to the
    expert on the line to those of the newest policy (eq. 11–12):

        β_k = (Φ̄_θ − Ψ)ᵀ(Φ̄_E − Ψ) / ‖Φ̄_θ − Ψ‖²        Ψ ← Ψ + β_k (Φ̄_θ − Ψ)

    The state is ``gap`` = Φ̄_E − Ψ; with the difference of an update, Φ̄_E − Φ̄_θ, it determines all the rest. In the
    first update Ψ becomes Φ̄_θ and β is 1. Equation 11 does not define this case, but with this choice and λ = 1 the
    weights are always θ_{k+1} = Φ̄_E − Ψ_k, which is the algorithm of Abbeel & Ng (2004); the initial weights are
    discarded.
    """

    name: ClassVar[str] = "projection"
    whole: ClassVar[bool] = True
    adaptive: ClassVar[bool] = True

    def __init__(self, constant: float, size: int) -> None:
        super().__init__(constant, size)
        self.arrays = {"gap": np.zeros(size, np.float64)}

    def change(self, k: int, Δ: Floats, difference: Floats, at: Any = slice(None)) -> Floats:
        """β_k·Δ."""
        gap, β = self.arrays["gap"], 1.0
        towards = gap - difference  # Φ̄_θ − Ψ
        if k == 1:
            gap = difference.copy()
        else:
            length = float(towards @ towards)
            β = float(towards @ gap) / length if length > 0.0 else 0.0  # 0 if the target is already reached
            gap = gap - β * towards
        self.arrays = {"gap": gap}
        return β * Δ


#: the rules by name
STEPS: dict[str, type[StepRule]] = {
    rule.name: rule for rule in (ConstantStep, OverK, OverRootK, AdaGrad, IRprop, ProjectionStep)
}


# settings of learners with step sizes
STEP = Setting("step", Choice(*STEPS), "How the step size changes from pass to pass", metavar="RULE")
NORMALISE = Setting("normalise", Flag(), "Give every update the length 1")
BATCH = Setting("batch", Whole(1), "Examples an update", none="the whole corpus", none_written=0)
TEMPERATURE = Setting(
    "temperature",
    Real(above=0),
    "The temperature of the Boltzmann policy; high values make it more random",
    why="at 0 the policy has no gradient; take a small one, such as 0.1",
)


def make_step(name: str, constant: float, size: int) -> StepRule:
    """A rule by its name, ready for the first update of ``size`` weights.

    >>> make_step("1/k", 2.0, 1).size(4)
    0.5
    """
    if name not in STEPS:
        raise ConfigError(one_of(name, STEPS), setting="step", value=name)
    return STEPS[name](constant, size)
