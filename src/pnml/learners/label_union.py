"""Several classifiers at once: the largest of their probabilities, normalised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from pnml.core import universality
from pnml.core.arrays import FloatArray
from pnml.core.relations import least_of
from pnml.core.softmax import Categorical
from pnml.core.softmax_leave_one_out import LabelsLeftOut
from pnml.core.trust import Evidence, Reference
from pnml.learners.logistic_refit import LogisticRefit
from pnml.learners.one_step import OneStep
from pnml.learners.protocol import Inputs
from pnml.learners.tree_member import TreeMember

LabelMember = OneStep | LogisticRefit | TreeMember


class _Parts(NamedTuple):
    """The union's distribution of rows, and the members' shares in it."""

    dist: Categorical
    shares: FloatArray  # (n, m)  probability of the labels that each member explains best


@dataclass(frozen=True)
class LabelUnion:
    """Union of classifiers: each label gets the largest probability of any member, normalised.

    X in its methods is a list with one entry per member: the rows as that member takes them. A
    member explains a label best if it gives the label the largest probability.
    """

    members: tuple[LabelMember, ...]
    labels: npt.NDArray[np.int64]  # (k,)  of the sampled training rows
    weights: FloatArray  # (k,)
    names: tuple[tuple[str, ...], ...]  # of the features of each member

    inputs: ClassVar[Inputs] = Inputs(members=True)

    @property
    def feature_names(self) -> list[str]:
        """Names of the features of all members; features of the same name appear once."""
        return list(dict.fromkeys(name for names in self.names for name in names))

    @cached_property
    def loo(self) -> LabelsLeftOut:
        """Leave-one-out results of the sampled training rows (up to 200), by the union."""
        parts = [member.sample for member in self.members]
        log_q = np.stack([part.log_prob for part in parts])
        shares = universality.label_shares(log_q)
        dist = _union(log_q, np.column_stack([part.regrets for part in parts]), shares)
        leverages = _mixed(shares, np.column_stack([part.leverages for part in parts]))
        losses = -dist.log_prob[np.arange(len(self.labels)), self.labels]
        wrong = (dist.log_prob.argmax(axis=1) != self.labels) * 1.0
        return LabelsLeftOut(leverages, dist.regret, losses, self.weights, wrong=wrong)

    @property
    def reference(self) -> Reference:
        """Left-out regrets and leverages of training rows, for the thresholds of trust."""
        return self.loo.reference

    def predictive(self, X: Sequence[Any]) -> Categorical:
        """Log-probabilities (n, classes) and regrets (n,) of rows. Eq. (U6)."""
        return self._parts(X).dist

    def regret(self, X: Sequence[Any]) -> FloatArray:
        """Regret (n,), in nats, expected against the genie of the member that is best for a label.

        The mean of the members' regrets, each weighted by the probability of the labels that the
        member explains best, plus the log of the normaliser. Eqs. (U4) and (U7).
        """
        return _like(self._parts(X).dist.regret, X)

    def leverage(self, X: Sequence[Any]) -> FloatArray:
        """Mean (n,) of the members' leverages.

        A member's weight is the probability of the labels that it explains best.
        """
        return self._leverage(X, self._parts(X).shares)

    def evidence(self, X: Sequence[Any], regret: FloatArray | None = None) -> Evidence:
        """Regret, mean leverage, and whether any member finds a gap or broken relation never seen.

        `regret` is not used; it is computed again. Eq. (F8).
        """
        dist, shares = self._parts(X)
        broken = least_of([m.broken(rows) for m, rows in zip(self.members, X, strict=True)])
        gaps = [
            m.never_seen(rows)
            for m, rows in zip(self.members, X, strict=True)
            if isinstance(m, TreeMember)
        ]
        unseen = np.logical_or.reduce(gaps) if gaps else None
        return Evidence(dist.regret, self._leverage(X, shares), unseen, broken=broken)

    def explain(self, X: Sequence[Any]) -> FloatArray:
        """Mean (n, features) of the members' explanations, in the order of `feature_names`.

        Explanations are parts of leverage, ≥ 0. A member's weight is the probability of the labels
        that it explains best. Eq. (U7).
        """
        shares, all_names = self._parts(X).shares, self.feature_names
        total = np.zeros((len(shares), len(all_names)))
        for share, member, names, rows in zip(shares.T, self.members, self.names, X, strict=True):
            columns = [all_names.index(name) for name in names]
            part = np.asarray(member.explain(rows), dtype=float)
            total[:, columns] += np.where(share[:, None] > 0, part, 0.0) * share[:, None]
        return _like(total, X)

    def _parts(self, X: Sequence[Any]) -> _Parts:
        parts = [m.predictive(rows) for m, rows in zip(self.members, X, strict=True)]
        log_q = np.stack([np.asarray(part.log_prob) for part in parts])
        shares = universality.label_shares(log_q)
        regrets = np.column_stack([np.asarray(part.regret) for part in parts])
        return _Parts(_union(log_q, regrets, shares), shares)

    def _leverage(self, X: Sequence[Any], shares: FloatArray) -> FloatArray:
        parts = [m.leverage(rows) for m, rows in zip(self.members, X, strict=True)]
        return _mixed(shares, np.column_stack(parts))


def _union(log_q: FloatArray, regrets: FloatArray, shares: FloatArray) -> Categorical:
    """The union of classifiers, and its regret. Eqs. (U4) and (U6)."""
    union = universality.label_envelope(log_q)
    return Categorical(union.log_prob, _mixed(shares, regrets) + union.log_mass)


def _mixed(shares: FloatArray, values: FloatArray) -> FloatArray:
    """Mean (n,) of values (n, m), weighted by shares (n, m); values of share 0 are ignored."""
    parts = np.multiply(shares, values, where=shares > 0, out=np.zeros_like(shares))
    mixed: FloatArray = parts.sum(axis=1)
    return mixed


def _like(result: FloatArray, X: Sequence[Any]) -> FloatArray:
    """The result as float32 if the rows of all members are float32, else unchanged."""
    single = all(getattr(rows, "dtype", None) == np.float32 for rows in X)
    return result.astype(np.float32) if single else result
