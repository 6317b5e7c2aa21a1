"""Prometheus' text format, as far as its parsers are strict about it."""
import re

SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (-?[0-9.eE+]+|\+Inf|NaN)')
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)')


class Metrics:
    """samples: {(name, ((label, value), ...)): number}; types: {family: type}."""

    def __init__(self, text):
        self.samples, self.types = {}, {}
        helped = set()
        family = None
        assert text.endswith("\n")
        for line in text[:-1].split("\n"):
            if line.startswith("# HELP "):
                family = line.split(" ", 3)[2]
                assert family not in helped, f"help twice: {family}"
                helped.add(family)
            elif line.startswith("# TYPE "):
                _, _, name, kind = line.split(" ")
                assert name == family and name not in self.types
                assert kind in ("counter", "gauge", "histogram")
                self.types[name] = kind
            else:
                self.add(family, line)

    def add(self, family, line):
        found = SAMPLE.fullmatch(line)
        assert found, f"not a sample: {line!r}"
        name, labels, value = found.groups()
        pairs, at = [], 0
        while labels and at < len(labels):
            label = LABEL.match(labels, at)
            assert label, f"bad labels: {line!r}"
            pairs.append(label.groups())
            at = label.end()
        suffixes = ("_bucket", "_sum", "_count") if self.types[family] == "histogram" else ("",)
        assert any(name == family + suffix for suffix in suffixes), f"{name} under {family}"
        key = (name, tuple(pairs))
        assert key not in self.samples, f"twice: {line!r}"
        self.samples[key] = float(value.replace("+Inf", "inf"))

    def get(self, name, **labels):
        return self.samples.get((name, tuple(labels.items())), 0)

    def check_histograms(self):
        """Buckets only grow, and the last is the count."""
        series = {}
        for (name, labels), value in self.samples.items():
            if not name.endswith("_bucket"):
                continue
            rest = tuple(pair for pair in labels if pair[0] != "le")
            bound = float(dict(labels)["le"].replace("+Inf", "inf"))
            series.setdefault((name[:-7], rest), []).append((bound, value))
        assert series
        for (name, rest), buckets in series.items():
            assert buckets == sorted(buckets), f"{name}: {buckets}"
            assert [b for _, b in buckets] == sorted(b for _, b in buckets)
            assert buckets[-1][0] == float("inf")
            assert buckets[-1][1] == self.samples[(name + "_count", rest)]
            assert (name + "_sum", rest) in self.samples


def scrape(server):
    with server.client() as client:
        answer = client.request("GET", "/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return Metrics(answer.body.decode())
