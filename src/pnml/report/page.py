"""The findings as one HTML page without external files."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any

from pnml.report.comparison import comparison, error_name, error_text
from pnml.report.formats import LONGEST, count, cut, number, percent, printable
from pnml.report.regret_charts import regret_chart, scatter_chart
from pnml.report.risk_chart import risk_chart
from pnml.report.rows_table import rows_table
from pnml.report.spectrum_chart import spectrum_chart
from pnml.report.verdict import expected_share, standing, summary

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

    from pnml.report.findings import Findings
    from pnml.report.plotly_chart import Chart

_MOST_COLUMNS = 200  # of the training table, listed one by one


def render(findings: Findings) -> str:
    """The report as one HTML page with text, tables and charts, and all that these need.

    The same findings give the same bytes. Names and cells are escaped and never read as HTML; the
    page loads nothing from the network, and its security policy forbids it.
    """
    environment = _environment()
    figures = _charts(findings)
    return environment.get_template("page.html.jinja").render(
        findings=findings,
        standing=standing(findings),
        summary=summary(findings),
        comparison=comparison(findings),
        error_name=error_name(findings.task),
        charts=figures,
        usual=expected_share(findings),
        drawings=_embedded([_drawing(figure) for figure in figures]),
        table=rows_table(findings),
        shown_columns=findings.model.columns[:_MOST_COLUMNS],
        style=_own("page.css"),
        script=_own("page.js"),
        plotly=_plotly(),
    )


def _charts(findings: Findings) -> list[Chart]:
    charts = [
        spectrum_chart(findings.model),
        regret_chart(findings),
        scatter_chart(findings),
        risk_chart(findings),
    ]
    return [chart for chart in charts if chart is not None]


def _drawing(chart: Chart) -> dict[str, Any]:
    return {"name": chart.name, "traces": chart.traces, "layout": chart.layout}


def _environment() -> Environment:
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
        "cut": lambda text: cut(text, LONGEST),
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
    from markupsafe import Markup

    return Markup(_read("plotly-basic.min.js").replace("</script", "<\\/script"))  # noqa: S704


def _own(name: str) -> Markup:
    """A file of this package, put into the page without escaping."""
    from markupsafe import Markup

    return Markup(_read(name))  # noqa: S704


def _read(name: str) -> str:
    return (files("pnml.report") / name).read_text(encoding="utf-8")
