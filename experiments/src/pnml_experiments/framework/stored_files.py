"""Paths below the data folder, by what they hold."""

from __future__ import annotations

IMAGES = ("images/cifar10_small.npz", "images/cifar100_small.npz", "images/ood_small.npz")
DENSENETS = (
    "weights/densenet_bc100_cifar10.pth",
    "weights/densenet_bc100_cifar100.pth",
)
OECC = (
    "weights/densenet_bc100_cifar10_oecc.pth",
    "weights/densenet_bc100_cifar100_oecc.pth",
)
SVHN = "images/svhn_small.npz"
RESNET20 = "features/cifar10_resnet20.npz"
CLINC = "features/clinc150_minilm.npz"
GENIES = "features/deep_pnml_genie.npz"
DIGITS = (
    "mnist/train-images-idx3-ubyte.gz",
    "mnist/train-labels-idx1-ubyte.gz",
    "mnist/t10k-images-idx3-ubyte.gz",
    "mnist/t10k-labels-idx1-ubyte.gz",
    "fashion_mnist/t10k-images-idx3-ubyte.gz",
)
CHARACTERS = "emnist/emnist47_small.npz"
ATTACKED = (*DIGITS[:4], "weights/mnist_cnn_pgd.pth")
UCI = {
    "yacht": "uci/yacht.npz",
    "energy": "uci/energy.npz",
    "concrete": "uci/concrete.npz",
    "housing": "uci/bostonHousing.npz",
    "wine": "uci/wine-quality-red.npz",
    "kin8nm": "uci/kin8nm.npz",
    "power": "uci/power-plant.npz",
    "naval": "uci/naval-propulsion-plant.npz",
    "protein": "uci/protein-tertiary-structure.npz",
}
TABLES = tuple(UCI.values())
SHIFTS = tuple(
    f"shift/{name}.npz" for name in ("wine", "parkinson", "fire", "fertility", "triazines")
)


def weights_of(network: str) -> tuple[str, ...]:
    """Checkpoints of a network that someone may have, plain and OECC-tuned."""
    inds = ("cifar10", "cifar100", "svhn")
    return tuple(f"weights/{network}_{ind}{end}.pth" for ind in inds for end in ("", "_oecc"))
