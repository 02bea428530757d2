"""Rows of docs/stack.md: what is tried with each tool, and how it is checked.

``python tests/stack_rows.py`` writes the table into the page.
"""

from __future__ import annotations

import os
import pickle
import re
import sys
import tempfile
import warnings
from importlib import import_module
from pathlib import Path

import numpy as np
import sklearn
import sklearn.ensemble
from sklearn.base import clone

import pnml

PAGE = Path(__file__).parents[1] / "docs" / "stack.md"
START, END = "<!-- made by tests/stack_rows.py -->", "<!-- end -->"
ROWS = {}


def row(tool, what, *needs):
    """Register a row: the tool, what is tried with it, and the packages it needs."""

    def add(check):
        ROWS[f"{tool}: {what}"] = (tool, what, needs, check)
        return check

    return add


def data(n=90):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, X.sum(axis=1) + 0.3 * rng.normal(size=n)


def frame(n=90):
    X, y = data(n)
    return import_module("pandas").DataFrame(X, columns=["a", "b", "c"]), y


def boosted():
    """A model of scikit-learn that is small enough for a test."""
    return sklearn.ensemble.HistGradientBoostingRegressor(max_iter=10, random_state=0)


def same(model, X, y, plain):
    """Fitted on X, the model answers as on the array or data frame `plain`."""
    found, truth = (clone(model).fit(rows, y) for rows in (X, plain))
    np.testing.assert_allclose(found.regret(X), truth.regret(plain), rtol=1e-9)
    np.testing.assert_array_equal(found.trusted(X), truth.trusted(plain))


def as_kind(kind, df):
    if kind == "pandas":
        return df
    if kind == "pyarrow Table":
        return import_module("pyarrow").Table.from_pandas(df, preserve_index=False)
    if kind == "DuckDB relation":
        return import_module("duckdb").connect().from_df(df)
    polars = import_module("polars").from_pandas(df)
    return polars.lazy() if kind == "polars LazyFrame" else polars


KINDS = {
    "pandas": ("pandas",),
    "polars": ("polars", "pandas", "pyarrow"),
    "polars LazyFrame": ("polars", "pandas", "pyarrow"),
    "pyarrow Table": ("pyarrow", "pandas"),
    "DuckDB relation": ("duckdb", "pandas", "pyarrow"),
}


def _frames(kind):
    @row(kind, "`PNMLRegressor().fit(X, y)`", *KINDS[kind])
    def linear():
        df, y = frame()
        same(pnml.PNMLRegressor(), as_kind(kind, df), y, df.to_numpy())

    @row(kind, "`TrustedRegressor(model).fit(X, y)`", *KINDS[kind])
    def trusted():
        df, y = frame()
        same(pnml.TrustedRegressor(boosted(), random_state=0), as_kind(kind, df), y, df)

    @row(kind, '`pnml.fit_table(data, target="y").score(new)`', *KINDS[kind])
    def table():
        df, y = frame()
        df["y"] = y
        scored = [
            pnml.fit_table(rows, target="y", learner="pnml").score(rows)["regret"]
            for rows in (as_kind(kind, df), df)
        ]
        np.testing.assert_allclose(np.asarray(scored[0]), np.asarray(scored[1]), rtol=1e-9)


for _kind in KINDS:
    _frames(_kind)


@row("scipy.sparse", "`PNMLRegressor().fit(X, y)`")
def sparse():
    X, y = data()
    same(pnml.PNMLRegressor(), import_module("scipy.sparse").csr_array(X), y, X)


@row("scipy.sparse", "`TrustedRegressor(model).fit(X, y)`")
def sparse_trusted():
    X, y = data()
    rows = import_module("scipy.sparse").csr_array(X)
    same(pnml.TrustedRegressor(boosted(), random_state=0), rows, y, X)


@row("PyTorch tensors", "`fit(X, y)`, answers as arrays of numpy", "torch")
def tensors():
    torch = import_module("torch")
    X, y = data()
    same(pnml.PNMLRegressor(), torch.from_numpy(X), torch.from_numpy(y), X)


# scikit-learn allows dispatch only where this variable was set before scipy was imported.
_DISPATCH = {"SCIPY_ARRAY_API": "1"}


@row("PyTorch tensors", "with `array_api_dispatch`: every learner, answers as tensors", "torch")
def array_api():
    import child

    child.run(
        [sys.executable, str(Path(__file__).with_name("tensors_everywhere.py"))],
        env=os.environ | _DISPATCH,
        check=True,
    )


@row("scikit-learn", "`GridSearchCV` with `log_loss_scorer`, `interval_scorer`, `aurc_scorer`")
def grid_search():
    from sklearn.model_selection import GridSearchCV

    from pnml.metrics import aurc_scorer, interval_scorer, log_loss_scorer

    X, y = data()
    scoring = {"log": log_loss_scorer(), "interval": interval_scorer(0.8), "aurc": aurc_scorer()}
    grid = {"alpha": [0.1, 1e4]}
    search = GridSearchCV(pnml.PNMLRegressor(), grid, scoring=scoring, refit="log", cv=3).fit(X, y)
    assert search.best_params_ == {"alpha": 0.1}
    assert all(np.isfinite(search.cv_results_[f"mean_test_{name}"]).all() for name in scoring)


@row("scikit-learn", "metadata routing of `sample_weight` to `fit` and to scorers")
def routing():
    from sklearn.model_selection import cross_validate

    from pnml.metrics import log_loss_scorer

    X, y = data()
    weight = np.arange(len(y)) % 3
    with sklearn.config_context(enable_metadata_routing=True):
        model = pnml.PNMLRegressor().set_fit_request(sample_weight=True)
        scorer = log_loss_scorer().set_score_request(sample_weight=True)
        folds = [(np.arange(0, 60), np.arange(60, 90))]
        params = {"sample_weight": weight}
        found = cross_validate(model, X, y, scoring=scorer, params=params, cv=folds)
    fitted = pnml.PNMLRegressor().fit(X[:60], y[:60], sample_weight=weight[:60])
    logs = fitted.predict_dist(X[60:]).log_prob(y[60:])
    expected = np.average(logs, weights=weight[60:])
    np.testing.assert_allclose(found["test_score"][0], expected, rtol=1e-9)  # summed otherwise


@row("scikit-learn", "`StackingRegressor` over our regressors and others")
def stacking():
    from sklearn.ensemble import StackingRegressor
    from sklearn.linear_model import Ridge

    X, y = data()
    models = [("pnml", pnml.PNMLRegressor()), ("ridge", Ridge())]
    stack = StackingRegressor(models, final_estimator=pnml.PNMLRegressor(), cv=3).fit(X, y)
    assert stack.score(X, y) > 0.9
    inside = pnml.TrustedRegressor(StackingRegressor(models, cv=3), cv=3, random_state=0)
    assert inside.fit(X, y).trusted(X).mean() > 0.8


@row("scikit-learn", "HTML representation with a link to these pages")
def html():
    model = pnml.PNMLRegressor().fit(*data())
    anchor = "api/pnml.html#pnml.PNMLRegressor"
    assert anchor in model._repr_html_()
    assert anchor in pnml.make_pipeline(pnml.PNMLRegressor())._repr_html_()


@row("SHAP", "`shap.Explainer(model.predict, X)` beside `explain`", "shap")
def shap():
    X, y = data()
    model = pnml.PNMLRegressor().fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the library
        values = import_module("shap").Explainer(model.predict, X)(X[:2], silent=True).values
    # of a linear model: coefficient times distance from the mean; the mean is over a sample
    np.testing.assert_allclose(values.sum(axis=1), model.predict(X[:2]) - y.mean(), atol=0.2)
    assert model.explain(X[:2]).shape == values.shape


@row("skops", "`skops.io.dump(model)`, `load(trusted=[…])`", "skops")
def skops():
    io = import_module("skops.io")
    X, y = data()
    model = pnml.PNMLRegressor().fit(X, y)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.skops"
        io.dump(model, path)
        kept = io.load(path, trusted=io.get_untrusted_types(file=path))
    np.testing.assert_array_equal(kept.regret(X), model.regret(X))


@row("joblib, pickle", "a fitted model in another process")
def joblib():
    X, y = data()
    model = pnml.TrustedRegressor(boosted(), random_state=0).fit(X, y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).regret(X), model.regret(X))
    job = import_module("joblib")
    parts = job.Parallel(n_jobs=2, prefer="threads")(
        job.delayed(model.regret)(part) for part in np.array_split(X, 3)
    )
    np.testing.assert_allclose(np.concatenate(parts), model.regret(X), rtol=1e-12)


@row("Dask", "`PNMLRegressor().fit(X, y)`", "dask")
def dask_direct():
    array = import_module("dask.array")
    X, y = data()
    pnml.PNMLRegressor().fit(array.from_array(X, chunks=30), array.from_array(y, chunks=30))


@row("Dask", "`pnml.scale.fit_dask(PNMLRegressor(), X, y)`", "dask")
def dask():
    array = import_module("dask.array")
    X, y = data()
    rows, labels = array.from_array(X, chunks=(30, 3)), array.from_array(y, chunks=30)
    model = import_module("pnml.scale").fit_dask(pnml.PNMLRegressor(), rows, labels)
    truth = pnml.PNMLRegressor().fit(X, y)
    np.testing.assert_allclose(model.regret(X), truth.regret(X), rtol=1e-6)


def _boosting(tool, module, name, settings):
    @row(tool, f"`TrustedRegressor({name}()).fit(X, y)`", module, "pandas")
    def check():
        df, y = frame()
        inside = getattr(import_module(module), name)(**settings)
        model = pnml.TrustedRegressor(inside, cv=3, random_state=0).fit(df, y)
        np.testing.assert_array_equal(model.predict(df), model.estimator_.predict(df))
        far = df[:3] + 50
        assert not model.trusted(far).any()


_boosting("LightGBM", "lightgbm", "LGBMRegressor", {"n_estimators": 10, "verbose": -1})
_boosting("XGBoost", "xgboost", "XGBRegressor", {"n_estimators": 10})
_boosting(
    "CatBoost",
    "catboost",
    "CatBoostRegressor",
    {"n_estimators": 10, "verbose": False, "allow_writing_files": False},
)


def _network(torch):
    torch.manual_seed(0)
    nn = torch.nn
    return nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2)).eval()


@row("Lightning", "`LastLayerPNML(module).fit(loader)`", "torch", "pytorch_lightning")
def lightning():
    torch, library = import_module("torch"), import_module("pytorch_lightning")
    from pnml.nn import LastLayerPNML

    class Module(library.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = _network(torch)

        def forward(self, x):
            return self.net(x)

    X = torch.from_numpy(data()[0]).float()
    found, truth = (LastLayerPNML(m).fit([X]) for m in (Module().eval(), _network(torch)))
    torch.testing.assert_close(found(X).regret, truth(X).regret)


@row("Hugging Face", "`LastLayerPNML(classifier).fit(loader)`", "torch", "transformers")
def hugging_face():
    torch, library = import_module("torch"), import_module("transformers")
    from pnml.nn import LastLayerPNML

    library.logging.set_verbosity_error()
    settings = {"vocab_size": 20, "hidden_size": 8, "num_hidden_layers": 1}
    settings |= {"num_attention_heads": 2, "intermediate_size": 8, "num_labels": 3}
    torch.manual_seed(0)
    network = library.BertForSequenceClassification(library.BertConfig(**settings)).eval()
    words = torch.randint(20, (60, 5))
    found = LastLayerPNML(network).fit([words])(words)
    assert torch.isfinite(found.regret).all()
    torch.testing.assert_close(found.logits.float(), network(words).logits, atol=1e-4, rtol=1e-4)


def outcome(name):
    """What came out: works, refused with its sentence, or untested with the missing package."""
    _, _, needs, check = ROWS[name]
    for package in needs:
        try:
            import_module(package)
        except ModuleNotFoundError:
            return f"untested: {package} is not installed"
    try:
        check()
    except pnml.InputError as error:
        return f"refused: {error}"
    except TypeError as error:  # the sentence of scikit-learn about sparse rows
        if "Sparse data was passed" not in str(error):
            raise
        return f"refused: {error}"
    return "works"


def stated():
    """The outcomes in the page, by row."""
    text = PAGE.read_text(encoding="utf-8").partition(START)[2].partition(END)[0]
    lines = re.findall(r"^\| (.+?) \| (.+) \| (.+?) \|$", text, re.M)
    return {f"{tool}: {what}": found for tool, what, found in lines}


def write():
    lines = ["| tool | | |", "|---|---|---|"]
    for name, (tool, what, _, _) in ROWS.items():
        lines.append(f"| {tool} | {what} | {outcome(name)} |")
    text = PAGE.read_text(encoding="utf-8")
    before, after = text.partition(START)[0], text.partition(END)[2]
    PAGE.write_text(
        before + START + "\n\n" + "\n".join(lines) + "\n\n" + END + after, encoding="utf-8"
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    write()
    sys.stdout.write(PAGE.read_text(encoding="utf-8"))
