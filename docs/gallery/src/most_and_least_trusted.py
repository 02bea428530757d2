# %% [markdown]
# # Most and least trusted
#
# Which pictures does a network know, and which does it only have an answer for? Here are test images that it has never seen, in the order of their regret, and pictures of clothes, which belong to none of its classes.

# %%
import gzip
import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn

from pnml.metrics import detection_metrics
from pnml.nn import LastLayerPNML


def images(name, count):
    """The first images or labels of an IDX file."""
    raw = gzip.decompress(Path(os.environ["PNML_DATA"], f"{name}-ubyte.gz").read_bytes())
    sizes = np.frombuffer(raw, ">i4", raw[3], 4)
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3]).reshape(sizes)[:count]


def ready(x):
    """Pixels as the network takes them."""
    return torch.from_numpy(x[:, None].copy()).float() / 255


x, y = images("mnist/train-images-idx3", 6000), images("mnist/train-labels-idx1", 6000)
test, truth = images("mnist/t10k-images-idx3", 4000), images("mnist/t10k-labels-idx1", 4000)
clothes = images("fashion_mnist/t10k-images-idx3", 1000)

# %%
torch.manual_seed(0)
network = nn.Sequential(
    nn.Conv2d(1, 16, 4, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 4, 2, 1), nn.ReLU(), nn.Flatten(),
    nn.Linear(1568, 64), nn.ReLU(), nn.Linear(64, 10),
)  # fmt: skip
optimizer, labels = torch.optim.Adam(network.parameters(), 1e-3), torch.tensor(y.copy()).long()
for _ in range(4):
    for part in torch.randperm(len(x)).split(64):
        optimizer.zero_grad()
        nn.functional.cross_entropy(network(ready(x[part])), labels[part]).backward()
        optimizer.step()

# %%
pnml = LastLayerPNML(network).fit(ready(x).split(500))
with torch.no_grad():
    usual, strange = pnml(ready(test)), pnml(ready(clothes))
named, claimed = (out.probs.argmax(dim=1).numpy() for out in (usual, strange))
right, rising = named == truth, usual.regret.argsort().numpy()
lines = {
    "Most trusted of each answer": [next(i for i in rising if named[i] == c) for c in range(9)],
    "Least trusted": rising[::-1][:9],
    "Clothes of largest regret": strange.regret.argsort(descending=True).numpy()[:9],
}

# %% figure: Three lines of nine images: the most trusted digits are plain, the least trusted hard to read, and of the clothes all answers are wrong.
figure, axes = plt.subplots(3, 9, figsize=(8.4, 4.4))
figure.subplots_adjust(left=0.01, right=0.99, bottom=0.08, top=0.92, wspace=0.12, hspace=0.6)
for line, (heading, chosen) in zip(axes, lines.items(), strict=True):
    clothing = heading.startswith("Clothes")
    for ax, i in zip(line, chosen, strict=True):
        ax.imshow((clothes if clothing else test)[i], cmap="gray_r")
        ax.set(xticks=[], yticks=[])
        good = not clothing and right[i]
        answer = claimed[i] if clothing else named[i]
        ax.set_xlabel(f"{answer}{'' if good else ' ✗'}", color="C0" if good else "C1")
    line[0].set_title(heading, loc="left", fontsize=10)

# %%
tenth = len(rising) // 10
first, last = right[rising[:tenth]].mean(), right[rising[-tenth:]].mean()
area = detection_metrics(-usual.regret.numpy(), -strange.regret.numpy()).auroc.value
stopped = 1 - pnml.trusted(ready(clothes)).double().mean().item()

# %% [markdown]
# Below each image is the answer of the network, with a cross if it is wrong. Of the tenth of the digits with the smallest regret {{first:.0%}} are right, of the tenth with the largest {{last:.0%}}, of all {{right.mean():.0%}}. Clothes have larger regrets than digits (AUROC {{area:.2f}}), but hard digits have large ones too: `trusted` stops {{stopped:.0%}} of the clothes at its default level.
#
# **What to conclude.** The least trusted digits are what a reader stumbles over as well: look at them first. For outliers of another kind choose [a stricter level](../how-to/trust-level.md), or [another detector](../how-to/ood-detectors.md).
#
# ## Ten kinds of things
#
# The same with a ResNet-20, trained on CIFAR-10: 1,000 test images, and 700 street numbers that belong to none of its classes. Below each picture are its answer and the regret in nats; wrong answers are orange.
#
# ![Eight most trusted CIFAR-10 images, eight least trusted, and street numbers of highest and lowest regret](../pictures/trusted-cifar10.png)
#
# The trusted ones stand alone, in full view, before a plain background. The least trusted are a flying wing, a wheel, an animal behind bars: six of these eight answers are wrong. Of the tenth of the images with the smallest regret all are right; of the tenth with the largest 60 %; of all, 91 %. `trusted` lets 96 % of the test images pass, and 18 % of the street numbers. The last line shows those that slip through most easily: sharp, and mostly taken for dogs. This picture is made by `docs/make_image_rows.py`.
#
# Read on: [networks](../guide/networks.md), [a torch classifier](../tutorials/torch.md).
