"""Stream-Framework, a library that people use for feeds (PyPI, Python), on one Redis of the same version: it knows no cluster. One process, since
its work is in Python."""
import json

from .. import services


def run(community, record, sizes):
    python = services.BUILD / "venv-stream-framework/bin/python"
    if not python.exists():
        record.note("peer", "Stream-Framework was not measured: scripts/setup-bench could not install it.")
        return
    for _ in range(sizes.rounds):
        found = json.loads(services.run(services.ROOT / "tests/support/with-redis", "--single", python,
                                        services.ROOT / "bench/stream_framework_feeds.py", sizes.seconds, *sizes.peer_fans))
        for case in ("add", "page"):
            record.add("peer", case, "stream-framework", "per_second", found[case])
        for fans, ms in found["publish"].items():
            record.add("publish", fans, "stream-framework", "ms", ms)
