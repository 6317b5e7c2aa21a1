"""Counts that everybody sees: of posts (likes, comments) and of users (following, followers, posts, liked posts), held against
the order of events. There is nothing hidden in them, so the oldest moment that explains an answer forbids least: if later answers cannot
go with that one, they go with none."""
import bisect
import math
from collections import defaultdict

from inbox import oldest

COUNTERS = ("following", "followers", "posts", "liked_posts")
STATS = ("likes", "comments")


class Steps:
    """The values of one subject's counts, by position."""

    def __init__(self, names):
        self.positions, self.values = [0], [dict.fromkeys(names, 0)]

    def add(self, position, name, delta):
        new = {**self.values[-1], name: self.values[-1][name] + delta}
        if self.positions[-1] == position:
            self.values[-1] = new
            return
        self.positions.append(position)
        self.values.append(new)

    def first_fitting(self, answer, least, most):
        """The oldest position of a value that fits, between these two; None if there is none."""
        i = max(0, bisect.bisect_right(self.positions, least) - 1)
        while i < len(self.positions) and self.positions[i] <= most:
            if all(answer[name] == value for name, value in self.values[i].items()):
                return max(self.positions[i], least)
            i += 1
        return None


def steps_of(events):
    """(posts, users)"""
    posts, users = defaultdict(lambda: Steps(STATS)), defaultdict(lambda: Steps(COUNTERS))
    for event in events:
        if event.type in ("FollowCreated", "FollowCanceled"):
            users[event.actor].add(event.position, "following", event.delta)
            users[event.target].add(event.position, "followers", event.delta)
        elif event.type in ("PostPublished", "PostDeleted"):
            users[event.target_author].add(event.position, "posts", event.delta)
        elif event.type in ("ReactionCreated", "ReactionDeleted"):
            posts[event.target].add(event.position, "likes", event.delta)
            users[event.actor].add(event.position, "liked_posts", event.delta)
        elif event.type in ("CommentCreated", "CommentDeleted"):
            posts[event.post].add(event.position, "comments", event.delta)
    return posts, users


def check_counts(calls, changes, events, witness, findings):
    posts, users = steps_of(events)
    asked = defaultdict(list)
    for call in calls:
        if call["outcome"] == "ok" and call["op"] == "stats":
            asked["post", call["args"]["post"]].append((oldest(call), call["end"], call["answer"], call))
        elif call["outcome"] == "ok" and call["op"] == "counter":
            asked["user", call["args"]["of"]].append((oldest(call), call["end"], call["answer"], call))
    for change in changes:
        if change.op in ("like", "unlike") and change.answer:
            asked["post", change.args["post"]].append((change.begin, change.end, change.answer, change))
    for (kind, subject), answers in asked.items():
        check_subject(f"{kind} {subject}", (posts if kind == "post" else users)[subject], answers, witness, findings)


def check_subject(name, steps, answers, witness, findings):
    """In the order of their begins; each must be no older than exact ones that had ended before it began."""
    finished, least = [], 0  # (end, position) of those placed, by end
    for begin, end, answer, record in sorted(answers, key=lambda one: one[0]):
        while finished and finished[0][0] < begin:
            least = max(least, finished.pop(0)[1])
        found = steps.first_fitting(answer, max(least, witness.at_least(begin)), witness.at_most(end))
        if found is None:
            findings.add("count", f"{name}: {answer} at no moment of the call, from {max(least, witness.at_least(begin))} to "
                                  f"{witness.at_most(end)}", record)
            continue
        if not isinstance(record, dict) or "age_ms" not in record:
            bisect.insort(finished, (end, found))


def check_existence(calls, changes, events, witness, findings):
    """What was acknowledged is found; what is said to be deleted may be."""
    made = {change.answer["id"]: change.end for change in changes if change.op in ("publish", "comment") and change.answer}
    deleted = {event.target: event.position for event in events if event.type in ("PostDeleted", "CommentDeleted")}
    of_post = {event.target: event.post for event in events if event.type == "CommentCreated"}
    for call in calls:
        target = call["args"].get("post") or call["args"].get("comment")
        if target is None or call["outcome"] != "refused":
            continue
        if call["code"] == "not_found" and made.get(target, math.inf) < oldest(call) and call["op"] != "mark":
            findings.add("lost", f"{call['op']}: {target} was acknowledged and is not found", call)
        if call["code"] == "deleted":
            when = min(deleted.get(target, math.inf), deleted.get(of_post.get(target), math.inf))
            if when > witness.at_most(call["end"]):
                findings.add("count", f"{call['op']}: {target} is said to be deleted, and is not", call)
