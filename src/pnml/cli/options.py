"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

# That of pnml.core.trust, which is not imported here: numpy would slow every --help.
DEFAULT_LEVEL = 0.99
# That of pnml.readers.csv_text, which would bring pyarrow.
MOST_COLUMNS = 20_000

Coverage = Annotated[
    float,
    typer.Option(help="Share of the labels that the intervals are to hold.", show_default=True),
]
Level = Annotated[
    float,
    typer.Option(
        help="Quantile of the training rows' own regrets up to which a new row is trusted."
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(help="What separates the cells of a text file; by default told by its rows."),
]
Encoding = Annotated[str, typer.Option(help="Encoding of text files, such as latin-1.")]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        metavar="WORD",
        help="A word that means missing, beside NA, NaN, null and nothing; repeatable.",
    ),
]
Decimal = Annotated[str, typer.Option(help="Decimal mark of numbers in text files: . or ,")]
Thousands = Annotated[
    str | None, typer.Option(help="What groups the digits of long numbers in text files.")
]
DateFormat = Annotated[
    str | None,
    typer.Option(help="How text files write dates, such as %d.%m.%Y; 2024-12-31 is always read."),
]
Query = Annotated[
    str | None, typer.Option(help="SQL that gives the table, where a database is read.")
]
MaxColumns = Annotated[
    int, typer.Option(help="Columns that a table may have; one with more is refused.", min=1)
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of words.")]
Model = Annotated[str, typer.Argument(help="Model file that `pnml fit` has written.")]
New = Annotated[
    str,
    typer.Argument(help="Table: file, folder, quoted glob, database, or - for standard input."),
]
Strict = Annotated[
    bool, typer.Option("--strict", help="Refuse a table with cells that cannot be read.")
]
