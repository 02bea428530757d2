"""The base of the Displays, and their doors: class methods that compute and draw."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypedDict, TypeVar, cast

from pnml.plots.canvas import Style, axes_for, require_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes

D = TypeVar("D", bound="Display")
P = ParamSpec("P")


class OnAxes(TypedDict, total=False):
    """Keyword arguments that every `plot` takes, and constructors pass on to it."""

    ax: Axes | None


class WithLine(OnAxes, total=False):
    """Keyword arguments that constructors of a Display with one main line pass on to `plot`."""

    line_kw: Style


class Display:
    """Base of the plots: `plot` draws on ``ax_``, which is part of ``figure_``."""

    name: str | None = None

    def __init_subclass__(cls) -> None:
        """Make `door` class methods show the keyword arguments of `plot` in their signatures."""
        for method in vars(cls).values():
            build = getattr(getattr(method, "__func__", None), "built_by", None)
            if build is not None:
                method.__func__.__signature__ = _whole_signature(build, cls)

    def _begin(self, ax: Axes | None, name: str | None = None) -> tuple[Axes, str | None]:
        """The axes to draw on, new ones by default, and the name for the legend."""
        ax = self.ax_ = axes_for(self, ax)
        self.figure_ = ax.figure
        return ax, self.name if name is None else name


def door(build: Callable[Concatenate[type[D], P], D]) -> Callable[Concatenate[type[D], P], D]:
    """Decorator of a class method that builds a Display: the Display is also drawn.

    The class method names what it needs to compute. All other keyword arguments, such as ``ax``
    and ``line_kw``, go to `plot`: their names and defaults are written there only. Matplotlib is
    asked for before anything is computed.
    """

    @functools.wraps(build)
    def opened(cls: type[D], *args: P.args, **kwargs: P.kwargs) -> D:
        require_matplotlib(f"{cls.__name__}.{build.__name__}")
        _whole_signature(build, cls).bind(cls, *args, **kwargs)  # a misspelt keyword raises
        own = inspect.signature(build).parameters
        drawing: dict[str, Any] = {key: kwargs.pop(key) for key in list(kwargs) if key not in own}
        display: Any = build(cls, *args, **kwargs)
        display.plot(**drawing)
        return cast(D, display)

    made: Any = opened
    made.built_by = build
    return cast(Callable[Concatenate[type[D], P], D], made)


def _whole_signature(build: Callable[..., Any], display: Any) -> inspect.Signature:
    """The signature of a door: what it needs itself, then the keyword arguments of `plot`."""
    own = inspect.signature(build)
    kept = [p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
    _, *drawing = inspect.signature(display.plot).parameters.values()
    added = [p.replace(kind=p.KEYWORD_ONLY) for p in drawing if p.name not in own.parameters]
    return own.replace(parameters=[*kept, *added])
