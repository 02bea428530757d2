"""ODIN on all images: moves of `pnml.ood.ODIN`, kept in files, and a step for each set."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from image_batches import batch_of
from pnml.errors import InputError
from pnml.ood import ODIN
from pnml_experiments.ch5_networks import odin_files, ood_odin
from pnml_experiments.ch5_networks.gram_files import HELD, images_of_set
from pnml_experiments.ch5_networks.odin_files import STEPS, MovedFeatures, sign_function
from pnml_experiments.ch5_networks.quick_features import BATCH


def features_of(subject, batch):
    network, seen = subject.network(), []
    network.fc.register_forward_pre_hook(lambda _module, inputs: seen.append(inputs[0]))
    with torch.no_grad():
        logits = network(batch)
    return seen[0].numpy(), logits.double().numpy()


def moved(subject, name, step):
    """Images that ODIN has moved, in batches of one size: rounding hangs on it, signs on that."""
    odin = ODIN(subject.network(), epsilon=step, std=subject.std)
    parts = torch.split(batch_of(subject, name), BATCH)
    found = [odin.perturb(part[torch.arange(BATCH) % len(part)])[: len(part)] for part in parts]
    return torch.cat(found)


@pytest.mark.integration
def test_features_are_those_of_the_images_that_the_detector_moves(tiny_densenet, tmp_path):
    files = MovedFeatures(tiny_densenet, tmp_path)
    found = {step: files.whole("svhn", step) for step in (0.0, 0.1)}
    for step, features in found.items():
        wanted, _ = features_of(tiny_densenet, moved(tiny_densenet, "svhn", step))
        np.testing.assert_allclose(features, wanted, rtol=1e-4, atol=1e-4)
    assert abs(found[0.1] - found[0.0]).max() > 0.01
    sample = files.sample("test")[:, STEPS.index(0.1)]
    np.testing.assert_allclose(sample, files.whole("test", 0.1)[::20], rtol=1e-5, atol=1e-6)
    assert len(files.sample(HELD)) == 1  # every hundredth of 60 training images


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the compiler's own modules
def test_a_compiled_network_gives_the_same_signs(tiny_densenet, tmp_path, monkeypatch):
    if shutil.which("g++") is None:
        pytest.skip("there is no compiler of C++ here")
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "compiled"))
    monkeypatch.setenv("TORCHINDUCTOR_COMPILE_THREADS", "1")  # no processes that outlive the test
    images = images_of_set(tiny_densenet, "test").images  # 12, so the last batch is filled up
    plain, quick = (sign_function(tiny_densenet, compiled=how)(images) for how in (False, True))
    assert plain.shape == quick.shape == (12, 3 * 32 * 32 // 8)
    assert np.mean(np.unpackbits(plain) != np.unpackbits(quick)) < 1e-3


@pytest.mark.integration
def test_files_that_were_changed_are_refused(tiny_densenet, tmp_path):
    MovedFeatures(tiny_densenet, tmp_path).sample("svhn")
    path = tmp_path / "moved" / tiny_densenet.key / "svhn-directions.npz"
    stored = dict(np.load(path))
    np.savez(path, **stored | {"features": 255 - stored["features"]})
    with pytest.raises(InputError, match="do not have the checksum"):
        MovedFeatures(tiny_densenet, tmp_path).sample("svhn")


def area(usual, strange):
    """AUROC in percent by counting pairs; a tie counts half."""
    ahead = np.sign(strange[None, :] - usual[:, None])
    return 100 * float(np.mean((1 + ahead) / 2))


@pytest.mark.integration
def test_each_set_has_the_step_that_its_own_images_choose(tiny_densenet, out, monkeypatch):
    monkeypatch.setattr(ood_odin, "subjects_at", lambda *asked: (tiny_densenet,))
    monkeypatch.setattr(odin_files, "_SAMPLE", slice(None, None, 2))  # more than one of few images
    told = []
    result = ood_odin.run("full", out, lambda done, total: told.append((done, total)))
    assert told[-1][0] == told[-1][1]
    ran = [row for row in result.tables[0].rows if row.ours is not None]
    assert {row.labels["method"] for row in ran} == {"ODIN", "ODIN + pNML"}

    def scores(name, step):
        _, logits = features_of(tiny_densenet, moved(tiny_densenet, name, step))
        exp = np.exp(logits / 1000 - (logits / 1000).max(axis=1, keepdims=True))
        return -1 / exp.sum(axis=1)

    for name, file in (("Imagenet (C)", "tiny_crop"), ("Uniform", "uniform"), ("SVHN", "svhn")):
        found = {step: (scores("test", step), scores(file, step)) for step in STEPS}
        by_step = {step: area(a[::2], b[::2]) for step, (a, b) in found.items()}
        best = max(by_step, key=lambda step: by_step[step])
        row = next(
            row for row in ran if row.labels["method"] == "ODIN" and row.labels["OOD"] == name
        )
        assert row.ours.value == pytest.approx(area(*found[best]), abs=1e-6)
        curve = [
            one.ours.value
            for one in result.tables[3].rows
            if (one.labels["OOD"], one.labels["method"]) == (name, "ODIN")
        ]
        assert curve == pytest.approx(list(by_step.values()), abs=1e-6)
