"""How many words never seen to expect: laws of counting, and false alarms at their level."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnml.tables.word_times import RareWords, none_seen, seen_again

WORDS = st.lists(st.lists(st.integers(0, 9), max_size=8), max_size=5)


@given(WORDS)
def test_words_in_any_parts_are_counted_up_to_three(parts):
    known, times = np.zeros(0, dtype=np.int64), none_seen()
    for part in parts:
        words, counts = np.unique(np.array(part, dtype=np.int64), return_counts=True)
        known, times = seen_again(known, times, words[::-1], counts[::-1])
    truth = Counter(word for part in parts for word in part)
    assert known.tolist() == sorted(truth)
    assert times.tolist() == [min(truth[word], 3) for word in sorted(truth)]


@pytest.mark.parametrize("power", [0.0, 1.0, 1.5])
@pytest.mark.parametrize(("trained", "rows"), [(300, 50), (300, 30_000), (2000, 500)])
def test_words_of_one_law_are_called_drift_as_seldom_as_the_level_says(power, trained, rows):
    """Words by a law of powers, training and new cells drawn alike, 400 times."""
    rng = np.random.default_rng(0)
    law = np.arange(1.0, 3001.0) ** -power
    law /= law.sum()
    alarms = 0
    for _ in range(400):
        times, now = rng.multinomial(trained, law), rng.multinomial(rows, law)
        rare = RareWords.of(times, trained)
        alarms += rare.chance(int(now[times == 0].sum()), rows) < 0.01
    # 400 draws at 1 % are above 12 with a chance of 0.1 %
    assert alarms <= 12


def test_twice_as_many_as_expected_are_drift():
    rare = RareWords(once=200, twice=80, rows=1000)
    assert rare.expected == 0.2
    assert rare.chance(400, 1000) < 1e-6
    assert rare.chance(200, 1000) > 0.3
