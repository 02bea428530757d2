"""Findings as a command would hand them over: patients of another clinic."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pnml.report.findings import Findings, Group, ModelFacts, Quality, Reason, Row
from pnml.report.listed_rows import DrivingCell
from pnml.tables.drift import DriftRow

HOSTILE = (
    "<script>alert(1)</script>",
    "\"quoted\" 'id' & <b>bold</b>",
    "{{ 7*7 }}{% raw %}",
    "</script><!--<img src=x onerror=alert(2)>",
    "a & b.csv",
    "line\u2028separator %{x} $x^2$ <a href='javascript:alert(3)'>link</a>",
    "\u202edesrever \x00 \ud800",
)
KPA = "blood pressure below all of training"
AGE = "age and bmi, not together so in training"


def _row(rank, regret, threshold):
    kpa = rank % 2 == 0
    cells = (
        DrivingCell("blood pressure", "11.9" if kpa else "101", "62 to 133"),
        DrivingCell("age", str(40 + rank), "19 to 79"),
    )
    return Row(
        number=17 * rank + 3,
        id=f"P-{1000 - 7 * rank}",
        prediction=f"{150 - 9.5 * rank:.1f}",
        interval=f"{60 - 9.5 * rank:.1f} … {240 - 9.5 * rank:.1f}",
        regret=regret,
        trusted=regret <= threshold,
        because="blood pressure is far below the training rows" if kpa else "age, then bmi",
        cells=cells,
        reason="" if regret <= threshold else KPA if kpa else AGE,
    )


def _reasons(rows, untrusted):
    """Two reasons that share the untrusted rows."""
    first = untrusted // 3
    examples = {text: tuple(row for row in rows if row.reason == text)[:10] for text in (AGE, KPA)}
    return (
        Reason(AGE, untrusted - first, (untrusted - first) / 1000, examples[AGE]),
        Reason(KPA, first, first / 1000, examples[KPA]),
    )


@pytest.fixture
def model():
    rng = np.random.default_rng(1)
    names = ["age", "sex", "bmi", "blood pressure", *(f"serum {i}" for i in range(1, 7))]
    return ModelFacts(
        facts=(
            ("estimator", "least squares with a penalty"),
            ("training rows", "342"),
            ("columns used", "10 of 12"),
            ("penalty", "3.2, chosen by leave-one-out"),
            ("noise, standard deviation", "54.1"),
        ),
        columns=(
            *((name, "number", "") for name in names),
            ("ward", "category", "5 categories"),
            ("patient", "left out", "a different value in each row"),
            ("remark", "left out", "text"),
        ),
        remarks=("4 rows without a value of progression were left out.",),
        singular_values=np.geomspace(37.0, 1.4, 10),
        penalty=3.2,
        regrets=np.exp(rng.normal(-3.6, 0.55, size=342)),
        threshold=0.11,
        level=0.99,
    )


@pytest.fixture
def regression(model):
    """A thousand labelled rows, most of them ordinary, some of them far away, a few infinite."""
    rng = np.random.default_rng(2)
    regret = np.exp(rng.normal(-3.5, 0.6, size=1000))
    regret[:60] = np.exp(rng.normal(-0.3, 0.9, size=60))
    regret[:3] = np.inf
    finite = regret[np.isfinite(regret)]
    trusted = regret <= model.threshold
    prediction = rng.normal(150, 45, size=1000) + 40 * (regret > 0.3)
    loss = (rng.normal(0, 54, size=1000) * (1 + 2 * np.minimum(regret, 3))) ** 2
    largest = np.sort(regret)[::-1][:25]
    rows = tuple(_row(i, float(r), model.threshold) for i, r in enumerate(largest))
    return Findings(
        title="diabetes.pnml on clinic-b.csv",
        task="regression",
        target="progression",
        coverage=0.9,
        model=model,
        rows=1000,
        trusted=int(trusted.sum()),
        never_seen=4,
        infinite=3,
        mean_regret=float(finite.mean()),
        prediction=prediction,
        regret=regret,
        is_trusted=trusted,
        loss=loss,
        least_trusted=rows,
        groups=(
            Group("trusted", int(trusted.sum()), 0.912, 5.41, 54.3),
            Group("not trusted", int((~trusted).sum()), 0.81, 6.72, 121.0),
            Group("all rows", 1000, 0.906, 5.49, 61.0),
        ),
        warnings=("Column 'ward' holds 2 categories that were not in training: 'F', 'G'.",),
        reasons=_reasons(rows, int((~trusted).sum())),
        drift=(
            DriftRow("age", "number", "19 to 79", "19 to 81", 0.002, 0, 0, 0, 0.02, 0.4, False, ""),
            DriftRow(
                "blood pressure",
                "number",
                "62 to 133",
                "8.2 to 131",
                0.05,
                0,
                0.01,
                0,
                0.31,
                1e-9,
                True,
                "5 % below the training range",
            ),
        ),
        quality=(
            Quality("root mean squared error on the new rows", "61", "77", "their own mean"),
            Quality("R² on the new rows", "0.37", "0"),
        ),
        calibration=((0.5, 0.51), (0.8, 0.79), (0.9, 0.906), (0.95, 0.91)),
    )


@pytest.fixture
def classification(regression):
    rng = np.random.default_rng(3)
    size = regression.regret.size
    return replace(
        regression,
        task="classification",
        target="species",
        prediction=rng.uniform(0.4, 1.0, size=size),
        loss=(rng.uniform(size=size) < 0.1 + 0.3 * ~regression.is_trusted).astype(float),
        groups=tuple(
            replace(group, coverage=float("nan"), error=0.1 + 0.3 * i)
            for i, group in enumerate(regression.groups)
        ),
        least_trusted=tuple(
            replace(row, prediction="setosa", interval="") for row in regression.least_trusted
        ),
        quality=(Quality("accuracy on the new rows", "88 %", "41 %", "the most frequent class"),),
        calibration=(),
    )


@pytest.fixture
def hostile(regression):
    """Names and cells that are programs, tags, templates and broken text."""
    script, quoted, template, closing, ampersand, separator, broken = HOSTILE
    rows = tuple(
        replace(
            row,
            id=text,
            because=text,
            reason=text,
            prediction=text,
            cells=(DrivingCell(text, text, text),),
        )
        for row, text in zip(regression.least_trusted, HOSTILE, strict=False)
    )
    drift = regression.drift[0]
    model = replace(
        regression.model,
        facts=((script, closing),),
        columns=tuple((text, text, text) for text in HOSTILE),
        remarks=HOSTILE,
    )
    return replace(
        regression,
        title=ampersand,
        target=separator,
        model=model,
        least_trusted=rows,
        warnings=(quoted, template, broken),
        reasons=tuple(Reason(text, 2, 0.002, rows[:2]) for text in HOSTILE),
        drift=tuple(replace(drift, column=t, training=t, new=t, remark=t) for t in HOSTILE),
        quality=tuple(Quality(text, text, text, text) for text in HOSTILE),
        verdict_on_model=script,
    )
