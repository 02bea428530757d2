"""Trust in the predictions of a regressor that you already have."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin, clone, is_classifier
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.utils.validation import check_is_fitted

from pnml.columns.encoder import ColumnEncoder, Encoded
from pnml.core.arrays import FloatArray
from pnml.core.distributions.tabulated import Tabulated
from pnml.core.trust import DEFAULT_LEVEL, Reference, check_level
from pnml.errors import InputError
from pnml.estimators.cross_fitting import out_of_fold_errors
from pnml.estimators.score_frame import reasons, score_frame
from pnml.estimators.validation import as_targets, check_flag, check_weights, refuse_extreme
from pnml.estimators.wrapped import check_table, fit_wrapped
from pnml.learners.expected_error import ExpectedError
from pnml.learners.leaf_cells import CellRows, LeafCells, count_cells
from pnml.learners.model_leaves import ModelLeaves


class TrustedRegressor(MetaEstimatorMixin, RegressorMixin, BaseEstimator):
    """The regressor that you have, which also says which of its predictions not to trust.

    The predictions are the model's own. The regret is that of all models made of the leaves of
    the fitted trees, each cut to the cell of its training rows, and of linear columns, under a
    ridge penalty: exact for that class, with the splits as they are. For a model without trees
    the class is linear in the columns, inside one cell.

    Parameters
    ----------
    estimator : regressor or Pipeline, optional
        It is cloned and fitted. Tree ensembles of scikit-learn, LightGBM, XGBoost and CatBoost,
        also as the last step of a Pipeline, are scored by their leaves; any other regressor by
        the columns alone. By default scikit-learn's ``HistGradientBoostingRegressor``.
    prefit : bool, default=False
        Whether `estimator` is fitted already and is to be used as it is. ``fit`` then wants its
        training rows; ``expected_error`` and intervals are not available.
    cv : int or cross-validation splitter, default=5
        Folds whose left-out errors calibrate ``expected_error`` and intervals. A number means
        that many shuffled folds.
    random_state : int or None, default=None
        Seed of the default estimator and of the folds.

    Attributes
    ----------
    estimator_ : the fitted model
    learner_ : the cells of its leaves, a frozen value
    reference_ : left-out regrets and excesses of the training rows
    explain_names_ : names of the columns of ``explain``
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(500, 3))
    >>> model = TrustedRegressor(random_state=0).fit(X, np.sin(6 * X[:, 0]) + X[:, 1])
    >>> model.trusted([[0.5, 0.5, 0.5], [0.5, 0.5, 8.0]])
    array([ True, False])
    >>> model.explain([[0.5, 0.5, 8.0]]).argmax()
    np.int64(2)
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        prefit: bool = False,
        cv: Any = 5,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.prefit = prefit
        self.cv = cv
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit the model, its folds and the cells of its leaves.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)
            Any input that the model takes.
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            How many copies of each row to count, where the model can count them.
        groups : array-like of shape (n,), optional
            Passed to the splitter `cv`.
        """
        check_flag("prefit", self.prefit)
        model = self._unfitted()
        check_table(self, X, reset=True)
        X = _indexable(X)
        y = as_targets(self, y)
        refuse_extreme("y", y)
        weights = check_weights(sample_weight, y)
        self.encoder_ = ColumnEncoder.of(X, weights)
        rows = self.encoder_.encode(X)
        if len(rows.Z) != len(y):
            raise InputError(
                f"X has {len(rows.Z)} rows but y has {len(y)} values; pass exactly one target per "
                "row."
            )
        if self.prefit:
            check_is_fitted(model)
            self.estimator_ = model
        else:
            self.estimator_ = fit_wrapped(clone(model), X, y, weights)
        counts = np.ones(len(y)) if weights is None else weights
        self._leaves = ModelLeaves.of(self.estimator_, X, counts)
        self._count(X, y, rows, counts)
        if not self.prefit:
            self._calibrate(model, X, y, weights, counts, groups)
        return self

    def _unfitted(self) -> Any:
        if self.estimator is None:
            return HistGradientBoostingRegressor(random_state=self.random_state)
        if not hasattr(self.estimator, "fit") or not hasattr(self.estimator, "predict"):
            raise InputError(
                f"estimator is a {type(self.estimator).__name__}, which lacks fit or predict; pass "
                "a regressor of scikit-learn's kind."
            )
        if is_classifier(self.estimator):
            raise InputError(
                f"estimator is a classifier ({type(self.estimator).__name__}); pass a regressor."
            )
        return self.estimator

    def _count(self, X: Any, y: FloatArray, rows: Encoded, counts: FloatArray) -> None:
        used = counts > 0
        leaf = self._leaves.leaf(X)
        seen = rows.never_seen[used]
        cells = CellRows(leaf[used], rows.columns[used], rows.Z[used], seen)
        encoder = self.encoder_
        self.learner_: LeafCells = count_cells(
            self._leaves.ends,
            cells,
            counts[used],
            encoder.word_count,
            [tuple(range(g.start, g.stop)) for g in encoder.groups],
            encoder.places,
            self._leaves.kept,
        )

    def _calibrate(
        self, model: Any, X: Any, y: FloatArray, weights: Any, counts: FloatArray, groups: Any
    ) -> None:
        errors = out_of_fold_errors(model, X, y, weights, self.cv, groups, self.random_state)
        used = counts > 0
        leaf = self._leaves.leaf(X)[used]
        kappa = np.expm1(self.learner_.reference.regrets)
        self._errors = ExpectedError.of(
            leaf, kappa, errors[used], counts[used], int(self._leaves.ends[-1])
        )

    def predict(self, X: Any) -> Any:
        """The model's own prediction of each row, unchanged."""
        check_is_fitted(self)
        return self.estimator_.predict(X)

    def regret(self, X: Any) -> FloatArray:
        """Regret of each row in nats: how unlike the training rows it is to the model. ≥ 0."""
        return self.learner_.regret(self._rows(X)[0])

    def trusted(self, X: Any, level: float = DEFAULT_LEVEL) -> Any:
        """Whether each row is as ordinary as this share of the training rows.

        The regret and the largest excess beyond the training range of a column must be as small as
        those of left-out training rows; the two tests share one level of false alarms. A row with
        a word, a gap or a value of a constant column unseen in training is never trusted.
        """
        level = check_level(level)
        evidence = self.learner_.evidence(self._rows(X)[0])
        return self.learner_.reference.thresholds(level).trusts(*evidence)

    def explain(self, X: Any) -> FloatArray:
        """Share of each column in the leverage of each row: (n, n_features), ≥ 0.

        The rows sum to ``exp(regret) − 1`` less the intercept's ``1/n``.
        """
        return self.learner_.explain(self._rows(X)[0])

    def expected_error(self, X: Any) -> FloatArray:
        """Absolute error to expect on each row, in units of y.

        Computed from the errors of left-out rows in the same leaves and from the regret, calibrated
        so that its mean over ordinary rows is the mean error of the models of the folds.
        """
        rows, _ = self._rows(X)
        return self._calibrated("expected_error").at(rows.leaf, self.learner_.leverage(rows))

    def predict_dist(self, X: Any) -> Tabulated:
        """Distribution of the label of each row, about the model's own prediction."""
        errors = self._calibrated("predict_dist")
        rows, _ = self._rows(X)
        kappa = self.learner_.leverage(rows)
        mean = np.asarray(self.estimator_.predict(X), dtype=float).ravel()
        return errors.distribution(mean, errors.at(rows.leaf, kappa), np.log1p(kappa))

    def predict_interval(self, X: Any, coverage: float = 0.9) -> FloatArray:
        """Interval (n, 2) about each prediction, wider where larger errors are expected.

        Calibrated on out-of-fold errors: about a share `coverage` of ordinary rows falls inside.
        It is no guarantee for a finite number of rows, nor for shifted rows.
        """
        return self.predict_dist(X).interval(coverage)

    def score_frame(self, X: Any, *, coverage: float = 0.9, level: float = DEFAULT_LEVEL) -> Any:
        """All answers as one data frame, of polars where X is, else of pandas.

        Columns: prediction, lower, upper, expected_error, regret, trusted, because.
        """
        rows, encoded = self._rows(X)
        dist = self.predict_dist(X)
        ends = dist.interval(coverage)
        because = reasons(self.learner_.explain(rows), encoded, self.learner_.outside(rows))
        return score_frame(
            X,
            {
                "prediction": dist.mean,
                "lower": ends[:, 0],
                "upper": ends[:, 1],
                "expected_error": dist.scale,
                "regret": dist.regret,
                "trusted": self.trusted(X, level),
                "because": because,
            },
        )

    @property
    def reference_(self) -> Reference:
        """Left-out regrets and excesses of the training rows."""
        check_is_fitted(self)
        return self.learner_.reference

    @property
    def explain_names_(self) -> Any:
        """Names of the columns of ``explain``."""
        check_is_fitted(self)
        return np.array(self.encoder_.names, dtype=object)

    def _rows(self, X: Any) -> tuple[CellRows, Encoded]:
        check_is_fitted(self)
        check_table(self, X, reset=False)
        encoded = self.encoder_.encode(X)
        leaf = self._leaves.leaf(X)
        return CellRows(leaf, encoded.columns, encoded.Z, encoded.never_seen), encoded

    def _calibrated(self, name: str) -> ExpectedError:
        check_is_fitted(self)
        errors: ExpectedError | None = getattr(self, "_errors", None)
        if errors is None:
            raise InputError(
                f"{name} needs errors on rows that the model was not trained on, which a prefit "
                "model does not give; pass prefit=False with a model that can be cloned."
            )
        return errors

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        return tags


def _indexable(X: Any) -> Any:
    """Rows that can be indexed for folds: data frames, arrays and lists stay unchanged."""
    return X if hasattr(X, "shape") or isinstance(X, list) else np.asarray(X)
