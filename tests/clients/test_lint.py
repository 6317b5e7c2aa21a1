"""Spectral and Redocly find nothing in the document, not even something to warn of."""
import json
import os

from tools import DOCUMENT, HERE, run


def test_spectral(npm):
    run(os.path.join(npm, ".bin", "spectral"), "lint", "--ruleset", os.path.join(HERE, "spectral.yaml"),
        "--fail-severity", "warn", DOCUMENT)


def test_redocly(npm):
    found = run(os.path.join(npm, ".bin", "redocly"), "lint", "--extends", "recommended", "--format", "json", DOCUMENT,
                REDOCLY_TELEMETRY="off", REDOCLY_SUPPRESS_UPDATE_NOTICE="true")
    totals = json.loads(found)["totals"]
    assert totals == {"errors": 0, "warnings": 0, "ignored": 0}, found
