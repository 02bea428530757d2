"""Which tests carry the markers numeric, peers and integration: by folder, file or name."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[1]

# Folders and files whose tests and docstrings compare floating-point numbers of our maths.
NUMERIC = (
    "core",
    "laws",
    "estimators",
    "nn",
    "ood",
    "active",
    "adversarial",
    "metrics",
    "test_metrics.py",
    "README.md",
)

# Tests whose names contain these check scikit-learn's conventions and no numbers.
CONVENTIONS = ("the_contract_of_scikit_learn", "scikit_learns_contract")

# Modules that cannot be imported without a package that the extra dev does not install.
PEERS = ("baal.py",)

# Fixtures that start a process or a browser.
INTEGRATION_FIXTURES = ("installed", "site")

# Files, and single tests, that start processes, train networks or run a whole page of the guide.
# A file is named with one of the folders above it.
INTEGRATION = (
    "tests/test_benchmarks.py::test_a_quick_run_prints_and_stores_every_row",
    "tests/test_benchmarks.py::test_a_table_is_learnt_and_scored_beside_being_read",
    "tests/test_benchmarks.py::test_large_heads_are_scored_beside_their_own_product",
    "tests/test_guide.py",
    "tests/test_guide_active.py",
    "tests/test_guide_adversarial.py",
    "tests/test_guide_classification.py",
    "tests/test_guide_dask.py",
    "tests/test_guide_onnx.py",
    "tests/test_guide_scale.py",
    "tests/test_guide_tables.py",
    "tests/test_how_to.py::test_expected_errors_of_rare_classes_hold_by_prediction_and_not_with_class_weights",
    "tests/test_how_to.py::test_one_model_covers_as_conformalised_quantiles_do_but_not_on_each_side",
    "tests/test_how_to.py::test_rows_that_training_never_had_are_found_and_named_by_boosted_models",
    "tests/test_serve.py",
    "tests/test_stack.py::test_a_tool_does_what_the_page_says",
    "tests/test_tutorials.py",
    "tests/test_wheel.py::test_the_built_wheel_holds_the_same",
    "active/test_benchmark.py::test_a_quick_run_finds_the_picks_of_the_literal_loops",
    "adversarial/test_attacks.py::test_on_mnist_the_defence_holds_against_transfer_and_falls_end_to_end",
    "cli/test_chain.py::test_red_wine_is_told_from_the_white_it_was_trained_on",
    "cli/test_demo.py",
    "cli/test_interrupted.py",
    "cli/test_large_tables.py::test_a_killed_fit_goes_on_when_it_is_started_again",
    "cli/test_last_resort.py::test_streams_that_are_closed_or_full_end_a_command_with_an_exit_code",
    "cli/test_missing_extras.py",
    "cli/test_network_file.py::test_inspect_needs_no_pytorch",
    "cli/test_reproduce.py",
    "core/test_attribution.py::test_the_split_of_20_000_features_takes_little_memory",
    "core/test_benchmark.py::test_a_quick_run_prints_and_stores_every_row",
    "experiments/test_ablation_mnist.py",
    "experiments/test_adversarial.py",
    "experiments/test_adversarial_digits.py",
    "experiments/test_catalogue.py::test_listing_imports_no_experiment_and_no_numpy_torch_or_matplotlib",
    "experiments/test_dial.py",
    "experiments/test_network_genie.py::test_the_study_judges_every_method_ends_with_the_verdict_and_goes_on",
    "experiments/test_networks.py",
    "experiments/test_open_set.py",
    "experiments/test_open_set_rivals.py::test_trained_rivals_tell_the_unknown_rows_they_saw_from_digits",
    "experiments/test_stored_data.py",
    "experiments/test_synthetic.py::test_each_entry_runs_small_and_draws",
    "experiments/test_table_job.py::test_the_study_runs_small_and_goes_on",
    "experiments/test_trust_tables.py::test_the_study_runs_draws_and_goes_on",
    "experiments/test_uci_benchmark.py::test_the_benchmark_runs_draws_and_goes_on",
    "estimators/test_trusted_in_scikit_learn.py::test_a_pipeline_around_it_keeps_scikit_learns_contract",
    "experiments/test_trust_tables.py::test_a_rival_says_the_same_again",
    "learners/test_leaf_maps_libraries.py::test_reading_leaves_imports_no_library",
    "models/test_hostile_files.py::test_a_file_with_holes_is_refused_before_it_is_read",
    "models/test_hostile_files.py::test_a_header_of_many_small_values_costs_about_its_bytes",
    "models/test_network_file.py::test_files_of_other_models_load_without_pytorch_and_those_of_networks_ask_for_it",
    "models/test_round_trip.py::test_another_process_gets_the_same_bits",
    "models/test_state.py::test_naming_save_and_load_does_not_load_safetensors",
    "models/test_table_models.py::test_without_pyarrow_plain_models_load_and_models_of_tables_say_what_is_lacking",
    "nn/test_distributed.py",
    "nn/test_network_families.py::test_a_family_of_transformers_is_right_or_refused_as_the_page_says",
    "nn/test_refit.py::test_a_killed_process_leaves_its_finished_rows",
    "nn/test_scale.py::test_sentence_embeddings_keep_their_own_scale",
    "ood/test_benchmark.py::test_a_quick_run_prints_and_stores_every_row",
    "ood/test_regret.py::test_the_measured_areas_of_sentence_embeddings_are_reproduced",
    "plots/test_displays.py::test_importing_the_displays_does_not_load_matplotlib",
    "plots/test_displays.py::test_without_matplotlib_one_sentence_names_the_extra",
    "readers/test_hostile_tables.py::test_a_file_cut_short_while_it_is_read_is_told_of",
    "readers/test_hostile_tables.py::test_a_small_archive_of_commas_costs_little_memory",
    "readers/test_hostile_tables.py::test_links_that_go_round_in_circles_are_followed_once",
    "readers/test_table_reading.py::test_ctrl_c_ends_a_reading_at_once",
    "readers/test_table_refusals.py::test_a_file_without_permission_is_refused",
    "readers/test_table_writing.py::test_a_file_that_may_not_grow_is_told_and_the_old_one_stays",
    "readers/test_table_writing.py::test_a_folder_without_permission_is_refused_early_and_late",
    "readers/test_table_writing.py::test_a_full_disk_is_told_and_the_old_file_stays",
    "readers/test_table_writing.py::test_ctrl_c_ends_a_writing_at_once_and_the_old_file_stays",
    "report/test_browser.py",
    "runtime/test_temporary.py::test_a_killed_process_leaves_nothing_where_files_need_no_name",
    "runtime/test_temporary.py::test_elsewhere_the_next_writing_sweeps_up_what_a_killed_process_left",
    "scale/test_dask.py::test_a_worker_killed_in_mid_fit_changes_nothing",
    "scale/test_dask.py::test_a_worker_without_enough_memory_is_told_of_in_one_sentence",
    "scale/test_dask.py::test_workers_give_the_same_bits_as_threads",
    "scale/test_broken_records.py::test_a_checkpoint_with_one_odd_value_is_refused_or_goes_on",
    "scale/test_broken_files.py::test_kills_again_and_again_do_not_change_a_bit",
    "scale/test_broken_files.py::test_the_memory_of_a_fit_does_not_grow_with_the_table",
    "scale/test_resume.py::test_sigkill_and_a_second_start_give_the_same_bits",
)


def markers(path, name, fixtures):
    """Markers of one test, by its path below the root, its name and the fixtures it asks for."""
    found = set()
    conventions = any(words in name for words in CONVENTIONS)
    if set(NUMERIC).intersection(path.parts) and not conventions:
        found.add("numeric")
    if set(PEERS).intersection(path.parts):
        found.add("peers")
    if any(_names(entry, path, name) for entry in INTEGRATION):
        found.add("integration")
    if set(INTEGRATION_FIXTURES).intersection(fixtures):
        found.add("integration")
    return found


def _names(entry, path, name):
    file, _, test = entry.partition("::")
    folder, file = file.split("/")
    return path.name == file and folder in path.parts and test in ("", name)


def without_a_match():
    """Entries above that name nothing: a file moved or a test was renamed."""
    paths = [
        path.relative_to(ROOT)
        for folder in ("src", "tests", "experiments")
        for path in (ROOT / folder).rglob("*.py")
    ] + [Path("README.md")]
    parts = {part for path in paths for part in path.parts}
    lost = [name for name in NUMERIC + PEERS if name not in parts]
    for entry in INTEGRATION:
        test = entry.partition("::")[2]
        files = [path for path in paths if _names(entry, path, test)]
        if not any(not test or f"def {test}(" in (ROOT / path).read_text() for path in files):
            lost.append(entry)
    return lost
