"""Image sets as batches of a network."""

from __future__ import annotations

from pnml_experiments.ch5_networks.gram_files import images_of_set


def batch_of(subject, name):
    """All images of a set, as the network wants them."""
    import torch

    return torch.cat(list(subject.batches(images_of_set(subject, name).images)))
