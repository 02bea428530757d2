"""The refitted last layer: a fit for each label of each row, against scikit-learn's warm starts."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_digits

from benchmarks import ood_data
from benchmarks.refit_rivals import WarmRefits
from benchmarks.report import Job, Row, Target, absolute_row, speedup_row
from benchmarks.timing import Duel, FloatArray, duel
from pnml.core.logistic import LogisticModel, Refits, refit
from pnml.core.logistic.genies import Genies, Solver
from pnml.core.logistic.screening import left_out
from pnml.core.logistic.training import LabelledProblems

_TOL = 1e-4  # asked of our regrets, in nats
_COARSE = 2e-2  # the same where there are 150 labels
_TIGHT = 1e-9  # of the solve that errors are measured against
_LIMIT = 500  # steps of a refit

Labels = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Sizes:
    """How large the jobs are. Targets hold at full size only."""

    training: int
    rows: int
    features: int  # rows of the ResNet-20 features
    few: int  # rows that the rivals are timed on
    labels: int  # of CLINC150 that ours is timed on, and of them how many the rival
    theirs: int
    ladder: tuple[float, ...]  # scikit-learn's `tol`
    sets: bool  # whether the feature sets are read
    full: bool

    def target(self, limit: float) -> Target | None:
        return Target(limit, at_least=True) if self.full else None


_LADDER = (1e-4, 3e-5, 1e-5, 3e-6, 1e-6, 3e-7, 1e-7)
FULL = Sizes(1000, 100, 10, 4, 20, 3, _LADDER, sets=True, full=True)
QUICK = Sizes(80, 4, 1, 1, 3, 1, (1e-4, 1e-6), sets=False, full=False)


def jobs(*, quick: bool) -> list[Job]:
    """All comparisons of this suite."""
    sizes = QUICK if quick else FULL
    digits_jobs = [partial(digits, sizes, scaling) for scaling in (_sixteenths, _standardised)]
    return [*digits_jobs, partial(resnet20, sizes), partial(clinc150, sizes)]


def digits(
    sizes: Sizes, scaling: Callable[[FloatArray, int], FloatArray], rounds: int
) -> Iterator[Row]:
    """Ten labels of handwritten digits."""
    X, y = load_digits(return_X_y=True)
    X, n = scaling(X, sizes.training), sizes.training
    new = X[n : n + sizes.rows]
    job = f"digits {scaling.__name__.strip('_')}, {n}x{X.shape[1]}"
    yield absolute_row(f"{job}: fit", _fits(X[:n], y[:n], rounds), "s")
    model = LogisticModel.fit(X[:n], y[:n], 10, alpha=1.0)
    exact, found = refit(model, new, tol=_TIGHT), refit(model, new, tol=_TOL)
    off = np.abs(found.regret - exact.regret)
    yield absolute_row(
        f"{job}: largest error of Γ",
        off.max(keepdims=True),
        "nats",
        note=_accuracy_note(found, _TOL),
    )
    yield from _ladder(job, sizes, model, (X[:n], y[:n]), new, off, exact.regret, rounds)


def _ladder(
    job: str,
    sizes: Sizes,
    model: LogisticModel,
    training: tuple[FloatArray, Labels],
    new: FloatArray,
    off: FloatArray,
    exact: FloatArray,
    rounds: int,
) -> Iterator[Row]:
    """Warm starts at one tolerance after the other, and ours against two of them.

    One is the loosest that is as exact as ours is, on the same rows; the other the loosest that
    is as exact as ours was asked to be.
    """
    few = new[: sizes.few]
    errors = {}
    for tol in sizes.ladder:
        row, errors[tol] = _rung(job, WarmRefits.of(*training, model, tol), few, exact)
        yield row
    newton = WarmRefits.of(*training, model, 1e-4, "newton-cholesky")
    yield _rung(job, newton, few[:1], exact)[0]
    wanted = off[: len(few)].max()
    for limit, target in ((_TOL, None), (wanted, sizes.target(10.0))):
        tol = next((tol for tol, error in errors.items() if error <= limit), sizes.ladder[-1])
        turns = _turns(WarmRefits.of(*training, model, tol), few)
        times = duel(lambda: refit(model, new, tol=_TOL), turns, rounds)
        yield speedup_row(
            f"{job}, a row",
            f"10 warm starts, lbfgs, {tol:.0e}",
            Duel(times.ours / len(new), times.rival),
            target,
            f"largest error of Γ in {len(few)} rows: ours {wanted:.1e}, theirs {errors[tol]:.1e}",
        )


def resnet20(sizes: Sizes, rounds: int) -> Iterator[Row]:
    """Ten labels of CIFAR-10, from the features of a ResNet-20."""
    data = ood_data.resnet20() if sizes.sets else None
    job = "CIFAR-10, ResNet-20, 50000x64"
    if data is None:
        yield _skipped(job, sizes)
        return
    start = time.process_time()
    model = LogisticModel.fit(data.made.X, data.made.y, 10, alpha=1.0)
    yield absolute_row(f"{job}: fit", np.array([time.process_time() - start]), "s")
    refit(model, data.ind[:1], tol=_TOL)  # what is found once is found now
    outliers = data.ood["svhn_test"][: sizes.features]
    for name, new in (("ordinary rows", data.ind[: sizes.features]), ("outliers", outliers)):
        start = time.process_time()
        found = refit(model, new, tol=_TOL)
        spent = 1e3 * (time.process_time() - start) / len(new)
        off = np.abs(found.regret - refit(model, new, tol=_TIGHT).regret).max()
        note = f"{_accuracy_note(found, _TOL)}; largest error of Γ {off:.1e}"
        yield absolute_row(f"{job}: {name}", np.array([spent]), "ms a row", note=note)


def clinc150(sizes: Sizes, rounds: int) -> Iterator[Row]:
    """150 intents of sentences; a few labels of one row, since the rival takes so long."""
    path = Path(os.environ.get("PNML_DATA", ""), "features", "clinc150_minilm.npz")
    job = "CLINC150, 15000x384"
    if not (sizes.sets and "PNML_DATA" in os.environ and path.exists()):
        yield _skipped(job, sizes)
        return
    file = np.load(path)
    X, y, row = (file[name] for name in ("x_train", "y_train", "x_test"))
    X, y, row = X.astype(float), y.astype(np.int64), row[:1].astype(float)
    start = time.process_time()
    model = LogisticModel.fit(X, y, 150, alpha=1.0)
    yield absolute_row(f"{job}: fit", np.array([time.process_time() - start]), "s")
    start = time.process_time()
    model.preconditioner, model.curvature, model.screen  # noqa: B018
    spent = np.array([time.process_time() - start])
    yield absolute_row(f"{job}: once before all refits", spent, "s")

    order = np.argsort(model.log_prob(row)[0])[::-1]
    labels = order[:: -(-len(order) // sizes.labels)]  # the likeliest, and evenly on from it
    exact = np.exp(_some_labels(model, row, labels, _TIGHT).log_prob)
    rungs = _rungs(sizes, WarmRefits.of(X, y, model, 1.0), row, labels, exact)
    for tol, target in ((_TOL, None), (_COARSE, sizes.target(20.0))):
        start = time.process_time()
        found = _some_labels(model, row, labels, tol)
        seconds = (time.process_time() - start) / len(labels)
        yield _share_row(job, model, row, found, exact, tol, seconds)
        yield _against_warm_starts(job, found, exact, rungs, seconds, target)


@dataclass(frozen=True)
class Rung:
    """Some labels by warm starts at one tolerance."""

    tol: float
    chosen: Labels  # which of our labels these are
    genies: FloatArray
    seconds: float  # for each


def _rungs(
    sizes: Sizes, rival: WarmRefits, row: FloatArray, labels: Labels, exact: FloatArray
) -> list[Rung]:
    some = np.linspace(0, len(labels) - 1, sizes.theirs).astype(int)
    rungs = []
    for tol in sizes.ladder[1:]:
        start = time.process_time()
        genies = replace(rival, tol=tol).genies(row[0], labels[some])
        rungs.append(Rung(tol, some, genies, (time.process_time() - start) / len(some)))
    return rungs


def _share_row(
    job: str,
    model: LogisticModel,
    row: FloatArray,
    found: Genies,
    exact: FloatArray,
    tol: float,
    seconds: float,
) -> Row:
    """What a label costs, and how many of them are spared or nearly so."""
    reach = model.preconditioner.reach(model.objective.training.design_rows(row)).matrix
    out = left_out(model.screen.gains(model.log_prob(row), reach), tol / 5)
    off = np.abs(np.exp(found.log_prob) - exact).max()
    note = (
        f"{len(exact)} of 150 labels; {np.mean(out):.0%} of all screened, "
        f"{np.mean(found.steps == 1):.0%} accepted at the first step, "
        f"steps {found.steps.mean():.1f} on average; "
        f"largest error of a genie {off:.1e}, asked {0.8 * tol / 150:.1e}"
    )
    return absolute_row(f"{job}: a label, Γ to {tol:g}", np.array([1e3 * seconds]), "ms", note=note)


def _against_warm_starts(
    job: str,
    found: Genies,
    exact: FloatArray,
    rungs: list[Rung],
    seconds: float,
    target: Target | None,
) -> Row:
    """All labels of a row against the loosest warm starts that are as exact, or the tightest."""
    off = np.abs(np.exp(found.log_prob) - exact)
    errors = [float(np.abs(rung.genies - exact[rung.chosen]).max()) for rung in rungs]
    equal = [i for i, rung in enumerate(rungs) if errors[i] <= off[rung.chosen].max()]
    i = equal[0] if equal else len(rungs) - 1
    note = (
        f"extrapolated from {len(exact)} labels of ours and {len(rungs[i].chosen)} of theirs; "
        f"genies of these within {off[rungs[i].chosen].max():.1e} and {errors[i]:.1e}; "
        "theirs by tol: "
        + ", ".join(
            f"{rung.tol:.0e} {rung.seconds:.2g} s {error:.0e}"
            for rung, error in zip(rungs, errors, strict=True)
        )
    )
    times = Duel(np.array([150 * seconds]), np.array([150 * rungs[i].seconds]))
    rival = f"150 warm starts, lbfgs, {rungs[i].tol:.0e}"
    return speedup_row(f"{job}, a row", rival, times, target, note)


def _some_labels(model: LogisticModel, row: FloatArray, labels: Labels, tol: float) -> Genies:
    """The genies of some labels of one row, at their share of the tolerance of all."""
    design = model.objective.training.design_rows(row)
    share = -np.expm1(-tol) / model.n_classes
    solver = Solver(model.objective, model.preconditioner, model.curvature, share, _LIMIT)
    problems = LabelledProblems.new(
        design.repeat(len(labels), axis=0), np.eye(model.n_classes)[labels]
    )
    owner = np.zeros(len(labels), dtype=np.int64)
    return solver.solve(problems, labels, owner, model.preconditioner.reach(design))


def _rung(job: str, rival: WarmRefits, rows: FloatArray, exact: FloatArray) -> tuple[Row, float]:
    """Seconds for ten warm starts, and the largest error of the regret."""
    start = time.process_time()
    genies = np.array([rival.genies(row, range(10)) for row in rows])
    spent = (time.process_time() - start) / len(rows)
    error = float(np.abs(np.log(genies.sum(axis=1)) - exact[: len(rows)]).max())
    name = f"10 warm starts, {rival.solver}, {rival.tol:.0e}"
    note = f"largest error of Γ in {len(rows)} rows {error:.1e}"
    spent *= 1e3
    return Row(f"{job}, a row", name, spent, spent, spent, "ms", note=note), error


def _turns(rival: WarmRefits, rows: FloatArray) -> Callable[[], object]:
    """A call that refits with the next of the rows each time."""
    calls = 0

    def call() -> object:
        nonlocal calls
        calls += 1
        return rival.genies(rows[calls % len(rows)], range(10))

    return call


def _fits(X: FloatArray, y: Labels, rounds: int) -> FloatArray:
    """Seconds of the fit with all that refits need once."""
    spent = []
    for _ in range(max(1, rounds // 3)):
        start = time.process_time()
        model = LogisticModel.fit(X, y, 10, alpha=1.0)
        model.preconditioner, model.curvature, model.screen  # noqa: B018
        spent.append(time.process_time() - start)
    return np.array(spent)


def _accuracy_note(found: Refits, tol: float) -> str:
    return (
        f"asked {tol:g}, reported {found.error.max():.1e}; "
        f"{np.mean(found.steps == 0):.0%} of labels screened, "
        f"{np.mean(found.steps == 1):.0%} accepted at the first step, "
        f"steps {found.steps.mean():.1f} on average; "
        f"{np.mean(found.converged):.0%} of rows converged"
    )


def _sixteenths(X: FloatArray, training: int) -> FloatArray:
    return np.asarray(X) / 16


def _standardised(X: FloatArray, training: int) -> FloatArray:
    size = X[:training].std(axis=0)
    return np.asarray((X - X[:training].mean(axis=0)) / np.where(size > 0, size, 1.0))


def _skipped(job: str, sizes: Sizes) -> Row:
    nan = float("nan")
    why = "PNML_DATA names no folder with this set" if sizes.sets else "a quick run reads no data"
    return Row(job, "", nan, nan, nan, "ms", note=f"skipped: {why}")
