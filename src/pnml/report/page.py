"""The findings as one HTML page without external files."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from pnml.report.calibration import calibration_rows
from pnml.report.comparison import comparison, error_name, error_text
from pnml.report.drift_table import drift_sentence, drift_table
from pnml.report.formats import LONGEST, count, cut, number, percent, printable
from pnml.report.regret_charts import regret_chart, scatter_chart
from pnml.report.risk_chart import risk_chart
from pnml.report.rows_table import example_table, example_text, reason_count, row_groups
from pnml.report.spectrum_chart import spectrum_chart
from pnml.report.standing import expected_share, standing
from pnml.report.verdict import details, headline, judgement

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

    from pnml.report.findings import Findings
    from pnml.report.plotly_chart import Chart
    from pnml.report.sortable_table import SortableTable

LARGEST = 1_500_000  # bytes of a page


@dataclass(frozen=True)
class _Room:
    """How much a page shows, so that it stays small enough to be sent by mail."""

    letters: int  # of one cell or name
    rows: int  # least trusted
    examples: int  # of each reason
    columns: int  # of the table, listed one by one


_ROOMS = (
    _Room(LONGEST, 100, 10, 200),
    _Room(60, 100, 5, 100),
    _Room(30, 50, 3, 50),
    _Room(20, 20, 1, 20),
)


def render(findings: Findings) -> str:
    """The report as one HTML page with text, tables and charts, and all that these need.

    The same findings give the same bytes. Names and cells are escaped and never read as HTML; the
    page loads nothing from the network, and its security policy forbids it. A page of more than
    `LARGEST` bytes is made again with shorter texts and lists.
    """
    for room in _ROOMS:
        page = _page(findings, room)
        if len(page.encode()) <= LARGEST:
            break
    return page


def _page(findings: Findings, room: _Room) -> str:
    environment = _environment(room.letters)
    quality = [chart for chart in [risk_chart(findings)] if chart is not None]
    further = _charts(findings)
    return environment.get_template("page.html.jinja").render(
        findings=findings,
        standing=standing(findings),
        headline=headline(findings),
        judgement=judgement(findings),
        details=details(findings),
        reasons=_reasons(findings, room.examples),
        groups=row_groups(findings, room.rows),
        drift=drift_table(findings, room.columns),
        drift_sentence=drift_sentence(findings),
        comparison=comparison(findings),
        calibration=calibration_rows(findings),
        error_name=error_name(findings.task),
        quality_charts=quality,
        has_quality=bool(findings.quality or findings.groups or findings.calibration or quality),
        charts=further,
        usual=expected_share(findings),
        drawings=_embedded([_drawing(chart) for chart in (*quality, *further)]),
        shown_columns=findings.model.columns[: room.columns],
        style=_own("page.css"),
        script=_own("page.js"),
        plotly=_plotly(),
    )


@dataclass(frozen=True)
class _ShownReason:
    count: str
    text: str
    example: str
    table: SortableTable | None


def _reasons(findings: Findings, examples: int) -> list[_ShownReason]:
    return [
        _ShownReason(
            reason_count(reason.rows, reason.share),
            reason.text,
            example_text(reason.examples[0]) if reason.examples else "",
            example_table(reason.text, reason.examples[:examples], findings)
            if reason.examples
            else None,
        )
        for reason in findings.reasons
    ]


def _charts(findings: Findings) -> list[Chart]:
    charts = [regret_chart(findings), scatter_chart(findings), spectrum_chart(findings.model)]
    return [chart for chart in charts if chart is not None]


def _drawing(chart: Chart) -> dict[str, Any]:
    return {"name": chart.name, "traces": chart.traces, "layout": chart.layout}


def _environment(letters: int) -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        autoescape=True,
        finalize=_finalize,
        loader=FunctionLoader(_read),
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {
        "cut": lambda text: cut(text, letters),
        "error_text": lambda error, task: error_text(task, error),
        "number": number,
        "percent": percent,
        "prose": lambda text: text.replace(" %", "\u00a0%"),
    }
    environment.globals["count"] = count
    return environment


def _finalize(value: Any) -> Any:
    """Make every text that the template prints encodable."""
    from markupsafe import Markup

    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _embedded(value: Any) -> Markup:
    """JSON that is safe inside a script element."""
    from jinja2.utils import htmlsafe_json_dumps

    return htmlsafe_json_dumps(value, allow_nan=False, separators=(",", ":"))


def _plotly() -> Markup:
    """The basic bundle of plotly.js, which has bars, pies and scatters."""
    import lzma

    from markupsafe import Markup

    packed = (files("pnml.report") / "plotly-basic.min.js.xz").read_bytes()
    script = lzma.decompress(packed).decode()
    return Markup(script.replace("</script", "<\\/script"))  # noqa: S704


def _own(name: str) -> Markup:
    """A file of this package, put into the page without escaping."""
    from markupsafe import Markup

    return Markup(_read(name))  # noqa: S704


def _read(name: str) -> str:
    return (files("pnml.report") / name).read_text(encoding="utf-8")
