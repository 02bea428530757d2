"""Experiments in a folder of their own, and a data folder with a few tiny images and networks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pnml_experiments.framework.output import Output


@pytest.fixture
def out(tmp_path):
    return Output(tmp_path / "here", tmp_path / "cache", "stamp")


@pytest.fixture
def tiny_images(tmp_path, monkeypatch, rng):
    """A data folder with images."""
    folder = tmp_path / "data"
    for name in ("images", "weights", "features"):
        (folder / name).mkdir(parents=True)

    def some(n):
        return rng.integers(0, 256, size=(n, 32, 32, 3), dtype=np.uint8)

    for name, classes in (("cifar10", 10), ("cifar100", 100), ("svhn", 10)):
        np.savez(
            folder / "images" / f"{name}_small.npz",
            x_train=some(60),
            y_train=rng.integers(classes, size=60).astype(np.uint8),
            x_test=some(12),
            y_test=rng.integers(classes, size=12).astype(np.uint8),
        )
    np.savez(
        folder / "images" / "ood_small.npz", svhn=some(8), tiny_resize=some(8), tiny_crop=some(8)
    )
    monkeypatch.setenv("PNML_DATA", str(folder))
    return folder


@pytest.fixture
def tiny_densenet(tmp_path, monkeypatch):
    """A DenseNet of few layers, with image sets of a few images each."""
    torch = pytest.importorskip("torch")
    from pnml_experiments.ch5_networks import full_features, gram_files
    from pnml_experiments.ch5_networks.architectures import DenseNet
    from pnml_experiments.ch5_networks.ood_networks import subjects

    rng = np.random.default_rng(0)
    for folder in ("images", "weights"):
        (tmp_path / folder).mkdir()

    def images(n):
        return rng.integers(0, 256, size=(n, 32, 32, 3), dtype=np.uint8)

    def own(n, m):
        labels = {"y_train": np.arange(n) % 10, "y_test": np.arange(m) % 10}
        return {"x_train": images(n), "x_test": images(m)} | labels

    np.savez(tmp_path / "images/cifar10.npz", **own(60, 12))
    np.savez(tmp_path / "images/cifar100.npz", x_test=images(7))
    np.savez(tmp_path / "images/svhn.npz", x_test=images(9))
    tiny = {"tiny_resize": images(5), "tiny_crop": images(6), "tiny_sharp": images(5)}
    np.savez(tmp_path / "images/tiny.npz", **tiny)
    np.savez(tmp_path / "images/cifar10_small.npz", **own(40, 12))
    np.savez(tmp_path / "images/cifar100_small.npz", x_test=images(6))
    small = {name: images(6) for name in ("svhn", "tiny_resize", "tiny_crop")}
    np.savez(tmp_path / "images/ood_small.npz", **small)
    monkeypatch.setattr(full_features, "_PRINTED_NOISE", 8)
    plain = next(one for one in subjects("DenseNet-BC-100") if one.ind == "CIFAR-10")
    torch.manual_seed(0)
    network = DenseNet(10, layers=2).eval()
    for part in network.modules():
        if isinstance(part, torch.nn.BatchNorm2d):
            part.running_mean.normal_(0, 0.1)
            part.running_var.uniform_(0.5, 1.5)
            part.weight.data.uniform_(0.5, 1.5)
            part.bias.data.normal_()
    torch.save({"state_dict": network.state_dict()}, tmp_path / plain.weights)
    monkeypatch.setenv("PNML_DATA", str(tmp_path))
    gram_files._network.cache_clear()
    yield replace(plain, build=lambda classes: DenseNet(classes, layers=2))
    gram_files._network.cache_clear()
