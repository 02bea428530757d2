"""Random changes of what a model file holds, for tests of what loading makes of them."""

from __future__ import annotations

import copy
import json

import numpy as np

_WHOLE = [0, -1, 1, 2, 3, 5, 8, 100, 10**6, 2**31, -(2**31), 2**62]
_NUMBERS = [0.0, -1.0, 3.0, 255.0, 256.0, 1e308, 1e-300, np.nan, np.inf, -np.inf]
_NUMBERS += [1e90, -1e160, 1e240, 1e-160]
_JSON = [None, True, 0, -1, 10**6, 1.5, "", "a", [], {}, {"object": 2}, {"float": "nan"}, [1, 2]]


def places(value, at=()):
    """Paths to every part of a JSON value."""
    yield at
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(item, (*at, key))


def change_document(document, rng):
    at = list(places(document))[1:]
    *above, last = at[rng.integers(len(at))]
    inside = document
    for key in above:
        inside = inside[key]
    inside[last] = copy.deepcopy(_JSON[rng.integers(len(_JSON))])


def change_bytes(data, rng):
    """Another digit, another byte, or a piece cut out."""
    kind = rng.random()
    if kind < 0.1:
        start, end = sorted(rng.integers(0, len(data), 2))
        return np.concatenate([data[:start], data[end:]])
    digits = np.flatnonzero((data >= 48) & (data < 58))
    if kind < 0.6:
        data[rng.choice(digits)] = rng.choice(list(b"0123456789- ,"))
    elif kind < 0.8:
        outside = np.flatnonzero((data < 32) | (data > 126))  # not in a text
        data[rng.choice(outside if len(outside) else digits)] = rng.integers(256)
    else:
        data[rng.integers(len(data))] = rng.integers(256)
    return data


def change_array(array, rng):
    flat = array.reshape(-1)
    at = rng.integers(len(flat))
    if array.dtype == np.bool_:
        flat[at] ^= True
    else:
        other = _WHOLE if array.dtype.kind in "iu" else _NUMBERS
        flat[at] = rng.choice([*other, flat[rng.integers(len(flat))]]).astype(array.dtype)


def _is_text(array):
    """Whether an array holds the bytes of a library; small counts have two axes."""
    return array.dtype == np.uint8 and array.ndim == 1


def changed(document, tensors, rng, in_texts=0.9):
    """A copy of both with a few random changes; most of them, as a rule, in texts of libraries."""
    document = json.loads(json.dumps(document))
    tensors = {name: array.copy() for name, array in tensors.items()}
    texts = [name for name, array in tensors.items() if _is_text(array)]
    arrays = [name for name, array in tensors.items() if array.size]
    if rng.random() < 0.2:
        change_document(document, rng)
    else:
        for _ in range(rng.integers(1, 4)):
            name = rng.choice(texts if texts and rng.random() < in_texts else arrays)
            if _is_text(tensors[name]) and len(tensors[name]):
                tensors[name] = change_bytes(tensors[name], rng)
            elif tensors[name].size:
                change_array(tensors[name], rng)
    return document, tensors
