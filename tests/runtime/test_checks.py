"""Checks of arguments: what passes, and the sentence for what does not."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from pnml.errors import InputError
from pnml.runtime import checks

NUMBERS = [0, 1, 0.5, np.float32(0.5), np.float64(2), np.int8(3), np.longdouble(1), Fraction(1, 2)]
NO_NUMBERS = [True, np.True_, math.nan, math.inf, -math.inf, "1", None, 1j, 10**400, Decimal(1)]
NO_NUMBERS += [np.array([1.0]), np.float64("nan"), [1]]


@pytest.mark.parametrize("value", NUMBERS, ids=repr)
def test_numbers_are_finite_reals(value):
    assert checks.is_number(value)
    assert not checks.is_number(value, 10)


@pytest.mark.parametrize("value", NO_NUMBERS, ids=lambda value: repr(value)[:20])
def test_nothing_else_is_a_number(value):
    assert not checks.is_number(value)
    assert not checks.is_share(value)


@pytest.mark.parametrize(
    ("value", "whole"),
    [(1, True), (np.uint8(1), True), (10**400, True), (0, False), (1.0, False), (True, False)],
    ids=lambda value: repr(value)[:20],
)
def test_whole_numbers_are_integers(value, whole):
    assert checks.is_whole(value, 1) == whole


REFUSALS = {
    "shuffle is 1, but it must be True or False; pass one of them.": lambda: checks.check_flag(
        "shuffle", 1
    ),
    'loss is \'x\', which is none of "a", "b"; pass one of them.': lambda: checks.check_choice(
        "loss", "x", ("a", "b")
    ),
    "loss is ['a'], which is none of \"a\"; pass one of them.": lambda: checks.check_choice(
        "loss", ["a"], ("a",)
    ),
    'alpha is -1, but it must be a finite number of at least 0 or "loo"; pass alpha="loo" to have '
    "it chosen by leave-one-out.": lambda: checks.check_number_or_loo("alpha", -1, positive=False),
    'alpha is 0, but it must be a finite number greater than 0 or "loo"; pass alpha="loo" to have '
    "it chosen by leave-one-out.": lambda: checks.check_number_or_loo("alpha", 0, positive=True),
    "tol is -1, but it must be a finite number of at least 0; pass such a value.": lambda: (
        checks.check_number("tol", -1, 0)
    ),
    'layers is 0, but it must be a whole number, or "all", of at least 1; pass such a value.': (
        lambda: checks.check_whole("layers", 0, 1, 'a whole number, or "all",')
    ),
    "t is 0, but a finite number greater than 0 is needed; pass one.": lambda: (
        checks.check_positive("t", 0)
    ),
    "step is True, but a whole number of 1 or more is needed; pass one.": lambda: (
        checks.check_count("step", True)
    ),
    "step is 9, but there are only 3 rows; ask for 3 at most.": lambda: checks.check_count(
        "step", 9, 3, "rows"
    ),
    "seed is -1, but a whole number from 0 on is needed; pass one.": lambda: checks.check_seed(-1),
}


@pytest.mark.parametrize("sentence", REFUSALS)
def test_a_refusal_is_one_known_sentence(sentence):
    with pytest.raises(InputError) as error:
        REFUSALS[sentence]()
    assert str(error.value) == sentence


def test_what_passes_comes_back_as_a_plain_value():
    assert checks.check_flag("a", np.True_) is True
    assert checks.check_number_or_loo("a", "loo", positive=True) is None
    assert checks.check_number_or_loo("a", Fraction(1, 2), positive=True) == 0.5
    assert type(checks.check_count("a", np.int8(3), 3)) is int
    assert checks.check_seed(0) == 0
    assert checks.check_positive("a", 1e-300) == 1e-300
    assert checks.check_number("a", 0, 0) == 0.0
    assert checks.is_share(1, or_one=True)
