"""ONNX graphs: their operations, their constants, and what onnxruntime makes of rows."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pandas as pd
import torch
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import onnx
from benchmarks.carried_over import models
from benchmarks.carried_over.rows import amounts, classes, convolutions, images, new_rows
from pnml import PNMLClassifier, PNMLRegressor, export_onnx
from pnml.nn import LastLayerPNML


def probe(record):
    X, y = amounts()
    for name in models.REGRESSORS:
        model = clone(models.REGRESSORS[name]).fit(X, y)
        for dtype in ("float32", "float64"):
            record_graph(record, f"onnx/{name}/{dtype}", model, dtype, new_rows())
    X, y = classes()
    for name in models.CLASSIFIERS:
        model = clone(models.CLASSIFIERS[name]).fit(X, y)
        record_graph(record, f"onnx/{name}", model, "float64", new_rows())
    pipelines(record)
    networks(record)


def record_graph(record, key, model, dtype, feeds, **said):
    """Record a graph and its outputs; feeds are rows X, or inputs by name."""
    path = record.scratch / "graph.onnx"
    path.unlink(missing_ok=True)
    record.case(key, lambda: export_onnx(model, path, dtype=dtype, **said))
    if path.exists():
        feeds = feeds if isinstance(feeds, dict) else {"X": feeds.astype(dtype)}
        record_file(record, key, path, feeds)


def record_file(record, key, path, feeds):
    graph = onnx.load(path)
    ops = [f"{node.domain}:{node.op_type} {settings(node)}" for node in graph.graph.node]
    record.text(f"{key}/operations", "\n".join(ops))
    for i, constant in enumerate(graph.graph.initializer):
        record.value(f"{key}/constants/{i}", onnx.numpy_helper.to_array(constant))
    ends = [*graph.graph.input, *graph.graph.output]
    record.text(f"{key}/ends", "\n".join(" ".join(str(end).split()) for end in ends))
    props = sorted(f"{p.key}: {p.value}" for p in graph.metadata_props)
    record.text(f"{key}/metadata", "\n".join(props))
    versions = [f"{v.domain}:{v.version}" for v in graph.opset_import]
    record.text(f"{key}/versions", " ".join(versions))
    record.case(f"{key}/outputs", lambda: run(path, feeds))


def settings(node):
    found = {}
    for attribute in node.attribute:
        value = onnx.helper.get_attribute_value(attribute)
        if isinstance(value, onnx.TensorProto):
            value = onnx.numpy_helper.to_array(value).tolist()
        found[attribute.name] = value
    return found


def run(path, feeds):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, feeds), strict=True))


def pipelines(record):
    X, y = amounts()
    scaled = make_pipeline(StandardScaler(), PNMLRegressor(alpha=0.1)).fit(X, y)
    record_graph(record, "onnx/pipeline", scaled, "float64", new_rows())
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "a b": np.where(rng.random(60) < 0.1, np.nan, rng.normal(size=60)),
            "n": rng.normal(size=60),
            "colour": rng.choice(["red", "green", "blue"], 60),
        }
    )
    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), ["a b", "n"]),
        (OneHotEncoder(handle_unknown="ignore"), ["colour"]),
    )
    by_column = make_pipeline(columns, PNMLRegressor(alpha=0.5)).fit(frame, frame["n"])
    feeds = {name: frame[name].to_numpy(np.float32)[:9, None] for name in ("a b", "n")}
    feeds["colour"] = frame["colour"].to_numpy(dtype=object)[:9, None]
    record_graph(record, "onnx/columns", by_column, "float32", feeds)
    X, y = classes()
    inner = PNMLClassifier(make_pipeline(StandardScaler(), LogisticRegression())).fit(X, y)
    record_graph(record, "onnx/inner pipeline", inner, "float64", new_rows())
    forest = PNMLClassifier(RandomForestClassifier(3, random_state=0)).fit(X, y)
    record_graph(record, "onnx/forest", forest, "float32", new_rows())
    record_graph(record, "onnx/a word", "model", "float32", new_rows())
    record_graph(record, "onnx/not fitted", PNMLRegressor(), "float32", new_rows())
    record_graph(record, "onnx/half", scaled, "float16", new_rows())


def networks(record):
    net, x = convolutions().float().eval(), images().float()
    module = LastLayerPNML(net).fit([x])
    feeds = {"input": x[:5].numpy()}
    record_graph(record, "onnx/network", module, "float32", feeds, example=x[:1])
    record_graph(record, "onnx/no example", module, "float32", feeds)
    rng = np.random.default_rng(0)
    weight, rows = rng.normal(size=(4, 8)), rng.normal(size=(50, 8))
    head = LastLayerPNML.from_embeddings(torch.tensor(weight), None, torch.tensor(rows))
    record_graph(record, "onnx/embeddings", head, "float64", {"input": 3 * rows[:9]})
