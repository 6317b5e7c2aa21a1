"""Whose change every event is: the order of events is a claim of the order of changes, and everything read is held against it.

A *change* is all attempts with one Idempotency-Key, or one attempt without. It has happened between its first begin and its first
answer, once; if it was never answered, at any time after its begin, once, or never; if all attempts were refused, never. Each event must
be of such a change, each answered change must have its event, and what ended before another began must have the smaller position.
"""
import bisect
import math
from collections import defaultdict
from dataclasses import dataclass, field

from search import search

TOGGLES = {"follow": 1, "unfollow": 0, "like": 1, "unlike": 0}
ONCE = {"publish": "PostPublished", "comment": "CommentCreated", "delete": "PostDeleted", "uncomment": "CommentDeleted"}
SWITCHED = {"FollowCreated": ("follow", 1), "FollowCanceled": ("follow", 0), "ReactionCreated": ("like", 1), "ReactionDeleted": ("like", 0)}
READING = {"PostRead", "PostUnread", "InboxRead"}


@dataclass
class Event:
    position: int
    type: str
    actor: int
    target: int
    delta: int
    author: int
    post: int
    reaction: str
    begin: float = math.inf  # of the changes that it may be of
    end: float = -math.inf
    is_with_unfollow: bool = False  # a purge: one step with the event before it

    def may_be(self, change):
        self.begin = min(self.begin, change.begin)
        self.end = max(self.end, change.end)


@dataclass
class Change:
    op: str
    user: int
    args: dict
    attempts: list = field(default_factory=list)
    begin: float = math.inf
    end: float = math.inf
    answer: dict = None
    refused: bool = True
    code: str = None
    id: int = 0
    session: str = ""


def changes_of(calls, findings):
    """In the order of their begins."""
    made = {}
    for call in calls:
        name = (call["user"], call["key"]) if call["key"] else call["id"]
        change = made.setdefault(name, Change(call["op"], call["user"], call["args"], id=call["id"], session=call["session"]))
        change.attempts.append(call)
        change.code = call.get("code")
        # An attempt that surely did nothing is not when it has begun.
        if call["outcome"] != "refused":
            change.refused = False
            change.begin = min(change.begin, call["begin"])
        if call["outcome"] == "ok":
            if change.answer is not None and change.answer != call["answer"]:
                findings.add("repeated", f"call {call['id']} with key {call['key']} was answered otherwise than before", call)
            change.answer = call["answer"] if change.answer is None else change.answer
            change.end = min(change.end, call["end"])
    for change in made.values():
        if change.refused:
            change.begin, change.end = change.attempts[0]["begin"], change.attempts[-1]["end"]
    return sorted(made.values(), key=lambda change: change.begin)


class Witness:
    def __init__(self, events, changes, last, findings):
        self.events, self.findings = events, findings
        self.titles, self.texts = last.get("titles", {}), last.get("texts", {})
        self.match_once(changes)
        self.match_toggles(changes)
        self.match_purges(changes)
        for event in events:
            if event.begin == math.inf and event.type not in READING:
                findings.add("nobody's event", f"{event} is of no change that may have happened")
        self.check_order()
        self.index()

    # ---- What happens once: by its id, or by its text, which no other has ----

    def match_once(self, changes):
        by_target = defaultdict(list)
        for event in self.events:
            if event.type in ONCE.values():
                by_target[event.type, event.target].append(event)
        for (kind, target), events in by_target.items():
            if len(events) > 1:
                self.findings.add("twice", f"{kind} of {target} {len(events)} times, at {[event.position for event in events]}")
        open_texts = self.texts_without_answer(by_target, changes)
        for change in changes:
            if change.op in ("publish", "comment"):
                self.match_made(change, by_target, open_texts)
            elif change.op in ("delete", "uncomment") and not change.refused:
                self.match_removed(change, by_target)

    def texts_without_answer(self, by_target, changes):
        """Texts of what no answer has named, with their events."""
        named = {change.answer["id"] for change in changes if change.op in ("publish", "comment") and change.answer}
        texts = defaultdict(list)
        for kind, known in (("PostPublished", self.titles), ("CommentCreated", self.texts)):
            for (type_, target), events in by_target.items():
                if type_ == kind and target not in named:
                    texts[kind, events[0].actor, known.get(str(target))] += events
        return texts

    def match_made(self, change, by_target, open_texts):
        kind, text = ONCE[change.op], change.args.get("title") or change.args.get("text")
        strays = open_texts.get((kind, change.user, text), [])
        if change.answer:
            events = by_target.get((kind, change.answer["id"]), [])
            if not events:
                self.findings.add("lost", f"{change.op} {change.answer['id']} was acknowledged and is in no event", change)
            if strays:
                self.findings.add("twice", f"{text!r} was made again as {strays[0].target}", change)
            for event in events:
                event.may_be(change)
        elif change.refused:
            if strays:
                self.findings.add("refused but done", f"{text!r} was refused ({change.code}) and is there", change)
                strays[0].may_be(change)
        else:
            if len(strays) > 1:
                self.findings.add("twice", f"{text!r} was made {len(strays)} times", change)
            for event in strays or (open_texts.get((kind, change.user, None), []) if change.op == "comment" else []):
                event.may_be(change)

    def match_removed(self, change, by_target):
        target = change.args.get("post") or change.args.get("comment")
        events = by_target.get((ONCE[change.op], target), [])
        if change.answer is not None and not events:
            self.findings.add("lost", f"{change.op} of {target} was acknowledged and is in no event", change)
        for event in events:
            if change.answer is not None:
                event.begin, event.end = change.begin, change.end
            elif event.end in (-math.inf, math.inf):
                event.may_be(change)

    # ---- What goes on and off: its events must be explained by its changes, in an order ----

    def match_toggles(self, changes):
        asked, told = defaultdict(list), defaultdict(list)
        for change in changes:
            if change.op in TOGGLES and not change.refused:
                what = "follow" if "author" in change.args else "like"
                asked[what, change.user, change.args.get("author") or change.args["post"]].append(change)
        for event in self.events:
            what, is_on = SWITCHED.get(event.type, (None, 0))
            if what and event.reaction in (None, "like"):
                told[what, event.actor, event.target].append((event, is_on))
        for name in asked.keys() | told.keys():
            self.match_toggle(name, asked[name], told[name])

    def match_toggle(self, name, changes, events):
        for i, (event, is_on) in enumerate(events):
            if is_on == i % 2:
                self.findings.add("twice", f"{name}: {event.type} at {event.position} changes nothing")
                return

        def step(done, change):
            wanted, is_on, answer = TOGGLES[change.op], done % 2, change.answer
            if wanted == is_on:
                return [done] if answer is None or not answer["changed"] else []
            if done == len(events) or (answer and not answer["changed"]):
                return []
            events[done][0].may_be(change)
            return [done + 1]

        wrong, ends = search(changes, 0, step)
        if wrong:
            self.findings.add("lost or late", f"{name}: {wrong.op} was answered {wrong.answer}, which no order of events explains", wrong)
        elif len(events) not in ends:
            self.findings.add("nobody's event", f"{name}: {len(events)} events, and changes for {sorted(ends)}")

    def match_purges(self, changes):
        asked = defaultdict(list)
        for change in changes:
            if change.op == "unfollow" and change.args["purge"] and not change.refused:
                asked[change.user, change.args["author"]].append(change)
        by_position = {event.position: event for event in self.events}
        for event in self.events:
            if event.type == "InboxPurged":
                before = by_position.get(event.position - 1)
                if before and before.type == "FollowCanceled" and (before.actor, before.target) == (event.actor, event.target) \
                        and any(may_be_both(change, before, event) for change in asked[event.actor, event.target]):
                    event.begin, event.end, event.is_with_unfollow = before.begin, before.end, True
                    continue
                for change in asked[event.actor, event.target]:
                    if change.answer is None or change.answer["purged"] == -event.delta:
                        event.may_be(change)

    # ---- Time ----

    def check_order(self):
        """What had ended before another began stands before it."""
        latest = None
        for event in self.events:
            if event.begin == math.inf:
                continue
            if latest and event.end < latest.begin:
                self.findings.add("order", f"{event} had ended before {latest} began, and stands behind it")
            if latest is None or event.begin > latest.begin:
                latest = event

    def index(self):
        ends = sorted((event.end, event.position) for event in self.events if event.end < math.inf and event.begin < math.inf)
        begins = sorted(((event.begin, event.position) for event in self.events if event.begin < math.inf), reverse=True)
        self.end_times, self.end_most = running(ends, max)
        self.begin_times, self.begin_least = running([(-time, position) for time, position in begins], min)

    def at_least(self, begin):
        """The position that whoever begins to read then must have seen."""
        i = bisect.bisect_left(self.end_times, begin)
        return self.end_most[i - 1] if i else 0

    def at_most(self, end):
        """The last position that somebody can have seen who stopped reading then."""
        i = bisect.bisect_left(self.begin_times, -end)
        return self.begin_least[i - 1] - 1 if i else math.inf


def may_be_both(change, canceled, purged):
    """Whether it has done both: a purge of who had unfollowed before may come just behind another's unfollow."""
    if change.answer is None:
        return True
    return change.answer["changed"] and change.answer["purged"] == -purged.delta and change.begin <= canceled.end and canceled.begin <= change.end


def running(pairs, best):
    times, values = [], []
    for time, value in pairs:
        times.append(time)
        values.append(best(values[-1], value) if values else value)
    return times, values
