"""Description of a model of a table, in words and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.core.trust import DEFAULT_LEVEL
from pnml.tables.column_roles import EMPTY
from pnml.tables.encoder import CategoryColumn, ConstantColumn, HashedColumn, NumberColumn
from pnml.tables.fitted_table import FittedTable
from pnml.tables.learners import LEARNERS, ridge_in

_NO_CHOICE = ("cells of type", "always ", EMPTY)  # reasons that no option changes


def facts(model: FittedTable, level: float) -> list[tuple[str, str]]:
    """Pairs of a name and a text that describe a table's model, such as ("rows", "1,000").

    `level` is the level of trust whose threshold is shown, such as 0.99.
    """
    return list(_facts(model, level))


def _facts(model: FittedTable, level: float) -> Iterator[tuple[str, str]]:
    yield "task", f"{model.target.task} of {model.target.name!r}"
    yield "learner", f"{type(model.estimator).__name__} ({LEARNERS[model.learner].about})"
    if len(model.losses) > 1:
        yield "chosen by", chosen_by(model)
    else:
        yield "left-out log-loss", f"{model.losses[0][1]:.4g} nats"
    if model.comparison:
        yield "use", use(model)
    yield "rows", f"{model.rows:,}"
    yield "columns", f"{len(model.encoder.used)} used, as {model.encoder.width - 1} numbers a row"
    if model.classes:
        shown = ", ".join(model.classes[:8]) + (", …" if len(model.classes) > 8 else "")
        yield "classes", f"{len(model.classes)}: {shown}"
    ridge = ridge_in(model.estimator)
    if ridge is not None:
        yield "penalty", f"{ridge.alpha:.4g}"
    noise = getattr(model.estimator, "noise_variance_", None)
    if noise is not None:
        yield "noise", f"{np.sqrt(noise):.4g} (standard deviation)"
    threshold = model.threshold(level)
    limit = f"{threshold:.4g} nats ({100 * level:g}% of the training rows)"
    if threshold == -np.inf:
        limit = "nothing: left out, every training row is outside of all the others"
    yield "trusted up to", limit


def chosen_by(model: FittedTable) -> str:
    """Text on how the learner was chosen: the learners tried, with their log-losses in nats."""
    tried = ", ".join(f"{name} {loss:.4f}" for name, loss in model.losses)
    return f"the least log-loss on rows left out ({tried} nats a row)"


def use(model: FittedTable) -> str:
    """Text on how well a model does on rows left out, beside guessing the mean or one class."""
    ours = next(score for score in model.comparison if score.name == model.learner)
    guess = model.comparison[-1]
    if not model.is_of_use:
        return f"none: on rows left out it is no better than {_guess(model)}"
    if model.target.task == "classification":
        right = "" if np.isnan(ours.error) else f"{1 - ours.error:.1%} of the rows left out right, "
        return f"{right}{1 - guess.error:.1%} by always guessing the most frequent class"
    unit = "of the logarithm " if model.target.log else ""
    share = 1 - (ours.error / guess.error) ** 2
    return (
        f"error {unit}{ours.error:.4g} on rows left out (root mean square), {guess.error:.4g} by "
        f"always guessing the mean; R² {share:.2f}"
    )


def warning_of_use(model: FittedTable) -> str:
    """Sentence that warns of a model no better than a constant guess; "" if better or unknown."""
    if model.is_of_use is not False:
        return ""
    return (
        "The model is of no use for predictions, since on training rows left out it was no better "
        f"than {_guess(model)}; its verdicts still tell which rows are unlike those of training."
    )


def _guess(model: FittedTable) -> str:
    what = "mean" if model.target.task == "regression" else "most frequent class"
    return f"always guessing the {what}"


def comparison(model: FittedTable) -> list[tuple[str, str, str, str]]:
    """Texts on each learner tried and the constant guess: name, log-loss, error, R² or accuracy."""
    rows = []
    for score in model.comparison:
        classes = model.target.task == "classification"
        guess = model.comparison[-1]
        good = 1 - score.error if classes else 1 - (score.error / guess.error) ** 2
        error = f"{score.error:.1%}" if classes else f"{score.error:.4g}"
        known = not np.isnan(score.error)
        name = score.name
        if score is guess:
            name = "most frequent class" if classes else "mean alone"
        share = f"{good:.1%}" if classes else f"{good:.2f}"
        rows.append(
            (name, f"{score.log_loss:.4f}", error if known else "–", share if known else "–")
        )
    return rows


def columns(model: FittedTable) -> list[tuple[str, str, str]]:
    """Texts on every column of the training table: name, role and remark."""
    used = {c.name: c for c in model.encoder.columns if not isinstance(c, ConstantColumn)}
    rows = []
    for role in model.roles:
        remark = role.remark
        if role.column in used:
            remark = "; ".join(filter(None, [remark, _remark(used[role.column])]))
        rows.append((role.column, role.kind, remark))
    return rows


def left_out(model: FittedTable) -> list[str]:
    """Sentences on the columns that are not used, one for each reason."""
    reasons: dict[str, list[str]] = {}
    for role in model.roles:
        if role.kind == "left out" and role.remark != "as asked":
            reasons.setdefault(role.remark, []).append(role.column)
    return [
        f"Left out {', '.join(map(repr, names))}: {reason}"
        f"{'' if reason.startswith(_NO_CHOICE) else ' (--categorical keeps a column)'}."
        for reason, names in reasons.items()
    ]


def singular_values(model: FittedTable) -> FloatArray:
    """Singular values of a model's encoded training rows; empty for learners without a spectrum."""
    ridge = ridge_in(model.estimator)
    spectrum = ridge.spectrum if ridge else getattr(model.estimator, "spectrum_", None)
    return np.zeros(0) if spectrum is None else np.sqrt(spectrum.h2)


def penalty(model: FittedTable) -> float:
    """The ridge penalty of a model, as given or as chosen in its fit; 0 if there is none."""
    ridge = ridge_in(model.estimator)
    return 0.0 if ridge is None else float(ridge.alpha)


def _remark(column: NumberColumn | CategoryColumn | HashedColumn) -> str:
    some_missing = "" if column.missing is None else ", some missing"
    if isinstance(column, HashedColumn):
        many, places = len(column.known), len(column.hash_places)
        return f"{many:,} values, hashed into {places} numbers{some_missing}"
    if isinstance(column, CategoryColumn):
        return f"{len(column.levels)} values{some_missing}"
    if column.is_date:
        day = np.datetime64(round(column.fill), "D")
        return f"mean {day}, spread {column.scale:.4g} days{some_missing}"
    return f"mean {column.fill:.4g}, spread {column.scale:.4g}{some_missing}"


def document(model: FittedTable, level: float = DEFAULT_LEVEL) -> dict[str, Any]:
    """The description of a table's model as a dict of JSON values; `level` is that of trust."""
    return {
        "task": model.target.task,
        "target": model.target.name,
        "estimator": type(model.estimator).__name__,
        "learner": model.learner,
        "log_losses": dict(model.losses),
        "comparison": [vars(score) for score in model.comparison],
        "rows": model.rows,
        "classes": list(model.classes),
        "penalty": penalty(model),
        "threshold": model.threshold(level),
        "level": level,
        "columns": [
            dict(zip(("name", "role", "remark"), row, strict=True)) for row in columns(model)
        ],
        "types": dict(model.types),
        "remarks": [*model.remarks, *left_out(model)],
    }
