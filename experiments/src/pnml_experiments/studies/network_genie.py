"""Whether genies of a whole network beat those of its last layer, on MNIST digits."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pnml_experiments.framework.experiment import Experiment, Progress, Scale, counted
from pnml_experiments.framework.result import Result

if TYPE_CHECKING:
    from pnml_experiments.framework.output import Arrays, Output

EXPERIMENT = Experiment(
    id="network-genie",
    chapter=8,
    title="Genies of a whole network: ACNML and influence on MNIST",
    scales=("small", "medium", "stored"),
    minutes=(0.5, 10.0, 120.0),
    extras=("torch",),
    needs=("mnist", "fashion-mnist", "emnist"),
    beyond=True,
)


def run(scale: Scale, out: Output, progress: Progress) -> Result:
    """All methods on digits, clothes and letters, their cost, and the verdict."""
    from pnml_experiments.framework.data import data_path
    from pnml_experiments.framework.stored_files import paths
    from pnml_experiments.studies.network_genie_findings import Found, remarks
    from pnml_experiments.studies.network_genie_methods import METHODS, answers, every_precision
    from pnml_experiments.studies.network_genie_subjects import SIZES, judged_rows, subject
    from pnml_experiments.studies.network_genie_tables import tables

    sizes = SIZES[scale]
    rows = judged_rows(sizes)
    few = rows.some(sizes.few)
    tell = counted(progress, len(METHODS) * len(sizes.trained) * len(sizes.seeds))
    files = [data_path(name) for name in paths(("mnist", "fashion-mnist", "emnist"))]
    answered: dict[tuple[int, str, int], Arrays] = {}
    looked: dict[int, Arrays] = {}
    for trained in sizes.trained:
        for seed in sizes.seeds:
            about = subject(sizes, trained, seed, rows.images, out)
            settings: list[Path | str] = [*files, f"{sizes} {trained} {seed}"]
            for name in METHODS:
                compute = partial(answers, name, about)
                key = f"network-genie-{'-'.join(name.replace(',', '').split())}"
                answered[trained, name, seed] = out.arrays(key, settings, compute)
                tell(1)
            if seed == sizes.seeds[0]:
                compute = partial(every_precision, about, few.images)
                looked[trained] = out.arrays("network-genie-precisions", settings, compute)
    found = Found(sizes, rows, few, answered, looked)
    interval = f"95 %, seeds and rows drawn again, {sizes.draws} times, the same for all methods"
    return Result(tables(found), (), sizes.seeds, len(sizes.seeds), interval, remarks(found))
