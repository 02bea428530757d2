"""The service of docs/how-to/serve.md answers under load as the model does, or says why not."""

from __future__ import annotations

import numpy as np
import pytest

import pages


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    for package in ("fastapi", "uvicorn", "pandas", "pyarrow"):
        pytest.importorskip(package)
    return pages.run("../how-to/serve.md", tmp_path_factory.mktemp("served"))


def test_every_answer_under_load_is_what_the_model_says(served):
    truth = served["model"].score(served["plain"])
    for status, answer, _ in served["answers"]:
        assert status == 200
        for name in ("prediction", "lower", "upper", "regret"):
            found = [row[name] for row in answer["rows"]]
            np.testing.assert_allclose(found, truth[name].to_numpy(), rtol=1e-12)
        assert [row["because"] for row in answer["rows"]] == truth["because"].to_pylist()


def test_the_monitor_has_seen_every_row_once(served):
    assert served["monitor"].rows == 61 * len(served["batch"])


def test_missing_and_extra_columns_are_422_with_the_sentence_of_the_library(served):
    status, answer, _ = served["lacking"]
    page = (pages.GUIDE / "../how-to/serve.md").read_text(encoding="utf-8")
    assert status == 422
    assert f"*{answer['detail']}*" in page
    fewer = served["plain"].drop_columns(["bp"])
    with pytest.raises(ValueError, match="lacks the column 'bp'") as caught:
        served["model"].score(fewer)
    assert str(caught.value) == answer["detail"]
    status, answer, _ = served["extra"]
    assert (status, "'colour'" in answer["detail"]) == (422, True)


def test_too_many_rows_and_none_are_refused(served):
    for rows in ([], [served["batch"][0]] * (served["MOST_ROWS"] + 1)):
        with pytest.raises(ValueError, match="send 1 to 1000"):
            served["checked"](rows)
