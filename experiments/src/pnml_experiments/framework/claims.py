"""What the thesis claims, and what became of each claim when it was measured again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from pnml.errors import InputError
from pnml_experiments.claims_linear import LINEAR
from pnml_experiments.claims_networks import NETWORKS
from pnml_experiments.framework.evidence import Claim, Found, Verdict, Word
from pnml_experiments.framework.rows import Stored, stored

CLAIMS: tuple[Claim, ...] = (*LINEAR, *NETWORKS)
_HEAD = (
    "# Which claims hold\n\n"
    "What the thesis says, in our words, and what came out when it was run again. Verdicts and "
    "numbers are found from the rows of the pages they link to, by the rules in "
    "`pnml_experiments.claims`; none is typed. A claim about data or networks that cannot be had "
    "here is judged on those that can, and its line says so."
)


def judged(docs: Path, experiment: str | None = None) -> Iterator[tuple[Claim, Verdict]]:
    """Every claim whose rows are below a folder of pages, or that of one page, with its verdict."""
    for claim in CLAIMS:
        rows = docs / "data" / f"{claim.experiment}.jsonl"
        if rows.is_file() and experiment in (None, claim.experiment):
            yield claim, _verdict(claim, stored(rows))


def _verdict(claim: Claim, found: Stored) -> Verdict:
    try:
        return claim.judge(Found(found.result))
    except InputError:  # a small scale does not have all tables
        return Verdict("not settled here", f"The scale {found.scale} does not have the rows.")


def claims_page(docs: Path) -> str:
    """The page of all claims that can be judged from the rows below a folder of pages."""
    verdicts = list(judged(docs))
    count: Counter[str] = Counter(verdict.word for _, verdict in verdicts)
    summary = ", ".join(f"{count[word]} × {word}" for word in get_args(Word) if count[word])
    lines = ["| chapter | claim | verdict | evidence |", "| --- | --- | --- | --- |"]
    for claim, verdict in verdicts:
        page = f"[{claim.experiment}]({claim.experiment}.md)"
        word = f"**{verdict.word}**"
        lines.append(f"| {claim.chapter} | {claim.text} | {word} | {verdict.evidence} {page} |")
    return "\n\n".join([_HEAD, f"Of {len(verdicts)} claims: {summary}.", "\n".join(lines)]) + "\n"
