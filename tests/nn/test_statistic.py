"""The statistic adds, travels and is saved without a digit lost."""

from __future__ import annotations

import copy
import io
import pickle

import numpy as np
import pytest
import torch
from torch import nn

from pnml.errors import InputError
from pnml.nn import LastLayerPNML
from pnml.nn.feature_rows import RowForm
from pnml.nn.feature_statistic import FeatureStatistic, StatisticBuilder


def same(a, b, x):
    assert a.rows_ == b.rows_
    assert a.scale_ == b.scale_
    assert a.regret_threshold() == b.regret_threshold()
    return bool(torch.equal(a(x).regret, b(x).regret))


def test_parts_add_up_to_the_whole(network, inputs):
    whole = LastLayerPNML(network).fit(inputs)
    both = LastLayerPNML(network).fit(inputs[:100]) + LastLayerPNML(network).fit(inputs[100:])
    step = LastLayerPNML(network).partial_fit(inputs[:100]).partial_fit((inputs[100:], None))
    features = network[:-1](inputs)
    parts = LastLayerPNML(network, "2").fit_features(features[:9])
    parts.partial_fit_features(features[9:].numpy())
    for other in (both, step, parts):
        assert other.rows_ == 300
        torch.testing.assert_close(other.statistic.xx, whole.statistic.xx)
        torch.testing.assert_close(other(inputs).leverage, whole(inputs).leverage)
        # up to 2048 rows are all in the sample, so threshold and scale are those of the whole
        assert other.scale_ == pytest.approx(whole.scale_, rel=1e-6)
        assert other.regret_threshold() == pytest.approx(whole.regret_threshold(), rel=1e-6)
    assert both.model is network


def test_fit_begins_anew_and_a_failed_fit_changes_nothing(network, inputs):
    m = LastLayerPNML(network).fit(inputs).fit(inputs[:50])
    assert m.rows_ == 50
    bad = inputs.clone()
    bad[7] = torch.nan
    with pytest.raises(InputError, match=r"Batch 1 gives features that are NaN .* row 7"):
        m.fit([inputs, bad])
    with pytest.raises(InputError, match="Batch 0"):
        m.partial_fit(bad)
    assert m.rows_ == 50
    assert torch.isfinite(m(inputs).regret).all()


def test_a_state_dict_brings_everything_to_a_fresh_module(network, inputs):
    m = LastLayerPNML(network).fit(inputs)
    m.regret_threshold()
    buffer = io.BytesIO()
    torch.save(m.state_dict(), buffer)
    buffer.seek(0)
    state = torch.load(buffer, weights_only=True)
    other = LastLayerPNML(copy.deepcopy(network))
    for part in other.model.parameters():
        part.zero_()
    assert other.load_state_dict(state)
    assert same(m, other, inputs)
    assert same(m.partial_fit(inputs), other.partial_fit(inputs), inputs)
    fitted = LastLayerPNML(copy.deepcopy(network)).fit(inputs[:20])
    fitted(inputs)  # what it has solved for is of no use afterwards
    fitted.load_state_dict(m.state_dict())
    assert same(m, fitted, inputs)
    assert same(pickle.loads(pickle.dumps(m)), m, inputs)
    assert same(copy.deepcopy(m), m, inputs)


def test_the_dtype_of_the_network_never_touches_the_statistic(network, inputs):
    m = LastLayerPNML(network).fit(inputs)
    xx, scale = m.statistic.xx.clone(), m.scale_
    for change in ("half", "float", "bfloat16", "double"):
        getattr(m, change)()
        assert m.statistic.xx.dtype == m.statistic.sample_rows.dtype == torch.float64
        assert m.statistic.counts.dtype == torch.int64
        assert torch.equal(m.statistic.xx, xx)
    m.to(torch.float32)
    assert torch.equal(m.statistic.xx, xx)
    assert m.scale_ == scale


def test_the_statistic_follows_the_network_to_another_device(network, inputs):
    m = LastLayerPNML(network).fit(inputs)
    state = {name: value.clone() for name, value in m.state_dict().items()}
    m.to("meta")
    assert all(buffer.is_meta for buffer in m.statistic.buffers())
    with pytest.raises(InputError, match="meta device and holds no numbers"):
        m.regret_threshold()
    m.load_state_dict(state, assign=True)
    assert torch.isfinite(m(inputs).regret).all()


def test_the_sample_is_bounded_uniform_and_remembers_norms():
    form = RowForm(3, normalize=True, bias=False)
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60_000, 3)) * np.arange(1, 60_001)[:, None]
    builder = StatisticBuilder(FeatureStatistic.empty(form))
    for part in np.array_split(rows, 7):
        builder.add(part, "A part")
    counted = builder.total()
    assert counted.rows == 60_000
    assert counted.sample.rows.shape == (2048, 4)
    found = counted.sample.rows[:, :3] * counted.sample.rows[:, 3:]
    place = {round(float(np.linalg.norm(row)), 6): i for i, row in enumerate(rows)}
    places = np.array([place[round(float(np.linalg.norm(row)), 6)] for row in found])
    np.testing.assert_allclose(rows[places], found, rtol=1e-9)
    assert len(set(places)) == 2048
    assert abs(places.mean() / 60_000 - 0.5) < 4 / np.sqrt(12 * 2048)
    assert counted.energy == pytest.approx(float(np.sum(rows**2)))
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    np.testing.assert_allclose(counted.xx, unit.T @ unit, rtol=1e-9)
    merged = counted + counted
    assert merged.rows == 120_000
    assert len(merged.sample.rows) == 2048


def test_modules_fitted_otherwise_do_not_add(network, inputs):
    m = LastLayerPNML(network).fit(inputs)
    for other in (
        LastLayerPNML(network, normalize=False).fit(inputs),
        LastLayerPNML(network, bias_column=True).fit(inputs),
        LastLayerPNML(nn.Linear(6, 4)).fit(inputs),
    ):
        with pytest.raises(InputError, match="cannot be counted with rows of"):
            m + other
    with pytest.raises(InputError, match="has seen no training rows"):
        m + LastLayerPNML(network)
