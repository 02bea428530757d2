"""Open sets from stored features: the same rows for all scores, printed rows beside them."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from pnml.errors import InputError
from pnml.metrics import oscr_area
from pnml_experiments.ch5_networks import (
    open_set,
    open_set_recognition,
)
from pnml_experiments.ch5_networks.open_set import (
    AUTO,
    MAX_PROB,
    PNML,
    REFIT,
    OpenSet,
    Rows,
    Scored,
)
from pnml_experiments.ch5_networks.open_set_rivals import (
    DISCREPANCY,
    ENTROPIC,
    SPHERE,
    SPHERE_NORM,
)
from pnml_experiments.ch5_networks.open_set_tables import NUMBERS, printed_scores
from pnml_experiments.framework.mnist import stored, trained
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.registry import find

RIVALS = {ENTROPIC, SPHERE, SPHERE_NORM, DISCREPANCY}
SETS = ("svhn_test", "tiny_resize", "tiny_crop", "cifar100_test", "uniform", "gaussian")


def quiet(done, total):
    pass


def idx(array):
    """An IDX file of bytes, as its definition has it."""
    head = bytes([0, 0, 8, array.ndim]) + b"".join(n.to_bytes(4, "big") for n in array.shape)
    return gzip.compress(head + array.astype(np.uint8).tobytes())


@pytest.fixture
def tiny_data(tmp_path, monkeypatch, rng):
    """A data folder with a few rows of everything."""
    folder = tmp_path / "data"
    for name in ("features", "mnist", "fashion_mnist", "emnist"):
        (folder / name).mkdir(parents=True)

    def rows(n, width):
        return np.abs(rng.normal(size=(n, width))).astype(np.float16)

    np.savez(
        folder / "features" / "cifar10_resnet20.npz",
        fc_weight=rng.normal(size=(10, 8)).astype(np.float32),
        fc_bias=rng.normal(size=10).astype(np.float32),
        f_cifar10_train=rows(120, 8),
        y_cifar10_train=(np.arange(120) % 10).astype(np.uint8),
        f_cifar10_test=rows(40, 8),
        y_cifar10_test=(np.arange(40) % 10).astype(np.uint8),
        **{f"f_{name}": rows(30, 8) for name in SETS},
    )
    np.savez(
        folder / "features" / "clinc150_minilm.npz",
        x_train=rows(3_000, 6),
        y_train=(np.arange(3_000) % 3).astype(np.int16),
        x_test=rows(40, 6),
        y_test=(np.arange(40) % 3).astype(np.int16),
        x_oos_test=rows(30, 6),
    )
    for name, n in (("mnist/train", 60), ("mnist/t10k", 20), ("fashion_mnist/t10k", 20)):
        images = rng.integers(256, size=(n, 28, 28))
        (folder / f"{name}-images-idx3-ubyte.gz").write_bytes(idx(images))
        (folder / f"{name}-labels-idx1-ubyte.gz").write_bytes(idx(np.arange(n) % 10))
    np.savez(
        folder / "emnist" / "emnist47_small.npz",
        x_train=rng.integers(256, size=(40, 28, 28)).astype(np.uint8),
        y_train=(np.arange(40) % 20).astype(np.uint8),
    )
    monkeypatch.setenv("PNML_DATA", str(folder))
    return folder


@pytest.fixture
def data(rng):
    def rows(n):
        return Rows(rng.normal(size=(n, 5)), rng.normal(size=(n, 5)))

    labels = rng.integers(3, size=100)
    return OpenSet(
        rng.normal(size=(3, 5)),
        rng.normal(size=3),
        rng.normal(size=(100, 5)),
        labels,
        rows(60),
        rng.integers(3, size=60),
        {"a": rows(50), "b": rows(20)},
    )


@pytest.mark.parametrize("name", ["open-set-resnet20", "open-set-clinc150", "open-set-mnist"])
def test_tables_have_all_scores_on_all_sets_and_can_be_drawn(tiny_data, out, name):
    from matplotlib import pyplot as plt

    told = []
    result = find(name).run("small", out, lambda *t: told.append(t))
    # A sample of the rows is judged by the refit, too, but where a row has 150 labels.
    sampled = name != "open-set-clinc150"
    numbers = list(NUMBERS.values())
    assert [t.title.partition(",")[0] for t in result.tables] == numbers * (1 + sampled)
    others = RIVALS if name == "open-set-mnist" else set()
    fast = (set(open_set.FAST) | others) - {AUTO}
    for number, table in enumerate(result.tables):
        ran = {(r.labels["unknown"], r.labels["score"]) for r in table.rows if r.ours is not None}
        sets = {each for each, _ in ran}
        assert len(sets) == (6 if name == "open-set-resnet20" else 1)
        scores = fast if number < len(numbers) else fast | {REFIT}
        assert ran == {(each, score) for each in sets for score in scores}
        for row in table.rows:
            assert (row.fair is not None) == (row.labels["score"] == PNML)
    quick = len(open_set.FAST) + len(others)
    steps = quick + sampled * (quick + 1)
    assert told[-1] == (steps, steps)
    for figure in result.figures:
        plt.close(figure.draw())


def test_printed_rows_stand_beside_ours_and_say_where_they_differ(tiny_data, out):
    table = open_set_recognition.run("ResNet-20", "small", out, quiet).tables[0]
    rows = {(r.labels["unknown"], r.labels["score"]): r for r in table.rows}
    assert sum(r.printed is not None for r in rows.values()) == len(printed_scores()) == 21
    assert rows["SVHN", MAX_PROB].printed == 0.83
    assert rows["Gaussian", "Cosine Similarity"].printed == 0.93
    assert "noise" in rows["Gaussian", MAX_PROB].note
    assert rows["LSUN", REFIT].printed == 0.94
    for row in rows.values():
        assert bool(row.note) == (row.printed is not None)
        assert row.note.startswith("Not run") == (row.ours is None)


def test_printed_numbers_are_those_of_the_thesis():
    found = {(row.unknown, row.score): row.numbers for row in printed_scores()}
    assert len(found) == 21
    expected = [0.82, 0.67, 0.78, 0.92, 0.93, 0.94]
    assert list(found["LSUN", "Cosine Similarity"].values()) == expected
    assert list(found["Noise", REFIT].values()) == [0.95, 0.94, 0.95, 0.95, 0.96, 0.96]
    assert list(found["SVHN", "ODIN"].values()) == [0.74, 0.41, 0.56, 0.89, 0.95, 0.96]


def test_slow_scores_judge_a_sample_and_the_others_judge_it_again(data, out, monkeypatch):
    seen = []

    def slow(given):
        def score(rows):
            seen.append(rows.features)
            return Scored(rows.features[:, 0], np.zeros(len(rows.features), dtype=int))

        return score

    monkeypatch.setattr(open_set, "SLOW", {REFIT: slow})
    everything, sample = open_set.all_judged(data, 25, out, quiet)
    assert tuple(everything) == tuple(open_set.FAST)
    assert tuple(sample) == (*open_set.FAST, REFIT)
    few = data.sampled(25)
    assert max(map(len, seen)) == open_set.PIECE
    known, *unknown = np.split(np.concatenate(seen), [25, 50])
    np.testing.assert_array_equal(known, few.known.features)
    assert [len(rows) for rows in unknown] == [25, 20]
    for (each, rows), features in zip(few.unknown.items(), unknown, strict=True):
        np.testing.assert_array_equal(rows.features, features)
        right = few.labels == 0  # its own classes count, not those of the head
        area = oscr_area(known[:, 0], right, features[:, 0])
        assert sample[REFIT]["sets"][each]["area"][0] == pytest.approx(area)
    rates = [sample[name]["sets"]["a"]["ccr"][-1][0] for name in open_set.FAST]
    named = few.logits(few.known.features).argmax(axis=1)
    assert rates == [pytest.approx(np.mean(named == few.labels))] * len(rates)


def test_a_slow_score_goes_on_after_its_last_finished_rows(data, tmp_path, monkeypatch):
    seen = []

    def slow(given):
        def score(rows):
            if len(seen) == 2:
                seen.append(None)
                raise KeyboardInterrupt
            seen.append(len(rows.features))
            return Scored(rows.features[:, 0], np.zeros(len(rows.features), dtype=int))

        return score

    monkeypatch.setattr(open_set, "SLOW", {REFIT: slow})
    with pytest.raises(KeyboardInterrupt):
        open_set.all_judged(data, 25, Output(tmp_path, tmp_path, "a release"), quiet)
    open_set.all_judged(data, 25, Output(tmp_path, tmp_path, "the next release"), quiet)
    rows = [count for count in seen if count is not None]
    assert sum(rows) == 25 + 25 + 20  # none twice


def test_samples_are_always_the_same_rows_with_their_own_labels(data):
    one, two = data.sampled(30), data.sampled(30)
    np.testing.assert_array_equal(one.known.features, two.known.features)
    for features, moved, label in zip(one.known.features, one.known.moved, one.labels, strict=True):
        (place,) = np.flatnonzero((data.known.features == features).all(axis=1))
        np.testing.assert_array_equal(data.known.moved[place], moved)
        assert data.labels[place] == label


def test_an_interrupted_run_goes_on_where_it_was(data, tmp_path, monkeypatch):
    first = open_set.all_judged(data, 25, new_out(tmp_path), quiet)

    def refuse(data, build):
        raise AssertionError("judged again")

    monkeypatch.setattr(open_set, "_judged", refuse)
    assert open_set.all_judged(data, 25, new_out(tmp_path), quiet) == first


def new_out(tmp_path):
    return Output(tmp_path / "here", tmp_path / "cache", "stamp")


def test_the_step_on_features_is_that_of_the_gradient(rng):
    weight, bias = rng.normal(size=(3, 4)), rng.normal(size=3)
    train, rows = rng.normal(size=(50, 4)) * [1.0, 2.0, 0.5, 3.0], rng.normal(size=(6, 4))

    def confidence(row):
        z = (weight @ row + bias) / 1000
        return z.max() - np.log(np.exp(z).sum())

    moved = open_set.moved_features(weight, bias, train, rows)
    for row, found in zip(rows, moved, strict=True):
        slopes = [confidence(row + d) - confidence(row - d) for d in 1e-3 * np.eye(4)]
        step = 0.0014 * train.std(axis=0) * np.sign(slopes)
        np.testing.assert_allclose(found - row, step, rtol=1e-9)


def test_a_feature_that_never_varies_is_not_moved(rng):
    train = rng.normal(size=(50, 3)) * [1.0, 0.0, 1.0]
    rows = rng.normal(size=(5, 3))
    moved = open_set.moved_features(rng.normal(size=(2, 3)), np.zeros(2), train, rows)
    np.testing.assert_array_equal(moved[:, 1], rows[:, 1])


def test_idx_files_are_read_whole_or_refused(tiny_data):
    name = "mnist/t10k-labels-idx1-ubyte.gz"
    np.testing.assert_array_equal(stored(name), np.arange(20) % 10)
    assert stored("mnist/t10k-images-idx3-ubyte.gz").shape == (20, 28, 28)
    whole = gzip.decompress((tiny_data / name).read_bytes())
    for broken in (b"", whole[:5], whole[:-1], b"\0\0\x0d" + whole[3:]):
        (tiny_data / name).write_bytes(gzip.compress(broken))
        with pytest.raises(InputError, match="IDX"):
            stored(name)
    (tiny_data / name).write_bytes(gzip.compress(whole)[:-9])
    with pytest.raises(InputError, match="cannot be read"):
        stored(name)
    (tiny_data / name).unlink()
    with pytest.raises(InputError, match="cannot be read"):
        stored(name)


def test_training_is_the_same_each_time_and_leaves_the_generator_alone(rng):
    images = torch.from_numpy(rng.random((40, 1, 28, 28)).astype(np.float32))
    labels = torch.arange(40) % 10
    torch.manual_seed(5)
    before = torch.get_rng_state()
    one, two = (trained(images, labels, epochs=2, seed=0) for _ in range(2))
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(one(images), two(images))
    assert not one.training


def by_pair(result, number=0):
    """(unknown set, score) → ours; fair under the name of the chosen scale."""
    found = {}
    for row in result.tables[number].rows:
        if row.ours is not None:
            found[row.labels["unknown"], row.labels["score"]] = row.ours.value
        if row.fair is not None:
            found[row.labels["unknown"], AUTO] = row.fair.value
    return found


@pytest.mark.data
def test_the_regret_is_at_least_as_good_as_the_largest_probability_on_resnet20(out, monkeypatch):
    monkeypatch.setattr(open_set, "SLOW", {})  # refits of thousands of rows take minutes
    result = open_set_recognition.run("ResNet-20", "full", out, quiet)
    area, accuracy = by_pair(result), by_pair(result, 5)
    # the scale is chosen from training rows alone
    for unknown in ("SVHN", "Imagenet (R)", "Gaussian"):
        assert area[unknown, AUTO] >= area[unknown, MAX_PROB]
    assert set(accuracy.values()) == {0.9173}
    assert all(value <= 0.9173 for value in area.values())


@pytest.mark.data
def test_digits_are_known_and_clothes_are_not(out, monkeypatch):
    monkeypatch.setattr(open_set, "SLOW", {})
    result = open_set_recognition.run("MNIST", "small", out, quiet)
    area, accuracy = by_pair(result), by_pair(result, 5)
    assert all(value > 0.95 for value in accuracy.values())
    assert (
        max(area["Fashion-MNIST", name] for name in (PNML, AUTO)) >= area["Fashion-MNIST", MAX_PROB]
    )
