"""All that can be run again. Listing it imports none of it."""

from __future__ import annotations

from difflib import get_close_matches

from pnml.core.errors import InputError
from pnml.experiments.experiment import Experiment
from pnml.experiments.linear_entries import LINEAR
from pnml.experiments.synthetic_entries import SYNTHETIC

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
_CHARACTERS = "emnist/emnist47_small.npz"
_ATTACKED = (*_DIGITS[:4], "weights/mnist_cnn_pgd.pth")
_TABLES = tuple(
    f"uci/{name}.npz"
    for name in (
        "yacht",
        "energy",
        "concrete",
        "bostonHousing",
        "wine-quality-red",
        "kin8nm",
        "power-plant",
        "naval-propulsion-plant",
        "protein-tertiary-structure",
    )
)

_SHIFTS = tuple(
    f"shift/{name}.npz" for name in ("wine", "parkinson", "fire", "fertility", "triazines")
)


def _weights(network: str) -> tuple[str, ...]:
    """Checkpoints of a network that someone may have, plain and OECC-tuned."""
    inds = ("cifar10", "cifar100", "svhn")
    return tuple(f"weights/{network}_{ind}{end}.pth" for ind in inds for end in ("", "_oecc"))


EXPERIMENTS = (
    *SYNTHETIC,
    Experiment(
        "uci-benchmark",
        4,
        "Learners side by side on the UCI sets",
        "uci_benchmark",
        needs=_TABLES[:3],
        uses=(*_TABLES[3:], *_SHIFTS),
        minutes=(0.5, 15.0),
        beyond=True,
    ),
    *LINEAR,
    Experiment(
        "regret-curve",
        5,
        "Regret of a two-class predictor",
        "regret_curve",
        minutes=(0.05, 0.05),
    ),
    Experiment(
        "iris-maps",
        5,
        "Regret of a single-layer network on Iris",
        "iris_maps",
        minutes=(0.1, 0.1),
    ),
    Experiment(
        "embedding-spectrum",
        5,
        "Spectrum of the training embeddings",
        "embedding_spectrum",
        needs=(_RESNET20, _CLINC, *_IMAGES[:2], *_DENSENETS),
        extras=("plots", "torch"),
        minutes=(1.3, 8.0),
    ),
    Experiment(
        "ood-resnet20",
        5,
        "OOD detection from the features of a ResNet-20",
        "ood_resnet20",
        needs=(_RESNET20,),
        extras=("plots", "torch"),
        minutes=(0.1, 0.3),
        beyond=True,
    ),
    Experiment(
        "ood-clinc150",
        5,
        "OOD detection from embeddings of sentences, CLINC150",
        "ood_clinc150",
        needs=(_CLINC,),
        extras=("plots", "torch"),
        minutes=(0.1, 0.2),
        beyond=True,
    ),
    Experiment(
        "ood-densenet",
        5,
        "OOD detection with a DenseNet-BC-100",
        "ood_densenet",
        needs=(*_IMAGES, *_DENSENETS, *_OECC),
        uses=(*_weights("densenet_bc100"), _SVHN),
        extras=("plots", "torch"),
        minutes=(6.5, 120.0),
    ),
    Experiment(
        "ood-resnet34",
        5,
        "OOD detection with a ResNet-34",
        "ood_resnet34",
        uses=(*_IMAGES, _SVHN, *_weights("resnet34")),
        extras=("plots", "torch"),
        minutes=(0.1, 0.1),
        own=_weights("resnet34"),
    ),
    Experiment(
        "ood-wrn40",
        5,
        "OOD detection with an energy-tuned WideResNet-40",
        "ood_wrn40",
        uses=(*_IMAGES, *_weights("wrn40_energy")),
        extras=("plots", "torch"),
        minutes=(0.1, 0.1),
        own=_weights("wrn40_energy"),
    ),
    Experiment(
        "ood-imagenet30",
        5,
        "OOD detection on ImageNet-30",
        "ood_imagenet30",
        minutes=(0.05, 0.05),
        own=("images of ImageNet-30",),
    ),
    Experiment(
        "gram-histogram",
        5,
        "Gram against Gram + pNML, sample by sample",
        "gram_histogram",
        needs=(*_IMAGES, _DENSENETS[1]),
        extras=("plots", "torch"),
        minutes=(2.0, 10.0),
    ),
    Experiment(
        "open-set-resnet20",
        5,
        "Open-set recognition from the features of a ResNet-20",
        "open_set_resnet20",
        needs=(_RESNET20,),
        extras=("plots", "torch"),
        minutes=(0.5, 10.0),
    ),
    Experiment(
        "open-set-clinc150",
        5,
        "Open-set recognition from embeddings of sentences, CLINC150",
        "open_set_clinc150",
        needs=(_CLINC,),
        extras=("plots", "torch"),
        minutes=(0.2, 2.0),
    ),
    Experiment(
        "open-set-mnist",
        5,
        "Open-set recognition, MNIST against Fashion-MNIST",
        "open_set_mnist",
        needs=_DIGITS,
        extras=("plots", "torch"),
        minutes=(0.8, 10.0),
    ),
    Experiment(
        "ablation-table",
        5,
        "Tuned layers of a ResNet-20, and their union",
        "ablation",
        needs=(_GENIES,),
        minutes=(0.1, 0.1),
    ),
    Experiment(
        "ablation-mnist",
        5,
        "Tuned layers of a small network on MNIST, run for real",
        "ablation_mnist",
        needs=_DIGITS,
        extras=("plots", "torch"),
        minutes=(1.0, 30.0),
    ),
    Experiment(
        "adversarial-toy",
        6,
        "Two mechanisms of the adversarial defence, in the plane",
        "adversarial_toy",
        extras=("plots", "torch"),
        minutes=(0.3, 1.0),
    ),
    Experiment(
        "adversarial-scheme",
        6,
        "The adversarial defence from end to end",
        "adversarial_scheme",
        extras=("plots", "torch"),
        minutes=(0.2, 0.5),
    ),
    Experiment(
        "adversarial-digits",
        6,
        "The adversarial defence on a very small network, several seeds",
        "adversarial_digits",
        extras=("plots", "torch"),
        minutes=(1.0, 60.0),
        beyond=True,
    ),
    Experiment(
        "adversarial-mnist",
        6,
        "The adversarial defence on MNIST, in both protocols",
        "adversarial_mnist",
        needs=_ATTACKED,
        extras=("plots", "torch"),
        minutes=(1.0, 240.0),
    ),
    Experiment(
        "adversarial-curves",
        6,
        "The adversarial defence by radius, strength and steps",
        "adversarial_curves",
        needs=_ATTACKED,
        extras=("plots", "torch"),
        minutes=(1.0, 60.0),
    ),
    Experiment(
        "adversarial-holds",
        6,
        "Versions of the adversarial defence in the worst case",
        "adversarial_holds",
        needs=_ATTACKED,
        extras=("plots", "torch"),
        minutes=(1.0, 120.0),
        beyond=True,
    ),
    Experiment(
        "active-pools",
        7,
        "The pools of active learning",
        "active_pools",
        needs=(*_DIGITS, _CHARACTERS, _IMAGES[0], _IMAGES[2]),
        extras=("plots", "torch"),
        minutes=(0.1, 0.1),
    ),
    Experiment(
        "dial-mnist",
        7,
        "Active learning on MNIST",
        "dial_mnist",
        needs=_DIGITS[:4],
        extras=("plots", "torch"),
        scales=("small", "medium", "full"),
        minutes=(1.5, 60.0, 600.0),
    ),
    Experiment(
        "dial-mnist-ood",
        7,
        "Active learning on MNIST, as many clothes as digits in the pool",
        "dial_mnist_ood",
        needs=_DIGITS,
        extras=("plots", "torch"),
        scales=("small", "medium", "full"),
        minutes=(2.0, 80.0, 800.0),
    ),
    Experiment(
        "dial-emnist",
        7,
        "Active learning on EMNIST",
        "dial_emnist",
        needs=(_CHARACTERS,),
        extras=("plots", "torch"),
        scales=("small", "medium", "full"),
        minutes=(2.5, 90.0, 900.0),
    ),
    Experiment(
        "dial-emnist-ood",
        7,
        "Active learning on EMNIST, as many clothes as characters in the pool",
        "dial_emnist_ood",
        needs=(_CHARACTERS, _DIGITS[4]),
        extras=("plots", "torch"),
        scales=("small", "medium", "full"),
        minutes=(2.0, 120.0, 1200.0),
    ),
    Experiment(
        "dial-cifar10",
        7,
        "Active learning on CIFAR-10, as many house numbers as pictures in the pool",
        "dial_cifar10",
        uses=("images/cifar10.npz", "images/svhn.npz"),
        extras=("plots", "torch"),
        minutes=(0.1, 0.1),
        own=("images/cifar10.npz",),
        gpu=True,
    ),
    Experiment(
        "dial-stability",
        7,
        "How much the picks of DIAL owe to the masks that were drawn",
        "dial_stability",
        needs=_DIGITS,
        extras=("plots", "torch"),
        scales=("small", "medium", "full"),
        minutes=(1.5, 15.0, 60.0),
        beyond=True,
    ),
    Experiment(
        "dial-variants",
        7,
        "What might serve DIAL better on a polluted pool",
        "dial_variants",
        needs=_DIGITS,
        extras=("plots", "torch"),
        scales=("small", "medium", "full"),
        minutes=(2.0, 80.0, 800.0),
        beyond=True,
    ),
    Experiment(
        "linear-active",
        7,
        "Active learning for least squares on UCI sets",
        "linear_active",
        needs=_TABLES[:3],
        uses=_TABLES[3:],
        minutes=(0.2, 20.0),
        beyond=True,
    ),
    Experiment(
        "regret-stability",
        8,
        "Regret, and what leaving a row out moves",
        "regret_stability",
        needs=_TABLES[:3],
        uses=_TABLES[3:],
        minutes=(0.7, 7.0),
        beyond=True,
    ),
    Experiment(
        "regret-complexity",
        8,
        "Regret, and effective degrees of freedom",
        "regret_complexity",
        needs=_TABLES[:3],
        uses=_TABLES[3:],
        minutes=(0.2, 1.0),
        beyond=True,
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
