"""All that can be run again. Listing it imports none of it."""

from __future__ import annotations

from difflib import get_close_matches

from pnml.core.errors import InputError
from pnml.experiments.experiment import Experiment

_IMAGES = ("images/cifar10_small.npz", "images/cifar100_small.npz", "images/ood_small.npz")
_DENSENETS = (
    "weights/densenet_bc100_cifar10.pth",
    "weights/densenet_bc100_cifar100.pth",
)
_OECC = (
    "weights/densenet_bc100_cifar10_oecc.pth",
    "weights/densenet_bc100_cifar100_oecc.pth",
)
_SVHN = "images/svhn_small.npz"
_RESNET20 = "features/cifar10_resnet20.npz"
_CLINC = "features/clinc150_minilm.npz"
_GENIES = "features/deep_pnml_genie.npz"
_DIGITS = (
    "mnist/train-images-idx3-ubyte.gz",
    "mnist/train-labels-idx1-ubyte.gz",
    "mnist/t10k-images-idx3-ubyte.gz",
    "mnist/t10k-labels-idx1-ubyte.gz",
    "fashion_mnist/t10k-images-idx3-ubyte.gz",
)


def _weights(network: str) -> tuple[str, ...]:
    """Checkpoints of a network that someone may have, plain and OECC-tuned."""
    inds = ("cifar10", "cifar100", "svhn")
    return tuple(f"weights/{network}_{ind}{end}.pth" for ind in inds for end in ("", "_oecc"))


EXPERIMENTS = (
    Experiment("regret-curve", 5, "Regret of a two-class predictor", "regret_curve"),
    Experiment("iris-maps", 5, "Regret of a single-layer network on Iris", "iris_maps"),
    Experiment(
        "embedding-spectrum",
        5,
        "Spectrum of the training embeddings",
        "embedding_spectrum",
        needs=(_RESNET20, _CLINC, *_IMAGES[:2], *_DENSENETS),
        extras=("plots", "torch"),
    ),
    Experiment(
        "ood-resnet20",
        5,
        "OOD detection from the features of a ResNet-20",
        "ood_resnet20",
        needs=(_RESNET20,),
        extras=("plots", "torch"),
    ),
    Experiment(
        "ood-clinc150",
        5,
        "OOD detection from embeddings of sentences, CLINC150",
        "ood_clinc150",
        needs=(_CLINC,),
        extras=("plots", "torch"),
    ),
    Experiment(
        "ood-densenet",
        5,
        "OOD detection with a DenseNet-BC-100",
        "ood_densenet",
        needs=(*_IMAGES, *_DENSENETS, *_OECC),
        uses=(*_weights("densenet_bc100"), _SVHN),
        extras=("plots", "torch"),
    ),
    Experiment(
        "ood-resnet34",
        5,
        "OOD detection with a ResNet-34",
        "ood_resnet34",
        uses=(*_IMAGES, _SVHN, *_weights("resnet34")),
        extras=("plots", "torch"),
    ),
    Experiment(
        "ood-wrn40",
        5,
        "OOD detection with an energy-tuned WideResNet-40",
        "ood_wrn40",
        uses=(*_IMAGES, *_weights("wrn40_energy")),
        extras=("plots", "torch"),
    ),
    Experiment("ood-imagenet30", 5, "OOD detection on ImageNet-30", "ood_imagenet30"),
    Experiment(
        "gram-histogram",
        5,
        "Gram against Gram + pNML, sample by sample",
        "gram_histogram",
        needs=(*_IMAGES, _DENSENETS[1]),
        extras=("plots", "torch"),
    ),
    Experiment(
        "open-set-resnet20",
        5,
        "Open-set recognition from the features of a ResNet-20",
        "open_set_resnet20",
        needs=(_RESNET20,),
        extras=("plots", "torch"),
    ),
    Experiment(
        "open-set-clinc150",
        5,
        "Open-set recognition from embeddings of sentences, CLINC150",
        "open_set_clinc150",
        needs=(_CLINC,),
        extras=("plots", "torch"),
    ),
    Experiment(
        "open-set-mnist",
        5,
        "Open-set recognition, MNIST against Fashion-MNIST",
        "open_set_mnist",
        needs=_DIGITS,
        extras=("plots", "torch"),
    ),
    Experiment(
        "ablation-table",
        5,
        "Tuned layers of a ResNet-20, and their union",
        "ablation",
        needs=(_GENIES,),
    ),
    Experiment(
        "ablation-mnist",
        5,
        "Tuned layers of a small network on MNIST, run for real",
        "ablation_mnist",
        needs=_DIGITS,
        extras=("plots", "torch"),
    ),
)


def find(name: str) -> Experiment:
    """The experiment of this name.

    >>> find("iris-maps").chapter
    5
    """
    named = {experiment.id: experiment for experiment in EXPERIMENTS}
    if name not in named:
        near = get_close_matches(name, named, n=1)
        meant = f"did you mean {near[0]}?" if near else "run pnml reproduce to list all."
        raise InputError(f"There is no experiment {name}; {meant}")
    return named[name]
