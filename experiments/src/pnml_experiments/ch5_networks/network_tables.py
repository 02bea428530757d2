"""The tables of a network: every method alone and with pNML, on every set of outliers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from pnml_experiments.ch5_networks.image_subjects import (
    SIZES,
    Labels,
    Sizes,
    Subject,
    own_images,
    strange_images,
)
from pnml_experiments.ch5_networks.ood_tables import (
    INTERVAL,
    METRICS,
    SEED,
    Measured,
    estimate,
    measured,
    three_tables,
)
from pnml_experiments.framework.experiment import Progress, Scale, counted
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.printed import PrintedPair, ood_pairs
from pnml_experiments.framework.result import Result, Row, Table, exactly

if TYPE_CHECKING:
    from pnml_experiments.ch5_networks.feature_extraction import Extraction

# method → set of outliers → plain, plain_fair, thesis or fair → what was measured
Found = dict[str, dict[str, dict[str, Measured]]]
# Training and test images in the thesis; of outliers those for tests.
_USUAL_SIZES = (50_000, 10_000)
_PRINTED_SIZES = {"SVHN": (73_257, 26_032)}
ABOUT = (
    "ours of a row with pNML takes the head at the unit features, s = 1, as the research code "
    "does; fair is LastLayerPNML with its defaults: the s that is chosen from training rows alone, "
    "and regions of the predicted class."
)
REMARKS = (
    (
        "ODIN: temperature 1000; one step for all sets, that of the highest mean softmax over "
        "every tenth training image. The research code chose it for each set on test AUROC."
    ),
    (
        "Gram: orders 1 to 10, all convolutions; deviations are normalised on every tenth training "
        "image, in the research code on a tenth of the test images."
    ),
    "Gram + pNML: each image has its own deviation; the research code paired it with another's.",
    "OECC is Gram on weights that were tuned with outliers.",
)
SMALL = (
    "At the scale small each class has few training images, which makes the bounds of Gram narrow "
    "and leverages large: the numbers show that everything runs, not what the methods can do."
)
# Set of outliers → how its images were made.
_MADE = {
    "SVHN": "the digits were cut out of the full pictures anew",
    "Imagenet (R)": "Tiny-ImageNet was resized anew, with smoothing",
    "Imagenet (C)": "Tiny-ImageNet was cropped anew",
}
# The same beside print, with all images.
MADE_AS_PRINTED = _MADE | {
    "Imagenet (R)": "every other pixel of Tiny-ImageNet",
    "Imagenet (R), smoothed": _MADE["Imagenet (R)"],
}
_NO_WEIGHTS = "Not run: weights or images of this network were not at hand."
_NO_IMAGES = "Not run on these images."


def run_tables(
    network: str, subjects: tuple[Subject, ...], scale: Scale, out: Output, progress: Progress
) -> Result:
    """The three tables of a network and how accurate it is; what cannot be run is listed."""
    sizes, ready = SIZES[scale], [one for one in subjects if one.is_here]
    tell = counted(progress, sum(_work(one, sizes) for one in ready if one.key not in out))
    pieces = {one.key: out.piece(one.key, _piece(one, sizes, out, tell)) for one in ready}
    found: dict[str, Found] = {}
    for one in ready:
        found.setdefault(one.ind, {}).update(pieces[one.key]["methods"])
    notes = {one.ind: pieces[one.key]["sizes"] for one in ready}
    tables = three_tables(rows_of(network, found, notes), ABOUT)
    if ready:
        tables += (choices(ready, pieces),)
    seeds = (SEED,) if ready else ()
    remarks = REMARKS + (SMALL,) * (scale == "small") if ready else (_NO_WEIGHTS,)
    interval = INTERVAL if ready else "none"
    return Result(tables, (), seeds, 1, interval, remarks)


def _work(subject: Subject, sizes: Sizes) -> int:
    """Images that go through the network."""
    from pnml_experiments.ch5_networks.feature_extraction import images_to_do

    own = own_images(subject, sizes)
    others = [own.test, *strange_images(subject, sizes)]
    return images_to_do(subject, sizes, own.train, others)


def _piece(subject: Subject, sizes: Sizes, out: Output, tell: Callable[[int], None]) -> Any:
    """What computes all numbers of one network, as plain values."""

    def compute() -> dict[str, Any]:
        from pnml_experiments.ch5_networks.feature_extraction import extract

        own, strange = own_images(subject, sizes), strange_images(subject, sizes)
        kept = extract(subject, sizes, own.train, [own.test, *strange], out, tell)
        return numbers(subject, kept, own.labels, own.classes)

    return compute


def numbers(subject: Subject, kept: Extraction, labels: Labels, classes: int) -> dict[str, Any]:
    """All numbers of one network, as plain values.

    Parameters
    ----------
    kept : what was made of the test images and of each set of outliers
    labels : (n,) of the test images, among the classes that training images show
    classes : how many these are
    """
    from pnml_experiments.ch5_networks.ood_methods import MethodScores

    scores = MethodScores(kept)
    outliers = {name: seen for name, seen in kept.sets.items() if name != "test"}
    methods: Found = {}
    for method in subject.methods:
        usual = scores.scores(method, kept.sets["test"])
        for name, seen in outliers.items():
            there = scores.scores(method, seen)
            methods.setdefault(method, {})[name] = {
                kind: measured(getattr(usual, kind), getattr(there, kind))
                for kind in ("plain", "thesis", "fair")
            }
    logits = kept.head(_tensor(kept.sets["test"].features)).detach().numpy()
    return {
        "methods": methods,
        "accuracy": 100 * float(np.mean(logits.argmax(axis=1) == labels)),
        "epsilon": kept.epsilon,
        "scale": scores.scale,
        "sizes": {name: len(seen.features) for name, seen in kept.sets.items()}
        | {"train": len(kept.train), "classes": classes, "all classes": subject.classes},
    }


def _tensor(rows: Any) -> Any:
    import torch

    return torch.from_numpy(np.ascontiguousarray(rows))


def rows_of(
    network: str,
    found: Mapping[str, Found],
    sizes: Mapping[str, Mapping[str, int]],
    made: Mapping[str, str] = _MADE,
) -> dict[str, list[Row]]:
    """Rows of each metric, with notes on the sizes of the data and how images were made."""
    return {
        metric: [_marked(row, sizes, made) for row in _rows(network, metric, found)]
        for metric in METRICS
    }


def _rows(network: str, metric: str, found: Mapping[str, Found]) -> list[Row]:
    """Rows of one metric: those printed, in their order, and sets that the thesis has not."""
    printed = [p for p in ood_pairs() if p.network == network and p.metric == metric]
    rows: list[Row] = []
    for ind in dict.fromkeys(pair.ind for pair in printed):
        ours = found.get(ind, {})
        pairs = [pair for pair in printed if pair.ind == ind]
        pairs += _unprinted(network, ind, metric, ours, {pair.ood for pair in pairs})
        for pair in pairs:
            kinds = ours.get(pair.method, {}).get(pair.ood)
            rows += _two_rows(pair, kinds, metric, "" if kinds else _why(pair.method in ours))
    return rows


def _why(run: bool) -> str:
    return _NO_IMAGES if run else _NO_WEIGHTS


def _unprinted(
    network: str, ind: str, metric: str, ours: Found, known: set[str]
) -> Iterable[PrintedPair]:
    nan = float("nan")
    oods = dict.fromkeys(ood for sets in ours.values() for ood in sets)
    for ood in oods:
        if ood not in known:
            for method in ours:
                yield PrintedPair(network, ind, ood, method, metric, nan, nan)


def _two_rows(
    pair: PrintedPair, kinds: Mapping[str, Measured] | None, metric: str, note: str
) -> list[Row]:
    """A method alone, and with pNML."""
    labels = {"IND": pair.ind, "OOD": pair.ood}
    got = kinds or {}
    kept = ("plain", "plain_fair", "thesis", "fair")
    plain, plain_fair, thesis, fair = (estimate(got.get(kind), metric) for kind in kept)
    return [
        Row(labels | {"method": pair.method}, _known(pair.plain), plain, plain_fair, note),
        Row(
            labels | {"method": f"{pair.method} + pNML"}, _known(pair.with_pnml), thesis, fair, note
        ),
    ]


def _known(value: float) -> float | None:
    return None if np.isnan(value) else value


def _marked(row: Row, sizes: Mapping[str, Mapping[str, int]], made: Mapping[str, str]) -> Row:
    """The row with a note on how its data differ from those of the thesis."""
    if row.ours is None:
        return row
    ind, ood = row.labels["IND"], row.labels["OOD"]
    counts = sizes[ind]
    train, test = _PRINTED_SIZES.get(ind, _USUAL_SIZES)
    outliers = _PRINTED_SIZES.get(ood, _USUAL_SIZES)[1]
    note = (
        f"{counts['train']:,} of {train:,} training images, {counts['test']:,} of {test:,} test "
        f"images and {counts[ood]:,} of {outliers:,} outliers"
    )
    if counts["classes"] < counts["all classes"]:
        note += (
            f"; the training images at hand show {counts['classes']} of {counts['all classes']} "
            "classes, outputs and test images of the others are left out"
        )
    note += "".join(f"; {how}" for name, how in made.items() if name in (ind, ood))
    return Row(row.labels, row.printed, row.ours, row.fair, note + ".")


def choices(subjects: Iterable[Subject], pieces: Mapping[str, Any]) -> Table:
    """Accuracy, the step of ODIN and the scale of each network."""
    rows = []
    for one in subjects:
        piece = pieces[one.key]
        values = {
            "classes": piece["sizes"]["classes"],
            "accuracy on the test images, percent": piece.get("accuracy"),
            "scale s chosen": piece["scale"],
            "step of ODIN chosen": piece["epsilon"],
        }
        rows += [
            Row({"network": one.key, "number": name}, None, exactly(value))
            for name, value in values.items()
            if value is not None
        ]
    return Table("The networks", tuple(rows), digits=4)
