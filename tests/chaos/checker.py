#!/usr/bin/env python3
"""Judges a history by itself: checker.py HISTORY

What must hold, whatever failed meanwhile: docs/CONSISTENCY.md says it in words. Prints what does not, exits with 1 then.

    lost, twice, refused but done, nobody's event, repeated   each acknowledged change is there once, each unanswered one at most once
    order                                                     events stand in the order of what was acknowledged
    topic                                                     Kafka was told all of them, in order
    gap, page                                                 pages of events: nothing comes later before what was seen, nothing differs
    exact, bounded, adds up, count                            what was read
    seen                                                      nothing older than what Tidings-Seen names
    at the end, verify, fault                                 the last look, tidings verify, answers that may never be
"""
import bisect
import json
import sys
from collections import Counter

from counts import check_counts, check_existence
from inbox import check_inboxes, oldest, place
from witness import Event, Witness, changes_of

CHANGES = {"publish", "delete", "follow", "unfollow", "mark", "mark_all", "mark_author", "unmark", "open", "like", "unlike", "comment",
           "uncomment"}
NEVER = {"corrupt", "internal", "key_reused", "invalid", "500"}  # our clients give no reason for them


class Findings:
    def __init__(self):
        self.all = []
        self.undecided = []

    def add(self, kind, text, record=None):
        attempts = getattr(record, "attempts", None)
        self.all.append((kind, text, attempts or ([record] if record else [])))

    def kinds(self):
        return Counter(kind for kind, _, _ in self.all)


def load(path):
    with open(path, encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    return [record for record in records if "op" in record], [record for record in records if "op" not in record]


def check_answers(calls, findings):
    for call in calls:
        if call.get("code") in NEVER:
            findings.add("fault", f"{call['op']} was answered {call['code']}", call)
        if call["op"] == "verify" and call["answer"]["differences"]:
            findings.add("verify", call["answer"]["said"], call)


def check_seen(calls, findings):
    """An answer is no older than the token that came with the question, whatever it says of its age."""
    for call in calls:
        if call["outcome"] == "ok" and call["seen"] is not None and place(call.get("seen_now", "0.0")) < place(call["seen"]):
            findings.add("seen", f"{call['op']} asked for {call['seen']} and got {call.get('seen_now')}", call)


# ---- Events ----------------------------------------------------------------------------------------


def pages_of(calls):
    return [call for call in calls if call["op"] == "events" and call["outcome"] == "ok"]


def events_of(calls, findings):
    """All that the last look has shown, in the order of their positions."""
    shown = {}
    for page in pages_of(calls):
        check_page(page, findings)
        for row in page["answer"]["events"]:
            if shown.setdefault(row[0], row) != row:
                findings.add("page", f"event {row[0]} was {shown[row[0]]} and is {row}", page)
    last = {row[0] for page in pages_of(calls) if page["session"].endswith("last") for row in page["answer"]["events"]}
    for position in sorted(shown.keys() - last):
        findings.add("gap", f"event {shown[position]} was there and is gone at the end")
    events = [Event(*shown[position]) for position in sorted(shown)]
    authors = {event.target: event.actor for event in events if event.type == "PostPublished"}
    for event in events:
        event.target_author = authors.get(event.target, event.author)
    return events


def check_page(page, findings):
    positions = [row[0] for row in page["answer"]["events"]]
    if positions != sorted(set(positions)) or (positions and positions[0] <= page["args"]["after"]):
        findings.add("page", f"not in order, or twice: {positions}", page)
    if page["answer"]["next"] != (positions[-1] if positions else page["args"]["after"]):
        findings.add("page", f"it goes on at {page['answer']['next']}", page)


def check_gaps(calls, events, witness, findings):
    """A page has all events between its ends, for ever; and all that had been acknowledged, unless it is full."""
    positions = [event.position for event in events]
    for page in pages_of(calls):
        rows, after = page["answer"]["events"], page["args"]["after"]
        shown = {row[0] for row in rows}
        until = max(rows[-1][0] if rows else after, witness.at_least(oldest(page)) if len(rows) < 100 else 0)
        between = positions[bisect.bisect_right(positions, after):bisect.bisect_right(positions, until)]
        missing = [position for position in between if position not in shown]
        if missing:
            findings.add("gap", f"a page behind {after} lacks {missing[:5]}", page)


def check_topics(calls, events, findings):
    """What Kafka was told: everything, and by the first time of each in order; repetitions may stand between."""
    for call in calls:
        if call["op"] != "topic":
            continue
        seen = set()
        for partition, told in call["answer"].items():
            last = 0
            for event in told:
                if event not in seen and event < last:
                    findings.add("topic", f"{event} was told behind {last} in partition {partition}")
                if event not in seen:
                    last = event
                seen.add(event)
        wanted = {event.position for event in events}
        if seen != wanted:
            findings.add("topic", f"never told: {sorted(wanted - seen)[:5]}; told and not there: {sorted(seen - wanted)[:5]}")


# ---- All of it -------------------------------------------------------------------------------------


def check(calls):
    findings = Findings()
    check_answers(calls, findings)
    check_seen(calls, findings)
    events = events_of(calls, findings)
    changes = changes_of([call for call in calls if call["op"] in CHANGES], findings)
    last = {call["op"]: call["answer"] for call in calls if call["op"] in ("titles", "texts")}
    witness = Witness(events, changes, last, findings)
    check_gaps(calls, events, witness, findings)
    check_topics(calls, events, findings)
    users = sorted({call["user"] for call in calls if call["op"] in ("badge", "follow", "inbox")})
    check_inboxes(users, calls, changes, events, witness, findings)
    check_counts(calls, changes, events, witness, findings)
    check_existence(calls, changes, events, witness, findings)
    return findings


def report(findings, most=10):
    for kind, text, records in findings.all[:most]:
        print(f"{kind}: {text}")
        for record in records[:4]:
            print("    " + json.dumps(record)[:400])
    for what in findings.undecided:
        print(f"not decided: {what}")
    print(f"findings: {dict(findings.kinds()) or 'none'}")


def main():
    calls, _ = load(sys.argv[1])
    findings = check(calls)
    report(findings, 30)
    return 1 if findings.all or findings.undecided else 0


if __name__ == "__main__":
    sys.exit(main())
