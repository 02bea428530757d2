"""AdversarialPNML: a network that refines its input towards every label and compares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, Self

import torch
from torch import Tensor, nn

from pnml.adversarial.batch_memory import BatchPlan, MemoryProbe, Recomputed
from pnml.adversarial.checks import (
    changed,
    check_count,
    check_inputs,
    check_module,
    refinement_of,
)
from pnml.adversarial.genies import GENIES
from pnml.adversarial.refinement import (
    AutogradBackward,
    Backward,
    IdentityBackward,
    InputRefiner,
    SoftBackward,
    logits_of,
    needs_graph,
)
from pnml.errors import InputError
from pnml.nn.batches import refuse_other_device
from pnml.nn.eval_mode import as_in_use
from pnml.runtime.checks import check_choice, is_number


class Defence(Protocol):
    """Interface of a defence for attacks and evaluations: a network, with settings and a regret."""

    settings: dict[str, Any]
    is_random: bool  # whether two passes over one input differ

    @property
    def model(self) -> nn.Module:
        """The network that is defended, without the defence."""
        ...

    @property
    def strength(self) -> float:
        """Largest change of an entry of an input by the refinement, in the units of the input."""
        ...

    @property
    def bounds(self) -> tuple[float, float]:
        """Least and greatest value of an entry of an input."""
        ...

    def regret(self, x: Tensor) -> Tensor:
        """Regrets (n,) of inputs (n, ...) in nats."""
        ...

    def scores_and_regret(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Log genie scores (n, C) of C labels and regrets (n,) in nats, from one pass."""
        ...

    def with_(self, **changes: Any) -> Self:
        """New defence of the same network (not a copy), with some settings changed."""
        ...


class AdversarialPNML(nn.Module):
    """Defence of a trained network: its input is refined towards each label, then scored.

    The input is moved a little towards every label, Eq. (E1), and each label is scored at the input
    refined towards it, Eq. (E3); the scores over their sum are the pNML probabilities and the log
    of the sum is the regret, Eq. (E5). Attack libraries can use the module like any network. It
    hardens a network against attacks made for that network. An attack made for this module can use
    the refinement, as if its radius were larger by the strength, so evaluate it with
    `targeted_apgd`.

    Dropout and batch normalisation run in eval mode, so that the rows of a batch do not affect each
    other; the mode is restored afterwards.

    Parameters
    ----------
    model : torch.nn.Module
        The trained network, from inputs (n, ...) to logits (n, C).
    strength : float
        Largest change of an entry in the refinement, in the units of the input.
    steps : int, default=1
        One step is FGSM; several are PGD.
    step_size : float, optional
        Length of a step; strength / steps by default.
    bounds : (float, float), default=(0, 1)
        Least and greatest value of an input.
    genie : {"own", "class"}, default="own"
        Score a label at its own refined input, or at the best of all refined inputs, Eq. (E4).
        The second costs no more, and its regret is never negative.
    backward : {"autograd", "identity", "soft"}, default="autograd"
        The derivative of the refinement that an attacker sees: its own, that of the identity,
        Eq. (E6), or that of a soft step, Eq. (E7). The values are the same.
    softness : float, default=1.0
        τ of the soft step, in units of the mean absolute inner gradient.
    max_memory : int, default=2**30
        Approximate limit in bytes; larger batches are split. With gradients, the parts are run
        again in the backward pass.

    Examples
    --------
    >>> network = nn.Linear(2, 2, bias=False)
    >>> _ = network.weight.data.copy_(4 * torch.eye(2))
    >>> defence = AdversarialPNML(network, strength=0.1)
    >>> x = torch.tensor([[0.8, 0.2], [0.5, 0.5]])
    >>> defence.refine(x)[1]
    tensor([[0.6000, 0.4000],
            [0.4000, 0.6000]])
    >>> defence.regret(x).detach()
    tensor([0.1212, 0.3220])
    """

    def __init__(
        self,
        model: nn.Module,
        strength: float,
        steps: int = 1,
        step_size: float | None = None,
        bounds: tuple[float, float] = (0.0, 1.0),
        genie: str = "own",
        backward: str = "autograd",
        *,
        softness: float = 1.0,
        max_memory: int = 2**30,
    ) -> None:
        super().__init__()
        self.model = check_module(model)
        self.settings: dict[str, Any] = {
            "strength": strength,
            "steps": steps,
            "step_size": step_size,
            "bounds": bounds,
            "genie": genie,
            "backward": backward,
            "softness": softness,
            "max_memory": max_memory,
        }
        self.refinement = refinement_of(strength, steps, step_size, bounds)
        self.genie = check_choice("genie", genie, tuple(GENIES))
        self.backward = backward
        self._backward = _backward_of(backward, softness)
        self.max_memory = check_count(max_memory, "max_memory")
        self._probes: dict[tuple[Any, ...], MemoryProbe] = {}

    is_random = False

    def forward(self, x: Tensor) -> Tensor:
        """Log genie scores (n, C), not normalised; their softmax is `probs`. Eq. (E3).

        The score of a label is its log-probability at the input refined towards it, or with
        ``genie="class"`` the largest one at any refined input.
        """
        scores, like = self._scores(x)
        return scores.to(like)

    def probs(self, x: Tensor) -> Tensor:
        """The pNML probabilities (n, C) of the labels. Eq. (E5)."""
        scores, like = self._scores(x)
        return scores.softmax(dim=1).to(like)

    def regret(self, x: Tensor) -> Tensor:
        """Regret (n,) of inputs in nats: log of the sum of genie probabilities. Eq. (E5).

        The sum is over labels. With ``genie="own"`` the regret is negative if refining towards
        labels makes them less probable, so that the sum is below 1.
        """
        scores, like = self._scores(x)
        return scores.logsumexp(dim=1).to(like)

    def scores_and_regret(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Log genie scores (n, C) of `forward` and regrets (n,) of `regret`, from one pass."""
        scores, like = self._scores(x)
        return scores.to(like), scores.logsumexp(dim=1).to(like)

    def refine(self, x: Tensor) -> Tensor:
        """Inputs (n, C, ...): each of n inputs refined towards each of C labels. Eq. (E1)."""
        x = self._input(x)
        with as_in_use([self.model]):
            pieces = torch.split(x, self._plan(x, self._probe(x)).rows)
            refiners = (self._refiner(piece) for piece in pieces)
            parts = [torch.stack([r.refined(c) for c in range(r.classes)], dim=1) for r in refiners]
        return torch.cat(parts)

    @property
    def strength(self) -> float:
        """Largest change of an entry of an input by the refinement, in the units of the input."""
        return self.refinement.strength

    @property
    def bounds(self) -> tuple[float, float]:
        """Least and greatest value of an entry of an input."""
        return self.refinement.low, self.refinement.high

    def with_(self, **changes: Any) -> AdversarialPNML:
        """New defence of the same network (not a copy), with some settings changed.

        >>> defence = AdversarialPNML(nn.Linear(2, 2), strength=0.1)
        >>> defence.with_(strength=0.2).strength, defence.strength
        (0.2, 0.1)
        """
        other = AdversarialPNML(self.model, **changed(self.settings, changes))
        other._probes = self._probes  # one network needs the same memory in both
        return other

    def extra_repr(self) -> str:
        """Text of the settings, which PyTorch shows when the module is printed."""
        r = self.refinement
        return (
            f"strength={r.strength:g}, steps={r.steps}, step_size={r.step_size:g}, "
            f"bounds=({r.low:g}, {r.high:g}), genie={self.genie!r}, backward={self.backward!r}"
        )

    def _input(self, x: Any) -> Tensor:
        """The checked batch of inputs in the dtype of the network."""
        given = check_inputs(x, (self.refinement.low, self.refinement.high))
        refuse_other_device(self.model, given)
        weights = (w.dtype for w in self.model.parameters() if w.is_floating_point())
        return given.to(next(weights, given.dtype))

    def _scores(self, x: Any) -> tuple[Tensor, torch.dtype]:
        """Log genie scores (n, C) in float64, and the dtype of the network's logits."""
        x = self._input(x)
        with as_in_use([self.model]):
            probe = self._probe(x)
        plan, genie = self._plan(x, probe), GENIES[self.genie]
        pieces = torch.split(x, plan.rows)
        blocks = [b.tolist() for b in torch.split(torch.arange(probe.classes), plan.labels)]
        keep_graph = len(pieces) * len(blocks) == 1 or not needs_graph(self.model, x)
        run = self._block_scores if keep_graph else self._recomputed_block_scores
        parts = [
            genie.combine([run(piece, block, probe.classes) for block in blocks])
            for piece in pieces
        ]
        return torch.cat(parts), probe.dtype

    def _block_scores(self, x: Tensor, labels: Sequence[int], classes: int) -> Tensor:
        """Scores of some rows from the inputs refined towards some of the labels."""
        with as_in_use([self.model]):
            refiner = self._refiner(x)
            if refiner.classes != classes:
                raise InputError(
                    f"The network gives {refiner.classes} classes, but gave {classes} before; "
                    "build a new AdversarialPNML around a network that has changed."
                )
            scores = [self._label_scores(refiner.refined(c), c) for c in labels]
        return GENIES[self.genie].combine(scores)

    def _label_scores(self, refined: Tensor, label: int) -> Tensor:
        """Scores from the inputs refined towards a label.

        The gradient of an attack mostly involves two labels of a row, so the passes of the other
        labels keep no graph.
        """

        def scores(rows: Tensor) -> Tensor:
            return GENIES[self.genie].scores(logits_of(self.model, rows), label)

        if any(weight.requires_grad for weight in self.model.parameters()):
            return scores(refined)
        recomputed: Tensor = Recomputed.apply(scores, refined)  # type: ignore[no-untyped-call]
        return recomputed

    def _recomputed_block_scores(self, x: Tensor, labels: Sequence[int], classes: int) -> Tensor:
        """Scores of a block of labels without a graph; the backward pass computes them again."""
        weights = [w for w in self.model.parameters() if w.requires_grad]
        recomputed: Tensor = Recomputed.apply(  # type: ignore[no-untyped-call]
            lambda rows: self._block_scores(rows, labels, classes), x, *weights
        )
        return recomputed

    def _refiner(self, x: Tensor) -> InputRefiner:
        return InputRefiner(self.model, self.refinement, self._backward, x)

    def _probe(self, x: Tensor) -> MemoryProbe:
        """Memory of one input of this shape; measured once, since it takes a pass."""
        kind, shapes = x.device.type, [(w.shape, w.requires_grad) for w in self.model.parameters()]
        autocast = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else None
        key = (self.genie, x.shape[1:], x.dtype, x.device, autocast, *shapes)
        if key not in self._probes:
            self._probes[key] = self._measured(x)
        return self._probes[key]

    def _measured(self, x: Tensor) -> MemoryProbe:
        weights = (*self.model.parameters(), *self.model.buffers())

        def run(row: Tensor) -> Tensor:
            logits = logits_of(self.model, row)
            GENIES[self.genie].scores(logits, 0)
            return logits

        return MemoryProbe.of(run, weights, x)

    def _plan(self, x: Tensor, probe: MemoryProbe) -> BatchPlan:
        soft_steps = self.refinement.steps if self._backward.through_gradient else 0
        graph = needs_graph(self.model, x)
        return BatchPlan.of(
            self.max_memory, probe.bytes_per_input, probe.classes, soft_steps, graph
        )


def _backward_of(name: Any, softness: Any) -> Backward:
    if not (is_number(softness, 0.0) and softness > 0):
        raise InputError(
            f"softness is {softness!r}, but it divides a gradient; pass a number above 0."
        )
    known: dict[str, Backward] = {
        "autograd": AutogradBackward(),
        "identity": IdentityBackward(),
        "soft": SoftBackward(float(softness)),
    }
    return known[check_choice("backward", name, tuple(known))]
