"""Which tests are about the local engine: with another they are skipped, and say why."""
import os

import pytest

# Files or tests of them, and what they are about.
ABOUT_A_DIRECTORY = {
    "test_config.py::test_a_data_directory_in_use": "two processes may use a database",
    "test_config.py::test_secrets_of_the_directory_are_private": "the secret of cursors is a row",
    "test_durability.py::test_a_backup_of_a_running_server_holds_all_that_was_acknowledged":
        "backups are the database's own",
    "test_durability.py::test_a_directory_that_cannot_be_written_is_503_and_no_detail": "backups are the database's own",
    "test_durability.py::test_the_command_backs_up_a_running_server_and_restores_to_a_moment":
        "backups are the database's own",
    "test_durability.py::test_a_running_servers_directory_is_a_source_and_no_target": "backups are the database's own",
    "test_durability.py::test_a_backup_that_lost_its_end_is_refused_and_can_be_salvaged":
        "backups are the database's own",
    "test_durability.py::test_a_flipped_bit_is_found_by_a_deep_verify_and_mended": "the data file and its log",
    "test_durability.py::test_a_data_file_that_was_cut_off_says_so_and_is_made_anew": "the data file",
    "test_durability.py::test_readiness_says_when_there_is_no_room": "the data file's size",
    "test_durability.py::test_the_log_in_words": "the redo log",
    "test_durability.py::test_a_second_server_on_the_directory_is_turned_away": "two processes may use a database",
    "test_operation.py::test_full_storage_answers_503_reads_go_on_and_nothing_acknowledged_is_lost": "the data file's size",
    "test_operation.py::test_the_data_file_is_measured": "the data file",
    "test_load.py": "bench-engine fills a directory",
}


def is_cluster():
    return os.environ.get("TIDINGS_TEST_ENGINE", "local") == "cluster"


def reason_for(item):
    file, test = os.path.basename(item.fspath), item.originalname
    return ABOUT_A_DIRECTORY.get(file) or ABOUT_A_DIRECTORY.get(f"{file}::{test}")


def mark(items):
    """A row that no test is behind is a mistake, if all tests of its file were asked for."""
    for item in items if is_cluster() else ():
        reason = reason_for(item)
        if reason:
            item.add_marker(pytest.mark.skip(reason="about a directory: " + reason))
    here = {os.path.basename(item.fspath): None for item in items}
    names = {f"{os.path.basename(item.fspath)}::{item.originalname}" for item in items} | set(here)
    gone = [row for row in ABOUT_A_DIRECTORY if row.split("::")[0] in here and row not in names]
    if gone:
        raise pytest.UsageError(f"support/engines.py: there is no {gone[0]}")
