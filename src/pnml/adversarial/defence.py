"""A network that refines its input towards every label and compares the outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from pnml.adversarial.checks import (
    changed,
    check_choice,
    check_count,
    check_inputs,
    check_module,
    is_number,
    refinement_of,
)
from pnml.adversarial.genies import GENIES
from pnml.adversarial.memory import Plan, Probe, Recomputed
from pnml.adversarial.refinement import (
    AutogradBackward,
    Backward,
    IdentityBackward,
    SoftBackward,
)
from pnml.adversarial.refiner import Inner, logits_of, needs_graph
from pnml.errors import InputError
from pnml.nn.batches import refuse_other_device
from pnml.nn.eval_mode import as_in_use


class AdversarialPNML(nn.Module):
    """A trained network defended by hindsight: each label is told, and the input may adapt to it.

    The input is moved a little towards every label, Eq. (E1), and each label is judged where that
    took the input, Eq. (E3); the scores over their sum are the pNML probabilities and the log of
    the sum is the regret, Eq. (E5). To a library of attacks this is a network like any other. It
    hardens a network against attacks made for that network; an attack made for this module has
    the strength as additional room, so measure it with `targeted_apgd`.

    Dropout and batch normalisation act as in use, whatever the mode, so that the rows of a batch
    do not touch each other; the mode is as before afterwards.

    Parameters
    ----------
    model : torch.nn.Module
        The trained network: inputs (n, ...) → logits (n, C).
    strength : float
        Largest change of an entry in the refinement, in the units of the input.
    steps : int, default=1
        One step is FGSM; several are PGD, each along the gradient at the point reached.
    step_size : float, optional
        Length of a step, by default strength / steps.
    bounds : (float, float), default=(0, 1)
        Least and greatest value of an input.
    genie : {"own", "class"}, default="own"
        Judge a label at its own refined input, or at the best of all of them, Eq. (E4). The
        second costs no more, and its regret is never negative.
    backward : {"autograd", "identity", "soft"}, default="autograd"
        What an attacker's derivative of the refinement is: its own, which is that of the clip;
        that of doing nothing, Eq. (E6); or that of a soft step, Eq. (E7). Values are the same.
    softness : float, default=1.0
        τ of the soft step, in units of the mean absolute inner gradient.
    max_memory : int, default=2**30
        Bytes to stay within, about; larger batches are cut. With gradients, what is cut is run
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
        self.genie = check_choice(genie, "genie", tuple(GENIES))
        self.backward = backward
        self._backward = _backward_of(backward, softness)
        self.max_memory = check_count(max_memory, "max_memory")

    def forward(self, x: Tensor) -> Tensor:
        """Log genie scores (n, C), not normalised: their softmax is `probs`. Eq. (E3)."""
        scores, like = self._scores(x)
        return scores.to(like)

    def probs(self, x: Tensor) -> Tensor:
        """The pNML probabilities (n, C) of the labels. Eq. (E5)."""
        scores, like = self._scores(x)
        return scores.softmax(dim=1).to(like)

    def regret(self, x: Tensor) -> Tensor:
        """Log of the sum (n,) of the genies, in nats. Eq. (E5).

        With ``genie="own"`` it is below 0 where refining towards a label makes it less probable.
        """
        scores, like = self._scores(x)
        return scores.logsumexp(dim=1).to(like)

    def refine(self, x: Tensor) -> Tensor:
        """The inputs (n, C, ...) refined towards each label. Eq. (E1)."""
        x = self._input(x)
        with as_in_use([self.model]):
            pieces = torch.split(x, self._plan(x, self._probe(x)).rows)
            inners = (self._inner(piece) for piece in pieces)
            parts = [torch.stack([i.refined(c) for c in range(i.classes)], dim=1) for i in inners]
        return torch.cat(parts)

    @property
    def strength(self) -> float:
        """How far an entry of an input may be refined."""
        return self.refinement.strength

    @property
    def bounds(self) -> tuple[float, float]:
        """Least and greatest value of an input."""
        return self.refinement.low, self.refinement.high

    def with_(self, **changes: Any) -> AdversarialPNML:
        """The same network, not a copy of it, defended with some settings changed.

        >>> defence = AdversarialPNML(nn.Linear(2, 2), strength=0.1)
        >>> defence.with_(strength=0.2).strength, defence.strength
        (0.2, 0.1)
        """
        return AdversarialPNML(self.model, **changed(self.settings, changes))

    def extra_repr(self) -> str:
        """The settings, for print."""
        r = self.refinement
        return (
            f"strength={r.strength:g}, steps={r.steps}, step_size={r.step_size:g}, "
            f"bounds=({r.low:g}, {r.high:g}), genie={self.genie!r}, backward={self.backward!r}"
        )

    def _input(self, x: Any) -> Tensor:
        """The batch, checked, in the dtype of the network."""
        given = check_inputs(x, (self.refinement.low, self.refinement.high))
        refuse_other_device(self.model, given)
        weights = (w.dtype for w in self.model.parameters() if w.is_floating_point())
        return given.to(next(weights, given.dtype))

    def _scores(self, x: Any) -> tuple[Tensor, torch.dtype]:
        """Log genie scores (n, C) in float64, and the dtype of the network's own."""
        x = self._input(x)
        with as_in_use([self.model]):
            probe = self._probe(x)
        plan, genie = self._plan(x, probe), GENIES[self.genie]
        pieces = torch.split(x, plan.rows)
        blocks = [b.tolist() for b in torch.split(torch.arange(probe.classes), plan.labels)]
        whole = len(pieces) * len(blocks) == 1 or not needs_graph(self.model, x)
        run = self._block if whole else self._again
        parts = [genie.gathered([run(piece, block) for block in blocks]) for piece in pieces]
        return torch.cat(parts), probe.dtype

    def _block(self, x: Tensor, labels: Sequence[int]) -> Tensor:
        """Scores of some rows as some of the labels have it."""
        with as_in_use([self.model]):
            inner = self._inner(x)
            told = [self._told(inner.refined(c), c) for c in labels]
        return GENIES[self.genie].gathered(told)

    def _told(self, refined: Tensor, label: int) -> Tensor:
        """What the inputs refined towards a label say.

        An attack mostly asks about two labels of a row; the other passes need no derivative.
        """

        def told(rows: Tensor) -> Tensor:
            return GENIES[self.genie].told(logits_of(self.model, rows), label)

        if any(weight.requires_grad for weight in self.model.parameters()):
            return told(refined)
        found: Tensor = Recomputed.apply(told, refined)  # type: ignore[no-untyped-call]
        return found

    def _again(self, x: Tensor, labels: Sequence[int]) -> Tensor:
        """The same, kept out of memory until its derivative is asked for."""
        weights = [w for w in self.model.parameters() if w.requires_grad]
        found: Tensor = Recomputed.apply(  # type: ignore[no-untyped-call]
            lambda rows: self._block(rows, labels), x, *weights
        )
        return found

    def _inner(self, x: Tensor) -> Inner:
        return Inner(self.model, self.refinement, self._backward, x)

    def _probe(self, x: Tensor) -> Probe:
        weights = (*self.model.parameters(), *self.model.buffers())

        def judged(row: Tensor) -> Tensor:
            logits = logits_of(self.model, row)
            GENIES[self.genie].told(logits, 0)
            return logits

        return Probe.of(judged, weights, x)

    def _plan(self, x: Tensor, probe: Probe) -> Plan:
        soft_steps = self.refinement.steps if self._backward.through_gradient else 0
        graph = needs_graph(self.model, x)
        return Plan.of(self.max_memory, probe.each, probe.classes, soft_steps, graph)


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
    return known[check_choice(name, "backward", tuple(known))]
