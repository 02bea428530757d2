"""Colours that stay apart for the colour-blind, on white and on dark pages."""

from __future__ import annotations

# Blue, orange, grey, light blue, brown, green.
INKS = ("#006BA4", "#FF800E", "#7A7A7A", "#5F9ED1", "#C85200", "#2CA089")
