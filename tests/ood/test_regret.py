"""The regret as an outlier score: both doors, one threshold, and no word from outliers."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score

import child
from pnml import metrics
from pnml.errors import InputError
from pnml.nn import LastLayerPNML
from pnml.ood import MSP, Energy, MaxLogit, RegretDetector, evaluate_ood


@pytest.fixture
def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 12), torch.nn.ReLU(), torch.nn.Linear(12, 3))


@pytest.fixture
def inputs():
    return torch.randn(400, 4, generator=torch.Generator().manual_seed(1))


def loader(x, size=64):
    rows = torch.utils.data.TensorDataset(x, torch.zeros(len(x)))
    return torch.utils.data.DataLoader(rows, batch_size=size)


def by_definition(features, weight, bias, new, scale, alpha):
    """Regret from the genie probabilities p / (p + p^g (1 − p)) and the inverse itself."""
    unit = features / np.linalg.norm(features, axis=1, keepdims=True)
    P = np.linalg.inv(unit.T @ unit + alpha * np.eye(unit.shape[1]))
    out = []
    for phi in new / np.linalg.norm(new, axis=1, keepdims=True):
        kappa = phi @ P @ phi
        z = weight @ (scale * phi) + bias
        p = np.exp(z - z.max()) / np.exp(z - z.max()).sum()
        out.append(np.log(np.sum(p / (p + p ** (kappa / (1 + kappa)) * (1 - p)))))
    return np.array(out)


def test_the_score_is_the_regret_by_its_definition(rng):
    X, new = rng.normal(size=(50, 4)), rng.normal(size=(7, 4))
    W, b = rng.normal(size=(3, 4)), rng.normal(size=3)
    detector = RegretDetector.from_embeddings(W, b, X, scale=1.5, alpha=0.1, regions=False)
    expected = by_definition(X, W, b, new, 1.5, 0.1)
    np.testing.assert_allclose(detector.predict_features(new), expected, rtol=1e-10)
    np.testing.assert_allclose(detector.predict(new), expected, rtol=1e-10)


def test_the_threshold_is_the_quantile_of_regrets_of_rows_left_out(rng):
    X, W, b = rng.normal(size=(40, 4)), rng.normal(size=(3, 4)), rng.normal(size=3)
    detector = RegretDetector.from_embeddings(W, b, X, scale=2.0, alpha=0.3, regions=False)
    left_out = [
        by_definition(np.delete(X, i, axis=0), W, b, X[i : i + 1], 2.0, 0.3)[0] for i in range(40)
    ]
    for level in (0.25, 0.9, 1.0):
        expected = np.quantile(left_out, level, method="inverted_cdf")
        assert detector.threshold(level) == pytest.approx(expected, rel=1e-9)
        margin = detector.decision_function(X, level=level)
        near = detector.pnml(X).leverage.numpy() <= detector.pnml.leverage_threshold(level)
        assert near.sum() >= level * len(X)
        by_regret = expected - detector.predict(X)
        kept = near | (by_regret < 0)  # of the others, the leverage decides
        np.testing.assert_allclose(margin[kept], by_regret[kept], atol=1e-9)
        assert (margin[~near] < 0).all()
        np.testing.assert_array_equal(detector.trusted(X, level=level), margin >= 0)
    np.testing.assert_array_equal(detector.score_samples(X), -detector.predict(X))


def test_inputs_and_features_are_two_doors_to_one_score(network, inputs):
    detector = RegretDetector(network).fit(loader(inputs))
    features = network[:2](inputs).detach()
    expected = detector.predict(inputs)
    torch.testing.assert_close(detector(inputs), expected)
    torch.testing.assert_close(detector.predict_features(features), expected)
    again = RegretDetector(network).fit_features(features, torch.zeros(len(features)))
    torch.testing.assert_close(again.predict_features(features), expected, rtol=1e-6, atol=1e-12)
    for rows in (inputs.numpy(), inputs.double().numpy()):
        found = detector.predict(rows)
        assert isinstance(found, np.ndarray)
        np.testing.assert_allclose(found, expected.numpy(), rtol=1e-5)
    assert isinstance(detector.predict_features(features.numpy()), np.ndarray)


def test_rows_are_the_same_rows_as_a_tensor_an_array_or_a_loader(network, inputs):
    def first_batch(model, args):
        assert len(args[0]) <= 512  # not all at once

    handle = network.register_forward_pre_hook(first_batch)
    many = inputs.repeat(2, 1)
    expected = RegretDetector(network).fit(loader(many)).predict(inputs)
    for rows in (many, many.numpy(), many.double().numpy(), (part for part in many.split(99))):
        found = RegretDetector(network).fit(rows)
        torch.testing.assert_close(found.predict(inputs), expected, rtol=1e-5, atol=1e-9)
    handle.remove()
    assert found.predict(inputs[:0]).shape == (0,)


def test_a_loader_is_scored_as_its_batches_are(network, inputs, capsys):
    detector = RegretDetector(network).fit(loader(inputs))
    expected = as_array(detector.predict(inputs))
    found = detector.predict(loader(inputs, 64), progress=True)
    assert "Scoring inputs" in capsys.readouterr().err
    # products of other batches may be rounded otherwise in float32
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-9)
    np.testing.assert_array_equal(detector.trusted(loader(inputs)), detector.trusted(inputs))
    margin = detector.decision_function(part for part in inputs.split(100))
    np.testing.assert_allclose(margin, as_array(detector.decision_function(inputs)), atol=1e-6)
    with pytest.raises(InputError, match="nothing to score, since the loader gave no rows"):
        detector.predict(iter([]))


def test_several_inputs_in_a_list_are_refused_and_labels_are_not(network, inputs):
    detector = RegretDetector(network).fit(inputs)
    for batches in (inputs.split(64), [inputs.numpy(), inputs.numpy()]):
        with pytest.raises(InputError, match="only the first is the input; pass a DataLoader"):
            detector.predict(batches)
    expected = detector.predict(inputs)
    for labels in (torch.zeros(len(inputs)), torch.zeros(inputs.shape, dtype=torch.long)):
        torch.testing.assert_close(detector.predict([inputs, labels]), expected)


def test_a_mask_is_that_of_the_module():
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Tanh(), torch.nn.Linear(6, 3))
    x, real = torch.randn(20, 5, 4), torch.arange(5).expand(20, 5) < 3
    detector = RegretDetector(net).fit([x], mask=real)
    assert detector.pnml.rows_ == 60
    labels = torch.where(real, 0, -100)
    assert np.isnan(as_array(detector.predict((x, labels)))).sum() == 40
    np.testing.assert_allclose(
        detector.predict(iter([(x, labels)])), detector.pnml.score([(x, labels)]).regret
    )


def as_array(values):
    return values.detach().numpy()


def test_a_fitted_module_is_used_as_it_is(network, inputs):
    module = LastLayerPNML(network, scale=2.0).fit([inputs])
    detector = RegretDetector(module)
    torch.testing.assert_close(detector.predict(inputs), module(inputs).regret.detach())
    assert detector.threshold(0.9) == module.regret_threshold(0.9)
    assert not detector.predict(inputs).requires_grad
    with pytest.raises(InputError, match="come too late"):
        RegretDetector(module, scale=1.0)


def test_most_new_ordinary_rows_pass_and_far_ones_do_not(network, inputs):
    narrow = torch.tensor([1.0, 1.0, 0.1, 0.1])
    detector = RegretDetector(network).fit(loader(inputs * narrow))
    new = torch.randn(500, 4, generator=torch.Generator().manual_seed(2)) * narrow
    assert detector.trusted(new, level=0.95).double().mean() == pytest.approx(0.95, abs=0.04)
    far = 20 * torch.eye(4)[2:]
    assert not detector.trusted(far).any()


def test_outliers_in_units_that_training_never_used_are_all_found(rng):
    X = np.maximum(rng.normal(size=(5000, 64)), 0)
    dead = rng.permutation(64)[:16]
    X[:, dead] = 0
    ind, ood = np.maximum(rng.normal(size=(500, 64)), 0), np.zeros((500, 64))
    ind[:, dead] = 0
    ood[:, dead] = np.maximum(rng.normal(size=(500, 16)), 0)
    for alpha in ("auto", 0.0):
        detector = RegretDetector.from_embeddings(
            rng.normal(size=(10, 64)), np.zeros(10), X, alpha=alpha
        )
        scores = np.r_[detector.predict(ind), detector.predict(ood)]
        assert roc_auc_score(np.r_[np.zeros(500), np.ones(500)], scores.clip(max=1e9)) == 1.0
        assert not detector.trusted(ood, level=1.0).any()
    assert np.isinf(detector.predict(ood)).all()


def test_the_probabilities_can_be_judged_as_they_come(network, inputs):
    out = LastLayerPNML(network).fit([inputs])(inputs)
    labels = torch.multinomial(out.probs, 1, generator=torch.Generator().manual_seed(3))[:, 0]
    found = metrics.calibration(out.probs.detach(), labels, bins=5)
    assert found.nll == pytest.approx(out.log_loss(labels).mean().item())
    assert found.ece < 0.15


def test_it_stands_in_one_table_with_the_others(network, inputs):
    detectors = {"regret": RegretDetector(network).fit([inputs]), "softmax": MSP(network)}
    table = evaluate_ood(detectors, loader(inputs), {"far": loader(30 * inputs.abs())})
    assert table.detectors == ("regret", "softmax")
    assert table["regret", "far"].auroc.value > 0.5


def test_the_package_can_be_imported_without_pytorch():
    code = (
        "import sys; sys.modules['torch'] = None; import numpy as np; "
        "from pnml.ood import MSP, evaluate_ood; "
        "f = MSP(lambda x: x); t = evaluate_ood([f], np.eye(3), {'x': 0.1 * np.eye(3)}); "
        "print(t['MSP', 'x'].auroc.value); import pnml.ood; "
        "\ntry: pnml.ood.RegretDetector(None)"
        "\nexcept ModuleNotFoundError as e: print(e)"
    )
    done = child.python(code, check=True)
    assert done.stdout.startswith("1.0\n")
    assert 'pip install "pnml[torch]"' in done.stdout


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda d, x: d.predict(x), "fit"),
        (lambda d, x: d.threshold(), "fit"),
        (lambda d, x: d.fit([]), "nothing to fit"),
        (lambda d, x: d.fit([x]).threshold(0), "level is 0"),
        (lambda d, x: d.fit([x]).threshold("most"), "level is 'most'"),
        (lambda d, x: d.fit([x]).predict_features(x[:, :2]), "columns"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(call, says, network, inputs):
    with pytest.raises(InputError, match=says):
        call(RegretDetector(network), inputs)


@pytest.mark.data
def test_the_measured_areas_of_resnet_features_are_reproduced(data_dir):
    file = np.load(data_dir / "features" / "cifar10_resnet20.npz")
    oods = ["cifar100_test", "svhn_test", "tiny_resize", "tiny_crop", "gaussian", "uniform"]
    W, b = file["fc_weight"].astype(float), file["fc_bias"].astype(float)

    def head(rows):
        return rows @ W.T + b

    train = file["f_cifar10_train"].astype(float)
    detectors = {
        "MSP": MSP(head),
        "Energy": Energy(head),
        "own": RegretDetector.from_embeddings(W, b, train, scale=None, regions=False),
        "one": RegretDetector.from_embeddings(W, b, train, scale=1.0, regions=False),
        "auto": RegretDetector.from_embeddings(W, b, train),
    }
    ood = {name: file[f"f_{name}"].astype(float) for name in oods}
    table = evaluate_ood(detectors, file["f_cifar10_test"].astype(float), ood, resamples=2)
    mean = {name: 100 * value for name, value in table.mean().items()}
    for name, printed in {"MSP": 87.5, "Energy": 86.5, "own": 90.9, "one": 94.2}.items():
        assert mean[name] == pytest.approx(printed, abs=0.06), name
    assert mean["auto"] >= 94.0
    assert mean["auto"] >= max(mean["MSP"], mean["Energy"]) + 5
    near = {name: 100 * table[name, "cifar100_test"].auroc.value for name in detectors}
    assert near["MSP"] == pytest.approx(86.0, abs=0.06)
    assert near["Energy"] == pytest.approx(88.1, abs=0.06)
    assert near["one"] == pytest.approx(85.2, abs=0.06)
    assert near["auto"] == max(near.values())


@pytest.mark.data
def test_the_measured_areas_of_sentence_embeddings_are_reproduced(data_dir):
    from sklearn.linear_model import LogisticRegression

    file = np.load(data_dir / "features" / "clinc150_minilm.npz")
    X, y = file["x_train"].astype(float), file["y_train"]
    model = LogisticRegression(C=10, max_iter=1000).fit(X, y)
    head = model.coef_, model.intercept_
    detectors = {
        "MSP": MSP(model.decision_function),
        "MaxLogit": MaxLogit(model.decision_function),
        "Energy": Energy(model.decision_function),
        "one": RegretDetector.from_embeddings(*head, X, scale=1.0, regions=False),
        "auto": RegretDetector.from_embeddings(*head, X),
    }
    ind, ood = file["x_test"].astype(float), {"oos": file["x_oos_test"].astype(float)}
    mean = evaluate_ood(detectors, ind, ood, resamples=2).mean()
    mean = {name: 100 * value for name, value in mean.items()}
    for name, printed in {"MSP": 96.18, "MaxLogit": 97.22, "Energy": 97.25}.items():
        assert mean[name] == pytest.approx(printed, abs=0.05), name
    assert 97.38 <= mean["one"] <= 97.55
    assert mean["auto"] >= 97.3
    assert mean["auto"] > max(mean["MSP"], mean["MaxLogit"], mean["Energy"])
