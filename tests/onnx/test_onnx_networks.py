"""Exported networks carry the regret of their last layer."""

from __future__ import annotations

import numpy as np
import pytest

onnx_sessions = pytest.importorskip("onnx_sessions")
pytest.importorskip("onnxscript")
torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from pnml import InputError, export_onnx  # noqa: E402
from pnml.nn import LastLayerPNML  # noqa: E402

IMAGES = torch.randn(80, 1, 6, 6, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def network():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(64, 5)
    ).eval()


def said(module, inputs):
    with torch.no_grad():
        out = module(inputs)
    return {"log_prob": out.log_prob.numpy(), "regret": out.regret.numpy()}


def test_a_network_is_the_same_in_onnxruntime(network, tmp_path):
    module = LastLayerPNML(network).fit([IMAGES])
    export_onnx(module, tmp_path / "m.onnx", example=IMAGES[:1])
    for new in (IMAGES[:1], torch.cat([IMAGES[:9], 5 * IMAGES[:9].abs()])):
        found = onnx_sessions.run(tmp_path / "m.onnx", {"input": new.numpy()})
        for name, expected in said(module, new).items():
            assert found[name].dtype == np.float32
            np.testing.assert_allclose(
                found[name], expected, rtol=1e-5, atol=1e-6 * (name != "regret")
            )
    assert b"pkg.torch" not in (tmp_path / "m.onnx").read_bytes()  # paths of this machine
    assert said(module, IMAGES[:2])["regret"].shape == (2,)  # the module still works


def test_embeddings_in_float64_agree_to_nine_digits_and_strange_ones_keep_infinite_leverage(
    tmp_path,
):
    generator = torch.Generator().manual_seed(0)
    seen = torch.randn(50, 3, generator=generator).double()
    basis, weight = torch.randn(3, 8).double(), torch.randn(4, 8).double()
    module = LastLayerPNML.from_embeddings(weight, None, seen @ basis, alpha=0.0)
    export_onnx(module, tmp_path / "m.onnx", dtype="float64")
    new = torch.cat([seen[:5] @ basis, torch.randn(5, 8, generator=generator).double()])
    found = onnx_sessions.run(tmp_path / "m.onnx", {"input": new.numpy()})
    for name, expected in said(module, new).items():
        np.testing.assert_allclose(found[name], expected, rtol=1e-9)
    # told the label at infinite leverage, a genie gives a class of probability p all of 1/(2 − p)
    unit = (new / new.norm(dim=1, keepdim=True))[5:]
    p = (module.scale_ * unit @ weight.T).softmax(dim=1).numpy()
    np.testing.assert_allclose(found["regret"][5:], np.log((1 / (2 - p)).sum(axis=1)), rtol=1e-9)


def test_a_network_needs_an_example_and_rows(network, tmp_path):
    path = tmp_path / "m.onnx"
    with pytest.raises(InputError, match="seen no training rows"):
        export_onnx(LastLayerPNML(network), path, example=IMAGES[:2])
    module = LastLayerPNML(network).fit([IMAGES])
    with pytest.raises(InputError, match="pass example="):
        export_onnx(module, path)
    assert not path.exists()


def test_a_network_that_pytorch_cannot_export_is_refused_in_a_sentence(
    network, monkeypatch, tmp_path
):
    def refuse(*_, **__):
        raise RuntimeError("steps 1/3") from TypeError("Cannot follow this.\nDetails")

    monkeypatch.setattr(torch.onnx, "export", refuse)
    module = LastLayerPNML(network).fit([IMAGES])
    with pytest.raises(InputError, match="into ONNX: Cannot follow this; see what"):
        export_onnx(module, tmp_path / "m.onnx", example=IMAGES[:2])
