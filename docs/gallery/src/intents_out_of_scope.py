# %% [markdown]
# # Intents out of scope
#
# An assistant knows 150 intents. People also ask for things that are none of them, and a classifier answers with an intent anyway. Does the regret tell these questions apart?

# %%
import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn

from pnml.metrics import detection_metrics
from pnml.nn import LastLayerPNML
from pnml.plots import ConfidenceDisplay

# CLINC150 as sentence embeddings of a small language model (MiniLM).
data = np.load(Path(os.environ["PNML_DATA"], "features", "clinc150_minilm.npz"))
x, known, oos = (torch.tensor(data[k]).float() for k in ("x_train", "x_test", "x_oos_test"))
y, truth = (torch.tensor(data[k]).long() for k in ("y_train", "y_test"))

# %%
torch.manual_seed(0)
head = nn.Linear(384, 150)
optimizer = torch.optim.Adam(head.parameters(), 0.01)
for _ in range(15):
    for part in torch.randperm(len(x)).split(256):
        optimizer.zero_grad()
        nn.functional.cross_entropy(head(x[part]), y[part]).backward()
        optimizer.step()

pnml = LastLayerPNML.from_embeddings(head.weight.detach(), head.bias.detach(), x)
inside, outside = pnml.score_features(known), pnml.score_features(oos)
scores = [-torch.log(out.regret).numpy() for out in (inside, outside)]

# %% figure: Histograms of minus the log of the regret: questions with an intent to the right, those out of scope to the left, with little overlap.
figure, ax = plt.subplots(figsize=(7.2, 4.4), layout="constrained")
name = "− log of the regret: to the right what the model knows"
ConfidenceDisplay.from_scores(scores[0], {"out of scope": scores[1]}, name=name, bins=50, ax=ax)

# %%
accuracy = (inside.probs.argmax(dim=1) == truth).double().mean().item()
area = detection_metrics(*scores).auroc.value
largest = [torch.softmax(head(rows), 1).max(dim=1).values.detach().numpy() for rows in (known, oos)]
area_of_probability = detection_metrics(*largest).auroc.value

# %% [markdown]
# The classifier is right on {{accuracy:.0%}} of {{len(known):,}} questions with an intent. The regret tells them from {{len(oos):,}} questions out of scope with an AUROC of {{area:.3f}}; the largest probability with {{area_of_probability:.3f}}. Neither saw a question out of scope in training.
#
# **What to conclude.** An assistant can say *I do not know* where the regret is large, at the price of some questions that it would have answered: the overlap in the picture. The level is yours to choose.
#
# Read on: [text embeddings](../tutorials/text.md), [all detectors on this set](../results/ood-detectors.md), [the measurement with intervals](../results/ood-clinc150.md).
