"""Kafka: events a second, and catching up after it was away. bench/kafka does it, on the same database."""
import json
import os

from .. import services

NAMES = {"a_second": "per_second", "away_s": "away_s", "written_a_second": "written_per_second", "found_again_s": "found_again_s",
         "told_when_writing_ended": "told_when_writing_ended", "told_after_it": "told_after_it", "seconds_after_it": "seconds_after_it"}


def run(community, record, sizes):
    support, out = services.ROOT / "tests/support", community.directory / "kafka.json"
    try:
        services.run(support / "with-kafka", services.ROOT / "bench/kafka", "--away", sizes.away_s, "--events",
                     50_000 if sizes.quick else 500_000, "--out", out, env=dict(os.environ))
    except RuntimeError as error:
        if out.exists():
            raise
        record.note("events", f"Kafka was not measured: {str(error).splitlines()[-1]}")
        return
    for case, found in json.loads(out.read_text()).items():
        for name, metric in NAMES.items():
            if name in found:
                record.add("events", case, "tidings", metric, found[name])
