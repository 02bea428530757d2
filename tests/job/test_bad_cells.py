"""One bad cell makes one row untrusted, and stops nothing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import pnml
from pnml import InputError

NUMBERS = ["prediction", "lower", "upper", "expected_error", "regret"]
BAD = {"size": ("abc", "number"), "day": ("2024-02-30", "date")}


@pytest.mark.parametrize("column", BAD)
@pytest.mark.parametrize("kind", ["file", "frame"])
def test_a_bad_cell_makes_its_row_untrusted_and_no_other_changes(
    column, kind, model, new, tmp_path
):
    text, what = BAD[column]
    frame = new.to_pandas().astype({"day": str})
    frame = frame.astype({column: object})
    plain = model.score(new.to_pandas())
    frame.loc[10, column] = text
    source = frame
    if kind == "file":
        source = tmp_path / "new.csv"
        frame.to_csv(source, index=False)
    scored = model.score(source)
    assert not scored["trusted"][10]
    assert scored["because"][10].startswith(f"{column} '{text}' is not a {what}")
    others = np.arange(len(frame)) != 10
    assert scored["trusted"][others].tolist() == plain["trusted"][others].tolist()
    # the rows of a batch are multiplied together, and text keeps 17 digits
    np.testing.assert_allclose(scored[NUMBERS][others], plain[NUMBERS][others], rtol=1e-9)
    found = model.findings(source)
    assert found.bad_cells == 1
    shared = f"{column} is not a {what}" + " without a time zone" * (column == "day")
    assert [r.rows for r in found.reasons if r.text == shared] == [1]


@pytest.mark.parametrize("column", BAD)
def test_strict_refuses_a_bad_cell_and_names_it(column, model, new, tmp_path):
    text, _ = BAD[column]
    frame = new.to_pandas().astype({"day": str}).astype({column: object})
    frame.loc[10, column] = text
    frame.to_csv(tmp_path / "new.csv", index=False)
    for source in (tmp_path / "new.csv", frame):
        with pytest.raises(InputError, match=text) as caught:
            model.score(source, strict=True)
        assert column in str(caught.value)
    fine = new.to_pandas()
    fine.to_csv(tmp_path / "new.csv", index=False)
    pd.testing.assert_frame_equal(
        model.score(tmp_path / "new.csv", strict=True), model.score(tmp_path / "new.csv")
    )


def test_a_constant_with_gaps_is_trusted_however_it_was_rounded():
    rng = np.random.default_rng(0)
    x, c = rng.normal(size=300), np.full(300, 0.1)
    c[::5] = np.nan
    y = x + 10 * np.isnan(c) + 0.1 * rng.normal(size=300)
    model = pnml.fit_table(pd.DataFrame({"x": x, "c": c, "y": y}), target="y", learner="pnml")
    rounded = 0.1 * (1 + np.array([0.0, 2.3e-16, 1e-14, 9e-13]))
    scored = model.score(pd.DataFrame({"x": np.zeros(5), "c": [*rounded, 0.2]}))
    assert scored["trusted"].tolist() == [True] * 4 + [False]
    assert np.ptp(scored["prediction"][:4]) == 0
