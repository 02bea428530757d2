"""Rows of CIFAR-10 images for the gallery: PNML_DATA=... python docs/make_image_rows.py.

It writes docs/pictures/trusted-cifar10.png, and takes a minute. Its network is too long for a page.
"""

from __future__ import annotations

import os
from pathlib import Path

import matplotlib as mpl
import numpy as np
import torch
from torch import nn
from torch.nn import functional

from pnml.metrics import detection_metrics
from pnml.nn import LastLayerPNML

mpl.use("agg")
import matplotlib.pyplot as plt

FOLDER = Path(__file__).parent / "pictures"
SHOWN = 8  # images in a line
CIFAR = ("airplane", "car", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
PIXELS = 72  # of an image and the space around it
INK, GOOD, BAD = "#1b1b1b", "#0072b2", "#d55e00"


class Block(nn.Module):
    """Two convolutions beside a shortcut that drops pixels and adds channels of zeros."""

    def __init__(self, channels, out, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, out, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(out)
        self.conv2 = nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(out)
        self.stride, self.more = stride, (out - channels) // 2

    def forward(self, x):
        """Feature maps of the next block."""
        y = self.bn2(self.conv2(functional.relu(self.bn1(self.conv1(x)))))
        pad = (0, 0, 0, 0, self.more, self.more)
        return functional.relu(y + functional.pad(x[:, :, :: self.stride, :: self.stride], pad))


class ResNet20(nn.Module):
    """The ResNet-20 of the stored weights."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        for i, (channels, out) in enumerate([(16, 16), (16, 32), (32, 64)], 1):
            first = Block(channels, out, 1 if i == 1 else 2)
            self.add_module(
                f"layer{i}", nn.Sequential(first, Block(out, out, 1), Block(out, out, 1))
            )
        self.linear = nn.Linear(64, 10)

    def forward(self, x):
        """Features (n, 64) that the last layer takes."""
        x = functional.relu(self.bn1(self.conv1(x)))
        return self.layer3(self.layer2(self.layer1(x))).mean(dim=(2, 3))


def stored(name):
    """Arrays of a file below PNML_DATA."""
    return np.load(Path(os.environ["PNML_DATA"], name))


def cifar():
    """Images, answers and regrets of CIFAR-10 test images, and of street numbers."""
    features = stored("features/cifar10_resnet20.npz")
    weights = torch.load(
        Path(os.environ["PNML_DATA"], "weights/resnet20_cifar10.pth"),
        weights_only=True,
        map_location="cpu",
    )
    weights = weights.get("state_dict", weights)
    network = ResNet20()
    network.load_state_dict({key.removeprefix("module."): v for key, v in weights.items()})
    network.eval()
    mean, std = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
    pnml = LastLayerPNML.from_embeddings(
        features["fc_weight"], features["fc_bias"], features["f_cifar10_train"].astype(np.float32)
    )

    @torch.no_grad()
    def scored(images):
        x = ((torch.from_numpy(images).float() / 255 - mean) / std).permute(0, 3, 1, 2)
        rows = torch.cat([network(part) for part in x.split(100)])
        return pnml.score_features(rows)

    here = stored("images/cifar10_small.npz")
    strange = stored("images/ood_small.npz")["svhn"]
    return pnml, scored, (here["x_test"], here["y_test"].astype(int)), strange


def lines(scored, test, strange, names, kind):
    """The lines of a picture: heading, images, captions and whether each answer is wrong."""
    images, labels = test
    out, other = scored(images), scored(strange)
    named, regret = out.probs.argmax(dim=1).numpy(), out.regret.numpy()
    rising = np.argsort(regret)
    far = np.argsort(other.regret.numpy())
    claimed = other.probs.argmax(dim=1).numpy()

    def line(heading, chosen):
        captions = [f"{names[named[i]]}\n{_small(regret[i])}" for i in chosen]
        return heading, images[chosen], captions, named[chosen] != labels[chosen]

    def others(heading, chosen):
        captions = [f"{names[claimed[i]]}?\n{_small(other.regret[i])}" for i in chosen]
        return heading, strange[chosen], captions, np.ones(len(chosen), dtype=bool)

    one_each = [next(i for i in rising if named[i] == c) for c in range(10)][:SHOWN]
    return [
        line("Most trusted, the first of each class", np.array(one_each)),
        line("Least trusted", rising[::-1][:SHOWN]),
        others(f"{kind}: most suspicious", far[::-1][:SHOWN]),
        others(f"{kind}: least suspicious", far[:SHOWN]),
    ]


def _small(regret):
    return f"{1000 * float(regret):.2f} × 10⁻³"


def draw(rows):
    """Lines of images with what the network says and the regret; wrong answers in orange."""
    figure = plt.figure(figsize=(SHOWN * PIXELS / 100, len(rows) * 1.5 * PIXELS / 100 + 0.1))
    for top, (heading, images, captions, wrong) in enumerate(rows):
        for left, image in enumerate(images):
            height = 0.62 / len(rows)
            place = (left / SHOWN + 0.01, 1 - (top + 0.78) / len(rows), 1 / SHOWN - 0.02, height)
            ax = figure.add_axes(place)
            ax.imshow(image, cmap=None if image.ndim == 3 else "gray_r", interpolation="nearest")
            ax.axis("off")
            colour = BAD if wrong[left] else GOOD
            ax.text(0.5, -0.05, captions[left], transform=ax.transAxes, fontsize=5.5,
                    ha="center", va="top", color=colour)  # fmt: skip
        figure.text(
            0.01, 1 - (top + 0.1) / len(rows), heading, fontsize=7, color=INK, weight="bold"
        )
    return figure


def main():
    """Write the pictures, and print the numbers that the page states."""
    torch.set_num_threads(1)
    for name, made, names, kind in (("trusted-cifar10", cifar, CIFAR, "Street numbers"),):
        pnml, scored, test, strange = made()
        out = scored(test[0])
        right = out.probs.argmax(dim=1).numpy() == test[1]
        order = np.argsort(out.regret.numpy())
        tenth = len(order) // 10
        limits = pnml.thresholds()
        strangers = scored(strange)
        usual, other = (
            limits.trusts(o.regret, o.leverage).float().mean() for o in (out, strangers)
        )
        area = detection_metrics(-out.regret.numpy(), -strangers.regret.numpy()).auroc.value
        first, last = right[order[:tenth]].mean(), right[order[-tenth:]].mean()
        print(
            f"{name}: accuracy {right.mean():.3f}, most trusted tenth {first:.3f}, least trusted "
            f"tenth {last:.3f}; trusted {usual:.3f} of test images, {other:.3f} of the others; "
            f"AUROC {area:.3f}"
        )
        figure = draw(lines(scored, test, strange, names, kind))
        figure.savefig(
            FOLDER / f"{name}.png", dpi=160, facecolor="white", metadata={"Software": None}
        )
        plt.close(figure)


if __name__ == "__main__":
    main()
