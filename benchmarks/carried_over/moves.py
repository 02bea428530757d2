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
    "pnml.io.tables.compression": "pnml.readers.encoding_and_compression",
    "pnml.io.tables.rows": "pnml.readers.csv_text",
    "pnml.io.tables.typed_part": "pnml.readers.parquet_or_arrow_file",
    "pnml.experiments": "pnml_experiments",
    "pnml.scale.passes": "pnml.scale.resumable_pass",
    "pnml.tables.builder": "pnml.tables.encoder_builder",
    "pnml.tables.builder.Builder": "pnml.tables.encoder_builder.EncoderBuilder",
    "pnml.active.candidates": "pnml.active.dial_search",
    "pnml.active.compiled": "pnml.active.dial_kernels_numba",
    "pnml.active.curves": "pnml.active.curve_results",
    "pnml.active.kernels": "pnml.active.dial_kernels",
    "pnml.active.layered": "pnml.active.dial_search",
    "pnml.active.scoring": "pnml.active.dial_search",
    "pnml.adversarial.apgd": "pnml.adversarial.apgd_ascent",
    "pnml.adversarial.attacks": "pnml.adversarial.gradient_attacks",
    "pnml.adversarial.budget": "pnml.adversarial.attack_budget",
    "pnml.adversarial.intervals": "pnml.adversarial.robustness_intervals",
    "pnml.adversarial.joint": "pnml.adversarial.joint_attacks",
    "pnml.adversarial.losses": "pnml.adversarial.attack_losses",
    "pnml.adversarial.memory": "pnml.adversarial.batch_memory",
    "pnml.core.norm_ball.folds": "pnml.core.norm_ball.leave_one_out",
    "pnml.core.norm_ball.grid": "pnml.core.norm_ball.genie_curve",
    "pnml.core.norm_ball.window": "pnml.core.norm_ball.multiplier_window",
    "pnml.metrics.detection_estimates": "pnml.metrics.detection",
    "pnml.metrics.open_set_estimates": "pnml.metrics.open_set",
    "pnml.metrics.selective": "pnml.metrics.risk_coverage",
    "pnml.ood.cosine": "pnml.ood.cosine_detector",
    "pnml.ood.gram": "pnml.ood.gram_detector",
    "pnml.ood.gram_features": "pnml.ood.gram_row_sums",
    "pnml.ood.open_set_table": "pnml.ood.open_set_evaluation",
    "pnml.plots.network": "pnml.plots.fitted_model",
    "pnml.plots.source": "pnml.plots.fitted_model",
    "pnml.report.figure": "pnml.report.plotly_chart",
    "pnml.report.gather": "pnml.report.findings",
    "pnml.scale.dask": "pnml.scale.dask_fit",
    "pnml.scale.files": "pnml.scale.number_files",
    "pnml.scale.lazy": "pnml.scale.dask_estimator",
    "pnml.scale.partitions": "pnml.scale.dask_partitions",
    "pnml.tables.scoring": "pnml.tables.score_columns",
    "pnml.tables.values": "pnml.tables.cell_values",
}
# Old attribute of a module → new one.
ATTRIBUTES = {"ENTRIES": "CODECS", "ENTRY_OF": "CODEC_OF"}


def moved(path):
    """A dotted path of 0.1 as it is now: of a module, or of a name in one."""
    for old in sorted(PATHS, key=len, reverse=True):
        if path == old or path.startswith(f"{old}."):
            return PATHS[old] + path[len(old) :]
    return path
