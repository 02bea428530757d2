"""Model files of format 1 as version 0.1 writes them, with what 0.1 says of some rows.

Run from the root of this repository; nothing but version 0.1 may write them:

    git archive b850802 src | tar -x -C /tmp/pnml-0.1
    PYTHONPATH=/tmp/pnml-0.1/src:. python -m benchmarks.carried_over.fixtures tests/models/format_1
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import torch

from benchmarks.carried_over import files
from benchmarks.carried_over.calling import call
from benchmarks.carried_over.models import LEARNERS
from benchmarks.carried_over.rows import inputs, kinds, mixed, network, odd
from pnml import save
from pnml.nn import LastLayerPNML
from pnml.scale import RegretMonitor

SAYS = ("predict", "predict_proba", "predict_interval", "regret", "regret_bound", "trusted")
SCORED = ("prediction", "lower", "upper", "regret", "trusted", "because")


def main():
    folder = Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    said = {}
    for name, model, rows in files.estimators():
        save(model, folder / f"{name}.pnml")
        said[name] = {"rows": rows.tolist()} | answers(model, rows)
    for name, module in files.networks():
        save(module, folder / f"{name}.pnml")
        said[name] = {"weights": weights(network())} | judged(
            module, 3 * inputs(9, seed=2).double()
        )
    said["head"] = head(folder / "head.pnml")
    said["monitor"] = monitor(folder / "monitor.pnml")
    said |= {f"table-{learner}": table(learner, folder) for learner in LEARNERS}
    for name, answer in said.items():
        text = json.dumps(answer, indent=None, ensure_ascii=False)
        (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def answers(model, rows):
    found = {name: getattr(model, name)(rows) for name in SAYS if hasattr(model, name)}
    if hasattr(model, "predict_dist") and hasattr(model.predict_dist(rows), "std"):
        found["std"] = model.predict_dist(rows).std
    return {name: np.asarray(value).tolist() for name, value in found.items()}


def weights(net):
    """The network, since a generator of random numbers may change."""
    return {name: value.tolist() for name, value in net.state_dict().items()}


def judged(module, x):
    with torch.no_grad():
        out = module(x)
    found = {"logits": out.logits, "regret": out.regret, "leverage": out.leverage}
    found["trusted"] = module.trusted(x)
    return {"rows": x.tolist()} | {name: value.tolist() for name, value in found.items()}


def head(path):
    """A module that is all head, whose weights are in the file."""
    net = network().double()
    features = net[:2](inputs(120).double())
    module = LastLayerPNML.from_embeddings(net[2].weight, net[2].bias, features)
    save(module, path)
    return judged(module, 2 * features[:9])


def monitor(path):
    watch = RegretMonitor(np.linspace(0.01, 3, 50), pool=60, within=500, seed=9)
    watch.update(np.random.default_rng(0).exponential(size=30))
    watch.save(path)
    more = np.linspace(2, 9, 40)
    found = {"rows": more.tolist(), "evidence": watch.evidence, "p_value": watch.p_value}
    drift = watch.update(more)
    return found | {"drift": [drift.row, drift.since, drift.rows_between]}


def table(learner, folder):
    """A model of the command line, and the columns that it adds to a table."""
    classes = LEARNERS[learner]
    train, new = (kinds(60), kinds(24, seed=7, shift=1.0)) if classes else (mixed(40), odd())
    here, path = Path.cwd(), folder / f"table-{learner}.pnml"
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        pyarrow.csv.write_csv(train, "train.csv")
        pyarrow.csv.write_csv(new, "new.csv")
        target = "kind" if classes else "y"
        done = call("fit", "train.csv", "-t", target, "--learner", learner, "-o", path)
        scored = call("score", path, "new.csv", "-o", "scored.parquet")
        os.chdir(here)
        if (done[0], scored[0]) != (0, 0):
            raise RuntimeError(f"{learner}: {done[2]}{scored[2]}")
        found = pyarrow.parquet.read_table(Path(scratch, "scored.parquet")).to_pydict()
        text = Path(scratch, "new.csv").read_text(encoding="utf-8")
    return {"table": text} | {name: found[name] for name in SCORED if name in found}


if __name__ == "__main__":
    main()
