"""Claims of chapters 5 to 7: networks, attacks, active learning."""

from __future__ import annotations

from pnml_experiments.framework.evidence import Claim, Found, Verdict, Word, by_count, shown

_AUROC = "AUROC, percent"
_PICKS = "Accuracy in percent, on average over all rounds"


def _improves(method: str) -> Claim:
    def judge(found: Found) -> Verdict:
        good, of, gains = 0, 0, []
        for row in found.rows(_AUROC, method=method):
            labels = {"IND": row.labels["IND"], "OOD": row.labels["OOD"]}
            added = found.row(_AUROC, method=f"{method} + pNML", **labels)
            value = added.fair or added.ours
            if row.ours is None or value is None:
                continue
            of += 1
            good += value.value > row.ours.value
            gains.append(value.value - row.ours.value)
        mean = sum(gains) / len(gains)
        said = (
            f"The AUROC rises on {good} of {of} pairs of data sets that can be had, by {mean:.1f} "
            "points on average, with the scale chosen from training rows alone."
        )
        return by_count(good, of, said)

    name = "the maximal probability" if method == "Baseline" else method
    text = f"On a DenseNet, pNML added to {name} detects unknown images better."
    return Claim(5, text, "ood-densenet", judge)


def _open_set(found: Found) -> Verdict:
    table = "OSCR area, 1000 rows of each set"
    unknown = list(dict.fromkeys(row.labels["unknown"] for row in found.rows(table)))
    good, of, gains = 0, 0, []
    for name in unknown:
        scores = {row.labels["score"]: row.ours for row in found.rows(table, unknown=name)}
        refit, plain = scores.get("pNML refit"), scores.get("Max-prob")
        if refit is not None and plain is not None:
            of += 1
            good += refit.value > plain.value
            gains.append(refit.value - plain.value)
    if not of:
        return Verdict("not settled here", "The refitted layer was not run.")
    said = (
        f"With a ResNet-20 the refitted layer has a larger OSCR area than the maximal probability "
        f"on {good} of {of} unknown sets, by {sum(gains) / of:+.3f} on average; the network of the "
        "thesis cannot be had."
    )
    return by_count(good, of, said)


def _ablation(found: Found) -> Verdict:
    table = "By the number of tuned layers"
    loss = {n: found.ours(table, layers=n, number="log-loss, mean").value for n in ("0", "2", "7")}
    said = (
        f"Mean log-loss to base 10 with 0, 2 and 7 tuned layers of a ResNet-20: {loss['0']:.3f}, "
        f"{loss['2']:.3f}, {loss['7']:.3f}, as printed, from the raw genies."
    )
    lowest = min(loss, key=lambda n: loss[n]) == "2"
    return Verdict("holds" if lowest else "does not hold", said)


def _transferred(found: Found) -> Verdict:
    table = "Accuracy, percent"
    plain = found.ours(table, model="robust network", attack="PGD")
    defended = found.ours(table, model="robust, λ = 0.1", attack="PGD")
    said = (
        f"PGD made for the network leaves it {shown(plain)} % and the defence {shown(defended)} % "
        "of 1,000 digits."
    )
    return Verdict("holds" if defended.low > plain.value else "does not hold", said)


def _adaptive(found: Found) -> Verdict:
    table = "Gain over the robust network"
    gains = {row.labels["λ"]: row.fair for row in found.rows(table)}
    best = max((gain for gain in gains.values() if gain is not None), key=lambda gain: gain.value)
    said = (
        f"In the worst case over attacks made for each the best strength changes accuracy by "
        f"{shown(best)} points: who knows of the defence uses its step."
    )
    return Verdict("holds" if best.low > 0 else "does not hold", said)


def _mechanisms(found: Found) -> Verdict:
    shares = {
        name: found.ours("Mechanisms, percent", of_label_1=f"of these: {name}")
        for name in ("local maximum", "overshoot", "neither")
    }
    said = ", ".join(f"{name} {shown(share)} %" for name, share in shares.items())
    both = min(shares["local maximum"].low, shares["overshoot"].low) > 0
    most = both and shares["neither"].value < 5
    word: Word = "holds" if most else "holds in part" if both else "does not hold"
    return Verdict(word, f"Of the points that the defence turns back in the plane: {said}.")


def _labels(found: Found) -> Verdict:
    gains = {
        rival: found.ours(_PICKS, number="DIAL less this", strategy=rival)
        for rival in ("random", "BALD", "EPIG")
    }
    said = "Mean accuracy of DIAL less that of " + "; ".join(
        f"{rival}: {shown(gain)} points" for rival, gain in gains.items()
    )
    clear = sum(gain.low > 0 for gain in gains.values())
    return by_count(clear, len(gains), f"{said}. Reduced network and rounds, 5 seeds.")


def _strange(found: Found) -> Verdict:
    shares = {
        name: found.ours("Picks out of distribution", strategy=name)
        for name in ("DIAL", "BALD", "EPIG", "random")
    }
    said = "Share of strange picks: " + ", ".join(f"{n} {shown(s)} %" for n, s in shares.items())
    dial, rivals = shares["DIAL"], [shares[name] for name in ("BALD", "EPIG", "random")]
    if all(dial.high < rival.low for rival in rivals):
        return Verdict("holds", f"{said}.")
    fewer = all(dial.value < rival.value for rival in rivals)
    return Verdict("holds in part" if fewer else "does not hold", f"{said}; intervals overlap.")


NETWORKS = (
    _improves("Baseline"),
    _improves("ODIN"),
    _improves("Gram"),
    _improves("OECC"),
    Claim(
        5,
        "The fully trained last layer tells known from unknown classes better than the network.",
        "open-set-resnet20",
        _open_set,
    ),
    Claim(
        5, "Two tuned layers have a lower log-loss than none or seven.", "ablation-table", _ablation
    ),
    Claim(
        6,
        "The defence raises accuracy under attacks made for the network.",
        "adversarial-mnist",
        _transferred,
    ),
    Claim(
        6,
        "The defence raises accuracy under attacks that know of it.",
        "adversarial-mnist",
        _adaptive,
    ),
    Claim(
        6,
        "Two mechanisms explain the defence: local maxima and overshoots.",
        "adversarial-toy",
        _mechanisms,
    ),
    Claim(
        7,
        "With strange images in the pool DIAL needs fewer labels than its rivals.",
        "dial-mnist-ood",
        _labels,
    ),
    Claim(7, "DIAL picks fewer strange images than its rivals.", "dial-mnist-ood", _strange),
)
