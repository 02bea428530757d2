"""The claims of the thesis with our verdicts, and the page that lists them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, get_args

from pnml.errors import InputError
from pnml_experiments.framework.evidence import Claim, Evidence, Rule, Verdict, Word
from pnml_experiments.framework.extent import Extent, extent
from pnml_experiments.framework.result import Result
from pnml_experiments.framework.rows import Stored, stored
from pnml_experiments.framework.unfinished import so_far

_HEAD = (
    "# Which claims hold\n\n"
    "What the thesis says, in its own words, and what came out when it was run again, or, for the "
    "ablation of chapter 5, when its stored numbers were put into tables again. Each claim "
    "has a rule that stands below its words; code finds the verdict and the numbers from the rows "
    "of the page that the line links to (an open claim also quotes runs that go on, and names "
    "them), and none is typed. The first verdict judges what was "
    "claimed: by the protocol of the thesis, against its own rivals. Ours is the same claim by our "
    "protocol or against more rivals. The last column says what the rows are: as much as the "
    "thesis had (printed scale; what is drawn at random is drawn anew), a subset of it, other data "
    "in its place, a study of ours that the thesis does not have, or nothing but printed numbers."
    "\n\n"
    "**Not settled** means that the rows cannot tell; what would settle it stands beside it."
)
_HEADINGS = ("claim", "verdict", "evidence", "ours", "rows")
_TITLES = {
    2: "Least squares",
    3: "More parameters than rows",
    4: "Luckiness",
    5: "Networks",
    6: "Adversarial defence",
    7: "Active learning",
    8: "Future research",
}


class Judged(NamedTuple):
    """A claim, the verdict on it, ours beside it, and how much stands behind them."""

    claim: Claim
    verdict: Verdict
    ours: Verdict | None
    extent: Extent


@cache
def claims() -> tuple[Claim, ...]:
    """Every claim, by chapter."""
    folder = Path(__file__).parents[1] / "claims"
    names = sorted(path.stem for path in folder.glob("[!_]*.py"))
    loaded = [import_module(f"pnml_experiments.claims.{name}") for name in names]
    collected = [claim for module in loaded for claim in module.CLAIMS]
    return tuple(sorted(collected, key=lambda claim: (claim.chapter, claim.experiment)))


def judged(docs: Path, experiment: str | None = None) -> Iterator[Judged]:
    """Claims with verdicts, as far as their rows are below `docs`; of one experiment or all."""
    read = cache(lambda name: _published(name, docs))

    def verdict(claim: Claim, rule: Rule, result: Result, scale: str) -> Verdict:
        found = _verdict(rule, result, scale)
        return _quoting(found, rule, claim.experiment, docs) if claim.so_far else found

    for claim in claims():
        rows = read(claim.experiment)
        if rows is None or experiment not in (None, claim.experiment):
            continue
        result = with_tables_of(rows.result, read(claim.beside) if claim.beside else None)
        ours = claim.variant and verdict(claim, claim.variant, result, rows.scale)
        how_much: Extent = "printed numbers alone"
        if not claim.from_print:
            how_much = extent(rows.experiment, rows.scale, rows.result)
        yield Judged(claim, verdict(claim, claim.judge, result, rows.scale), ours, how_much)


def with_tables_of(result: Result, beside: Stored | None) -> Result:
    """A result with the tables of another one, if there is one, after its own."""
    if beside is None:
        return result
    return replace(result, tables=(*result.tables, *beside.result.tables))


def _published(name: str, docs: Path) -> Stored | None:
    path = docs / "data" / f"{name}.jsonl"
    return stored(path) if path.is_file() else None


def _verdict(rule: Rule, result: Result, scale: str) -> Verdict:
    try:
        return rule(Evidence(result))
    except InputError:  # a small scale does not have all tables
        said = f"The scale {scale} does not have the rows."
        return Verdict("not settled", said, "A run at a larger scale.")


def _quoting(verdict: Verdict, rule: Rule, experiment: str, docs: Path) -> Verdict:
    """An open verdict with what unfinished runs show so far; the claim stays open until they end.

    A run that does not show what the rule looks at is left out.
    """
    if verdict.word != "not settled":
        return verdict
    said = verdict.evidence
    for scale, shown in so_far(experiment, docs).items():
        with suppress(InputError):
            quoted = rule(Evidence(Result(shown.tables))).evidence
            said += f" So far in the unfinished run at the scale {scale} ({shown.how_much}): "
            said += quoted[:1].lower() + quoted[1:]
    return verdict._replace(evidence=said)


def claims_page(docs: Path) -> str:
    """The page of all claims that the rows below `docs` can settle."""
    found = list(judged(docs))
    count: Counter[str] = Counter(one.verdict.word for one in found)
    summary = ", ".join(f"{count[word]} × {word}" for word in get_args(Word) if count[word])
    parts = [_HEAD, f"Of {len(found)} claims: {summary}."]
    for chapter in sorted({one.claim.chapter for one in found}):
        here = [one for one in found if one.claim.chapter == chapter]
        body = [_line(one) for one in here]
        head = [f"| {' | '.join(_HEADINGS)} |", f"|{' --- |' * len(_HEADINGS)}"]
        parts += [f"## Chapter {chapter}: {_TITLES[chapter]}", "\n".join([*head, *body])]
    return "\n\n".join(parts) + "\n"


def _line(one: Judged) -> str:
    page = f"[{one.claim.experiment}]({one.claim.experiment}.md)"
    ours = "" if one.ours is None else f"**{one.ours.word}.** {evidence_of(one.ours)}"
    claim = f"“{one.claim.words}” *{one.claim.rule}*"
    cells = (claim, f"**{one.verdict.word}**", evidence_of(one.verdict), ours)
    return f"| {' | '.join(cells)} | {page}, {one.extent} |"


def evidence_of(verdict: Verdict) -> str:
    """The numbers behind a verdict, and what would settle it if they do not."""
    if not verdict.settle:
        return verdict.evidence
    return f"{verdict.evidence} It would take: {verdict.settle}"
