"""Active learning: scores, selections, sources of models, strategies, curves and adapters."""

from __future__ import annotations

import numpy as np
import torch
from sklearn.ensemble import RandomForestClassifier
from torch import nn

from benchmarks.carried_over.rows import inputs
from pnml import active
from pnml.nn import LastLayerPNML

STRATEGIES = ("random", "core-set", "entropy", "margin", "BALD", "EPIG", "DIAL")


def probe(record):
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    common = 2 * rng.normal(size=(1, 12, 3))
    a = normalised(common + rng.normal(size=(6, 12, 3)))
    b = normalised(common[:, :7] + rng.normal(size=(6, 7, 3)))
    scores(record, a, b)
    linear(record, rng)
    sources(record)
    strategies(record, a, b)
    curves(record)
    adapters(record)


def normalised(logits):
    return logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)


def scores(record, a, b):
    p = np.exp(a)
    p[0, 0, 0] = p[1, 1, 1] = 0
    with np.errstate(divide="ignore"):
        zeros = np.log(p / p.sum(axis=-1, keepdims=True))
    for name, candidates in {"plain": a, "zeros": zeros}.items():
        key = f"active/{name}"
        record.case(f"{key}/dial", lambda c=candidates: active.dial_scores(c, b))
        record.case(
            f"{key}/dial small", lambda c=candidates: active.dial_scores(c, b, max_memory=300_000)
        )
        record.case(f"{key}/select", lambda c=candidates: active.dial_select(c, b, 4))
        for paths in (1, 3):
            record.case(
                f"{key}/select_batch@{paths}",
                lambda c=candidates, n=paths: active.dial_select_batch(c, b, 4, label_paths=n),
            )
        for call in (active.bald_scores, active.entropy_scores, active.margin_scores):
            record.case(f"{key}/{call.__name__}", lambda f=call, c=candidates: f(c))
        record.case(f"{key}/epig", lambda c=candidates: active.epig_scores(c, b))
    record.case("active/logs_of", lambda: active.logs_of(np.exp(a)))


def linear(record, rng):
    X, pool, targets = (rng.normal(size=(n, 3)) for n in (9, 8, 5))
    for name, said in {
        "plain": {},
        "ridge": {"alpha": 0.5},
        "no intercept": {"fit_intercept": False},
    }.items():
        key = f"active/linear {name}"
        record.case(f"{key}/scores", lambda s=said: active.linear_scores(X, pool, targets, **s))
        record.case(f"{key}/select", lambda s=said: active.linear_select(X, pool, targets, 3, **s))
    record.case("active/unseen", lambda: active.linear_scores(X[:2], pool, targets))
    record.case("active/k_center", lambda: active.k_center(pool, X[:2], 4))
    record.case("active/k_center alone", lambda: active.k_center(pool, X[:0], 4))


def sources(record):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 3)).double()
    x = inputs(40).double()
    for temperature in (1.0, 3.0):
        models = active.MCDropout(net, n=5, temperature=temperature, seed=3)
        record.case(f"active/MCDropout@{temperature}", lambda m=models: m(x[:9]))
    module = LastLayerPNML(net.eval()).fit(x)
    for name, said in {"plain": {}, "narrow": {"spread": 0.5, "alpha": 1.0}}.items():
        models = active.LastLayerSamples(module, n=4, seed=1, **said)
        record.case(f"active/LastLayerSamples {name}", lambda m=models: m(x[:9]))
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    rows = rng.normal(size=(60, 4)) + y[:, None]
    forest = RandomForestClassifier(7, min_samples_leaf=2, random_state=0).fit(rows, y)
    for temperature in (1.0, 3.0):
        models = active.Ensemble(forest.estimators_, temperature=temperature)
        record.case(f"active/Ensemble@{temperature}", lambda m=models: m(rows[:9]))


def strategies(record, a, b):
    seen = active.Round(
        np.arange(12.0)[:, None] % 5,
        np.arange(7.0)[:, None],
        np.zeros((2, 1)),
        lambda t: lambda x: normalised((a if len(x) == 12 else b) / t),
        lambda x: np.asarray(x),
    )
    record.case("active/round/logp_candidates", lambda: seen.logp_candidates(2.0))
    record.case("active/round/logp_targets", lambda: seen.logp_targets())
    for make in (
        active.at_random,
        active.by_bald,
        active.by_core_set,
        active.by_dial,
        active.by_dial_batch,
        active.by_entropy,
        active.by_epig,
        active.by_margin,
    ):
        strategy = make()
        record.text(f"active/{make.__name__}/name", strategy.name)
        record.case(f"active/{make.__name__}/pick", lambda s=strategy: s.pick(seen, 3))
    warm = active.by_dial(temperature=2.0, name="warm")
    record.case("active/warm", lambda: [*warm.pick(seen, 3), len(warm.name)])


class Centroids:
    """The class of the nearest mean."""

    def __init__(self, x, y, seed):
        self.classes = np.unique(y)
        self.means = np.array([x[y == c].mean(axis=0) for c in self.classes])

    def predict(self, x):
        return self.classes[self._distances(x, self.means).argmin(axis=1)]

    @staticmethod
    def _distances(x, means):
        return ((x[:, None] - means) ** 2).sum(axis=-1)

    def logs(self, x, temperature, seed):
        rng = np.random.default_rng(seed)
        moved = [self.means + rng.normal(size=self.means.shape) for _ in range(6)]
        return normalised(np.stack([-self._distances(x, m) / temperature for m in moved]))


def curves(record):
    rng = np.random.default_rng(4)
    y = np.arange(90) % 3
    x = 2.0 * np.eye(3)[y] + rng.normal(size=(90, 3))
    settings = {
        "x_ood": rng.normal(size=(40, 3)) - 9.0,
        "seeds": [3, 4],
        "start": 6,
        "stop": 14,
        "step": 2,
        "candidates": 20,
        "targets": 10,
        "models": lambda model, temperature, seed: lambda x: model.logs(x, temperature, seed),
        "features": lambda model, x: np.asarray(x),
        "progress": False,
        "strategies": [*STRATEGIES, active.Strategy("first", lambda seen, n: np.arange(n))],
    }
    found = active.active_learning_curve(Centroids, x[:60], y[:60], x[60:], y[60:], **settings)
    record.text("active/curves/type", str(isinstance(found, active.LearningCurves)))
    record.members("active/curves", found, ("seeds", "labels", "accuracy", "strange"))
    record.case("active/curves/labels_to_reach", lambda: found.labels_to_reach([0.5, 0.9, 1.0]))
    record.case("active/curves/mean_accuracy", lambda: found.mean_accuracy())
    record.case("active/curves/gain_over", lambda: found.gain_over("random"))
    for name in STRATEGIES:
        record.case(f"active/curves/band {name}", lambda n=name: found.band(n))
        record.case(f"active/curves/strange_share {name}", lambda n=name: found.strange_share(n))


def adapters(record):
    from types import SimpleNamespace

    from scipy.sparse import csr_matrix
    from skactiveml.classifier import SklearnClassifier
    from small_text import SklearnClassifier as TextClassifier
    from small_text import SklearnDataset

    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, size=60)
    X = np.maximum(rng.normal(size=(60, 4)) + y[:, None], 0)

    def forest():
        return RandomForestClassifier(7, min_samples_leaf=2, random_state=0)

    learner = SimpleNamespace(estimator=forest().fit(X[:15], y[:15]))
    record.case("active/modAL", lambda: active.dial_sampling(learner, X[15:45], 3, X[45:]))
    partly = np.where(np.arange(45) < 15, y[:45], np.nan)
    model = SklearnClassifier(forest(), classes=[0, 1, 2], random_state=0)
    for paths in (None, 1):
        dial = active.DIAL(label_paths=paths)
        said = {"batch_size": 2, "return_utilities": True}
        record.case(
            f"active/skactiveml@{paths}",
            lambda d=dial, s=said: d.query(X[:45], partly, model, X[45:], **s),
        )
    data = SklearnDataset(csr_matrix(X), y, target_labels=np.arange(3))
    texts = TextClassifier(forest(), 3).fit(data[np.arange(15)])
    strategy = active.DIALQueryStrategy(data[np.arange(45, 60)], label_paths=1)
    places = np.arange(15, 45), np.arange(15)
    record.case("active/small_text", lambda: strategy.query(texts, data, *places, data.y[:15], n=3))
