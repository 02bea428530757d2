"""Examples for the help of each command: what somebody types, and what it does."""

from __future__ import annotations

EXAMPLES: dict[str, tuple[tuple[str, str], ...]] = {
    "pnml": (
        ("pnml demo", "see the whole job on data that come with scikit-learn"),
        ("pnml fit train.csv --target price -o model.pnml", "learn from a table"),
        ("pnml score model.pnml new.csv -o scored.csv", "predict, and say which not to trust"),
        ("pnml report model.pnml new.csv -o report.html", "the same as one page to look at"),
        ("pnml fit --help", "all that a command can do"),
    ),
    "demo": (
        ("pnml demo", "make the tables, the model and the report in ./pnml-demo"),
        ("pnml demo --folder /tmp/demo", "somewhere else"),
    ),
    "fit": (
        ("pnml fit train.csv -t price", "compare learners and write model.pnml"),
        ("pnml fit 'sales/*.parquet' -t amount --id order --drop note", "many files, as one table"),
        ("pnml fit train.csv -t churned --task classification", "numbers that are classes"),
        ("pnml fit train.csv -t price --learner lightgbm --log-target", "trust in a boosted model"),
        ("pnml fit export.csv -t price --decimal , --thousands .", "numbers such as 1.234,56"),
        ("pnml fit 'sqlite:///shop.db?table=orders' -t amount", "a table of a database"),
    ),
    "score": (
        ("pnml score model.pnml new.csv -o scored.csv", "a file with seven more columns"),
        ("pnml score model.pnml new.csv -o s.csv --escape-formulas", "for a spreadsheet"),
        ("pnml score model.pnml new.parquet -o scored.parquet --coverage 0.8", "other intervals"),
        ("pnml score model.pnml - -o scored.csv --json < new.csv", "in a pipe; counts as JSON"),
    ),
    "report": (
        ("pnml report model.pnml new.csv -o report.html", "one page, which opens anywhere"),
        ("pnml report model.pnml new.csv -o strict.html --level 0.95", "trust fewer rows"),
    ),
    "reproduce": (
        ("pnml reproduce --list", "every table and figure, and what it needs"),
        ("pnml reproduce uci-benchmark --scale small", "one of them, in minutes"),
    ),
    "merge": (
        ("pnml merge north.pnml south.pnml -o both.pnml", "as if fitted to the rows of both"),
    ),
    "inspect": (
        ("pnml inspect model.pnml", "learner, columns, rows and threshold"),
        ("pnml inspect model.pnml --json", "the same for a program"),
    ),
    "export": (
        ("pnml export model.pnml -o model.onnx", "prediction and regret without Python"),
        ("pnml export model.pnml -o small.onnx --dtype float32", "for devices without float64"),
    ),
    "doctor": (
        ("pnml doctor", "versions of what is installed, and what is missing"),
        ("pnml doctor --json", "the same for a program"),
    ),
}


# One line for each command in the list of all; longer ones would be cut.
SUMMARIES = {
    "demo": "See the whole job on real patients.",
    "fit": "Learn from a table; write a model file.",
    "score": "Predict rows; say which not to trust, and why.",
    "report": "Show the same as one HTML page.",
    "reproduce": "Run a table or figure of the thesis again.",
    "merge": "Put models of several tables together.",
    "inspect": "Print what a model file holds.",
    "export": "Write a model as an ONNX file.",
    "doctor": "Tell what is installed and what is missing.",
}


def epilog(command: str) -> str:
    """The examples of a command as text for the end of its help.

    Its first line, a backspace, tells Typer not to wrap the text.
    """
    lines = []
    for typed, purpose in EXAMPLES[command]:
        lines += [f"  {typed}", f"      {purpose}"]
    title = "Examples:" if len(EXAMPLES[command]) > 1 else "Example:"
    return "\n".join(["\b", title, *lines])
