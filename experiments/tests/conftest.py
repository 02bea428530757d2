"""Experiments in a folder of their own, and a data folder with a few tiny images and networks."""

from __future__ import annotations

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
