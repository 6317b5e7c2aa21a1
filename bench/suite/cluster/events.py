"""Kafka: events a second through the relay, how late they come, and catching up after it was away. bench/kafka does it, on the same database."""
import json
import os

from .. import services

NAMES = {"a_second": "per_second", "times": "times", "lag_p50_ms": "p50_ms", "lag_p99_ms": "p99_ms", "told_a_second": "told_per_second",
         "written_a_second": "written_per_second", "away_s": "away_s"}


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
