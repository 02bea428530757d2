"""The last layer of networks: judged in one step, and refitted."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from benchmarks.carried_over.models import LAST_LAYERS
from benchmarks.carried_over.rows import LEVELS, inputs, network
from pnml.nn import FineTuning, LastLayerOutput, LastLayerPNML, RefitLastLayerPNML, RefitOutput

OUTPUT = ("logits", "features", "leverage", "regret", "log_prob", "probs", "relative_regret")
REFITTED = ("logits", "features", "log_genie", "regret", "error", "converged", "log_prob", "probs")
SETTINGS = LAST_LAYERS | {
    "no penalty": {"alpha": 0.0},
    "numbers of other makes": {"alpha": np.float32(0.1), "scale": 1},
    "named layer": {"layer": "2"},
    "not normalised": {"normalize": False},
    "with a bias": {"bias_column": True},
}


def probe(record):
    torch.set_num_threads(1)
    x, new = inputs(), torch.cat([inputs(8, seed=2), 30 * inputs(4, seed=3)])
    for name, settings in SETTINGS.items():
        for dtype in (torch.float32, torch.float64):
            module = LastLayerPNML(network().to(dtype), **settings).fit(x.to(dtype))
            key = f"nn/last layer/{name}/{str(dtype)[6:]}"
            record_last_layer(record, key, module, new.to(dtype))
    in_parts(record, x, new)
    embeddings(record)
    refits(record, x[:60], new)
    tuned(record)
    record.value("nn/FineTuning", FineTuning(momentum=0.5, weight_decay=0.0))


def record_last_layer(record, key, module, x):
    with torch.no_grad():
        out = record.case(f"{key}/call", lambda: module(x))
        record.case(f"{key}/forward", lambda: module.forward(x).regret)
        record.members(key, out, OUTPUT)
        record.text(f"{key}/type", f"{isinstance(out, LastLayerOutput)}")
        labels = torch.arange(len(x)) % 4
        record.case(f"{key}/log_loss", lambda: out.log_loss(labels))
        record.case(f"{key}/task", lambda: out.task.name)
        for level in LEVELS:
            record.case(f"{key}/trusted@{level}", lambda v=level: module.trusted(x, level=v))
            record.case(
                f"{key}/thresholds@{level}",
                lambda v=level: [module.regret_threshold(v), module.leverage_threshold(v)],
            )
        record.members(key, module, ("rows_", "scale_", "alpha_", "sample_regrets_"))
        features = torch.linspace(-1, 1, 24, dtype=x.dtype).reshape(2, 12)
        record.case(f"{key}/score_features", lambda: module.score_features(features).regret)
        record.case(f"{key}/repr", lambda: repr(module))
        record.case(f"{key}/extra_repr", lambda: module.extra_repr())
        record.case(f"{key}/state_dict", lambda: "\n".join(sorted(module.state_dict())))


def in_parts(record, x, new):
    """Rows that come batch by batch, by other doors, and gradients through the regret."""
    net = network().double()
    x, new = x.double(), new.double()
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(x, torch.zeros(len(x))), batch_size=70
    )
    with torch.no_grad():
        features = net[:2](x)
    doors = {
        "loader": lambda: LastLayerPNML(net).fit(loader),
        "partial_fit": lambda: LastLayerPNML(net).partial_fit(x[:100]).partial_fit(3 * x[100:]),
        "fit_features": lambda: LastLayerPNML(net, "2").fit_features(features),
        "partial_fit_features": lambda: (
            LastLayerPNML(net, "2").partial_fit_features(features).partial_fit_features(features)
        ),
        "pair": lambda: LastLayerPNML(None, (net[:2], net[2])).fit(x),
        "numpy": lambda: LastLayerPNML(net, "2").fit_features(features.numpy()),
    }
    for name, make in doors.items():
        record_last_layer(record, f"nn/doors/{name}", make(), new)
    leaf = new.clone().requires_grad_()
    module = LastLayerPNML(network().double()).fit(x)
    module(leaf).regret.sum().backward()
    record.value("nn/gradient", leaf.grad)
    positions = LastLayerPNML(nn.Linear(6, 4).double()).fit(x.reshape(60, 5, 6))
    record.case("nn/positions", lambda: positions(new[:10].reshape(2, 5, 6)).regret.shape)
    record.case("nn/all_reduce", lambda: LastLayerPNML(net).all_reduce())
    for name in ("rows_", "alpha_", "scale_", "sample_regrets_"):
        record.case(f"nn/before fit/{name}", lambda n=name: getattr(LastLayerPNML(net), n))


def embeddings(record):
    rng = np.random.default_rng(0)
    weight, rows = rng.normal(size=(4, 5)), rng.normal(size=(200, 5))
    for name, bias in {"bias": weight[:, 0], "no bias": None}.items():
        module = LastLayerPNML.from_embeddings(weight, bias, rows)
        out = module(torch.tensor(3 * rows[:9]))
        record.members(f"nn/embeddings/{name}", out, OUTPUT)
        labels = np.arange(200) % 4
        refit = RefitLastLayerPNML.from_embeddings(weight, bias, rows, labels, alpha=0.5)
        found = refit.score_features(3 * rows[:9])
        record.members(f"nn/embeddings/{name}/refit", found, REFITTED)


def refits(record, x, new):
    labels = torch.arange(len(x)) % 4
    net = network().double()
    x, new = x.double(), new.double()
    for name, settings in {
        "default": {},
        "fixed": {"alpha": 1.0, "tol": 1e-6},
        "small sample": {"alpha": 0.3, "sample": 20},
        "named": {"layer": "2", "alpha": 0.1},
    }.items():
        module = RefitLastLayerPNML(net, **settings).fit([(x, labels)])
        key = f"nn/refit/{name}"
        out = record.case(f"{key}/forward", lambda m=module: m(new))
        record.members(key, out, (*REFITTED, "relative_regret"))
        record.case(f"{key}/log_loss", lambda o=out: o.log_loss(torch.arange(len(new)) % 4))
        record.case(f"{key}/score", lambda m=module: m.score([new[:5], new[5:]]).regret)
        for level in LEVELS:
            record.case(f"{key}/trusted@{level}", lambda m=module, v=level: m.trusted(new, level=v))
            record.case(f"{key}/threshold@{level}", lambda m=module, v=level: m.regret_threshold(v))
        record.members(key, module, ("alpha_", "rows_", "sample_regrets_"))
    with torch.no_grad():
        features = net[:2](x)
    module = RefitLastLayerPNML(net, "2", alpha=0.5).fit_features(features, labels)
    record.case("nn/refit/fit_features", lambda: module(new).regret)
    record.text("nn/refit/type", str(isinstance(module(new), RefitOutput)))


def tuned(record):
    how = FineTuning(epochs=2, learning_rate=0.05, batch_size=16, seed=3)
    x, labels = inputs(30).double(), torch.arange(30) % 3
    net = network(classes=3).double()
    for layers in (1, 2, "all"):
        settings = {"layers": layers, "tuning": how, "sample": 4}
        module = RefitLastLayerPNML(net, **settings).fit([(x, labels)])
        out = record.case(f"nn/tuned/{layers}", lambda m=module: m(inputs(2, seed=5).double()))
        record.members(f"nn/tuned/{layers} layers", out, ("regret", "log_prob", "converged"))
