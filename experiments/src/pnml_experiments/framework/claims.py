"""The claims of the thesis with our verdicts, and the page that lists them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import get_args

from pnml.errors import InputError
from pnml_experiments.framework.evidence import Claim, Evidence, Verdict, Word
from pnml_experiments.framework.registry import EXPERIMENTS
from pnml_experiments.framework.rows import Stored, stored

_HEAD = (
    "# Which claims hold\n\n"
    "What the thesis says, in our words, and what came out when it was run again. Verdicts and "
    "numbers are found from the rows of the pages they link to, by the rules that stand beside "
    "each experiment; none is typed. A claim about data or networks that cannot be had here is "
    "judged on those that can, and its line says so."
)


@cache
def claims() -> tuple[Claim, ...]:
    """Every claim that stands beside an experiment, by chapter."""
    modules = dict.fromkeys(one.module for one in EXPERIMENTS)
    loaded = [import_module(f"pnml_experiments.{name}") for name in modules]
    collected = [claim for module in loaded for claim in getattr(module, "CLAIMS", ())]
    return tuple(sorted(collected, key=lambda claim: claim.chapter))


def judged(docs: Path, experiment: str | None = None) -> Iterator[tuple[Claim, Verdict]]:
    """Claims with verdicts, as far as their rows are below `docs`; of one experiment or all."""
    for claim in claims():
        rows = docs / "data" / f"{claim.experiment}.jsonl"
        if rows.is_file() and experiment in (None, claim.experiment):
            yield claim, _verdict(claim, stored(rows))


def _verdict(claim: Claim, rows: Stored) -> Verdict:
    try:
        return claim.judge(Evidence(rows.result))
    except InputError:  # a small scale does not have all tables
        return Verdict("not settled here", f"The scale {rows.scale} does not have the rows.")


def claims_page(docs: Path) -> str:
    """The page of all claims that the rows below `docs` can settle."""
    verdicts = list(judged(docs))
    count: Counter[str] = Counter(verdict.word for _, verdict in verdicts)
    summary = ", ".join(f"{count[word]} × {word}" for word in get_args(Word) if count[word])
    lines = ["| chapter | claim | verdict | evidence |", "| --- | --- | --- | --- |"]
    for claim, verdict in verdicts:
        page = f"[{claim.experiment}]({claim.experiment}.md)"
        word = f"**{verdict.word}**"
        lines.append(f"| {claim.chapter} | {claim.text} | {word} | {verdict.evidence} {page} |")
    return "\n\n".join([_HEAD, f"Of {len(verdicts)} claims: {summary}.", "\n".join(lines)]) + "\n"
