"""Several model classes at once, at a price of at most the log of their number."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import BaseEstimator, clone

from pnml.core.arrays import FloatArray
from pnml.core.distributions.normal import Normal
from pnml.core.user_types import ArrayOrFrame
from pnml.errors import InputError
from pnml.estimators.base import RegressorBase
from pnml.estimators.conformal import ConformalRegressor
from pnml.estimators.luckiness import LpNMLRegressor
from pnml.estimators.members import NamedMembers
from pnml.estimators.registry import register
from pnml.estimators.regressor import PNMLRegressor
from pnml.estimators.validation import check_training_rows
from pnml.learners.lasso import Lasso
from pnml.learners.norm_ball import NormBall
from pnml.learners.union import Union, unite


class UniversalRegressor(RegressorBase, NamedMembers):
    """Universal regressor: combines several by pNML, at most log k nats behind the best of k.

    Its density is the largest of the classes' densities, normalised. Whatever the label turns out
    to be, its log-loss is at most that of the best class plus the log of the normaliser, which is
    at most the log of the number of classes. Where all classes are Gaussian, the normaliser is
    exact; with a norm ball or the lasso among them it is integrated to 1e-8, at milliseconds a row.

    Parameters
    ----------
    estimators : list of (name, estimator), optional
        Regressors of this library with a genie, alike or not: `PNMLRegressor`,
        `KernelPNMLRegressor`, `PNMLTreeRegressor`, `LpNMLRegressor` with either penalty,
        `NormBallRegressor`. By default ordinary pNML, ridge pNML and luckiness, the last two with
        penalties chosen by leave-one-out.

    Attributes
    ----------
    estimators_ : list of fitted regressors
    named_estimators_ : the same, by name

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(30, 3))
    >>> model = UniversalRegressor().fit(X, X[:, 0] + rng.normal(size=30))
    >>> model.predict_interval(X[:2], coverage=0.9).shape
    (2, 2)

    Classes may be unlike:

    >>> from pnml import NormBallRegressor, PNMLTreeRegressor
    >>> unlike = [("ball", NormBallRegressor()), ("tree", PNMLTreeRegressor())]
    >>> mixed = UniversalRegressor(unlike).fit(X, X[:, 0])
    >>> price = mixed.predict_dist(X[:2]).log_mass
    >>> bool(np.all((price >= 0) & (price <= np.log(2))))
    True
    """

    learner_: Union

    def fit(self, X: ArrayOrFrame, y: ArrayOrFrame) -> Self:
        """Fit every regressor inside to rows X (n, n_features) and targets y (n,)."""
        classes = self._classes()
        X, y = check_training_rows(self, X, y)
        self.estimators_ = [clone(estimator).fit(X, y) for _, estimator in classes]
        self.named_estimators_ = dict(
            zip((name for name, _ in classes), self.estimators_, strict=True)
        )
        for name, estimator in self.named_estimators_.items():
            _refuse_without_genie(name, estimator, X[:1])
        self.learner_ = unite(tuple(member.learner_ for member in self.estimators_), X, y)
        return self

    def _classes(self) -> list[tuple[str, Any]]:
        default = [
            ("ordinary", PNMLRegressor()),
            ("ridge", PNMLRegressor(alpha="loo")),
            ("luckiness", LpNMLRegressor()),
        ]
        return self._named(default, "class", '[("ridge", PNMLRegressor(alpha=1.0))]')


def _refuse_without_genie(name: str, estimator: BaseEstimator, row: FloatArray) -> None:
    if isinstance(estimator, ConformalRegressor):
        raise InputError(
            f"estimator {name!r} is a ConformalRegressor, whose intervals come from residuals and "
            "not from a genie, so that there is no density to follow; pass the regressor inside."
        )
    if not hasattr(estimator, "predict_dist"):
        raise InputError(
            f"estimator {name!r} is a {type(estimator).__name__}, which predicts no distribution; "
            "pass regressors of pnml with a genie, such as PNMLRegressor."
        )
    learner = getattr(estimator, "learner_", None)
    if isinstance(learner, Lasso | NormBall):
        return
    if not hasattr(learner, "loo") or not isinstance(estimator.predict_dist(row), Normal):
        raise InputError(
            f"estimator {name!r} ({type(estimator).__name__}) has no genie of its own to follow; "
            "use PNMLRegressor, KernelPNMLRegressor, PNMLTreeRegressor, LpNMLRegressor or "
            "NormBallRegressor."
        )


register(
    "universal",
    UniversalRegressor,
    task="regression",
    about="several combined",
    rows=2_000,
    place=6,
)
