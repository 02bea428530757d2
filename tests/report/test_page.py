"""The page as text: whole, escaped, the same every time, and robust."""

from __future__ import annotations

import json
import lzma
import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files

import numpy as np
import pytest

from pnml.report.findings import Group
from pnml.report.listed_rows import DrivingCell
from pnml.report.page import render
from pnml.report.plotly_chart import axis_text
from pnml.report.regret_axis import RegretAxis
from pnml.report.regret_charts import regret_chart, scatter_chart
from pnml.report.risk_chart import risk_chart
from pnml.report.rows_table import row_groups
from pnml.report.spectrum_chart import spectrum_chart

pytest.importorskip("jinja2")

VOID = {"meta", "link", "br", "img", "hr", "input"}


class Reader(HTMLParser):
    """The text, the tags and the scripts of a page; refuses tags that do not match."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.open, self.text, self.tags, self.attributes = [], [], [], []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [name for name, _ in attributes]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not {"script", "style"} & set(self.open):
            self.text.append(data)

    @property
    def words(self):
        return " ".join(" ".join(self.text).split())


def _drawings(page):
    return json.loads(re.search(r'id="drawings">(.*?)</script>', page, re.DOTALL)[1])


def test_the_same_findings_give_the_same_bytes(regression):
    assert render(regression) == render(regression)


@pytest.mark.parametrize("name", ["regression", "classification", "hostile"])
def test_the_page_is_well_formed_and_utf8(name, request):
    page = render(request.getfixturevalue(name))
    page.encode("utf-8")
    assert page.startswith("<!DOCTYPE html>")
    Reader(page)


def test_sections_come_in_order(regression):
    assert re.findall(r"<h2[^>]*>([^<]+)", render(regression)) == [
        "Why rows are not to be trusted",
        "The least trusted rows",
        "Drift by column",
        "How good the model is",
        "Charts",
        "How to read it",
        "The model",
    ]


def test_the_page_names_nothing_to_fetch(regression):
    page = render(regression)
    own = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(r"(src|href)=\"(?!#|data:,)", own)
    assert "@import" not in own
    assert "url(" not in own
    assert "default-src 'none'" in own
    assert "unsafe-eval" not in own


def test_hostile_names_are_only_names(hostile):
    reader = Reader(render(hostile))
    assert "img" not in reader.tags
    assert reader.tags.count("script") == 3
    assert not [name for name in reader.attributes if name.startswith("on")]
    for text in ("<script>alert(1)</script>", "{{ 7*7 }}{% raw %}", "a & b.csv", "<b>bold</b>"):
        assert text in reader.words
    assert "<b>bold</b>" not in render(hostile)


def test_foreign_text_ends_no_script(hostile):
    page = render(hostile)
    stored = re.search(r'id="drawings">(.*?)</script>', page, re.DOTALL)[1]
    assert "<" not in stored
    assert "\u2028" not in stored
    titles = [d["layout"]["xaxis"]["title"]["text"] for d in _drawings(page)]
    assert any("&lt;a href" in title for title in titles)


def test_charts_are_made_of_what_the_basic_bundle_can_draw(regression, classification):
    for findings in (regression, classification):
        drawings = _drawings(render(findings))
        kinds = {trace["type"] for drawing in drawings for trace in drawing["traces"]}
        assert kinds <= {"bar", "pie", "scatter"}


def test_the_bundle_of_plotly_is_the_one_that_its_note_names():
    folder = files("pnml.report")
    script = lzma.decompress((folder / "plotly-basic.min.js.xz").read_bytes()).decode()
    version = re.search(r"plotly\.js \(basic - minified\) v([\d.]+)", script[:200])[1]
    assert f"version {version}," in (folder / "plotly-basic.md").read_text(encoding="utf-8")
    assert "MIT" in (folder / "plotly-basic.LICENSE").read_text(encoding="utf-8")


def test_plotly_gets_text_that_it_reads_as_text():
    assert axis_text("<b>&amp; $x$") == "&lt;b&gt;&amp;amp; &#36;x&#36;"


def test_missing_numbers_show_as_a_dash(regression):
    nan = float("nan")
    groups = (Group("trusted", 3, nan, nan, nan), Group("not trusted", 2, nan, nan, nan))
    page = render(replace(regression, groups=groups, mean_regret=nan))
    rows = re.findall(r"<tr><th scope=\"row\">(?:not )?trusted</th>.*?</tr>", page)
    assert [re.findall(r'number">([^<]*)', row) for row in rows] == [
        ["3", "–", "–", "–"],
        ["2", "–", "–", "–"],
    ]
    assert "nan" not in re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL).lower()


def test_thousands_of_columns_are_counted_beyond_the_first_200(regression):
    columns = tuple((f"column {i:05d}", "number", "") for i in range(5000))
    page = render(replace(regression, model=replace(regression.model, columns=columns)))
    assert len(re.findall(r"column \d{5}", page)) == 200
    assert "and 4,800 further columns not listed here." in page
    assert "All 5,000 columns" in page


def test_long_cells_are_cut(regression):
    row = replace(
        regression.least_trusted[0], id="x" * 10_000, cells=(DrivingCell("y" * 999, "z" * 999),)
    )
    page = render(replace(regression, least_trusted=(row,), title="t" * 999))
    own = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    assert max(len(run) for run in re.findall(r"x+|y+|z+|t+", own)) == 119


def _variants(findings):
    model, nothing = findings.model, np.zeros(0)
    infinite, zero = np.full_like(findings.regret, np.inf), np.zeros_like(findings.regret)
    everywhere = {"infinite": findings.rows, "mean_regret": float("nan"), "trusted": 0}
    none = np.zeros_like(findings.is_trusted)
    yield "no rows listed", replace(findings, least_trusted=())
    yield "no groups", replace(findings, groups=(), loss=None)
    yield "all infinite", replace(findings, regret=infinite, is_trusted=none, **everywhere)
    yield "all zero", replace(findings, regret=zero, is_trusted=~none, mean_regret=0.0)
    for name, changed in {
        "one training regret": {"regrets": np.array([0.1]), "threshold": 0.1},
        "no training regret": {"regrets": nothing, "threshold": float("nan")},
        "infinite training": {"regrets": np.full(9, np.inf), "threshold": np.inf},
        "zero training": {"regrets": np.zeros(9), "threshold": 0.0},
        "no spectrum": {"singular_values": nothing},
        "zero spectrum": {"singular_values": np.zeros(3)},
        "part zero, no penalty": {"singular_values": np.array([2.0, 0.0]), "penalty": 0.0},
        "one direction": {"singular_values": np.array([2.0])},
        "nothing said": {"facts": (), "columns": (), "remarks": ()},
    }.items():
        yield name, replace(findings, model=replace(model, **changed))
    yield (
        "empty table",
        replace(
            findings,
            rows=0,
            trusted=0,
            infinite=0,
            mean_regret=float("nan"),
            prediction=nothing,
            regret=nothing,
            is_trusted=np.zeros(0, dtype=bool),
            loss=nothing,
            least_trusted=(),
            groups=(),
        ),
    )
    yield "expected errors", replace(findings, expected_error=np.sqrt(findings.regret))
    yield "broken losses", replace(findings, loss=np.full_like(findings.regret, np.nan))
    yield "predictions inf", replace(findings, prediction=np.full_like(findings.regret, np.inf))


@pytest.mark.parametrize("name", ["regression", "classification"])
def test_odd_findings_still_make_a_whole_page(name, request):
    for _, findings in _variants(request.getfixturevalue(name)):
        page = render(findings)
        assert "How to read it" in Reader(page).words
        if "drawings" in page:
            _drawings(page)


def test_classification_speaks_of_probabilities(classification):
    words = Reader(render(classification)).words
    assert "90 % interval" not in words.replace("\u00a0", " ")
    assert "share of wrong labels" in words
    titles = [d["layout"]["xaxis"]["title"]["text"] for d in _drawings(render(classification))]
    assert "probability of the predicted species" in titles


def test_what_makes_a_row_trusted_is_told_for_each_task(regression, classification):
    judged = replace(classification, model=replace(classification.model, usual=0.972))
    words = Reader(render(judged)).words.replace("\u00a0", " ")
    assert "its leverage" in words
    assert "about 2.8 % are not trusted, by design" in words
    words = Reader(render(regression)).words.replace("\u00a0", " ")
    assert "its leverage" not in words
    assert "about 1 % are not trusted, by design" in words


def _columns(findings, group=0):
    return {column.name: column for column in row_groups(findings, 100)[group].table.columns}


def test_numbers_sort_as_numbers_and_text_as_text(regression):
    columns = _columns(regression)
    assert columns["regret"].numeric
    assert columns["regret"].cells[0].key == "Infinity"
    assert columns["regret"].sort == "descending"
    assert columns["90 % interval"].cells[0].key == "60.0"
    assert not columns["id"].numeric
    assert columns["id"].cells[0].key == ""


def test_columns_that_say_nothing_are_left_out(regression):
    rows = tuple(replace(row, id="", interval="") for row in regression.least_trusted)
    names = _columns(replace(regression, least_trusted=rows))
    assert "id" not in names
    assert "90 % interval" not in names


def test_rows_of_one_reason_are_one_group_and_every_row_is_in_one(regression):
    groups = row_groups(regression, 100)
    listed = [row.reason for row in regression.least_trusted]
    assert [group.title for group in groups] == list(dict.fromkeys(listed))
    assert [group.rows for group in groups] == [listed.count(group.title) for group in groups]


def test_reasons_of_single_rows_share_a_group_and_trusted_rows_come_last(regression):
    rows = tuple(
        replace(row, reason=f"reason {i}", trusted=i > 12)
        for i, row in enumerate(regression.least_trusted)
    )
    groups = row_groups(replace(regression, least_trusted=rows), 100)
    assert [group.rows for group in groups] == [13, 10]  # ten trusted rows are enough
    assert groups[-1].title.startswith("trusted")
    all_trusted = tuple(replace(row, trusted=True) for row in rows)
    (only,) = row_groups(replace(regression, least_trusted=all_trusted), 100)
    assert only.rows == len(rows)


def test_the_verdict_comes_first_then_reasons_with_counts_and_an_example(regression):
    words = Reader(render(regression)).words.replace("\u00a0", " ")
    reason, row = regression.reasons[0], regression.reasons[0].examples[0]
    told = [
        "Some rows stand out",
        f"1,000 rows were scored; {1000 - regression.trusted} (",
        f"{reason.rows} rows ({100 * reason.share:.1f} %): {reason.text}",
        f"for example row {row.number} ({row.id}): blood pressure {row.cells[0].value}; in",
        "The least trusted rows",
        "1 of 2 columns has drifted: blood pressure.",
        "root mean squared error on the new rows",
        "Calibration of the intervals",
        "too narrow: they hold fewer labels than they promise",
        "The regret of a row says",
    ]
    places = [words.index(text) for text in told]
    assert places == sorted(places)


def test_a_model_of_no_use_is_said_to_be_in_the_verdict(regression):
    sentence = "The model is of no use: it predicts no better than the mean."
    page = render(replace(regression, verdict_on_model=sentence))
    assert page.index(sentence) < page.index("Why rows are not to be trusted")


def test_what_is_not_known_is_left_out(regression):
    bare = replace(
        regression, reasons=(), drift=(), quality=(), groups=(), calibration=(), loss=None
    )
    page = render(bare)
    assert "Drift by column" not in page
    assert "How good the model is" not in page
    assert "The table of the least trusted rows tells it" in page
    trusted = render(replace(bare, trusted=bare.rows, never_seen=0))
    assert "No row is left out." in trusted


def test_regrets_are_told_by_their_rank(regression):
    texts = [cell.text for cell in _columns(regression, 1)["regret"].cells]
    assert texts[0] in ("infinite", "> all 342")
    assert "an extrapolation" not in render(regression)


def test_the_largest_page_stays_below_its_limit(hostile):
    # every text as long as it may be, of letters of three bytes; all lists as long as they get
    text = "漢" * 500
    cells = (DrivingCell(text, text, text),) * 3
    row = replace(hostile.least_trusted[0], id=text, because=text, reason=text, cells=cells)
    rows = tuple(replace(row, number=i, reason=f"{i}{text}") for i in range(100))
    largest = replace(
        hostile,
        rows=100_000,
        least_trusted=rows,
        reasons=tuple(
            replace(hostile.reasons[0], text=text, examples=rows[:10]) for _ in range(21)
        ),
        drift=tuple(replace(hostile.drift[0], column=text, training=text) for _ in range(500)),
        model=replace(hostile.model, columns=((text, text, text),) * 500),
        prediction=np.tile(hostile.prediction, 4),
        regret=np.tile(hostile.regret, 4),
        is_trusted=np.tile(hostile.is_trusted, 4),
        loss=np.tile(hostile.loss, 4),
    )
    page = render(largest)
    assert len(page.encode()) <= 1_500_000
    assert "漢" * 19 + "…" in page


def test_every_regret_has_a_place_and_places_keep_the_order():
    values = np.array([0.0, 1e-9, 1e-3, 0.5, 40.0, np.inf])
    axis = RegretAxis.of(values)
    places = axis.place(values)
    assert np.all(np.diff(places[1:]) > 0)
    assert places[0] == places[1] == axis.zero
    assert axis.range[0] < places.min()
    assert places.max() < axis.range[1]


def test_the_bars_hold_every_row_once(regression):
    training, new = regression.model.regrets, regression.regret
    axis = RegretAxis.of(training, new)
    for values in (training, new, np.array([0.0, 0.01, np.inf])):
        assert axis.shares(values, 20).sum() == pytest.approx(1.0)
    bars, outline = regret_chart(regression).traces
    assert sum(bars["y"]) == pytest.approx(1.0, abs=1e-4)
    assert outline["y"][-2] == pytest.approx(np.isinf(new).mean())


def test_the_scatter_draws_each_row_once_with_its_trust(regression):
    trusted, untrusted = scatter_chart(regression).traces
    assert len(trusted["x"]) == regression.trusted
    assert len(trusted["x"]) + len(untrusted["x"]) == regression.regret.size
    assert trusted["marker"]["symbol"] != untrusted["marker"]["symbol"]
    assert untrusted["text"].count("∞") == 3


def test_a_long_sample_is_thinned_evenly(regression):
    many = {name: np.tile(getattr(regression, name), 12) for name in ("prediction", "regret")}
    trust = np.tile(regression.is_trusted, 12)
    chart = scatter_chart(replace(regression, rows=12_000, is_trusted=trust, **many))
    assert sum(len(trace["x"]) for trace in chart.traces) == 2000
    assert "2,000 rows drawn, a sample of 12,000." in chart.numbers


def test_the_risk_curve_ends_at_the_error_over_all_rows(regression):
    chart = risk_chart(regression)
    curve = chart.traces[-1]
    assert curve["x"][-1] == 1.0
    assert curve["y"][-1] == pytest.approx(np.sqrt(regression.loss.mean()), rel=1e-5)
    half = np.argsort(regression.regret)[:500]
    i = curve["x"].index(min(curve["x"], key=lambda x: abs(x - 0.5)))
    assert curve["y"][i] == pytest.approx(np.sqrt(regression.loss[half].mean()), rel=0.01)


def test_regrets_that_tie_are_not_said_to_tell_halves_apart(regression):
    tied = replace(regression, regret=np.full_like(regression.regret, np.inf))
    assert "Too many regrets are equal" in risk_chart(tied).numbers
    assert "Over the 50 % with the smallest regrets" in risk_chart(regression).numbers


def test_the_random_band_holds_95_per_cent_of_random_choices(regression, rng):
    loss = rng.exponential(size=400)
    findings = replace(
        regression, loss=loss, regret=rng.uniform(size=400), task="classification", rows=400
    )
    band = risk_chart(findings).traces[0]
    x, y = np.array(band["x"]), np.array(band["y"])
    k = x.size // 2
    i = int(np.argmin(abs(x[:k] - 0.25)))
    kept = round(x[i] * 400)
    means = [rng.permutation(loss)[:kept].mean() for _ in range(2000)]
    inside = np.mean((means >= y[::-1][i]) & (means <= y[i]))
    assert inside == pytest.approx(0.95, abs=0.02)


def test_the_spectrum_tells_its_effective_coefficients(regression):
    s, a = regression.model.singular_values, regression.model.penalty
    chart = spectrum_chart(regression.model)
    assert f"{(s**2 / (s**2 + a)).sum():.3g}" in chart.numbers
    assert chart.layout["shapes"][0]["y0"] == pytest.approx(np.sqrt(a))
