"""Gram on all images: the same numbers as `pnml.ood.Gram`, kept in files that can be trusted."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from pnml.errors import InputError
from pnml.ood import Gram
from pnml_experiments.ch5_networks import (
    full_features,
    gram_files,
    layer_sums,
    ood_gram,
    quick_features,
)
from pnml_experiments.ch5_networks.architectures import DenseNet
from pnml_experiments.ch5_networks.gram_files import HELD, GramFiles
from pnml_experiments.ch5_networks.ood_networks import subjects


@pytest.fixture
def subject(tmp_path, monkeypatch):
    """A DenseNet of few layers, with image sets of a few images each."""
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
    np.savez(tmp_path / "images/tiny.npz", tiny_resize=images(5), tiny_crop=images(6))
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


def batch(subject, name):
    images = gram_files.images_of_set(subject, name).images
    return torch.cat(list(subject.batches(images)))


@pytest.mark.integration
@pytest.mark.parametrize("with_onnx", [True, False])
def test_features_and_sums_are_those_of_the_plain_network(subject, with_onnx, monkeypatch):
    if with_onnx:
        pytest.importorskip("onnxruntime")
    else:
        monkeypatch.setattr(quick_features, "find_spec", lambda name: None)
    compute, channels = layer_sums.layer_function(subject)
    found = compute(gram_files.images_of_set(subject, "test").images)
    network = subject.network().double()
    maps, seen = [], []
    for part in network.modules():
        if isinstance(part, torch.nn.Conv2d):
            part.register_forward_hook(lambda _module, _inputs, out: maps.append(out.detach()))
    network.fc.register_forward_pre_hook(lambda _module, inputs: seen.append(inputs[0]))
    network(batch(subject, "test").double())
    np.testing.assert_allclose(found.features, seen[0].detach().numpy(), rtol=1e-4, atol=1e-5)
    assert channels == [one.shape[1] for one in maps]
    # by the definition, in double precision: row sums of the matrix of channel products
    powers = [[(one.flatten(2) ** p) for one in maps] for p in range(1, 11)]
    wanted = np.stack(
        [np.concatenate([(F @ F.mT).sum(2).numpy() for F in layers], axis=1) for layers in powers],
        axis=1,
    )
    size = np.stack(
        [
            np.concatenate([(abs(F) @ abs(F).mT).sum(2).numpy() for F in layers], axis=1)
            for layers in powers
        ],
        axis=1,
    )
    # terms of both signs cancel, so the error is relative to the sum of their sizes
    assert np.max(np.abs(found.sums - wanted) / size) < 1e-4


@pytest.mark.integration
def test_deviations_are_those_of_the_detector(subject, tmp_path):
    files = GramFiles(subject, tmp_path)
    detector = Gram(subject.network()).fit(batch(subject, "train"))
    np.testing.assert_allclose(files.seen(HELD)[1], detector.validation_, rtol=2e-2, atol=1e-3)
    for name in ("test", "svhn", "uniform"):
        wanted = np.asarray(detector.deviations(batch(subject, name)))
        found = files.seen(name)[1]
        assert np.isinf(wanted).any(axis=1).tolist() == np.isinf(found).any(axis=1).tolist()
        finite = np.isfinite(wanted)
        np.testing.assert_allclose(found[finite], wanted[finite], rtol=2e-2, atol=1e-3)
        assert np.median(np.abs(found[finite] - wanted[finite]) / (wanted[finite] + 1)) < 1e-4


def test_an_interrupted_run_goes_on_and_loses_at_most_a_piece(subject, tmp_path, monkeypatch):
    monkeypatch.setattr(gram_files, "_PIECE", 20)
    whole = GramFiles(subject, tmp_path / "whole").training
    network, seen = gram_files._network(subject), []
    compute = type(network).compute

    def stops(self, images):
        if sum(seen) == 40:
            raise KeyboardInterrupt
        seen.append(len(images))
        return compute(self, images)

    monkeypatch.setattr(type(network), "compute", stops)
    with pytest.raises(KeyboardInterrupt):
        _ = GramFiles(subject, tmp_path / "part").training
    seen[:] = [0]
    again = GramFiles(subject, tmp_path / "part").training
    assert sum(seen) == 20
    for name, values in whole.items():
        np.testing.assert_array_equal(again[name], values)
    seen[:] = [0]
    read = GramFiles(subject, tmp_path / "part").training
    assert sum(seen) == 0
    assert all(np.array_equal(read[name], whole[name]) for name in whole)


def test_a_changed_file_is_refused_in_one_sentence(subject, tmp_path, monkeypatch, capsys):
    _ = GramFiles(subject, tmp_path).training
    path = tmp_path / "layers" / subject.key / "train.npz"
    stored = dict(np.load(path))
    np.savez(path, **stored | {"least": stored["least"] - 1})
    with pytest.raises(InputError, match="do not have the checksum"):
        _ = GramFiles(subject, tmp_path).training
    monkeypatch.setattr("pnml_experiments.ch5_networks.ood_networks.subjects", lambda _: (subject,))
    monkeypatch.setattr(sys, "argv", ["gram_files", str(tmp_path), subject.key, "--sets", "train"])
    with pytest.raises(SystemExit) as stopped:
        gram_files.main()
    assert stopped.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1
    path.write_bytes(b"broken")
    with pytest.raises(InputError, match="so it is broken"):
        _ = GramFiles(subject, tmp_path).training


@pytest.mark.integration
def test_the_tables_are_of_all_images_and_of_the_methods_without_a_gradient(
    subject, tmp_path, out, monkeypatch
):
    tuned = replace(subject, weights="weights/tuned.pth", methods=("OECC",))
    (tmp_path / tuned.weights).write_bytes((tmp_path / subject.weights).read_bytes())
    absent = replace(subject, weights="weights/absent.pth")
    monkeypatch.setattr(ood_gram, "subjects_at", lambda *asked: (subject, tuned, absent))
    told = []
    result = ood_gram.run("full", out, lambda done, total: told.append((done, total)))
    assert told[-1][0] == told[-1][1]
    ran = [row for row in result.tables[0].rows if row.ours is not None]
    methods = ("Baseline", "Gram", "OECC")
    assert {row.labels["method"] for row in ran} == {
        name for method in methods for name in (method, f"{method} + pNML")
    }
    assert not [row for row in result.tables[0].rows if row.labels["method"].startswith("ODIN")]
    noise = next(row for row in ran if row.labels["OOD"] == "Uniform")
    assert noise.note.startswith("60 of 50,000 training images, 12 of 10,000 test images and 8 of")
    # the Baseline by its definition: the largest probability, high for known images
    scores = [
        torch.softmax(subject.network()(batch(subject, name)), dim=1).max(dim=1).values
        for name in ("test", "uniform")
    ]
    ahead = (scores[0][:, None] > scores[1][None, :]).double().mean().item()
    assert noise.ours.value == pytest.approx(100 * ahead, abs=1e-6)
