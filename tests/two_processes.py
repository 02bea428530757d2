"""One of two processes: what it made of each scene goes into a file. Run by test_distributed."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from datetime import timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import distributed, nn

from pnml import KernelPNMLRegressor, LpNMLRegressor, PNMLRegressor
from pnml.core.statistic.gram import Gram
from pnml.nn import LastLayerPNML
from pnml.scale.processes import all_reduce

CUT = 1500  # of the rows, process 0 has those before and process 1 those from here on


def network():
    torch.manual_seed(0)
    # two layers of one width: only running it tells which is the last
    layers = nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 12), nn.ReLU(), nn.Linear(12, 4)
    return nn.Sequential(*layers).requires_grad_(False)


def inputs():
    return torch.randn(6000, 6, generator=torch.Generator().manual_seed(1))


def parts():
    x = inputs()
    return [x[:1000], x[1000:CUT]], [(x[CUT:5000], None), (x[5000:], None)]


def settled(m):
    said = {"threshold": m.regret_threshold(), "regret": m(inputs()[:50]).regret}
    return said | dict(m.state_dict())


def refused(fit):
    try:
        fit()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def uneven(rank):
    return settled(LastLayerPNML(network()).fit(parts()[rank], distributed=True))


def empty(rank):
    return settled(LastLayerPNML(network()).fit([[], [inputs()]][rank], distributed=True))


def own_rows_first(rank):
    m = LastLayerPNML(network(), "4")
    for batch in parts()[rank] if rank else []:
        m.partial_fit(batch)
    return m.all_reduce().state_dict()


def one_fails(rank):
    m = LastLayerPNML(network()).fit(parts()[rank])
    bad = inputs()[:9].fill_(torch.nan)
    loader = [[inputs()], [inputs(), bad]][rank]
    return refused(lambda: m.fit(loader, distributed=True)), m.rows_


def unlike(rank):
    m = LastLayerPNML(network(), normalize=bool(rank))
    return refused(lambda: m.fit([inputs()], distributed=True))


def nothing(rank):
    return refused(lambda: LastLayerPNML(network()).fit([], distributed=True))


def twice(rank):
    shuffled = inputs()[torch.randperm(6000, generator=torch.Generator().manual_seed(rank))]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        m = LastLayerPNML(network()).fit([shuffled], distributed=True)
    return [(str(w.message), Path(w.filename).name) for w in caught], m.rows_


def groups(rank):
    alone = [distributed.new_group([0]), distributed.new_group([1])]
    own, other = (LastLayerPNML(network()) for _ in range(2))
    own.fit(parts()[rank], distributed=alone[rank])
    return (
        own.rows_,
        refused(lambda: other.fit(parts()[rank], distributed=alone[1 - rank])),
        refused(lambda: other.fit(parts()[rank], distributed="gloo")),
    )


def rows(rank, far=0.0):
    """Rows and targets of one process; they are far from those of the other."""
    rng = np.random.default_rng(rank)
    X = rng.normal(far + 3 * rank, 1.0, size=(3000 + 2000 * rank, 4))
    return X, X.sum(axis=1) + rng.normal(size=len(X))


def fitted(model):
    probe = np.linspace(-4, 4, 40).reshape(10, 4)
    gram = model._statistic
    said = {
        "predict": model.predict(probe),
        "regret": model.regret(probe),
        "trusted": model.trusted(probe),
        "moments": np.vstack([gram.xx, gram.xy.T, gram.x_mean]),
        "keys": gram.sample.keys,
        "sampled": gram.sample.rows,
    }
    return {name: torch.tensor(value) for name, value in said.items()}


def estimators(rank):
    return fitted(all_reduce(PNMLRegressor(alpha=1.0).partial_fit(*rows(rank))))


def estimators_far_away(rank):
    gram = all_reduce(Gram.of(*rows(rank, far=1e6)))
    return torch.tensor(gram.xx), torch.tensor(gram.yy), gram.rows


def estimators_one_empty(rank):
    model = LpNMLRegressor(alpha=1.0)
    if rank:
        X, y = rows(rank)
        model.fit(pd.DataFrame(X, columns=list("abcd")), y)
    model = all_reduce(model)
    return list(model.feature_names_in_), torch.tensor(model.coef_)


def estimators_refused(rank):
    X, y = rows(rank)
    narrow = PNMLRegressor().partial_fit(X[:, : 3 + rank], y)
    kernel = KernelPNMLRegressor() if rank else narrow
    return [
        refused(lambda: all_reduce(narrow)),
        refused(lambda: all_reduce(PNMLRegressor())),
        refused(lambda: all_reduce(kernel)),
    ]


def one_is_gone(rank):
    if rank == 1:
        os._exit(0)
    return refused(lambda: LastLayerPNML(network()).fit([inputs()], distributed=True))


SCENES = [
    uneven,
    empty,
    own_rows_first,
    one_fails,
    unlike,
    nothing,
    twice,
    groups,
    estimators,
    estimators_far_away,
    estimators_one_empty,
    estimators_refused,
    one_is_gone,
]


def main(rank, folder):
    torch.set_num_threads(1)
    warnings.simplefilter("error")
    distributed.init_process_group(
        "gloo",
        init_method=f"file://{folder}/meeting",
        rank=rank,
        world_size=2,
        timeout=timedelta(seconds=120),
    )
    seen = {}
    for scene in SCENES:
        seen[scene.__name__] = scene(rank)
        torch.save(seen, folder / f"seen_{rank}.pt")
    with contextlib.suppress(RuntimeError):
        distributed.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
