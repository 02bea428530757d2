"""Legends never cover what is drawn, in a style that every eye can read."""

from __future__ import annotations

import inspect
import itertools

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

import colour_distance
import pnml.plots
from pnml import InputError, PNMLRegressor
from pnml.plots import (
    ActiveLearningDisplay,
    ConfidenceDisplay,
    DriftDisplay,
    ExplanationDisplay,
    OSCRDisplay,
    PredictionIntervalDisplay,
    RegretDisplay,
    ReliabilityDisplay,
    RiskCoverageDisplay,
    SpectrumDisplay,
    style,
)
from pnml.plots.display import Display
from pnml.plots.legend import add_legend
from pnml.plots.styles import COLOURS, PAPER

CLASSES = [thing for thing in vars(pnml.plots).values() if inspect.isclass(thing)]


def every_display(rng):
    """Each Display with data that leave little room."""
    X = rng.normal(size=(80, 4))
    y = X[:, 0] + rng.normal(size=80)
    model = PNMLRegressor(alpha=1.0).fit(X, y)
    probs = rng.dirichlet([1.0, 1.0], 200)
    curves = {str(i): (v, v - 0.1, v + 0.1) for i, v in enumerate(rng.uniform(size=(6, 30)))}
    yield lambda ax: RegretDisplay.from_estimator(model, 3 * X, ax=ax)
    yield lambda ax: SpectrumDisplay.from_estimator(model, 3 * X, ax=ax)
    yield lambda ax: RiskCoverageDisplay.from_estimator(model, X, y, ax=ax)
    yield lambda ax: PredictionIntervalDisplay.from_estimator(model, 3 * X, y, ax=ax)
    yield lambda ax: ExplanationDisplay.from_estimator(model, 9 * X, training_rows=X, ax=ax)
    labels = (probs[:, 1] > rng.uniform(size=200)).astype(int)
    yield lambda ax: ReliabilityDisplay.from_predictions(probs, labels, ax=ax)
    scores = rng.normal(size=(3, 50))
    yield lambda ax: ConfidenceDisplay.from_scores(scores[0], {"a": scores[1]}, bins=9, ax=ax)
    correct = np.ones(50, dtype=bool)
    yield lambda ax: OSCRDisplay.from_predictions(scores[0], correct, scores[1], ax=ax)
    yield lambda ax: ActiveLearningDisplay(labels=np.arange(30), means=curves).plot(ax)
    names = [f"column {i}" for i in range(9)]
    flags = np.arange(9) < 3
    drift = DriftDisplay(
        columns=names, psi=rng.uniform(size=9), flagged=flags, remarks=["12 % outside"] * 9
    )
    yield lambda ax: drift.plot(ax)


def ink_below(ax, legend):
    """Whether anything but the legend changes a pixel of its box: the truth, from the picture."""
    figure = ax.figure
    figure.set_layout_engine("none")  # which would fill the room of a hidden legend
    box = legend.get_window_extent()
    legend.set_visible(False)
    figure.canvas.draw()
    image = np.asarray(figure.canvas.buffer_rgba())[..., :3].astype(int)
    legend.set_visible(True)
    high = image.shape[0]
    x0, x1 = max(int(box.x0), 0), int(np.ceil(box.x1))
    y0, y1 = max(high - int(np.ceil(box.y1)), 0), high - int(box.y0)
    part = image[y0:y1, x0:x1]
    assert part.size
    return bool(np.ptp(part.reshape(-1, 3), axis=0).max() > 0)


@pytest.mark.parametrize(
    "size", [(6.4, 4.8), pytest.param((4.0, 3.0), marks=pytest.mark.integration)]
)
def test_no_legend_covers_anything(size, rng):
    for draw in every_display(rng):
        figure, ax = plt.subplots(figsize=size, layout="constrained")
        display = draw(ax)
        figure.canvas.draw()
        legend = ax.get_legend()
        assert legend is not None
        assert not ink_below(ax, legend), type(display).__name__
        plt.close(figure)


@pytest.mark.integration
def test_no_legend_covers_anything_where_axes_share_a_figure(rng):
    figure, axes = plt.subplots(5, 2, figsize=(13, 24), layout="constrained")
    for draw, ax in zip(every_display(rng), axes.ravel(), strict=True):
        draw(ax)
    figure.canvas.draw()
    figure.set_layout_engine("none")
    boxes = [ax.get_legend().get_window_extent() for ax in axes.ravel()]
    for ax in axes.ravel():
        assert not ink_below(ax, ax.get_legend()), ax.get_ylabel()
    for one, other in itertools.combinations(boxes, 2):
        assert not one.overlaps(other)


def test_a_legend_stays_inside_where_there_is_room(ax):
    ax.plot([0, 1], [0, 1], label="a line")
    add_legend(ax)
    box = ax.get_legend().get_window_extent()
    assert ax.bbox.x0 <= box.x0 < box.x1 <= ax.bbox.x1
    assert ax.bbox.y0 <= box.y0 < box.y1 <= ax.bbox.y1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_differ_to_the_colour_blind_and_from_the_page(scheme):
    everything = [*COLOURS[scheme], PAPER[scheme]]
    for cones in ("green", "red"):
        assert colour_distance.closest(everything, without=cones) > 15
    first_two = COLOURS[scheme][:2]  # trusted and not trusted
    for cones in ("green", "red"):
        assert colour_distance.closest(first_two, without=cones) > 50
    assert min(colour_distance.contrast(c, PAPER[scheme]) for c in first_two) > 3


def test_a_style_ends_with_its_block():
    before = dict(mpl.rcParams)
    with style("dark"):
        assert mpl.rcParams["axes.facecolor"] == PAPER["dark"]
        colours = mpl.rcParams["axes.prop_cycle"].by_key()["color"]
        assert tuple(colours) == COLOURS["dark"]
    assert dict(mpl.rcParams) == before
    with pytest.raises(InputError, match="pass 'light' or 'dark'"):
        style("sepia")


@pytest.mark.parametrize("cls", CLASSES)
def test_doors_show_and_take_the_keywords_of_plot(cls):
    doors = [m for m in vars(cls).values() if hasattr(getattr(m, "__func__", None), "built_by")]
    plot = set(inspect.signature(cls.plot).parameters) - {"self"}
    assert issubclass(cls, Display)
    assert doors or cls is ActiveLearningDisplay
    for method in doors:
        build = method.__func__.built_by
        shown = set(inspect.signature(method.__func__).parameters)
        assert plot - {"name"} <= shown
        assert "drawing" not in shown
        typed = _typed_keywords(build)
        assert typed == plot - set(inspect.signature(build).parameters) - {"name"}


def _typed_keywords(build):
    """Names in the TypedDict that a type checker reads."""
    (hint,) = [
        p.annotation
        for p in inspect.signature(build).parameters.values()
        if p.kind is p.VAR_KEYWORD
    ]
    name = hint.removeprefix("Unpack[").removesuffix("]")
    return set(build.__globals__[name].__annotations__)


def test_a_misspelt_keyword_is_refused_before_anything_is_computed():
    with pytest.raises(TypeError, match="linekw"):
        RegretDisplay.from_estimator(None, None, linekw={})
    assert not plt.get_fignums()
