"""Model files: version 0.1 writes them, both versions read them and answer alike."""

from __future__ import annotations

import numpy as np
import torch
from sklearn.base import clone

from benchmarks.carried_over import models
from benchmarks.carried_over.answers import record_model
from benchmarks.carried_over.networks import record_last_layer
from benchmarks.carried_over.rows import amounts, classes, inputs, network, new_rows, tree_rows
from pnml import PNMLRegressor, load, save
from pnml.nn import LastLayerPNML
from pnml.scale import RegretMonitor


def estimators():
    """Name, fitted model and rows to ask about, of each kind that a file can hold."""
    for name in models.REGRESSORS:
        yield name, clone(models.REGRESSORS[name]).fit(*amounts()), new_rows()
    for name in models.CLASSIFIERS:
        yield name, clone(models.CLASSIFIERS[name]).fit(*classes()), new_rows()
    X, amount, kind = tree_rows()
    for name in models.TREE_REGRESSORS:
        yield name, clone(models.TREE_REGRESSORS[name]).fit(X, amount), 2 * X[:12]
    for name in models.TREE_CLASSIFIERS:
        yield name, clone(models.TREE_CLASSIFIERS[name]).fit(X, kind), 2 * X[:12]
    X, y = amounts(60)
    stream = PNMLRegressor(alpha="loo").partial_fit(X[:30], y[:30], np.arange(1.0, 31.0))
    yield "stream", stream.partial_fit(X[30:], y[30:]), new_rows()
    yield "forgotten", PNMLRegressor().partial_fit(X, y).forget(X[:9], y[:9]), new_rows()


def networks():
    """Name, settings and fitted module around the same small network."""
    for name, settings in models.LAST_LAYERS.items():
        yield name, LastLayerPNML(network().double(), **settings).fit(inputs(120).double())


def probe(record):
    if not any(record.files.iterdir()):
        write(record.files)
    for name, _, rows in estimators():
        model = record.case(f"files/{name}/load", lambda n=name: load(record.files / f"{n}.pnml"))
        if model is not None:
            record_model(record, f"files/{name}", model, rows)
    for name, _ in networks():
        path = record.files / f"{name}.pnml"
        module = record.case(f"files/{name}/load", lambda p=path: load(p, model=network().double()))
        if module is not None:
            new = 3 * inputs(9, seed=2).double()
            record_last_layer(record, f"files/{name}", module, new)
    head = record.case("files/head/load", lambda: load(record.files / "head.pnml"))
    record.case("files/head/regret", lambda: head(torch.linspace(-1, 1, 24).reshape(2, 12)))
    watch = RegretMonitor.load(record.files / "monitor.pnml")
    record.members("files/monitor", watch, ("rows", "evidence", "p_value"))
    record.case("files/monitor/update", lambda: watch.update(np.linspace(3, 9, 40)))
    record.case("files/monitor/as a model", lambda: load(record.files / "monitor.pnml"))
    grow = load(record.files / "stream.pnml")
    grow.partial_fit(*amounts(12))
    record_model(record, "files/grown", grow, new_rows())
    record.case("files/a network for none", lambda: load(record.files / "tree.pnml", model=1))


def write(folder):
    for name, model, _ in estimators():
        save(model, folder / f"{name}.pnml")
    for name, module in networks():
        save(module, folder / f"{name}.pnml")
    net = network()
    with torch.no_grad():
        features = net[:2](inputs(120))
    head = LastLayerPNML.from_embeddings(net[2].weight, net[2].bias, features)
    save(head, folder / "head.pnml")
    watch = RegretMonitor(np.linspace(0.01, 3, 50), pool=60, within=500, seed=9)
    watch.update(np.random.default_rng(0).exponential(size=30))
    watch.save(folder / "monitor.pnml")
