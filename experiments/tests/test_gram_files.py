"""Gram on all images: the same numbers as `pnml.ood.Gram`, kept in files that can be trusted."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from image_batches import batch_of
from pnml.errors import InputError
from pnml.ood import Gram
from pnml_experiments.ch5_networks import (
    gram_files,
    layer_sums,
    ood_gram,
    quick_features,
)
from pnml_experiments.ch5_networks.gram_files import HELD, GramFiles


@pytest.mark.integration
@pytest.mark.parametrize("with_onnx", [True, False])
def test_features_and_sums_are_those_of_the_plain_network(tiny_densenet, with_onnx, monkeypatch):
    if with_onnx:
        pytest.importorskip("onnxruntime")
    else:
        monkeypatch.setattr(quick_features, "find_spec", lambda name: None)
    compute, channels = layer_sums.layer_function(tiny_densenet)
    found = compute(gram_files.images_of_set(tiny_densenet, "test").images)
    network = tiny_densenet.network().double()
    maps, seen = [], []
    for part in network.modules():
        if isinstance(part, torch.nn.Conv2d):
            part.register_forward_hook(lambda _module, _inputs, out: maps.append(out.detach()))
    network.fc.register_forward_pre_hook(lambda _module, inputs: seen.append(inputs[0]))
    network(batch_of(tiny_densenet, "test").double())
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
def test_deviations_are_those_of_the_detector(tiny_densenet, tmp_path):
    files = GramFiles(tiny_densenet, tmp_path)
    detector = Gram(tiny_densenet.network()).fit(batch_of(tiny_densenet, "train"))
    np.testing.assert_allclose(files.seen(HELD)[1], detector.validation_, rtol=2e-2, atol=1e-3)
    for name in ("test", "svhn", "uniform"):
        wanted = np.asarray(detector.deviations(batch_of(tiny_densenet, name)))
        found = files.seen(name)[1]
        assert np.isinf(wanted).any(axis=1).tolist() == np.isinf(found).any(axis=1).tolist()
        finite = np.isfinite(wanted)
        np.testing.assert_allclose(found[finite], wanted[finite], rtol=2e-2, atol=1e-3)
        assert np.median(np.abs(found[finite] - wanted[finite]) / (wanted[finite] + 1)) < 1e-4


def test_an_interrupted_run_goes_on_and_loses_at_most_a_piece(tiny_densenet, tmp_path, monkeypatch):
    monkeypatch.setattr(gram_files, "_PIECE", 20)
    whole = GramFiles(tiny_densenet, tmp_path / "whole").training
    network, seen = gram_files._network(tiny_densenet), []
    compute = type(network).compute

    def stops(self, images):
        if sum(seen) == 40:
            raise KeyboardInterrupt
        seen.append(len(images))
        return compute(self, images)

    monkeypatch.setattr(type(network), "compute", stops)
    with pytest.raises(KeyboardInterrupt):
        _ = GramFiles(tiny_densenet, tmp_path / "part").training
    seen[:] = [0]
    again = GramFiles(tiny_densenet, tmp_path / "part").training
    assert sum(seen) == 20
    for name, values in whole.items():
        np.testing.assert_array_equal(again[name], values)
    seen[:] = [0]
    read = GramFiles(tiny_densenet, tmp_path / "part").training
    assert sum(seen) == 0
    assert all(np.array_equal(read[name], whole[name]) for name in whole)


def test_a_changed_file_is_refused_in_one_sentence(tiny_densenet, tmp_path, monkeypatch, capsys):
    _ = GramFiles(tiny_densenet, tmp_path).training
    path = tmp_path / "layers" / tiny_densenet.key / "train.npz"
    stored = dict(np.load(path))
    np.savez(path, **stored | {"least": stored["least"] - 1})
    with pytest.raises(InputError, match="do not have the checksum"):
        _ = GramFiles(tiny_densenet, tmp_path).training
    monkeypatch.setattr(
        "pnml_experiments.ch5_networks.ood_networks.subjects", lambda _: (tiny_densenet,)
    )
    monkeypatch.setattr(
        sys, "argv", ["gram_files", str(tmp_path), tiny_densenet.key, "--sets", "train"]
    )
    with pytest.raises(SystemExit) as stopped:
        gram_files.main()
    assert stopped.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1
    path.write_bytes(b"broken")
    with pytest.raises(InputError, match="so it is broken"):
        _ = GramFiles(tiny_densenet, tmp_path).training


@pytest.mark.integration
def test_the_tables_are_of_all_images_and_of_the_methods_without_a_gradient(
    tiny_densenet, tmp_path, out, monkeypatch
):
    tuned = replace(tiny_densenet, weights="weights/tuned.pth", methods=("OECC",))
    (tmp_path / tuned.weights).write_bytes((tmp_path / tiny_densenet.weights).read_bytes())
    absent = replace(tiny_densenet, weights="weights/absent.pth")
    monkeypatch.setattr(ood_gram, "subjects_at", lambda *asked: (tiny_densenet, tuned, absent))
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
    def scores(name):
        logits = tiny_densenet.network()(batch_of(tiny_densenet, name))
        return torch.softmax(logits, dim=1).max(dim=1).values

    # images beside print are not smoothed; those that are stand beside them
    names = {"Uniform": "uniform", "Imagenet (R)": "tiny_sharp"}
    names["Imagenet (R), smoothed"] = "tiny_resize"
    for ood, file in names.items():
        labels = {"IND": "CIFAR-10", "OOD": ood, "method": "Baseline"}
        row = next(row for row in ran if row.labels == labels)
        ahead = (scores("test")[:, None] > scores(file)[None, :]).double().mean().item()
        assert row.ours.value == pytest.approx(100 * ahead, abs=1e-6)
        assert ("smooth" in row.note, row.printed is None) == (("smooth" in ood),) * 2
