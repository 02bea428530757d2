"""How far colours differ to eyes that lack the cones for green or for red."""

from __future__ import annotations

import numpy as np
from matplotlib.colors import to_rgb

# On linear light (Machado, Oliveira and Fernandes, 2009).
WITHOUT = {
    "green": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "red": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear(colours):
    """Linear light (k, 3)."""
    rgb = np.array([to_rgb(colour) for colour in colours])
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def closest(colours, without="green"):
    """Least distance (CIE 1976) of two colours to an eye without these cones."""
    xyz = np.clip(linear(colours) @ WITHOUT[without].T, 0, 1) @ TO_XYZ.T / TO_XYZ.sum(axis=1)
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    lab = np.stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], 1)
    apart = np.linalg.norm(lab[:, None] - lab, axis=2)
    return apart[~np.eye(len(lab), dtype=bool)].min()


def contrast(one, other):
    """Contrast ratio of two colours (WCAG 2): 1 for none, 21 for black on white."""
    low, high = sorted(linear([one, other]) @ TO_XYZ[1])
    return (high + 0.05) / (low + 0.05)
