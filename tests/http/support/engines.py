"""Which tests are about the local engine alone: on another they are skipped, and say why."""
import os

import pytest

from .server import engine

# What several rows say.
BACKUP = "backups are the database's own"
CLOCK = "a server whose clock is off the database's makes no ids"

# Files or tests of them, and what they are about.
LOCAL_ALONE = {
    "test_clock.py::test_limits_refill_while_the_clock_jumps": CLOCK,
    "test_clock.py::test_limits_refill_after_a_year_ahead_and_back": CLOCK,
    "test_clock.py::test_far_ahead_nothing_is_written_until_it_comes_back": CLOCK,
    "test_clock.py::test_a_jump_is_told_though_nobody_writes": CLOCK,
    "test_clock.py::test_started_again_it_takes_the_clock_as_it_is_and_sweeps_nothing": CLOCK,
    "test_clock.py::test_a_key_is_remembered_while_the_clock_jumps": CLOCK,
    "test_clock.py::test_a_restore_until_now_has_what_was_acknowledged": CLOCK,
    "test_clock.py::test_a_clock_set_back_makes_no_webhook_wait": CLOCK,
    "test_clock.py::test_a_clock_set_ahead_makes_no_webhook_hurry": CLOCK,
    "test_clock.py::test_a_clock_set_ahead_gives_nothing_up": CLOCK,
    "test_clock.py::test_an_old_secret_goes_by_elapsed_time": CLOCK,
    "test_clock.py::test_a_ticket_is_good_for_half_a_minute": CLOCK,
    "test_clock.py::test_a_ticket_goes_by_elapsed_time": CLOCK,
    "test_config.py::test_a_data_directory_in_use": "two processes may use a database",
    "test_config.py::test_secrets_of_the_directory_are_private": "the secret of cursors is a row",
    "test_durability.py::test_a_backup_of_a_running_server_holds_all_that_was_acknowledged": BACKUP,
    "test_durability.py::test_a_directory_that_cannot_be_written_is_503_and_no_detail": BACKUP,
    "test_durability.py::test_the_command_backs_up_a_running_server_and_restores_to_a_moment": BACKUP,
    "test_durability.py::test_a_running_servers_directory_is_a_source_and_no_target": BACKUP,
    "test_durability.py::test_a_backup_that_lost_its_end_is_refused_and_can_be_salvaged": BACKUP,
    "test_durability.py::test_a_flipped_bit_is_found_by_a_deep_verify_and_mended": "the data file and its log",
    "test_durability.py::test_a_data_file_that_was_cut_off_says_so_and_is_made_anew": "the data file",
    "test_durability.py::test_readiness_says_when_there_is_no_room": "the data file's size",
    "test_durability.py::test_the_log_in_words": "the redo log",
    "test_durability.py::test_a_second_server_on_the_directory_is_turned_away": "two processes may use a database",
    "test_operation.py::test_full_storage_answers_503_reads_go_on_and_nothing_acknowledged_is_lost": "the data file's size",
    "test_operation.py::test_the_data_file_is_measured": "the data file",
    "test_load.py": "bench-engine fills a directory",
}

READY = "a replica is ready a moment after it listens, when it has compared its directory with the log"

# The same, of servers on a log in MySQL.
NOT_REPLICAS = {
    "test_durability.py::test_readiness_and_status_say_which_durability": READY,
    "test_durability.py::test_readiness_says_when_there_is_no_room": READY,
    "test_operation.py::test_readiness_goes_before_the_server_does": READY,
    "test_operation.py::test_every_thread_has_a_name": "a replica has threads of its own",
}

SKIPPED = {"local": {}, "cluster": LOCAL_ALONE, "replica": NOT_REPLICAS}


def reason_for(item):
    file, test = os.path.basename(item.fspath), item.originalname
    skipped = SKIPPED[engine()]
    return skipped.get(file) or skipped.get(f"{file}::{test}")


def mark(items):
    """A row that no test is behind is a mistake, if all tests of its file were asked for."""
    for item in items:
        reason = reason_for(item)
        if reason:
            item.add_marker(pytest.mark.skip(reason=f"not on the engine {engine()}: {reason}"))
    here = {os.path.basename(item.fspath): None for item in items}
    names = {f"{os.path.basename(item.fspath)}::{item.originalname}" for item in items} | set(here)
    gone = [row for table in SKIPPED.values() for row in table if row.split("::")[0] in here and row not in names]
    if gone:
        raise pytest.UsageError(f"support/engines.py: there is no {gone[0]}")
