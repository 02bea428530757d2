"""Refits of token heads: padding is neither trained on, nor refitted, nor trusted."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from pnml.errors import InputError
from pnml.nn import RefitLastLayerPNML

PAD, IGNORED = 0, -100


class Tagger(nn.Module):
    """Logits (B, T, 3) at every token."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embed = nn.Embedding(30, 4)
        self.head = nn.Linear(4, 3)
        self.requires_grad_(False)

    def forward(self, input_ids, attention_mask=None, labels=None):
        return self.head(self.embed(input_ids))


@pytest.fixture
def net():
    return Tagger()


@pytest.fixture
def ids():
    tokens = torch.randint(1, 30, (12, 4), generator=torch.Generator().manual_seed(1))
    for row in range(12):
        tokens[row, 1 + row % 4 :] = PAD
    return tokens


@pytest.fixture
def labels(ids):
    return torch.where(ids == PAD, IGNORED, ids % 3)


@pytest.fixture
def expected(net, ids, labels):
    """By hand: refits from the features of real tokens alone."""
    real = ids != PAD
    seen = net.embed(ids)[real]
    m = RefitLastLayerPNML.from_embeddings(
        net.head.weight, net.head.bias, seen, labels[real], alpha=1.0
    )
    regret = torch.full(ids.shape, torch.nan, dtype=torch.float64)
    regret[real] = m(seen).regret
    return regret


def check(m, out, expected, ids):
    assert m.rows_ == int((ids != PAD).sum())
    # the same rows in chunks of other sizes: a solver that stops within its tolerance, 1e-4 nats
    torch.testing.assert_close(out.regret, expected, rtol=0, atol=1e-4, equal_nan=True)
    gone = ids == PAD
    assert out.log_genie[gone].isnan().all()
    assert out.error[gone].isnan().all()
    assert not out.converged[gone].any()
    assert out.converged[~gone].all()


def test_the_batch_tells_its_own_padding(net, ids, labels, expected):
    batch = {"input_ids": ids, "attention_mask": (ids != PAD).long(), "labels": labels}
    m = RefitLastLayerPNML(net, alpha=1.0).fit([batch])
    check(m, m({"input_ids": ids, "attention_mask": ids != PAD}), expected, ids)
    check(m, m.score([(ids[:5], labels[:5]), (ids[5:], labels[5:])]), expected, ids)


@pytest.mark.parametrize("way", ["function", "tensor", "array"])
def test_a_mask_is_given_in_any_way(net, ids, labels, expected, way):
    real = ids != PAD
    mask = {"function": lambda batch: batch[0] != PAD, "tensor": real, "array": real.numpy()}[way]
    wild = torch.where(real, labels, 77)  # a label of padding may be anything
    m = RefitLastLayerPNML(net, alpha=1.0).fit([(ids, wild)], mask=mask)
    out = m((ids, wild), mask=mask)
    check(m, out, expected, ids)
    trusted = m.trusted((ids, wild), mask=mask)
    assert not trusted[~real].any()
    assert torch.equal(trusted[real], m.thresholds().trusts(out.regret[real]))
    loss = out.log_loss(wild)
    assert loss[~real].isnan().all()
    own = -out.log_prob[real].gather(1, labels[real][:, None])[:, 0]
    torch.testing.assert_close(loss[real], own)


def test_a_checkpoint_of_masked_rows_resumes(net, ids, labels, expected, tmp_path):
    m = RefitLastLayerPNML(net, alpha=1.0).fit([(ids, labels)])
    file = tmp_path / "rows.npz"
    first = m.score([(ids, labels)], checkpoint=file)
    again = m.score([(ids, labels)], checkpoint=file)
    torch.testing.assert_close(again.regret, first.regret, rtol=0, atol=0, equal_nan=True)
    check(m, again, expected, ids)


def test_without_padding_nothing_changes(net, ids):
    full = ids.clamp(min=1)
    labels = full % 3
    plain = RefitLastLayerPNML(net, alpha=1.0).fit([(full, labels)], mask=False)
    masked = RefitLastLayerPNML(net, alpha=1.0).fit([(full, labels)], mask=torch.ones(12, 4))
    torch.testing.assert_close(masked(full[:2]).regret, plain(full[:2]).regret)


def test_wrong_masks_are_refused_in_one_sentence(net, ids, labels):
    m = RefitLastLayerPNML(net, alpha=1.0)
    with pytest.raises(
        InputError, match=r"shape \(12, 3\), but the network gives logits at \(12, 4"
    ):
        m.fit([(ids, labels)], mask=torch.ones(12, 3))
    with pytest.raises(InputError, match=r"nothing to fit, since all 48 positions .* are padding"):
        m.fit([(ids, labels)], mask=torch.zeros(12, 4))
    with pytest.raises(InputError, match=r"labels from 0 to 77, but the network has 3 classes"):
        m.fit([(ids, torch.where(ids == PAD, 77, ids % 3))], mask=False)
    m.fit([(ids, labels)])
    with pytest.raises(InputError, match="nothing to score, since all 48 positions"):
        m(ids, mask=torch.zeros(12, 4))
