"""Where modules of 0.1 that are not public, and names in them, are now."""

from __future__ import annotations

# Old module, or name in one → new one; the longest old name that fits counts.
PATHS = {
    "pnml.core.errors": "pnml.errors",
    "pnml.core.factor": "pnml.core.statistic.factor",
    "pnml.core.gram": "pnml.core.statistic.gram",
    "pnml.core.gram_sum": "pnml.core.statistic.exact_sum",
    "pnml.core.spectrum": "pnml.core.geometry.spectrum",
    "pnml.io": "pnml.models",
    "pnml.io.onnx": "pnml.onnx",
    "pnml.io.tables": "pnml.readers",
    "pnml.io.tables.rows": "pnml.readers.csv_rows",
    "pnml.io.tables.typed_part": "pnml.readers.typed_file",
    "pnml.experiments": "pnml_experiments",
    "pnml.scale.passes": "pnml.scale.resume",
    "pnml.tables.builder": "pnml.tables.encoder_builder",
    "pnml.tables.builder.Builder": "pnml.tables.encoder_builder.EncoderBuilder",
    "pnml.active.candidates": "pnml.active.dial_search",
    "pnml.active.compiled": "pnml.active.dial_kernels_numba",
    "pnml.active.curves": "pnml.active.curve_results",
    "pnml.active.kernels": "pnml.active.dial_kernels",
    "pnml.active.layered": "pnml.active.dial_search",
    "pnml.active.scoring": "pnml.active.dial_search",
}
# Old attribute of a module → new one.
ATTRIBUTES = {"ENTRIES": "CODECS", "ENTRY_OF": "CODEC_OF"}


def moved(path):
    """A dotted path of 0.1 as it is now: of a module, or of a name in one."""
    for old in sorted(PATHS, key=len, reverse=True):
        if path == old or path.startswith(f"{old}."):
            return PATHS[old] + path[len(old) :]
    return path
