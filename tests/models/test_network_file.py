"""What a network's last layer has counted comes back from a file, around the same network."""

from __future__ import annotations

import copy
import re
from types import SimpleNamespace

import numpy as np
import pytest

import child
from pnml import InputError, PNMLRegressor, load, save
from pnml.errors import how_to_install

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from pnml.nn import LastLayerPNML  # noqa: E402


@pytest.fixture
def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 4)).requires_grad_(False)


@pytest.fixture
def inputs():
    return torch.randn(300, 6, generator=torch.Generator().manual_seed(1))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "last.pnml"


@pytest.fixture
def embedded():
    """A module that is all head."""
    rng = np.random.default_rng(0)
    weight, bias = rng.normal(size=(4, 5)), rng.normal(size=4)
    return LastLayerPNML.from_embeddings(weight, bias, rng.normal(size=(200, 5)))


def assert_same(a, b, x):
    assert a.rows_ == b.rows_
    assert a.scale_ == b.scale_
    assert a.alpha_ == b.alpha_
    assert a.settings == b.settings
    assert a.regret_threshold() == b.regret_threshold()
    for name in ("logits", "regret", "leverage"):
        before, after = getattr(a(x), name), getattr(b(x), name)
        assert before.dtype == after.dtype
        assert torch.equal(before, after)


SETTINGS = {
    "default": {},
    "fixed": {"alpha": 0.01, "scale": 2.0},
    "no regions": {"regions": False},
    "numbers of other makes": {"alpha": np.float32(0.1), "scale": 1},
    "no scale, with a bias": {"scale": None, "bias_column": True, "normalize": False},
    "multilabel": {"task": "multilabel"},
    "regression": {"task": "regression"},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_module_comes_back_around_its_network(name, network, inputs, path):
    module = LastLayerPNML(network, **SETTINGS[name]).fit(inputs)
    save(module, path)
    again = load(path, model=copy.deepcopy(network))
    assert_same(module, again, inputs)
    assert again.model is not network
    more = 3 * inputs
    assert_same(module.partial_fit(more), again.partial_fit(more), inputs)


def test_the_layer_may_be_said_again(network, inputs, path):
    pair = (network[:2], network[2])
    module = LastLayerPNML(None, pair).fit(inputs)
    save(module, path)
    assert_same(module, load(path, layer=pair), inputs)
    assert_same(module, load(path, model=network, layer="2"), inputs)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize("bias", [True, False])
def test_a_module_of_embeddings_comes_back_whole(dtype, bias, path):
    rng = np.random.default_rng(0)
    weight = torch.tensor(rng.normal(size=(4, 5)), dtype=getattr(torch, dtype))
    rows = torch.tensor(rng.normal(size=(200, 5))).to(weight)
    module = LastLayerPNML.from_embeddings(weight, weight[:, 0] if bias else None, rows)
    save(module, path)
    again = load(path)
    assert_same(module, again, rows)
    assert torch.equal(again.model.weight, weight)


def test_the_head_in_a_file_may_be_left_for_the_whole_network(network, inputs, path):
    features = network[:2](inputs)
    module = LastLayerPNML.from_embeddings(network[2].weight, network[2].bias, features)
    save(module, path)
    again = load(path, model=network)
    torch.testing.assert_close(again(inputs).regret, module(features).regret)


def test_a_second_save_writes_the_same_bytes(embedded, path):
    save(embedded, path)
    first = path.read_bytes()
    save(load(path), path)
    assert path.read_bytes() == first


def test_only_a_linear_layer_itself_counts_as_a_head(path):
    class Doubled(nn.Linear):
        def forward(self, x):
            return 2 * super().forward(x)

    module = LastLayerPNML(Doubled(5, 4)).fit(torch.randn(50, 5))
    save(module, path)
    with pytest.raises(InputError, match="but not the network"):
        load(path)


def test_what_fits_no_file_or_no_network_is_refused_in_one_sentence(network, inputs, path):
    refused = {
        "fit it before saving it": lambda: save(LastLayerPNML(network), path),
        "model is a Sequential, but .* LastLayerPNML; pass one": lambda: save(network, path),
        "No such file": lambda: load(path, model=network),
    }
    for words, call in refused.items():
        with pytest.raises(InputError, match=words):
            call()
        assert not path.exists()
    save(LastLayerPNML(network).fit(inputs), path)
    for words, wrong in {
        r"but not the network; pass that too, as in pnml.load\(path, model=network\)": {},
        "The model is a dict, not a torch module": {"model": {}},
        'no layer "fc"': {"model": network, "layer": "fc"},
    }.items():
        with pytest.raises(InputError, match=f"^Cannot load {re.escape(str(path))}: .*{words}"):
            load(path, **wrong)
    other = load(path, model=nn.Linear(6, 4))
    with pytest.raises(InputError, match="5 columns, but the last layer takes 6"):
        other(inputs)


@pytest.mark.parametrize("given", [{"model": nn.Linear(2, 2)}, {"layer": "fc"}])
def test_a_model_that_needs_no_network_takes_none(given, path):
    save(PNMLRegressor().fit(np.eye(3), np.arange(3.0)), path)
    with pytest.raises(InputError, match="holds a PNMLRegressor, which needs none; leave out"):
        load(path, **given)


def told(name, value):
    def change(parts, _):
        parts.document["last_layer"][name] = value

    return change


def setting(name, value):
    def change(parts, _):
        parts.document["last_layer"]["settings"][name] = value

    return change


def arrays(**changed):
    """Exchange arrays, given as functions of the old one; None takes it out."""

    def change(parts, layout):
        held = layout.arrays(parts)
        for name, edit in changed.items():
            key = name.replace("__", ".")
            old = held.pop(key, None)
            held |= {} if edit is None else {key: edit(old)}
        parts.entries, parts.payload = layout.tensors(held)

    return change


CHANGES = {
    "no entry": (lambda p, _: p.document.update(last_layer=3), "does not have the keys"),
    "a key too many": (told("more", 1), "does not have the keys"),
    "settings missing": (told("settings", {"task": "auto"}), "settings are not"),
    "settings of no kind": (setting("alpha", [1]), "neither a number nor a word"),
    "a huge setting": (setting("alpha", 9**999), "neither a number nor a word"),
    "no outputs": (told("outputs", 0), "how many outputs"),
    "a word for a scale": (told("scale", "big"), "scale is no number"),
    "a dtype of no kind": (told("head", "int8"), "no known dtype"),
    "a head without a dtype": (told("head", None), "arrays but no dtype"),
    "other outputs": (told("outputs", 7), "regions are not those of the outputs"),
    "rows missing": (arrays(statistic__xx=None), "lacks the array 'statistic.xx'"),
    "an array too many": (arrays(other=lambda _: np.zeros(2)), "nothing .* uses the array 'other'"),
    "other width": (arrays(statistic__xx=lambda a: a[:3, :3].copy()), "does not fit the others"),
    "NaN": (arrays(statistic__energy=lambda a: a * np.nan), "not finite"),
    "no rows": (arrays(statistic__counts=lambda a: a * 0), "counts no rows"),
    "a vast sample": (arrays(statistic__sample_bound=lambda a: a * 1e12), "larger than it says"),
    "regions missing": (arrays(statistic__region_ids=None), "lacks the array 'statistic.region_i"),
    "regions twice": (arrays(statistic__region_ids=lambda a: a * 0), "regions are not those of"),
    "regions of no rows": (arrays(statistic__region_counts=lambda a: a * 0), "have no rows"),
    "a region too far": (arrays(statistic__region_ids=lambda a: a + 4), "regions are not those of"),
    "rows of no region": (arrays(statistic__sample_rows=lambda a: a + 0.5), "no output is of"),
    "a head of other width": (arrays(head__weight=lambda a: a[:, 1:].copy()), "does not take"),
    "a bias of other length": (arrays(head__bias=lambda a: a[1:].copy()), "weight or the bias"),
    "a head of whole numbers": (arrays(head__weight=lambda a: a.astype(int)), "weight or the bias"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_file_that_clashes_with_itself_is_refused(name, embedded, path, layout):
    save(embedded, path)
    parts = layout.take_apart(path)
    change, words = CHANGES[name]
    change(parts, layout)
    layout.put_together(path, parts)
    with pytest.raises(InputError, match=words) as caught:
        load(path)
    assert str(caught.value).endswith("else save the model again.")


def test_settings_that_no_module_takes_are_refused(embedded, path, layout):
    save(embedded, path)
    parts = layout.take_apart(path)
    parts.document["last_layer"]["settings"]["task"] = "poetry"
    layout.put_together(path, parts)
    with pytest.raises(InputError, match=r"Cannot load .*task is 'poetry'"):
        load(path)


def test_a_changed_byte_is_noticed(embedded, path):
    save(embedded, path)
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(data)
    with pytest.raises(InputError, match="checksum"):
        load(path)


def test_files_of_other_models_load_without_pytorch_and_those_of_networks_ask_for_it(
    embedded, path, tmp_path
):
    save(embedded, path)
    save(PNMLRegressor().fit(np.eye(3), np.arange(3.0)), tmp_path / "other.pnml")
    code = f"""
import sys
from types import SimpleNamespace
import pnml
pnml.save(pnml.load({str(tmp_path / "other.pnml")!r}), {str(tmp_path / "again.pnml")!r})
print("torch" in sys.modules)
sys.modules["torch"] = None
from pnml.models.model_file import read
print(read({str(path)!r}).last_layer.rows)
try:
    pnml.load({str(path)!r})
except pnml.InputError as error:
    print(error)
"""
    done = child.python(code, check=True)
    first, rows, sentence = done.stdout.splitlines()
    assert (first, rows) == ("False", "200")
    assert sentence.endswith(f"needs PyTorch; {how_to_install('torch')} and load it again.")


def test_a_file_made_by_hand_from_the_page_loads(path, layout):
    rng = np.random.default_rng(0)
    features, weight = rng.normal(size=(30, 4)), rng.normal(size=(3, 4))
    norms = np.linalg.norm(features, axis=1)
    rows = features / norms[:, None]
    settings = {"task": "auto", "alpha": 0.5, "normalize": True, "bias_column": False, "scale": 2.0}
    document = {"settings": settings, "task": "multiclass", "outputs": 3, "scale": 2.0}
    entries, payload = layout.tensors(
        {
            "statistic.counts": np.array([30, 1, 0]),
            "statistic.xx": rows.T @ rows,
            "statistic.energy": np.array(np.sum(norms**2)),
            "statistic.sample_keys": rng.random(30),
            "statistic.sample_rows": np.column_stack([rows, norms]),
            "statistic.sample_bound": np.array([2048.0, 1.0]),
            "statistic.scale": np.array(np.nan),
            "head.weight": weight,
        }
    )
    parts = SimpleNamespace(
        entries=entries,
        payload=payload,
        document={"format": 1, "pnml": "0.1.0", "last_layer": {**document, "head": "float64"}},
    )
    layout.put_together(path, parts)
    new = rng.normal(size=(5, 4))
    out = load(path)(torch.tensor(new))
    unit = new / np.linalg.norm(new, axis=1, keepdims=True)
    inverse = np.linalg.inv(rows.T @ rows + 0.5 * np.eye(4))
    np.testing.assert_allclose(out.leverage, np.sum(unit @ inverse * unit, axis=1), rtol=1e-9)
    np.testing.assert_allclose(out.logits, new @ weight.T, rtol=1e-9)
