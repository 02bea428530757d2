"""Image sets from public copies: every pixel where it belongs, any other copy refused."""

import io
import json
import os
import sys
import tarfile

import numpy as np
import pytest

from pnml.errors import InputError
from pnml_experiments.ch5_networks import full_images
from pnml_experiments.framework.stored_files import find

PIL = pytest.importorskip("PIL.Image")


def png(pixels):
    file = io.BytesIO()
    PIL.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


def images(n, seed=0):
    return np.random.default_rng(seed).integers(0, 256, size=(n, 32, 32, 3), dtype=np.uint8)


@pytest.fixture
def package(tmp_path):
    """An archive as the one of CIFAR-10, with two images a part."""
    parts = {f"data_batch_{i}.png": png(images(2, i).reshape(2, -1, 3)) for i in range(1, 6)}
    parts["test_batch.png"] = png(images(3).reshape(3, -1, 3))
    parts["train_lables.json"] = json.dumps(list(range(10))).encode()
    parts["test_lables.json"] = b"[7, 8, 9]"
    path = tmp_path / "package.tgz"
    with tarfile.open(path, "w:gz") as archive:
        for name, content in parts.items():
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return path


def test_images_of_an_archive_come_in_order_with_their_labels(package):
    found = full_images.cifar10(package)
    assert (found["x_train"][2:4] == images(2, 2)).all()
    assert (found["x_test"] == images(3)).all()
    assert found["y_test"].tolist() == [7, 8, 9]
    assert len(found["x_train"]) == len(found["y_train"]) == 10


def test_folders_are_classes_in_the_order_of_their_names(tmp_path):
    for i, name in enumerate(("train/apple", "train/bear", "test/apple", "test/bear")):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "one.png").write_bytes(png(images(1, i)[0]))
    found = full_images.cifar100(tmp_path)
    assert found["y_train"].tolist() == [0, 1]
    assert (found["x_test"][1] == images(1, 3)[0]).all()


def test_a_digit_is_cut_out_square_and_the_edge_goes_on(tmp_path):
    folder = tmp_path / "images/test"
    folder.mkdir(parents=True)
    picture = np.zeros((40, 60, 3), dtype=np.uint8)
    picture[:, :20] = 200  # the digit is 16 wide and 32 high at the left edge
    (folder / "7.png").write_bytes(png(picture))
    box = "<bndbox><xmin>0</xmin><ymin>4</ymin><xmax>16</xmax><ymax>36</ymax></bndbox>"
    (folder / "7.xml").write_text(f"<a><object><name>10</name>{box}</object></a>")
    found = full_images.svhn(tmp_path)
    assert found["y_test"].tolist() == [0]
    assert (found["x_test"][0, :, :28] == 200).all()  # 8 columns more to the left
    assert (found["x_test"][0, :, 28:] == 0).all()


def test_pictures_at_half_their_size_are_smoothed_or_every_other_pixel(tmp_path):
    folder = tmp_path / "tiny-imagenet-200/test/images"
    folder.mkdir(parents=True)
    shown = np.random.default_rng(0).integers(0, 256, size=(64, 64, 3), dtype=np.uint8)
    for i in (10, 2):  # in the order of their numbers, not of their names
        PIL.fromarray(shown // i).save(folder / f"test_{i}.JPEG")
    found = full_images.tiny(tmp_path)
    for row, i in enumerate((2, 10)):
        whole = np.asarray(PIL.open(folder / f"test_{i}.JPEG"))
        assert (found["tiny_sharp"][row] == whole[::2, ::2]).all()
        steps = [
            np.abs(np.diff(found[f"tiny_{how}"][row].astype(int), axis=1)).mean()
            for how in ("resize", "sharp")
        ]
        assert steps[0] < steps[1]
        windows = np.lib.stride_tricks.sliding_window_view(whole, (32, 32), axis=(0, 1))
        same = windows == found["tiny_crop"][row].transpose(2, 0, 1)
        assert same.all(axis=(2, 3, 4)).any()


def test_a_set_is_written_whole_where_experiments_find_it(package, tmp_path, monkeypatch):
    monkeypatch.setitem(
        full_images.DIGESTS, "cifar10", full_images.digest(full_images.cifar10(package))
    )
    path = full_images.build("cifar10", package, tmp_path / "extra")
    monkeypatch.setenv("PNML_DATA", os.pathsep.join([str(tmp_path), str(tmp_path / "extra")]))
    assert find("images/cifar10.npz") == path
    with np.load(path) as stored:
        assert (stored["x_test"] == images(3)).all()


def test_another_copy_is_refused_and_nothing_is_written(package, tmp_path):
    with pytest.raises(InputError, match="another copy or a broken one; fetch it again"):
        full_images.build("cifar10", package, tmp_path / "extra")
    package.write_bytes(package.read_bytes()[:2000])
    with pytest.raises(InputError, match="does not hold cifar10 as its public copy does"):
        full_images.build("cifar10", package, tmp_path / "extra")
    assert not (tmp_path / "extra").exists()


def test_without_pillow_one_sentence_names_it(package, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(InputError, match="needs Pillow, which is not installed"):
        full_images.build("cifar10", package, tmp_path)
