"""Padding is neither counted nor trusted, and a loader is scored in one tidy result."""

from __future__ import annotations

import sys
import tracemalloc

import numpy as np
import pytest
import torch
from torch import nn

from pnml.errors import InputError
from pnml.nn import LastLayerPNML, LastLayerScores

PAD = 0


class Tagger(nn.Module):
    """Logits (B, T, 3) at every token; of one argument, or of keywords as tokenizers give them."""

    def __init__(self, outputs=3):
        super().__init__()
        torch.manual_seed(0)
        self.embed = nn.Embedding(30, 8)
        self.head = nn.Linear(8, outputs)
        self.requires_grad_(False)

    def features(self, ids):
        return torch.tanh(self.embed(ids) + self.embed(ids.roll(1, 1)))

    def forward(self, input_ids, attention_mask=None):
        return self.head(self.features(input_ids))


class Lengths(Tagger):
    def forward(self, tokens, lengths):
        assert len(lengths) == len(tokens)
        return self.head(self.features(tokens))


@pytest.fixture
def ids():
    tokens = torch.randint(1, 30, (40, 6), generator=torch.Generator().manual_seed(1))
    for row in range(40):
        tokens[row, 2 + row % 5 :] = PAD
    return tokens


@pytest.fixture
def expected(ids):
    """By hand: the features of real tokens alone, and regrets (40, 6) with NaN at padding."""
    net, real = Tagger(), ids != PAD
    seen = net.features(ids)[real]
    m = LastLayerPNML.from_embeddings(net.head.weight, net.head.bias, seen)
    regret = torch.full(ids.shape, torch.nan, dtype=torch.float64)
    regret[real] = m(seen).regret
    trusted = torch.zeros(ids.shape, dtype=torch.bool)
    trusted[real] = m.trusted(seen)
    return regret, trusted, int(real.sum())


def labels_of(ids):
    return torch.where(ids == PAD, -100, 1)


def lengths_of(ids):
    return (ids != PAD).sum(1)


# Each way in which padding is told: a batch, and the arguments of fit, forward and trusted.
WAYS = {
    "attention_mask": lambda x: ({"input_ids": x, "attention_mask": (x != PAD).long()}, {}),
    "labels in a dict": lambda x: ({"input_ids": x, "labels": labels_of(x)}, {}),
    "labels in a tuple": lambda x: ((x, labels_of(x)), {}),
    "a function": lambda x: (x, {"mask": lambda batch: batch != PAD}),
    "an entry": lambda x: (
        {"input_ids": x, "attention_mask": torch.ones_like(x), "labels": x},
        {"mask": "labels"},
    ),
    "a tensor": lambda x: (x, {"mask": x != PAD}),
    "an array": lambda x: (x, {"mask": (x != PAD).numpy().astype(float)}),
}


@pytest.mark.parametrize("way", WAYS)
def test_padding_is_neither_counted_nor_trusted(way, ids, expected):
    regret, trusted, count = expected
    batch, told = WAYS[way](ids)
    m = LastLayerPNML(Tagger()).fit([batch], **told)
    assert m.rows_ == count
    out = m(batch, **told)
    torch.testing.assert_close(out.regret, regret, equal_nan=True)
    assert torch.equal(out.leverage.isnan(), ids == PAD)
    assert torch.equal(out.probs.isnan().all(-1), ids == PAD)
    assert torch.equal(m.trusted(batch, **told), trusted)
    torch.testing.assert_close(out.logits, Tagger()(ids))  # as the network gives them
    assert LastLayerPNML(Tagger()).partial_fit(batch, **told).rows_ == count


def test_no_mask_counts_every_position(ids):
    batch = {"input_ids": ids, "attention_mask": (ids != PAD).long()}
    m = LastLayerPNML(Tagger()).fit([batch], mask=False)
    assert m.rows_ == ids.numel()
    assert m(batch, mask=False).regret.isfinite().all()


def test_the_mask_of_an_encoder_says_nothing_of_a_decoder(ids):
    class Decoder(Tagger):
        def forward(self, input_ids, attention_mask=None, decoder_input_ids=None):
            return super().forward(decoder_input_ids)

    batch = {"input_ids": ids, "decoder_input_ids": ids, "attention_mask": (ids != PAD).long()}
    assert LastLayerPNML(Decoder()).fit([batch]).rows_ == ids.numel()


def test_labels_of_padding_have_no_loss(ids):
    batch = {"input_ids": ids, "labels": labels_of(ids)}
    loss = LastLayerPNML(Tagger()).fit([batch])(batch).log_loss(batch["labels"])
    assert torch.equal(loss.isnan(), ids == PAD)


def test_gradients_flow_past_a_mask(ids):
    net = Tagger().requires_grad_(True)
    m = LastLayerPNML(net).fit(ids, mask=ids != PAD)
    m(ids, mask=ids != PAD).regret[ids != PAD].sum().backward()
    assert net.embed.weight.grad.isfinite().all()
    assert net.embed.weight.grad.abs().sum() > 0


def test_features_of_padding_may_be_nan(ids, expected):
    class Broken(Tagger):
        def features(self, ids):
            return super().features(ids).masked_fill((ids == PAD)[..., None], torch.nan)

    m = LastLayerPNML(Broken()).fit(ids, mask=ids != PAD)
    out = m(ids, mask=ids != PAD)
    torch.testing.assert_close(out.regret, expected[0], equal_nan=True)


@pytest.mark.parametrize("place", ["constructor", "fit"])
def test_a_function_takes_the_inputs_out_of_any_batch(place, ids, expected):
    def inputs(batch):
        return batch[1], batch[0]

    def mask(batch):
        return torch.arange(batch[1].shape[1]) < batch[0][:, None]

    loader = [(lengths_of(part), part, "tags") for part in ids.split(7)]
    m = LastLayerPNML(Lengths(), inputs=inputs if place == "constructor" else None)
    m.fit(loader, mask=mask, inputs=None if place == "constructor" else inputs)
    assert m.rows_ == expected[2]
    found = np.concatenate([m(batch, mask=mask).regret.flatten() for batch in loader])
    np.testing.assert_allclose(found, expected[0].flatten(), rtol=1e-9)
    as_keywords = LastLayerPNML(
        Lengths(), inputs=lambda batch: {"tokens": batch[1], "lengths": batch[0]}
    )
    assert as_keywords.fit(loader, mask=mask).rows_ == expected[2]
    assert (m + m).score(loader, mask=mask).regret.shape == (expected[2],)


def test_a_loader_is_scored_as_its_batches_are(network, inputs):
    m = LastLayerPNML(network).fit(inputs)
    scores = m.score([(part, None) for part in inputs.split(64)])
    out = m(inputs)
    assert isinstance(scores, LastLayerScores)
    assert len(scores) == 300
    assert scores.position is None
    np.testing.assert_array_equal(scores.row, np.arange(300))
    np.testing.assert_array_equal(scores.prediction, network(inputs).argmax(1))
    np.testing.assert_array_equal(scores.trusted, m.trusted(inputs))
    # other batches, whose products may be rounded otherwise in float32
    np.testing.assert_allclose(scores.regret, out.regret, rtol=1e-4, atol=1e-9)
    np.testing.assert_allclose(scores.leverage, out.leverage, rtol=1e-4)
    np.testing.assert_allclose(scores.probability, out.probs.max(1).values, rtol=1e-5)
    loose = m.score(inputs, level=0.5).trusted
    np.testing.assert_array_equal(loose, m.trusted(inputs, level=0.5))


def test_scores_of_tokens_say_which_they_are_and_leave_padding_out(ids, expected):
    batches = [WAYS["attention_mask"](part)[0] for part in ids.split(7)]
    m = LastLayerPNML(Tagger()).fit(batches)
    scores = m.score(batches)
    assert len(scores) == expected[2]
    back = np.full(tuple(ids.shape), np.nan)
    back[scores.row, scores.position] = scores.regret
    np.testing.assert_allclose(back, expected[0], rtol=1e-6, atol=1e-12)
    frame = m.score(batches, as_frame=True)
    names = ["row", "position", "prediction", "probability", "regret", "leverage", "trusted"]
    assert list(frame.columns) == names
    np.testing.assert_array_equal(frame["trusted"], scores.trusted)


def test_labels_and_numbers_have_columns_of_their_own(network, inputs):
    labels = LastLayerPNML(network, task="multilabel").fit(inputs).score(inputs)
    np.testing.assert_array_equal(labels.prediction, network(inputs) > 0)
    assert list(labels.to_frame().columns[1:3]) == ["prediction_0", "prediction_1"]
    one = nn.Linear(6, 1).requires_grad_(False)
    numbers = LastLayerPNML(one, task="regression").fit(inputs).score(inputs)
    assert numbers.probability is None
    np.testing.assert_allclose(numbers.prediction, one(inputs)[:, 0], rtol=1e-5, atol=1e-6)


def test_scoring_a_long_loader_keeps_numbers_only(network, inputs):
    m = LastLayerPNML(network).fit(inputs)
    m.score([inputs])

    def peak(batches):
        tracemalloc.start()
        m.score(inputs for _ in range(batches))
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    # five numbers of 8 bytes and a truth value for each row, held twice while they are joined
    assert peak(60) - peak(20) < 40 * 300 * 3 * 41


def test_scoring_shows_a_bar_where_asked_for(network, inputs, capsys):
    m = LastLayerPNML(network).fit(inputs)
    m.score([inputs], progress=False)
    assert capsys.readouterr().err == ""
    m.score([inputs], progress=True)
    assert "Scoring inputs" in capsys.readouterr().err


def fitted(net, x):
    return LastLayerPNML(Tagger()).fit(x)


REFUSED = {
    "a mask of another shape": (
        lambda m, x: m(x, mask=(x != PAD)[:, :5]),
        r"mask has shape \(40, 5\), but the network gives logits at \(40, 6\) positions",
    ),
    "a mask of shares": (
        lambda m, x: m(x, mask=torch.full(x.shape, 0.5)),
        "a position counts or it does not",
    ),
    "a mask of words": (lambda m, x: m(x, mask=["a"]), "a list that holds no numbers"),
    "an entry that is not there": (lambda m, x: m(x, mask="real"), "is no dict with such an entry"),
    "all padding in training": (
        lambda m, x: LastLayerPNML(Tagger()).fit([x, x], mask=lambda b: b < 0),
        "nothing to fit, since all 480 positions that came are padding",
    ),
    "all padding to score": (
        lambda m, x: m.score([x], mask=lambda b: b < 0),
        "nothing to score, since all 240 positions that came are padding",
    ),
    "a loader of no batches": (lambda m, x: m.score([]), "loader gave no batch with rows"),
    "a loader that is a number": (lambda m, x: m.score(3), "is a int, which gives no batches"),
    "texts to score": (lambda m, x: m.score(["a text", "another"]), "holds texts, .* tokenize"),
    "texts in a batch": (lambda m, x: m((["a text"], [1])), "holds texts, .* tokenize first"),
    "a list of texts": (lambda m, x: m(["a text", "another"]), "holds texts, .* tokenize first"),
    "an array of texts": (lambda m, x: m(np.array(["a text"])), "holds texts, .* tokenize first"),
    "texts in a dict": (lambda m, x: m({"input_ids": ["a text"]}), "holds texts, .* tokenize"),
    "one text for a loader": (lambda m, x: m.score("a text"), "str, which gives no batches"),
    "inputs of nothing": (
        lambda m, x: LastLayerPNML(Tagger(), inputs=lambda batch: None).fit([x]),
        "inputs= gave None",
    ),
    "inputs that are no function": (
        lambda m, x: LastLayerPNML(Tagger()).fit([(x, x)], inputs=0),
        "inputs is 0, but a function from a batch",
    ),
    "one output and no task": (
        lambda m, x: LastLayerPNML(Tagger(1)).fit(x),
        'one output, .* pass task="regression" or task="multilabel"',
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_masks_and_batches_are_refused_in_one_sentence(case, ids):
    act, message = REFUSED[case]
    m = LastLayerPNML(Tagger()).fit(ids)
    with pytest.raises(InputError, match=message) as caught:
        act(m, ids)
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith((".", '"'))


def test_features_that_are_nan_are_refused_with_their_row(network, inputs):
    m = LastLayerPNML(network).fit(inputs)
    broken = inputs.clone()
    broken[7, 0] = torch.nan
    for act, name in (
        (lambda: m(broken), "The input"),
        (lambda: m.score([inputs, broken]), "Batch 1"),
        (lambda: m.score_features(network[:2](broken)), "The array"),
    ):
        with pytest.raises(InputError, match=f"{name} gives features that are NaN .* in row 7"):
            act()


def test_without_pandas_one_sentence_says_so(network, inputs, monkeypatch):
    m = LastLayerPNML(network).fit(inputs)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match="as_frame=True makes a pandas data frame, but pandas is"):
        m.score([inputs], as_frame=True)
