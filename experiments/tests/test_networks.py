"""The code path of the network tables, on networks small enough to run in seconds."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from pnml.errors import InputError
from pnml.nn import LastLayerPNML
from pnml.ood import MSP, ODIN, Gram, with_pnml
from pnml_experiments.ch5_networks import image_subjects as subjects
from pnml_experiments.ch5_networks import network_tables
from pnml_experiments.ch5_networks.architectures import DenseNet, ResNet, WideResNet
from pnml_experiments.ch5_networks.feature_extraction import extract, images_to_do
from pnml_experiments.ch5_networks.image_subjects import ImageSet, Sizes, Subject
from pnml_experiments.ch5_networks.network_tables import run_tables
from pnml_experiments.ch5_networks.ood_methods import MethodScores
from pnml_experiments.framework.output import Output

TINY = Sizes(40, 8, (0.0, 0.002))
BUILDS = {
    "DenseNet-BC-100": lambda classes: DenseNet(classes, layers=1, growth=4),
    "ResNet-34": lambda classes: ResNet(classes, blocks=(1, 1), width=4),
    "WideResNet-40": lambda classes: WideResNet(classes, depth=10, widen=1),
}
PLAIN = ("Baseline", "ODIN", "Gram")


def quiet(done, total):
    pass


@pytest.fixture(autouse=True)
def tiny_sizes(monkeypatch):
    monkeypatch.setattr(network_tables, "SIZES", {"small": TINY})


def subject(folder, network, ind="CIFAR-10", classes=10, methods=PLAIN):
    """A network of this kind with random weights, stored in the data folder."""
    torch.manual_seed(0)
    build = BUILDS[network]
    name = f"weights/{network}_{ind}_{methods[0]}.pth"
    # normalisation layers that have seen nothing would leave all images alike
    net = build(classes).train()
    for _ in range(20):
        net(torch.randn(16, 3, 32, 32))
    torch.save({"state_dict": net.state_dict()}, folder / name)
    key = ind.replace("-", "").lower()
    return Subject(ind, classes, f"images/{key}_small.npz", name, methods, build)


@pytest.mark.parametrize("network", ["DenseNet-BC-100", "ResNet-34"])
@pytest.mark.parametrize(("ind", "classes"), [("CIFAR-10", 10), ("SVHN", 10)])
def test_tables_of_a_small_network_have_all_rows(tiny_images, out, network, ind, classes):
    ours = (
        subject(tiny_images, network, ind, classes),
        subject(tiny_images, network, ind, classes, ("OECC",)),
    )
    told = []
    result = run_tables(network, ours, "small", out, lambda done, total: told.append((done, total)))
    auroc = result.tables[0]
    run = {(r.labels["OOD"], r.labels["method"]) for r in auroc.rows if r.ours is not None}
    here = {"Imagenet (R)", "Imagenet (C)", "Uniform", "Gaussian", "CIFAR-100"}
    here |= {"SVHN"} if ind == "CIFAR-10" else {"CIFAR-10"}
    methods = [m + p for m in (*PLAIN, "OECC") for p in ("", " + pNML")]
    assert run == {(ood, method) for ood in here for method in methods}
    for row in auroc.rows:
        assert (row.ours is None) == row.note.startswith("Not run")
        assert (row.fair is not None) == (row.ours is not None and "pNML" in row.labels["method"])
    done, total = told[-1]
    assert done <= total
    assert done > 0.8 * total


def test_the_energy_table_runs_on_a_small_wide_resnet(tiny_images, out):
    ours = (subject(tiny_images, "WideResNet-40", "CIFAR-100", 100, ("Energy",)),)
    result = run_tables("WideResNet-40", ours, "small", out, quiet)
    rows = [row for row in result.tables[1].rows if row.ours is not None]
    assert {row.labels["method"] for row in rows} == {"Energy", "Energy + pNML"}


def test_rows_without_weights_are_listed_with_what_was_printed(out, monkeypatch):
    monkeypatch.delenv("PNML_DATA", raising=False)
    from pnml_experiments.ch5_networks import ood_networks

    result = ood_networks.run("ResNet-34", "small", out, quiet)
    assert [len(table.rows) for table in result.tables] == [200, 200, 200]
    for table in result.tables:
        assert all(row.printed is not None and row.ours is None for row in table.rows)
        assert all(row.note.startswith("Not run") for row in table.rows)


def test_an_interrupted_extraction_goes_on_without_the_network(tiny_images, tmp_path, monkeypatch):
    ours = (subject(tiny_images, "DenseNet-BC-100"),)
    first = run_tables("DenseNet-BC-100", ours, "small", new_out(tmp_path, "a"), quiet)

    def refuse(self, x):
        raise AssertionError("an image went through the network again")

    monkeypatch.setattr(DenseNet, "forward", refuse)
    told = []
    again = run_tables(
        "DenseNet-BC-100", ours, "small", new_out(tmp_path, "b"), lambda *t: told.append(t)
    )
    assert [t.rows for t in again.tables] == [t.rows for t in first.tables]
    assert told[-1][0] == told[-1][1]


def new_out(tmp_path, name):
    return Output(tmp_path / name, tmp_path / "cache", "stamp")


def test_kept_scores_are_those_of_the_detectors_on_the_images(tiny_images, out):
    ours = subject(tiny_images, "DenseNet-BC-100")
    own = subjects.own_images(ours, TINY)
    kept = extract(ours, TINY, own.train, [own.test], out, lambda images: None)
    scores = MethodScores(kept)
    network = ours.network()
    batches = list(ours.batches(own.train.images))
    images = torch.cat(list(ours.batches(own.test.images)))
    pnml = LastLayerPNML(network, scale=1.0, regions=False).fit(batches)
    gram = Gram(network).fit(batches)
    odin = ODIN(network, epsilon=kept.epsilon, std=ours.std)
    for method, baseline in (("Baseline", MSP(network)), ("ODIN", odin), ("Gram", gram)):
        found = scores.scores(method, kept.sets["test"])
        np.testing.assert_allclose(found.plain, baseline.predict(images), rtol=1e-4)
        together = with_pnml(baseline, pnml)
        np.testing.assert_allclose(found.thesis, together.predict(images), rtol=1e-3, atol=1e-9)


def test_odin_chooses_its_step_without_test_images(tiny_images, out):
    ours = subject(tiny_images, "ResNet-34", methods=("ODIN",))
    own = subjects.own_images(ours, TINY)
    train, test = own.train, own.test
    darker = ImageSet("test", test.images // 2)
    chosen = [
        extract(ours, TINY, train, [one], out, lambda images: None).epsilon
        for one in (test, darker)
    ]
    assert chosen[0] == chosen[1]
    assert chosen[0] in TINY.epsilons
    assert images_to_do(ours, TINY, train, [test]) == 40 + 3 * 8 + 3 * 4


def test_weights_must_fit_the_network_to_the_last(tiny_images):
    ours = subject(tiny_images, "DenseNet-BC-100")
    state = torch.load(tiny_images / ours.weights, weights_only=True)
    state["state_dict"].pop("fc.bias")
    torch.save(state, tiny_images / ours.weights)
    with pytest.raises(InputError, match=r"of another network than the DenseNet .*fc\.bias"):
        ours.network()


def test_files_that_are_broken_or_others_are_named(tiny_images):
    ours = subject(tiny_images, "DenseNet-BC-100")
    (tiny_images / ours.weights).write_bytes(b"junk")
    with pytest.raises(InputError, match=rf"{ours.weights} below PNML_DATA=.* cannot be read"):
        ours.network()
    path = tiny_images / "images" / "cifar10_small.npz"
    np.savez(path, other=np.zeros(3))
    with pytest.raises(InputError, match=r"cifar10_small.npz .* holds no array y_train"):
        subjects.data.arrays("images/cifar10_small.npz")["y_train"]
    for content in (b"", b"junk", path.read_bytes()[:-30]):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"cifar10_small.npz .* put the right one there"):
            subjects.data.arrays("images/cifar10_small.npz")


def test_published_networks_have_their_published_sizes():
    assert sum(p.numel() for p in DenseNet(10).parameters()) == 769_162
    assert sum(p.numel() for p in ResNet(10).parameters()) == 21_282_122
    assert sum(p.numel() for p in WideResNet(10).parameters()) == 2_243_546


def test_networks_leave_no_trace_of_a_module_prefix(tiny_images):
    ours = subject(tiny_images, "ResNet-34")
    stored = torch.load(tiny_images / ours.weights, weights_only=True)["state_dict"]
    prefixed = {f"module.{key}": value for key, value in stored.items()}
    torch.save(prefixed, tiny_images / ours.weights)
    assert torch.equal(ours.network().linear.weight, stored["linear.weight"])


def test_classes_without_training_images_are_left_out_of_head_and_test(tiny_images, out):
    path = tiny_images / "images" / "cifar10_small.npz"
    stored = dict(np.load(path))
    stored["y_train"] = stored["y_train"] // 3 * 2  # 0, 2, 4 and 6 alone
    stored["y_test"][:4] = [1, 2, 6, 9]
    np.savez(path, **stored)
    ours = subject(tiny_images, "ResNet-34")
    shown = np.unique(stored["y_train"]).astype(int)
    own = subjects.own_images(ours, Sizes(None, None, ()))
    known = np.isin(stored["y_test"], shown)
    np.testing.assert_array_equal(own.test.images, stored["x_test"][known])
    np.testing.assert_array_equal(shown[own.labels], stored["y_test"][known])
    images = torch.cat(list(ours.batches(own.test.images)))
    whole, part = ours.network(), ours.network_of_shown_classes()
    torch.testing.assert_close(part(images), whole(images)[:, shown])


def test_a_subset_is_spread_over_all_rows():
    assert subjects.spread(10, 5).tolist() == [0, 2, 4, 6, 8]
    assert subjects.spread(10, None).tolist() == list(range(10))
    assert subjects.spread(3, 7).tolist() == [0, 1, 2]


def test_other_images_of_the_same_number_are_not_taken_from_the_cache(tiny_images, out):
    ours = subject(tiny_images, "ResNet-34", methods=("Baseline",))
    own = subjects.own_images(ours, TINY)
    darker = ImageSet("test", own.test.images // 2)
    found = [
        extract(ours, TINY, own.train, [one], out, lambda images: None).sets["test"].features
        for one in (own.test, darker)
    ]
    assert not np.allclose(*found)
