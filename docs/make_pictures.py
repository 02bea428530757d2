"""Pictures of the site, light and dark: python docs/make_pictures.py writes docs/pictures/*.svg."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import numpy as np

from pnml import PNMLRegressor

mpl.use("svg")
import matplotlib.pyplot as plt

FOLDER = Path(__file__).parent / "pictures"


@dataclass(frozen=True)
class Colours:
    """Ink on a transparent page; near and far differ in lightness too."""

    ink: str
    faint: str
    near: str
    far: str
    box: str


SCHEMES = {
    "light": Colours("#1b1b1b", "#666666", "#0072b2", "#d55e00", "#eef4fa"),
    "dark": Colours("#e8e8e8", "#a3a9b2", "#56b4e9", "#ffb04a", "#263445"),
}

# Twelve rows, and two more whose label nobody knows.
X = np.array([0.3, 0.7, 1.1, 1.4, 1.8, 2.1, 2.4, 2.8, 3.1, 3.5, 3.8, 4.2])
Y = np.array([1.5, 1.2, 2.0, 1.7, 2.4, 2.0, 2.9, 2.5, 2.6, 3.3, 2.9, 3.4])
NEAR, FAR = 2.3, 9.0
LABELS = np.array([-3.0, -1.5, 0.0, 1.5, 3.0])  # beside what the line says


def told(x, labels=LABELS):
    """Labels of a row, and the lines (label, slope and intercept) refitted with each of them."""
    plain = PNMLRegressor().fit(X[:, None], Y)
    shown = plain.predict([[x]])[0] + labels
    lines = []
    for label in shown:
        refit = PNMLRegressor().fit(np.append(X, x)[:, None], np.append(Y, label))
        lines.append((refit.coef_[0], refit.intercept_))
    return shown, np.array(lines)


def regret(x):
    """Nats by which hindsight could beat the line at x."""
    return float(PNMLRegressor().fit(X[:, None], Y).regret([[x]])[0])


def draw_fan(ax, x, colour, colours, heading, text):
    """Training rows, their line, and the fan of lines that were told a label of x."""
    across = np.array([-0.4, 10.4])
    shown, lines = told(x)
    for (slope, intercept), label in zip(lines, shown, strict=True):
        ax.plot(across, intercept + slope * across, color=colour, lw=1.3, alpha=0.75, zorder=1)
        at = intercept + slope * x
        ax.plot([x, x], [at, label], color=colour, lw=1.0, ls=(0, (2, 2)), zorder=1)
    ax.plot(x + 0 * shown, shown, "o", ms=7, mec=colour, mew=1.6, mfc="none", zorder=3)
    plain = np.polyfit(X, Y, 1)
    ax.plot(across, np.polyval(plain, across), color=colours.ink, lw=2.0, zorder=2)
    ax.plot(X, Y, "o", ms=5, color=colours.ink, zorder=4)
    ax.set_title(heading, color=colour, fontsize=14, fontweight="bold", loc="left", pad=30)
    ax.text(0, 1.035, text, transform=ax.transAxes, color=colours.ink, fontsize=10.5)
    ax.set(xlim=across, ylim=(-0.9, 9.6), xlabel="feature")
    ax.set_xticks([x], ["this row"])
    ax.set_yticks([])
    ax.tick_params(colors=colours.ink)
    ax.xaxis.label.set_color(colours.faint)
    for side in ax.spines.values():
        side.set_color(colours.faint)


def draw_both(axes, colours):
    """A near row, where refits agree, and a far one, where each follows its label."""
    near, far = f"regret {regret(NEAR):.2f} nats: trust", f"regret {regret(FAR):.2f} nats: do not"
    same = "Told any of five answers (rings), the line hardly moves."
    follows = "Told any of five answers, the line follows it."
    draw_fan(axes[0], NEAR, colours.near, colours, near, same)
    draw_fan(axes[1], FAR, colours.far, colours, far, follows)
    axes[0].set_ylabel("answer", color=colours.faint)


def draw_regret(colours):
    """The two rows side by side."""
    figure, axes = plt.subplots(1, 2, figsize=(9.2, 4.2), sharey=True)
    draw_both(axes, colours)
    figure.subplots_adjust(left=0.04, right=0.995, top=0.83, bottom=0.12, wspace=0.04)
    return figure


def draw_regret_narrow(colours):
    """The two rows one above the other, for a phone."""
    figure, axes = plt.subplots(2, 1, figsize=(5.0, 7.6), sharey=True)
    draw_both(axes, colours)
    axes[1].set_ylabel("answer", color=colours.faint)
    figure.subplots_adjust(left=0.07, right=0.99, top=0.91, bottom=0.07, hspace=0.42)
    return figure


STEPS = (
    ("A trained network,\nor its embeddings?", "LastLayerPNML(net)", "one pass, no labels"),
    (
        "Must coverage\nbe guaranteed?",
        "ConformalRegressor(estimator)",
        "ConformalClassifier for sets of classes",
    ),
    (
        "A model of your own,\nor boosting?",
        "TrustedRegressor(model)",
        "TrustedClassifier(model) for classes",
    ),
    ("Are labels classes?", "PNMLClassifier(estimator)", "pNML probabilities"),
    ("Is the relation\nnot linear?", "KernelPNMLRegressor()", "or PNMLTreeRegressor(forest)"),
    ("More features than rows,\nno penalty wanted?", "NormBallRegressor()", "minimum-norm fit"),
    ("Few rows\nper feature?", "LpNMLRegressor()", "small slopes are preferred"),
    ("Not sure which?", "UniversalRegressor()", "several classes at once"),
)
LAST = ('PNMLRegressor(alpha="loo")', "the default: ridge,\npenalty by leave-one-out")


def boxed(ax, x, y, text, fill, edge, ink, **style):
    """A text in a box around (x, y)."""
    box = {"boxstyle": "round,pad=0.55", "fc": fill, "ec": edge, "lw": 1.3}
    ax.text(x, y, text, ha="center", va="center", color=ink, bbox=box, **style)


# Points: as wide as letters of this size allow, so that a phone still shows them.
WIDTH, PITCH = 410.0, 64.0
QUESTIONS, ANSWERS = 88.0, 308.0  # middles of the columns


def draw_chart(colours):
    """Questions from top to bottom; a yes leads to the right, a no down."""
    height = PITCH * (len(STEPS) + 0.8)
    figure = plt.figure(figsize=(WIDTH / 72, height / 72))
    ax = figure.add_axes((0, 0, 1, 1), xlim=(0, WIDTH), ylim=(0, height))
    ax.axis("off")
    arrow = {"arrowstyle": "-|>", "color": colours.faint, "lw": 1.4, "shrinkA": 0, "shrinkB": 0}
    code = {"family": "monospace", "fontsize": 10.5}
    for i, (question, answer, why) in enumerate(STEPS):
        y = height - PITCH * (i + 0.45)
        ax.annotate("", (205, y), (173, y), arrowprops=arrow)
        ax.text(187, y + 6, "yes", color=colours.far, ha="center", fontsize=11)
        ax.annotate("", (QUESTIONS, y - 45), (QUESTIONS, y - 22), arrowprops=arrow)
        ax.text(QUESTIONS + 8, y - 34, "no", color=colours.near, va="center", fontsize=11)
        boxed(ax, QUESTIONS, y, question, "none", colours.near, colours.ink, fontsize=11)
        boxed(ax, ANSWERS, y + 6, answer, colours.box, "none", colours.ink, **code)
        ax.text(ANSWERS, y - 18, why, color=colours.faint, ha="center", fontsize=10.5)
    last = height - PITCH * (len(STEPS) + 0.35)
    boxed(ax, QUESTIONS + 6, last, LAST[0], colours.box, "none", colours.ink, **code)
    ax.text(ANSWERS, last, LAST[1], color=colours.faint, ha="center", va="center", fontsize=10.5)
    return figure


DRAWN = {
    "regret": draw_regret,
    "regret-narrow": draw_regret_narrow,
    "which-learner": draw_chart,
}

ICON = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">
<rect width="32" height="32" rx="6" fill="#00457c"/>
<g fill="none" stroke="#ffb04a" stroke-width="2.2">
<path d="M4 22 29 6M4 22 29 14M4 22 29 22M4 22 29 29"/></g>
<circle cx="5" cy="22" r="3" fill="#fff"/></svg>
"""


def main():
    """Write all pictures."""
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / "icon.svg").write_text(ICON)
    mpl.rcParams.update({"svg.hashsalt": "pnml", "font.family": "DejaVu Sans"})
    for scheme, colours in SCHEMES.items():
        for name, draw in DRAWN.items():
            figure = draw(colours)
            path = FOLDER / f"{name}-{scheme}.svg"
            figure.savefig(path, transparent=True, metadata={"Date": None})
            plt.close(figure)


if __name__ == "__main__":
    main()
