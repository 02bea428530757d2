"""Out-of-distribution detectors, and the tables that compare them."""

from __future__ import annotations

import numpy as np
import torch

from benchmarks.carried_over.rows import LEVELS, convolutions, images, inputs, network
from pnml.nn import LastLayerPNML
from pnml.ood import (
    MSP,
    ODIN,
    CosineSimilarity,
    Energy,
    Gram,
    GramRegretDetector,
    MaxLogit,
    OODRow,
    OODTable,
    OpenSetRow,
    OpenSetTable,
    RegretDetector,
    evaluate_ood,
    evaluate_open_set,
    with_pnml,
)


def probe(record):
    torch.set_num_threads(1)
    flat(record)
    pictures(record)
    cosines(record)
    tables(record)


def record_detector(record, key, detector, new):
    record.case(f"{key}/predict", lambda: detector.predict(new))
    record.case(f"{key}/call", lambda: detector(new))
    record.case(f"{key}/score_samples", lambda: detector.score_samples(new))
    for level in LEVELS:
        record.case(f"{key}/threshold@{level}", lambda v=level: detector.threshold(v))
        record.case(f"{key}/trusted@{level}", lambda v=level: detector.trusted(new, level=v))
        record.case(
            f"{key}/decision_function@{level}",
            lambda v=level: detector.decision_function(new, level=v),
        )


def flat(record):
    x, new = inputs().double(), torch.cat([inputs(9, seed=2), 20 * inputs(4, seed=3)]).double()
    net = network().double()
    logits = net(x)
    for detector in (MSP, MaxLogit, Energy):
        key = f"ood/{detector.__name__}"
        record_detector(record, key, detector(net).fit([x]), new)
        record.case(f"{key}/score", lambda d=detector: d.score(logits))
        features = detector().fit_features(logits)
        record.case(f"{key}/predict_features", lambda f=features: f.predict_features(net(new)))
        record.case(f"{key}/features threshold", lambda f=features: f.threshold())
    warm = Energy(net, temperature=3.0).fit([x])
    record_detector(record, "ood/Energy warm", warm, new)
    for name, make in {
        "regret": lambda: RegretDetector(net).fit([x]),
        "regret fixed": lambda: RegretDetector(net, "2", alpha=0.1, scale=2.0).fit([x]),
        "regret of a module": lambda: RegretDetector(LastLayerPNML(net).fit(x)),
        "regret moved": lambda: RegretDetector(net, perturb=lambda x: x + 0.1).fit([x]),
    }.items():
        record_detector(record, f"ood/{name}", make(), new)
    with torch.no_grad():
        features = net[:2](x)
    by_features = RegretDetector(net, "2").fit_features(features)
    record.case("ood/regret/predict_features", lambda: by_features.predict_features(features[:9]))
    head = RegretDetector.from_embeddings(net[2].weight, net[2].bias, features)
    record_detector(record, "ood/regret of embeddings", head, 3 * features[:9])
    record.case("ood/too late", lambda: RegretDetector(LastLayerPNML(net).fit(x), scale=1.0))


def pictures(record):
    net, x = convolutions(), images()
    new = torch.cat([x[:5], 3 * images(4, seed=2)])
    odin = ODIN(net, epsilon=0.05, std=[0.5, 2.0]).fit([x])
    record_detector(record, "ood/ODIN", odin, new)
    record.case("ood/ODIN/perturb", lambda: odin.perturb(new))
    record.case("ood/ODIN/score", lambda: odin.score(net(new)))
    tuned = record.case("ood/ODIN/tuned", lambda: ODIN(net).tuned([x[:30]], [2 * x[30:]]))
    if tuned is not None:
        record.members("ood/ODIN/tuned to", tuned, ("epsilon", "temperature"))
    gram = Gram(net, orders=range(1, 4)).fit([x])
    record_detector(record, "ood/Gram", gram, new)
    record.case("ood/Gram/deviations", lambda: gram.deviations(new))
    record.case("ood/Gram/standardised", lambda: gram.standardised(new))
    record.case("ood/Gram/score", lambda: gram.score(gram.deviations(new), np.ones(2)))
    record_detector(record, "ood/Gram layers", Gram(net, layers=["0", "3"]).fit([x]), new)
    for name, make in {
        "MSP": lambda: with_pnml(MSP(net), scale=2.0),
        "Energy": lambda: with_pnml(Energy(net), LastLayerPNML(net).fit([x])),
        "ODIN": lambda: with_pnml(ODIN(net, epsilon=0.05)),
        "Gram": lambda: with_pnml(Gram(net), scale=1.5, alpha=0.1),
        "GramRegret": lambda: GramRegretDetector(Gram(net), RegretDetector(net)),
    }.items():
        record_detector(record, f"ood/with_pnml {name}", make().fit([x]), new)


def cosines(record):
    rng = np.random.default_rng(0)
    features, labels = rng.normal(size=(60, 5)), np.arange(60) % 3
    for name, make in {
        "directions": lambda: CosineSimilarity(np.eye(3, 5)),
        "means": lambda: CosineSimilarity.of_class_means(features, labels),
    }.items():
        detector = make()
        key = f"ood/CosineSimilarity {name}"
        record.case(f"{key}/fit", lambda d=detector: d.fit_features(features))
        record.case(f"{key}/features", lambda d=detector: d.predict_features(2 * features[:9]))
        record.case(f"{key}/score", lambda d=detector: d.score(features, np.eye(3, 5)))
        record.case(f"{key}/threshold", lambda d=detector: d.threshold(0.9))
        record.case(f"{key}/predict", lambda d=detector: d.predict(features))


def head(rows):
    return rows


def tables(record):
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=80)
    usual = 3 * np.eye(3)[labels] + rng.normal(size=(80, 3))
    oods = {"flat": rng.normal(size=(50, 3)), "odd": 1 + rng.normal(size=(40, 3))}
    detectors = {"softmax": MSP(head), "energy": Energy(head)}
    table = evaluate_ood(detectors, usual, oods, resamples=30)
    record.text("ood/table/types", f"{isinstance(table, OODTable)} {type(table.rows[0]) is OODRow}")
    record.members("ood/table", table, ("rows", "confidence", "detectors", "oods"))
    for metric in ("auroc", "fpr95", "tnr95"):
        record.case(f"ood/table/mean {metric}", lambda m=metric: table.mean(m))
        record.case(f"ood/table/to_markdown {metric}", lambda m=metric: table.to_markdown(m))
    record.case("ood/table/cell", lambda: table["energy", "odd"])
    for name in ("to_records", "to_pandas", "__str__", "_repr_markdown_"):
        record.case(f"ood/table/{name}", lambda n=name: getattr(table, n)())
    named = evaluate_ood([MSP(head), Energy(head), MSP(head)], usual, oods, resamples=5)
    record.value("ood/table/named", named.detectors)
    opened = evaluate_open_set(
        detectors, usual.argmax(axis=1), labels, known=usual, unknown=oods, resamples=30
    )
    types = f"{isinstance(opened, OpenSetTable)} {type(opened.rows[0]) is OpenSetRow}"
    record.text("ood/open set/types", types)
    record.members("ood/open set", opened, ("rows", "confidence", "scores", "unknowns"))
    for name in ("mean", "to_markdown", "to_records", "to_pandas", "__str__"):
        record.case(f"ood/open set/{name}()", lambda n=name: getattr(opened, n)())
