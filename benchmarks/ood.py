"""Detectors on features: how well they detect, and what fitting and scoring cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks import ood_data, ood_rivals
from benchmarks.ood_data import FeatureSet
from benchmarks.ood_rivals import Scores, Trained
from benchmarks.report import Job, Row, Target, absolute_row, ratio_row, speedup_row
from benchmarks.timing import Duel, FloatArray, duel, extra_memory
from pnml.ood import MSP, Energy, MaxLogit, OODTable, RegretDetector, evaluate_ood

_OURS = "pNML, scale auto"
_MEGABYTE = 1e6


@dataclass(frozen=True)
class Sizes:
    """How large the jobs are. Targets hold at full size only."""

    rows: int
    width: int
    chunk: int
    classes: tuple[int, ...]
    neighbours: int  # rows that KNN is timed on
    sets: bool  # whether the feature sets are read
    full: bool

    def target(self, limit: float, *, at_least: bool = False) -> Target | None:
        return Target(limit, at_least) if self.full else None


FULL = Sizes(50_000, 512, 5_000, (10, 100), 500, sets=True, full=True)
QUICK = Sizes(2_000, 32, 500, (5,), 20, sets=False, full=False)


def jobs(*, quick: bool) -> list[Job]:
    """All comparisons of this suite."""
    sizes = QUICK if quick else FULL
    quality = [partial(resnet20, sizes), partial(clinc150, sizes), partial(dead_units, sizes)]
    speed = [partial(fit, sizes), partial(memory, sizes)]
    return quality + speed + [partial(scoring, sizes, classes) for classes in sizes.classes]


def resnet20(sizes: Sizes, rounds: int) -> Iterator[Row]:
    """Six sets of outliers for the features of a ResNet-20."""
    data = ood_data.resnet20() if sizes.sets else None
    if data is None:
        yield _skipped("AUROC, CIFAR-10, ResNet-20", sizes)
        return
    table = _table(data, (50,))
    yield from _areas(data, table, sizes.target(94.0, at_least=True))
    mean = table.mean()
    plain = max(mean["MSP"], mean["Energy"])
    job = "mean AUROC above MSP and Energy"
    yield _points(job, 100 * (mean[_OURS] - plain), sizes.target(5.0, at_least=True))
    yield from _margins(
        table, {"mean AUROC": mean, f"AUROC {data.near}": _near(data, table)}, sizes
    )


def clinc150(sizes: Sizes, rounds: int) -> Iterator[Row]:
    """Queries out of scope for embeddings of sentences."""
    data = ood_data.clinc150() if sizes.sets else None
    if data is None:
        yield _skipped("AUROC, CLINC150, MiniLM", sizes)
        return
    table = _table(data, (5, 50))  # 100 rows to a class: few neighbours are better here
    yield from _areas(data, table, sizes.target(97.3, at_least=True))
    named = ("MSP", "MaxLogit", "Energy", "Mahalanobis", "KNN, k = 5", "KNN, k = 50")
    mean = table.mean()
    asked = {name: mean[name] for name in (_OURS, *named)}
    yield from _margins(table, {"AUROC, asked for": asked, "AUROC, all": mean}, sizes)


def dead_units(sizes: Sizes, rounds: int) -> Iterator[Row]:
    """Outliers that live only in units which no training row has used."""
    made, ind, ood = ood_data.dead_units()
    ours = {
        _OURS: RegretDetector.from_embeddings(made.weight, made.bias, made.X).predict_features,
        "published pNML": ood_rivals.published_regret(made),
    }
    table = evaluate_ood(ours, ind, {"dead units": ood}, resamples=2)
    for name in ours:
        target = sizes.target(100.0, at_least=True) if name == _OURS else None
        area = 100 * table[name, "dead units"].auroc.value
        yield Row("AUROC, 16 of 64 units dead", name, area, area, area, "%", target=target)


def fit(sizes: Sizes, rounds: int) -> Iterator[Row]:
    """The statistic of all training rows against the one product it cannot do without."""
    made, _ = ood_data.made_up(sizes.rows, sizes.width, sizes.classes[0])
    job = f"fit_features, {sizes.rows}x{sizes.width}"
    for dtype in (np.float64, np.float32):
        X = made.X.astype(dtype)
        parts = _parts(X, sizes.chunk)
        name = f"{job}, {np.dtype(dtype).name}"
        bare = partial(ood_rivals.bare_gram_and_labels, parts, made.weight)
        fits = duel(lambda X=X: _fitted(made, X), bare, rounds)
        yield ratio_row(name, "XᵀX and labels in float64, same chunks", fits, sizes.target(1.5))
    fits = duel(lambda: _fitted(made, made.X), lambda: ood_rivals.published_regret(made), rounds)
    yield ratio_row(job, "published recipe, float32 pinv", fits)
    fits = duel(lambda: _fitted(made, made.X), lambda: ood_rivals.vim(made), rounds)
    yield ratio_row(job, "ViM", fits)
    first = duel(
        lambda: _fitted(made, made.X).predict_features(made.X[:1]),
        lambda: ood_rivals.bare_gram([made.X]),
        max(1, rounds // 3),
    )
    yield ratio_row(f"{job}, and the first score", "XᵀX in float64", first)


def memory(sizes: Sizes, rounds: int) -> Iterator[Row]:
    """What fitting holds beside the rows."""
    made, _ = ood_data.made_up(sizes.rows, sizes.width, sizes.classes[0])
    used = extra_memory(lambda: _fitted(made, made.X)) / _MEGABYTE
    job = f"extra memory of fit_features, {sizes.rows}x{sizes.width}"
    note = "of numpy and Python; torch is counted where it shares numpy's memory"
    yield absolute_row(job, np.array([used]), "MB", sizes.target(200.0), note)


def scoring(sizes: Sizes, classes: int, rounds: int) -> Iterator[Row]:
    """Regrets of new rows against bare products and against other scores."""
    made, new = ood_data.made_up(sizes.rows, sizes.width, classes)
    ours = _fitted(made, made.X)
    ours.predict_features(new)  # what is found once is found now
    job = f"regret of {len(new)}x{sizes.width}, {classes} classes"
    square = np.random.default_rng(1).normal(size=(sizes.width, sizes.width))
    rivals: dict[str, tuple[Callable[[FloatArray], object], Target | None]] = {
        "T @ W, one softmax": (
            lambda X: ood_rivals.bare_products(X, square, made.weight),
            sizes.target(1.5),
        ),
        "Mahalanobis, whitened": (ood_rivals.mahalanobis(made), sizes.target(1.2)),
        "ViM": (ood_rivals.vim(made), None),
        "Energy": (ood_rivals.energy(made), None),
        "published recipe, float32": (ood_rivals.published_regret(made), None),
    }
    for name, (rival, target) in rivals.items():
        times = duel(lambda: ours.predict_features(new), lambda r=rival: r(new), rounds)
        yield ratio_row(job, name, times, target)
    slow = ood_rivals.mahalanobis_by_class(made)
    times = duel(lambda: ours.predict_features(new), lambda: slow(new), max(2, rounds // 3))
    yield speedup_row(job, "Mahalanobis, class by class", times, sizes.target(5.0, at_least=True))
    yield _against_knn(job, ours, made, new, sizes, max(2, rounds // 3))


def _against_knn(
    job: str, ours: RegretDetector, made: Trained, new: FloatArray, sizes: Sizes, rounds: int
) -> Row:
    few = new[: sizes.neighbours]
    knn = ood_rivals.knn(made)
    part = duel(lambda: ours.predict_features(new), lambda: knn(few), rounds)
    times = Duel(part.ours, part.rival * (len(new) / len(few)))
    note = f"extrapolated from {len(few)} rows"
    return speedup_row(job, "KNN of scikit-learn, k = 50", times, None, note)


def _detectors(made: Trained, neighbours: tuple[int, ...]) -> dict[str, object]:
    """All contenders, ours first."""
    scales: dict[str, object] = {_OURS: "auto", "pNML, scale 1": 1.0, "pNML, own probs": None}
    ours = {
        name: RegretDetector.from_embeddings(
            made.weight, made.bias, made.X, scale=s
        ).predict_features
        for name, s in scales.items()
    }
    logits = {"MSP": MSP, "MaxLogit": MaxLogit, "Energy": Energy}
    rivals: dict[str, Scores] = {
        "GEN": ood_rivals.gen(made),
        "Mahalanobis": ood_rivals.mahalanobis(made),
        "RMD": ood_rivals.relative_mahalanobis(made),
        **{f"KNN, k = {k}": ood_rivals.knn(made, k) for k in neighbours},
        "ViM": ood_rivals.vim(made),
        "published pNML": ood_rivals.published_regret(made),
    }
    return ours | {name: kind(made.logits) for name, kind in logits.items()} | rivals


def _table(data: FeatureSet, neighbours: tuple[int, ...]) -> OODTable:
    return evaluate_ood(_detectors(data.made, neighbours), data.ind, data.ood, resamples=2)


def _near(data: FeatureSet, table: OODTable) -> dict[str, float]:
    return {name: table[name, data.near].auroc.value for name in table.detectors}


def _areas(data: FeatureSet, table: OODTable, target: Target | None) -> Iterator[Row]:
    """Mean AUROC of each detector in percent; the quartiles are those over the sets."""
    for name, mean in table.mean().items():
        every = np.array([100 * table[name, ood].auroc.value for ood in table.oods])
        low, high = np.quantile(every, [0.25, 0.75])
        note = ", ".join(f"{ood} {area:.2f}" for ood, area in zip(table.oods, every, strict=True))
        job = f"mean AUROC, {data.name}"
        held = target if name == _OURS else None
        yield Row(job, name, 100 * mean, float(low), float(high), "%", target=held, note=note)


def _margins(table: OODTable, compared: dict[str, dict[str, float]], sizes: Sizes) -> Iterator[Row]:
    """How far ours is above the best of the others, in points."""
    for job, found in compared.items():
        others = {name: v for name, v in found.items() if "pNML" not in name}
        best = max(others, key=lambda name: others[name])
        margin = 100 * (found[_OURS] - others[best])
        target = None if job.endswith("all") else sizes.target(0.0, at_least=True)
        yield _points(f"{job}: above the best other", margin, target, best)


def _points(job: str, margin: float, target: Target | None, rival: str = "") -> Row:
    return Row(job, rival, margin, margin, margin, "points", target=target)


def _skipped(job: str, sizes: Sizes) -> Row:
    nan = float("nan")
    why = "PNML_DATA names no folder with this set" if sizes.sets else "a quick run reads no data"
    return Row(job, "", nan, nan, nan, "%", note=f"skipped: {why}")


def _fitted(made: Trained, X: FloatArray) -> RegretDetector:
    return RegretDetector.from_embeddings(made.weight, made.bias, X)


def _parts(X: FloatArray, chunk: int) -> list[FloatArray]:
    return [X[start : start + chunk] for start in range(0, len(X), chunk)]
