"""False alarms are as rare as stated, drift is found, and a monitor goes on where it was saved."""

import numpy as np
import pytest

from pnml import InputError, PNMLRegressor
from pnml.scale.monitor import RegretMonitor


def fitted(random, rows, columns):
    X = random.normal(size=(rows, columns))
    return PNMLRegressor().fit(X, X[:, 0] + random.normal(size=rows))


def false_alarms(runs, alarm):
    """Share of runs with an alarm, less three standard errors."""
    share = np.mean([alarm(seed) for seed in range(runs)])
    return share - 3 * np.sqrt(share * (1 - share) / runs)


def test_false_alarms_are_at_most_as_frequent_as_stated():
    def alarm(seed):
        random = np.random.default_rng(seed)
        monitor = RegretMonitor(random.exponential(size=30), false_alarm=0.2, within=200, seed=seed)
        return monitor.update(random.exponential(size=200)) is not None

    assert false_alarms(600, alarm) <= 0.2


@pytest.mark.parametrize(("rows", "columns"), [(60, 40), (100, 5)])
def test_leave_one_out_regrets_keep_the_level(rows, columns):
    def alarm(seed):
        random = np.random.default_rng(seed)
        model = fitted(random, rows, columns)
        monitor = RegretMonitor.of(model, false_alarm=0.2, within=200, seed=seed)
        return monitor.update(model.regret(random.normal(size=(200, columns)))) is not None

    assert false_alarms(150, alarm) <= 0.2


def test_the_p_value_is_one():
    """At any time, and so at the worst: small values are as rare as they say."""

    def small(seed):
        random = np.random.default_rng(seed)
        monitor = RegretMonitor(random.normal(size=40), seed=seed)
        monitor.update(random.normal(size=200))
        return monitor.p_value <= 0.1

    assert false_alarms(600, small) <= 0.1


def test_drift_is_found_soon_and_dated():
    random = np.random.default_rng(0)
    model = fitted(random, 500, 20)
    delays, dates = [], []
    for seed in range(20):
        monitor = RegretMonitor.of(model, seed=seed)
        assert monitor.update(model.regret(random.normal(size=(1000, 20)))) is None
        moved = random.normal(size=(500, 20))
        moved[:, 0] += 3
        drift = monitor.update(model.regret(moved))
        delays.append(drift.row - 1000)
        dates.append(drift.since - 1000)
    assert np.median(delays) < 50
    assert np.abs(np.median(dates)) < 10
    assert all(row >= since for row, since in zip(delays, dates, strict=True))


def test_never_seen_rows_raise_the_alarm_at_once():
    monitor = RegretMonitor(np.linspace(0, 1, 200))
    drift = monitor.update([np.inf] * 30)
    assert drift.row < 15
    assert drift.since == 0


def test_evidence_beyond_all_numbers_stays_a_number():
    monitor = RegretMonitor(np.linspace(0, 1, 20))
    drift = monitor.update(np.arange(3000.0) + 5)  # each row above all before it
    assert drift.row < 30
    assert 1 < monitor.evidence < np.inf
    assert monitor.p_value < 1e-300


def test_rows_one_by_one_are_rows_at_once():
    random = np.random.default_rng(2)
    stream = np.concatenate([random.exponential(size=300), 3 * random.exponential(size=100)])
    whole, single = (RegretMonitor(np.linspace(0.01, 3, 50), pool=60) for _ in range(2))
    whole.update(stream)
    for score in stream:
        single.update([score])
    assert single.rows == whole.rows == 400
    assert single.drift.row == whole.drift.row
    assert single.evidence == pytest.approx(whole.evidence, rel=1e-9)
    assert single.p_value == pytest.approx(whole.p_value, rel=1e-9)


def test_a_saved_monitor_goes_on_where_it_was(tmp_path):
    random = np.random.default_rng(4)
    monitor = RegretMonitor(random.exponential(size=50), pool=70, within=500, seed=9)
    monitor.update(random.exponential(size=100))
    monitor.save(tmp_path / "monitor.pnml")
    again = RegretMonitor.load(tmp_path / "monitor.pnml")
    assert again.evidence == monitor.evidence
    later = 4 * random.exponential(size=80)
    assert again.update(later) == monitor.update(later)
    assert again.drift is not None
    assert (again.evidence, again.p_value) == (monitor.evidence, monitor.p_value)
    again.save(tmp_path / "monitor.pnml")
    assert RegretMonitor.load(tmp_path / "monitor.pnml").drift == again.drift


def test_reset_forgets_the_alarm_and_may_take_another_reference():
    monitor = RegretMonitor(np.linspace(0, 1, 100))
    high = np.linspace(5, 6, 60)
    assert monitor.update(high) is not None
    monitor.reset(high)
    assert (monitor.drift, monitor.rows, monitor.p_value, monitor.evidence) == (None, 0, 1.0, 0.0)
    random = np.random.default_rng(0)
    assert monitor.update(random.uniform(5, 6, 500)) is None


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: RegretMonitor([]), "reference is empty"),
        (lambda: RegretMonitor([1.0, np.nan]), "NaN in row 1"),
        (lambda: RegretMonitor([[1.0]]), "shape"),
        (lambda: RegretMonitor([1.0], false_alarm=0), "false_alarm is 0"),
        (lambda: RegretMonitor([1.0], within=0), "within is 0"),
        (lambda: RegretMonitor([1.0], pool=1.5), "pool is 1.5"),
        (lambda: RegretMonitor([1.0]).update([np.nan]), "regrets holds NaN"),
        (lambda: RegretMonitor.of("text"), "str has no leave-one-out regrets"),
        (lambda: RegretMonitor.load("/no/such/file"), "Cannot load /no/such/file"),
    ],
)
def test_bad_input_is_told_in_one_sentence(make, words):
    with pytest.raises(InputError, match=words):
        make()


def test_a_model_is_no_monitor(tmp_path):
    import pnml

    pnml.save(PNMLRegressor().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0]), tmp_path / "m.pnml")
    with pytest.raises(InputError, match="holds a model and no monitor"):
        RegretMonitor.load(tmp_path / "m.pnml")


def test_a_path_that_no_file_can_have_is_refused_in_one_sentence():
    with pytest.raises(InputError, match=r"Cannot write .* check the path"):
        RegretMonitor(np.linspace(0, 1, 200)).save("moni\0tor")
