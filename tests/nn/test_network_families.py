"""Networks of every make are right by the definition or refused in a sentence, as the page says."""

from __future__ import annotations

import warnings

import pytest
import torch

import network_families as families
from pnml.errors import InputError
from pnml.nn import LastLayerPNML
from pnml.nn.batches import call, tensors_in

ALL = [(group, family) for group, members in families.GROUPS.items() for family in members]


def by_hand(family, net):
    """Features (n, d) that count, logits (n, C) as the network returns them, and the head."""
    inner = getattr(net, "_orig_mod", getattr(net, "module", net))
    head = inner.get_submodule(family.head)
    seen = []
    handle = head.register_forward_pre_hook(lambda _, args: seen.append(args[0]))
    logits = next(tensors_in(call(inner, family.batch)))
    handle.remove()
    features = seen[0]
    if family.positions == "mean":
        features = features.mean((2, 3))
    if family.positions == "last":
        last = families.TEXT["attention_mask"].sum(1) - 1
        features = features[torch.arange(len(last)), last]
    if family.positions == "each":
        real = families.TEXT["attention_mask"].bool()
        features, logits = features[real], logits[real]
    return features, logits, head


def weights(head):
    """Weight and bias, by the unit vectors and zero where the head is no single layer."""
    if hasattr(head, "weight"):
        return head.weight.flatten(1), head.bias
    bias = head(torch.zeros(1, 12))[0]
    return (head(torch.eye(12)) - bias).T, bias


def fitted(family, net):
    settings = dict(family.settings)
    mask = settings.pop("mask", None)
    m = LastLayerPNML(net, **settings).fit([family.batch], mask=mask)
    return m, m(family.batch, mask=mask), m.score([family.batch], mask=mask)


def check_right(family):
    net = families.network_of(family)
    with torch.no_grad():
        features, logits, head = by_hand(family, net)
        m, out, scores = fitted(family, net)
        weight, bias = weights(head)
    keep = ~out.leverage.isnan()
    torch.testing.assert_close(out.features[keep], features)
    close = {"rtol": 2e-2, "atol": 2e-2} if logits.dtype is torch.bfloat16 else {}
    scale = 0.5 if "temperature" in family.name else 1.0
    own = out.logits[keep]
    if "log-softmax" in family.name:
        own = own.log_softmax(-1)
    torch.testing.assert_close(own, logits.reshape(own.shape), **close)
    assert m.rows_ == len(features) == len(scores)
    settings = {key: value for key, value in family.settings.items() if key != "mask"}
    shift = None if bias is None else scale * bias
    truth = LastLayerPNML.from_embeddings(scale * weight, shift, features.float(), **settings)
    # the same features and weights; merged or scaled weights are rounded once more, in float32
    expected = truth.score_features(features.float()).regret
    torch.testing.assert_close(out.regret[keep], expected, rtol=1e-3, atol=1e-8)
    torch.testing.assert_close(torch.tensor(scores.regret), out.regret[keep], rtol=1e-5, atol=1e-9)


def verdict(family):
    """The cell of the page: "right", checked by the definition, or the sentence of the refusal."""
    if family.head is not None:
        check_right(family)
        return "right" + (f": {family.note}" if family.note else "")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            fitted(family, families.network_of(family))
        except InputError as error:
            return f"refused: {error}"
    raise AssertionError(f"{family.name} is neither right by hand nor refused")


def rows(of_transformers):
    chosen = [row for row in ALL if (row[1].needs == "transformers") == of_transformers]
    names = [f"{list(families.GROUPS).index(group)} {family.name}" for group, family in chosen]
    return pytest.mark.parametrize(("group", "family"), chosen, ids=names)


def check(group, family):
    if not families.installed(family):
        pytest.skip(f"{family.needs} is not installed")
    assert families.printed(group).get(family.name) == verdict(family)


@rows(of_transformers=False)
def test_a_network_is_right_or_refused_as_the_page_says(group, family):
    check(group, family)


@rows(of_transformers=True)
def test_a_family_of_transformers_is_right_or_refused_as_the_page_says(group, family):
    check(group, family)


def test_the_page_has_the_rows_of_the_families_and_no_others():
    for group, members in families.GROUPS.items():
        assert list(families.printed(group)) == [family.name for family in members]
