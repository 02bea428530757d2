"""How evenly training embeddings fill their directions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.core.geometry.spectrum import Spectrum
from pnml.core.statistic.factor import Factor
from pnml_experiments.ch5_networks.image_subjects import SIZES, own_images
from pnml_experiments.ch5_networks.ood_networks import subjects
from pnml_experiments.framework.data import arrays
from pnml_experiments.framework.experiment import Experiment, Progress, Scale, counted
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.result import Figure, Result, Row, Table, exactly

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure

EXPERIMENT = Experiment(
    id="embedding-spectrum",
    chapter=5,
    title="Spectrum of the training embeddings",
    minutes=(0.5, 8.0),
    less="2,500 of 50,000 training images; no network trained on SVHN.",
    extras=("plots", "torch"),
    needs=(
        "features/cifar10_resnet20.npz",
        "features/clinc150_minilm.npz",
        "images/cifar10_small.npz",
        "images/cifar100_small.npz",
        "densenets",
    ),
)

_ROWS = {"small": 5_000, "full": None}
_STORED = {
    "ResNet-20, CIFAR-10": ("features/cifar10_resnet20.npz", "f_cifar10_train"),
    "MiniLM, CLINC150": ("features/clinc150_minilm.npz", "x_train"),
}
_ENERGY = 0.99
_FALL = "first eigenvalue over the 50th"
_REMARKS = (
    (
        "Eigenvalues of the correlation matrix of the training embeddings, each scaled to unit "
        "norm as for the leverage."
    ),
    (
        "The text says that CIFAR-100 fills its directions more evenly than CIFAR-10: compare "
        "the two DenseNets."
    ),
)
_SVHN = (
    "Printed: about a thousandfold fall after the first 50. Not run: the weights of a DenseNet "
    "trained on SVHN cannot be had."
)
_SUBSET = (
    "All of 50,000 training images in the thesis, {:,} here, of {} classes: more directions look "
    "empty."
)


def run(scale: Scale, out: Output, progress: Progress) -> Result:
    """Spectra of four sets of training embeddings."""
    spectra: dict[str, FloatArray] = {}
    notes: dict[str, str] = {}
    for name, (file, key) in _STORED.items():
        rows = arrays(file)[key]
        step = max(1, len(rows) // (_ROWS[scale] or len(rows)))
        spectra[name] = eigenvalues(rows[::step])
    for name, (rows, classes) in _densenets(scale, out, progress).items():
        spectra[name] = eigenvalues(rows)
        notes[name] = _SUBSET.format(len(rows), classes)
    numbers = [row for name in spectra for row in _rows(name, spectra[name], notes.get(name, ""))]
    numbers.append(
        Row({"embeddings": "DenseNet-BC-100, SVHN", "number": _FALL}, 1000.0, note=_SVHN)
    )
    figure = Figure(
        "embedding-spectrum",
        "Root eigenvalues of the correlation matrix of training embeddings, largest first.",
        lambda: _draw(spectra),
    )
    return Result((Table("Spectra", tuple(numbers)),), (figure,), remarks=_REMARKS)


def eigenvalues(rows: Any) -> FloatArray:
    """Eigenvalues of the correlation matrix of rows at unit norm, largest first; they sum to 1.

    >>> eigenvalues(np.array([[3.0, 0.0], [0.0, 1.0], [0.0, 2.0], [0.0, 9.0]]))
    array([0.75, 0.25])
    """
    X = np.asarray(rows, dtype=np.float64)
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    unit = X / np.where(norms > 0, norms, 1)
    spectrum = Spectrum.of_factor(Factor.of(unit), intercept=False, unit_columns=False)
    return np.asarray(spectrum.h2 / spectrum.h2.sum())


def _densenets(scale: Scale, out: Output, progress: Progress) -> dict[str, tuple[Any, int]]:
    """Training features of the plain DenseNets that are here, and how many classes they show."""
    from pnml_experiments.ch5_networks.feature_extraction import extract

    ready = [
        one for one in subjects("DenseNet-BC-100") if one.is_here and "Baseline" in one.methods
    ]
    sizes, embeddings = SIZES[scale], {}
    tell = counted(progress, sum(len(own_images(one, sizes).train.images) for one in ready))
    for one in ready:
        own = own_images(one, sizes)
        features_only = replace(one, methods=("Baseline",))
        kept = extract(features_only, sizes, own.train, [], out, tell)
        embeddings[f"DenseNet-BC-100, {one.ind}"] = kept.train, own.classes
    return embeddings


def _rows(name: str, values: FloatArray, note: str) -> list[Row]:
    share = np.cumsum(values)
    numbers = {
        "directions": float(len(values)),
        "directions that hold 99 % of the energy": float(np.searchsorted(share, _ENERGY) + 1),
    }
    if len(values) >= 50:
        numbers[_FALL] = float(values[0] / values[49])
    return [
        Row({"embeddings": name, "number": what}, None, exactly(value), note=note)
        for what, value in numbers.items()
    ]


def _draw(spectra: dict[str, FloatArray]) -> MatplotlibFigure:
    from matplotlib import pyplot as plt

    from pnml.plots import SpectrumDisplay

    figure, ax = plt.subplots(figsize=(7, 4.5))
    for name, values in spectra.items():
        display = SpectrumDisplay(singular_values=np.sqrt(values), name=name)
        display.plot(ax, line_kw={"markersize": 3, "linewidth": 1})
    return figure
