"""Ways to choose the penalty of luckiness, ridge and Bayes from training rows alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from pnml.core.arrays import FloatArray
from pnml.core.distributions.normal import Predictive
from pnml.core.leave_one_out import Path
from pnml.core.universality import envelope
from pnml_experiments.ch4_luckiness.linear_learners import METHODS, Chosen, Method, Trained

# Penalties that one distribution follows at once.
_CLASSES = 8

# From training rows and a learner to a penalty and a noise variance.
Rule = Callable[[Trained, Method], Chosen]
# From new rows to their labels.
Says = Callable[[FloatArray], Predictive]


def todays(trained: Trained, method: Method) -> Chosen:
    """What the estimators here do: least left-out log-loss, cautious where rows are met exactly."""
    return trained.chosen(method)


def by_log_loss(trained: Trained, method: Method) -> Chosen:
    """Least pooled leave-one-out log-loss. Eq. (V2)."""
    path = trained.path(method)
    return _at(path, path.log_loss)


def by_squares(trained: Trained, method: Method) -> Chosen:
    """Least pooled leave-one-out squared error; the noise then by log-loss."""
    squares = sum(np.sum(method.folds.residual(part) ** 2, axis=0) for part in trained.blocks)
    return _at(trained.path(method), np.asarray(squares, dtype=float))


def by_gcv(trained: Trained, method: Method) -> Chosen:
    """Least generalised cross-validation n Σe²/(n − tr H)² of the ridge fit, which all share."""
    squares = sum(np.sum(part.residual**2, axis=0) for part in trained.blocks)
    slack = sum(np.sum(part.slack, axis=0) for part in trained.blocks)
    return _at(trained.path(method), np.asarray(squares / slack**2, dtype=float))


def by_standard_error(trained: Trained, method: Method) -> Chosen:
    """Largest penalty within one standard error of the least log-loss. Eq. (V3)."""
    path = trained.path(method)
    error = trained.standard_error(method, _at(path, path.log_loss))
    best = path.cautious(error if np.isfinite(error) else 0.0)
    return Chosen(float(path.alphas[best]), float(path.noise_variance[best]))


def _at(path: Path, criterion: FloatArray) -> Chosen:
    best = int(np.argmin(np.where(np.isfinite(criterion), criterion, np.inf)))
    return Chosen(float(path.alphas[best]), float(path.noise_variance[best]))


def universal(trained: Trained, method: Method) -> Says:
    """No choice: the envelope of the learner at penalties over the whole grid. Eq. (U1)."""
    path = trained.path(method)
    return _followed(trained, method, path, np.arange(len(path.alphas)))


def nearly_best(trained: Trained, method: Method) -> Says:
    """The envelope of the learner at penalties within a standard error of the best. Eq. (U1)."""
    path = trained.path(method)
    error = trained.standard_error(method, _at(path, path.log_loss))
    limit = path.log_loss.min() + (error if np.isfinite(error) else 0.0)
    return _followed(trained, method, path, np.flatnonzero(path.log_loss <= limit))


def _followed(trained: Trained, method: Method, path: Path, places: npt.NDArray[np.intp]) -> Says:
    """Envelope of the learner at some of these penalties, each with its own noise."""
    spread = np.linspace(0, len(places) - 1, _CLASSES).round().astype(int)
    classes = [
        trained.says(method, Chosen(float(path.alphas[i]), float(path.noise_variance[i])))
        for i in np.unique(places[spread])
    ]

    def says(X: FloatArray) -> Predictive:
        told = [each(X) for each in classes]
        means, stds, regrets = (
            np.column_stack([getattr(one, name) for one in told])
            for name in ("mean", "std", "regret")
        )
        return envelope(means, stds, regrets)

    return says


RULES: Mapping[str, Rule] = {
    "default": todays,
    "log-loss": by_log_loss,
    "squared error": by_squares,
    "GCV": by_gcv,
    "one standard error": by_standard_error,
}
ENVELOPES: Mapping[str, Callable[[Trained, Method], Says]] = {
    "all penalties at once": universal,
    "penalties near the best at once": nearly_best,
}


def all_learners(trained: Trained) -> dict[str, Says]:
    """Luckiness by every rule; ridge and Bayes by those that they are used with."""
    lucky, ridge, bayes = (METHODS[name] for name in ("luckiness", "ridge", "Bayes"))
    found: dict[str, Says] = {
        f"luckiness, {name}": trained.says(lucky, rule(trained, lucky))
        for name, rule in RULES.items()
    }
    found |= {f"luckiness, {name}": rule(trained, lucky) for name, rule in ENVELOPES.items()}
    found["ridge, squared error"] = trained.says(ridge, by_squares(trained, ridge))
    found["ridge, GCV"] = trained.says(ridge, by_gcv(trained, ridge))
    found["Bayes, default"] = trained.says(bayes, todays(trained, bayes))
    found["Bayes, log-loss"] = trained.says(bayes, by_log_loss(trained, bayes))
    found["pNML, default"] = trained.says(METHODS["pNML"], todays(trained, METHODS["pNML"]))
    return found
