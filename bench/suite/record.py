"""Where the measurements put their numbers: flat samples, from which the report makes tables and plots."""
import json
import os
import statistics
import sys
import time


class Record:
    def __init__(self):
        self.samples = []
        self.notes = []
        self.parts = {}  # when, on which commit and beside what load each part was measured
        self.part = None
        self.begun = time.monotonic()

    def begin(self, part, commit):
        self.part = part
        self.parts[part] = {"date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()), "commit": commit,
                            "load_before": os.getloadavg()[0]}
        self.say(part)

    def end(self):
        self.parts[self.part]["load_after"] = os.getloadavg()[0]

    def keep(self, path, new):
        """Takes the parts that are not measured anew from earlier results."""
        if not path.exists():
            return
        old = json.loads(path.read_text())
        self.parts.update({part: facts for part, facts in old["parts"].items() if part not in new})
        self.samples += [sample for sample in old["samples"] if sample["part"] not in new]
        self.notes += [note for note in old["notes"] if note["part"] not in new]

    def say(self, text):
        print(f"[{time.monotonic() - self.begun:6.1f} s] {text}", file=sys.stderr, flush=True)

    def add(self, measurement, case, who, metric, value):
        self.samples.append({"part": self.part, "measurement": measurement, "case": str(case), "who": who, "metric": metric,
                             "value": round(float(value), 4)})

    def note(self, measurement, text):
        self.notes.append({"part": self.part, "measurement": measurement, "text": text})

    def add_load(self, measurement, case, who, result):
        """One run of the generator. It was the limit where it used most of a core itself."""
        bad = {status: n for status, n in result["statuses"].items() if not status.startswith("2")}
        if bad:
            raise RuntimeError(f"{measurement} {case} {who}: refused: {bad}")
        self.add(measurement, case, who, "per_second", result["per_second"])
        self.add(measurement, case, who, "server_cpu_us", result["server_cpu_us"])
        self.add(measurement, case, who, "generator_share", result["cpu_share"])
        for point in ("p50", "p99", "p999", "max"):
            self.add(measurement, case, who, point + "_us", result["latency_us"]["all"][point])

    def values(self, measurement, case, who, metric):
        return [s["value"] for s in self.samples if (s["measurement"], s["case"], s["who"], s["metric"]) ==
                (measurement, str(case), who, metric)]

    def cases(self, measurement, who=None):
        return list(dict.fromkeys(s["case"] for s in self.samples
                                  if s["measurement"] == measurement and who in (None, s["who"])))

    def median(self, measurement, case, who, metric):
        values = self.values(measurement, case, who, metric)
        return statistics.median(values) if values else None
