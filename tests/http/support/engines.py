"""Which tests are about a server without a log in MySQL: on a replica they are skipped, and say why."""
import os

import pytest

from .server import engine

READY = "a replica is ready a moment after it listens, when it has compared its directory with the log"

# Files or tests of them, and why.
NOT_REPLICAS = {
    "test_durability.py::test_readiness_and_status_say_which_durability": READY,
    "test_durability.py::test_readiness_says_when_there_is_no_room": READY,
    "test_operation.py::test_readiness_goes_before_the_server_does": READY,
    "test_operation.py::test_every_thread_has_a_name": "a replica has threads of its own",
}

SKIPPED = {"local": {}, "replica": NOT_REPLICAS}


def reason_for(item):
    file, test = os.path.basename(item.fspath), item.originalname
    skipped = SKIPPED[engine()]
    return skipped.get(file) or skipped.get(f"{file}::{test}")


def mark(items):
    """A row that no test is behind is a mistake, if all tests of its file were asked for."""
    for item in items:
        reason = reason_for(item)
        if reason:
            item.add_marker(pytest.mark.skip(reason=f"not on {engine()}: {reason}"))
    here = {os.path.basename(item.fspath): None for item in items}
    names = {f"{os.path.basename(item.fspath)}::{item.originalname}" for item in items} | set(here)
    gone = [row for table in SKIPPED.values() for row in table if row.split("::")[0] in here and row not in names]
    if gone:
        raise pytest.UsageError(f"support/engines.py: there is no {gone[0]}")
