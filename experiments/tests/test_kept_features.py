"""Features that took long: pieces survive an interruption, and a changed file is refused."""

from __future__ import annotations

import re

import numpy as np
import pytest

from pnml.errors import InputError
from pnml_experiments.ch5_networks import kept_features
from pnml_experiments.ch5_networks.kept_features import checked, kept, write

IMAGES = np.random.default_rng(0).integers(0, 256, size=(23, 4, 4, 3), dtype=np.uint8)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setattr(kept_features, "PIECE", 5)


def means(images):
    return images.mean(axis=(1, 2)).astype(np.float32)


def test_pieces_join_to_the_features_of_all_images(tmp_path):
    told = []
    found = kept(tmp_path / "set.npz", "origin", IMAGES, means, told.append)
    np.testing.assert_array_equal(found, means(IMAGES))
    np.testing.assert_array_equal(checked(tmp_path / "set.npz", "origin"), means(IMAGES))
    assert sum(told) == len(IMAGES)
    assert [path.name for path in tmp_path.iterdir()] == ["set.npz"]


def test_an_interrupted_extraction_goes_on_where_it_stopped(tmp_path):
    seen = []

    def stopped(images):
        if len(seen) == 3:
            raise KeyboardInterrupt
        seen.append(len(images))
        return means(images)

    with pytest.raises(KeyboardInterrupt):
        kept(tmp_path / "set.npz", "origin", IMAGES, stopped)
    # one piece was cut off while it was written
    first = sorted(tmp_path.rglob("*.npy"))[0]
    first.write_bytes(first.read_bytes()[:-7])

    def counted(images):
        seen.append(len(images))
        return means(images)

    found = kept(tmp_path / "set.npz", "origin", IMAGES, counted)
    np.testing.assert_array_equal(found, means(IMAGES))
    assert seen == [5, 5, 5, 5, 5, 3]  # the broken piece and the two that were missing


def test_two_extractions_at_once_end_with_the_same_features(tmp_path):
    path, begun = tmp_path / "set.npz", []

    def with_a_quicker_one(images):
        if not begun:
            begun.append(True)
            kept(path, "origin", IMAGES, means)
        return means(images)

    np.testing.assert_array_equal(kept(path, "origin", IMAGES, with_a_quicker_one), means(IMAGES))
    assert [one.name for one in tmp_path.iterdir()] == ["set.npz"]


def test_pieces_of_other_weights_are_not_taken(tmp_path):
    def stopped(images):
        if not np.array_equal(images, IMAGES[:5]):
            raise KeyboardInterrupt
        return 7 * means(images)

    with pytest.raises(KeyboardInterrupt):
        kept(tmp_path / "set.npz", "older weights, whose origin differs", IMAGES, stopped)
    found = kept(tmp_path / "set.npz", "origin", IMAGES, means)
    np.testing.assert_array_equal(found, means(IMAGES))


def test_a_changed_file_is_refused_in_one_sentence_and_left_alone(tmp_path):
    path = tmp_path / "set.npz"
    write(path, "origin", means(IMAGES))
    with np.load(path) as stored:
        arrays = dict(stored)
    arrays["features"][3, 1] += 1
    np.savez(path, **arrays)
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"do not have the checksum \w{16} that is stored") as seen:
        kept(path, "origin", IMAGES, means)
    assert re.fullmatch(
        r"[^\n]+; delete the file, and the next run computes it again\.", str(seen.value)
    )
    assert path.read_bytes() == before


def test_features_of_other_images_are_refused(tmp_path):
    write(tmp_path / "set.npz", "origin", means(IMAGES))
    with pytest.raises(InputError, match="those of other images or other weights"):
        checked(tmp_path / "set.npz", "another origin")


@pytest.mark.parametrize("content", [b"", b"junk", b"PK\x03\x04 junk"])
def test_a_broken_file_is_named(tmp_path, content):
    path = tmp_path / "set.npz"
    path.write_bytes(content)
    with pytest.raises(InputError, match=rf"{path} cannot be read as features .*; delete the file"):
        kept(path, "origin", IMAGES, means)
