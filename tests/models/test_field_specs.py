"""Specs of stored fields follow from type hints."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt
import pytest

from pnml.core import conditions
from pnml.core.arrays import FloatArray
from pnml.errors import InputError
from pnml.models.codec import value
from pnml.models.decode import decode
from pnml.models.field_specs import field_hints, spec_of, sums_of
from pnml.models.schema import objection


@dataclass(frozen=True)
class Part:
    rows: Annotated[FloatArray, "m w"]


@dataclass(frozen=True)
class Whole:
    xx: Annotated[FloatArray, "d d"]
    part: Annotated[Part, "w=d+1"]
    count: int = 0


@pytest.mark.parametrize(
    ("hint", "right", "wrong"),
    [
        (float, [1.0, np.float64(1.0)], [1, True, "1", None]),
        (int, [1], [1.0, True, np.int64(1)]),
        (bool, [True], [1, np.True_]),
        (str, ["a"], [b"a", None]),
        (int | None, [1, None], [1.0]),
        (Part | None, [Part(np.zeros((1, 1))), None], [Whole]),
        (tuple[str, ...], [(), ("a", "b")], [["a"], ("a", 1)]),
        (tuple[str, float], [("a", 1.0)], [("a",), ("a", "b")]),
        (list[int], [[1, 2]], [(1, 2), [1.0]]),
        (Annotated[FloatArray, "d"], [np.zeros(3)], [np.zeros((3, 1)), np.zeros(3, np.float32)]),
        (Annotated[npt.NDArray[np.bool_], "d k"], [np.ones((1, 1), bool)], [np.ones((1, 1))]),
        (Annotated[FloatArray, "d"] | None, [np.zeros(3), None], [0.0]),
    ],
)
def test_a_type_hint_says_which_values_a_file_may_hold(hint, right, wrong):
    spec = spec_of(hint)
    assert all(map(spec.accepts, right))
    assert not any(map(spec.accepts, wrong))


def test_an_array_must_name_its_axes():
    with pytest.raises(TypeError, match="no field of a model file"):
        spec_of(FloatArray)


def test_axes_and_sums_are_read_from_the_class():
    codec = value(Whole)
    assert list(codec.params["xx"].sizes(np.zeros((2, 3)))) == [("d", 2), ("d", 3)]
    assert codec.sums == sums_of(field_hints(Whole)) == (("w", "d+1"),)
    assert codec.text == "`xx` (d, d), `part` (Part), `count` (whole number; may be left out)"


def test_a_stored_value_must_have_the_shapes_of_its_class():
    fields = {name: {"array": name} for name in ("scale", "V", "absent")} | {"tolerance": 0.1}
    document = {"objects": [{"class": "Span", "params": fields}], "layouts": {}, "model": None}
    arrays = {"scale": np.ones(2), "V": np.ones((3, 1)), "absent": np.ones(2)}
    with pytest.raises(InputError, match="V of a Span has length 3 where the rest of the"):
        decode(document, arrays)


NUMBERS = [-np.inf, -1e308, -1.0, -0.0, 0.0, 5e-324, 0.5, 1.0, 1e308, np.inf, np.nan]
LARGEST = 1e250  # no sum of squares of rows that may be fitted is larger
CONDITIONS = {
    conditions.FINITE: lambda x: np.abs(x) <= LARGEST,
    conditions.POSITIVE: lambda x: (x > 0) & (x <= LARGEST),
    conditions.NOT_NEGATIVE: lambda x: (x >= 0) & (x <= LARGEST),
    conditions.SHARE: lambda x: (x >= 0) & (x <= 1),
    conditions.MAY_BE_INFINITE: lambda x: x >= 0,
    conditions.NOT_NAN: lambda x: ~np.isnan(x),
    conditions.ANY_NUMBER: lambda x: np.full(np.shape(x), True),
}


@pytest.mark.parametrize("condition", CONDITIONS, ids=lambda condition: condition.words)
def test_a_condition_holds_where_all_numbers_are_as_it_says(condition):
    is_so = CONDITIONS[condition]
    for a in NUMBERS:
        assert condition.holds(a) == is_so(np.array(a)), a
        for b in NUMBERS:
            both = np.array([a, b])
            assert condition.holds(both) == is_so(both).all(), both
    assert condition.holds(np.zeros((0, 2)))
    assert condition.holds(np.array([0.5, 1.0], dtype=np.float32))


def test_numbers_in_order_are_0_or_more_and_never_fall():
    for numbers, right in [([0.0, 1.0, 1.0, np.inf], True), ([1.0, 0.5], False), ([-1.0], False)]:
        assert conditions.IN_ORDER.holds(np.array(numbers)) == right
    assert not conditions.IN_ORDER.holds(np.array([0.0, np.nan]))


def test_a_number_is_finite_unless_its_field_says_otherwise():
    assert not spec_of(float).accepts(np.inf)
    assert not spec_of(Annotated[FloatArray, "d"]).accepts(np.array([1.0, np.nan]))
    assert spec_of(Annotated[float, conditions.ANY_NUMBER]).accepts(np.nan)
    assert spec_of(Annotated[FloatArray, "d", conditions.NOT_NAN]).accepts(np.array([np.inf]))
    spec = spec_of(Annotated[FloatArray, "d", conditions.POSITIVE] | None)
    assert spec.text == "d; finite and above 0, or null"
    assert objection(spec, np.zeros(2)) == "must be finite and above 0"
    assert objection(spec, "text") == "is of another kind or shape"
