"""What a user may have seen in the inbox: badges, counts by author and lists, held against the order of events.

The views of a user are a list: each event that delivers, deletes or purges something of the user's makes the next one. What is read
is no event here (it may be kept or not), so marks are placed by a search. An exact answer shows the latest view at some moment between
its begin and its end, and no older one than an exact answer before it. An answer that says how old it may be (`Tidings-Age`) shows
everything as it was at one moment between that long before its begin and its end, which is no earlier than that of the answer whose
`Tidings-Seen` it was asked with.
"""
import bisect
import dataclasses
import math
from collections import defaultdict
from dataclasses import dataclass, field

from search import Undecided, search

MARKS = {"mark", "mark_all", "mark_author", "unmark", "open"}
LOOKS = {"badge", "unread", "list"}
PAGE = 100
SLACK_MS = 2  # times are told in whole milliseconds
MOMENT_S = 1e-7  # between two calls of which one is to stand behind the other


@dataclass
class View:
    position: int
    delivered: int = 0  # a bit for each post that was ever delivered to the user
    deleted: int = 0
    following: frozenset = frozenset()

    @property
    def shown(self):
        return self.delivered & ~self.deleted


@dataclass
class Views:
    """Of one user."""
    user: int
    views: list = field(default_factory=lambda: [View(0)])
    bits: dict = field(default_factory=dict)  # post -> its bit
    by_author: dict = field(default_factory=lambda: defaultdict(int))

    def __post_init__(self):
        self.positions = [0]

    def put(self, position, **new):
        last = self.views[-1]
        view = View(position, **{"delivered": last.delivered, "deleted": last.deleted, "following": last.following, **new})
        if last.position == position:  # one step of two events
            self.views[-1] = view
            return
        self.views.append(view)
        self.positions.append(position)

    def deliver(self, event):
        bit = self.bits[event.target] = 1 << len(self.bits)
        self.by_author[event.author] |= bit
        self.put(event.position, delivered=self.views[-1].delivered | bit)

    def at(self, position):
        return bisect.bisect_right(self.positions, position) - 1

    def mask(self, posts):
        """The bits of these posts, or None if one of them was never delivered."""
        bits = [self.bits.get(post) for post in posts]
        return None if None in bits else sum(set(bits))


def views_of(users, events, findings):
    """By user."""
    made = {user: Views(user) for user in users}
    fans = defaultdict(set)
    for event in events:
        if event.type == "PostPublished":
            for user in sorted(fans[event.target_author]):
                made[user].deliver(event)
        elif event.type == "PostDeleted":
            for views in made.values():
                if event.target in views.bits:
                    views.put(event.position, deleted=views.views[-1].deleted | views.bits[event.target])
        elif event.type in ("FollowCreated", "FollowCanceled") and event.actor in made:
            follow(made[event.actor], fans, event)
        elif event.type == "InboxPurged" and event.actor in made:
            purge(made[event.actor], event, findings)
    return made


def follow(views, fans, event):
    now = views.views[-1].following
    if event.type == "FollowCreated":
        fans[event.target].add(event.actor)
        views.put(event.position, following=now | {event.target})
    else:
        fans[event.target].discard(event.actor)
        views.put(event.position, following=now - {event.target})


def purge(views, event, findings):
    last = views.views[-1]
    gone = last.delivered & views.by_author[event.target]
    if gone.bit_count() != -event.delta:
        findings.add("purge", f"{event} of an inbox with {gone.bit_count()} items of that author")
    position = event.position - 1 if event.is_with_unfollow else event.position
    views.put(position, delivered=last.delivered & ~gone)


# ---- The search --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class State:
    view: int = 0  # no exact answer shows an older one
    read: int = 0
    looked: tuple = ()  # (call, view): of what somebody marks as read up to it


@dataclass
class Look:
    """A call of the search: a read, or a change with all its attempts."""
    op: str
    id: int
    session: str
    begin: float
    end: float
    args: dict
    answer: dict
    is_old: bool  # it may be
    record: object
    has_key: bool = False
    after: int = None  # the call whose token it has sent, by its number among these


def oldest(call):
    """As of when its answer must be: it has everything that was acknowledged before."""
    return call["begin"] - (call["age_ms"] + SLACK_MS) / 1000 if "age_ms" in call else call["begin"]


def place(token):
    """Era and position."""
    return tuple(map(int, token.split(".")))


def look_of_call(call):
    return Look(call["op"], call["id"], call["session"], oldest(call), call["end"], call["args"], call["answer"], "age_ms" in call, call)


def looks_of_change(change):
    """The change; and what was read afterwards, if its answer was not kept with a key."""
    has_key = change.attempts[0]["key"] is not None
    yield Look(change.op, change.id, change.session, change.begin, change.end, change.args, change.answer, False, change, has_key)
    if change.answer and not has_key:
        yield Look("after", -change.id, change.session, change.begin, change.end, {"mark": change.id}, change.answer, False, change)


def replace(pairs, name, value):
    return tuple(sorted({**dict(pairs), name: value}.items()))


class Inbox:
    """Of one user; `looks` are all calls about it."""

    def __init__(self, views, looks, witness):
        self.views, self.looks, self.witness = views, looks, witness
        self.used = {}  # calls whose `as_of` somebody marks up to, and until when
        for look in looks:
            if "from" in look.args:
                self.used[look.args["from"]] = max(self.used.get(look.args["from"], 0), look.end)
        self.ranges = {look.id: self.range_of(look) for look in looks}
        self.masks = {look.id: views.mask(look.args["posts"]) for look in looks if look.op in ("mark", "unmark")}
        self.doable = {}  # of marks that were never answered, by look

    def range_of(self, look):
        first = self.views.at(self.witness.at_least(look.begin))
        last = len(self.views.views) - 1 if look.end == math.inf else self.views.at(self.witness.at_most(look.end))
        return first, last

    def is_aside(self, look):
        return look.is_old and look.id not in self.used

    def unread(self, view, read):
        return self.views.views[view].shown & ~read

    def fits(self, look, view, read):
        unread, answer = self.unread(view, read), look.answer
        if look.op == "badge":
            return unread.bit_count() == answer["total"]
        if look.op == "list":
            return self.fits_list(unread, answer)
        return self.fits_authors(self.views.views[view], unread, answer)

    def fits_list(self, unread, answer):
        mask = self.views.mask(answer["posts"])
        if mask is None or mask & ~unread:
            return False
        return mask.bit_count() == PAGE if answer["more"] else mask == unread

    def fits_authors(self, view, unread, answer):
        shown = {author: (n, is_followed) for author, n, is_followed in answer["authors"]}
        if unread.bit_count() != answer["total"]:
            return False
        wanted = {author: (0, True) for author in view.following}
        for author, mask in self.views.by_author.items():
            n = (unread & mask).bit_count()
            if n or author in view.following:
                wanted[author] = (n, author in view.following)
        return shown == wanted

    # ---- Steps ----

    def step(self, state, look):
        if look.op in LOOKS:
            yield from self.look(state, look)
        elif look.op == "after":
            yield from self.look_after(state, look)
        else:
            yield from self.mark(state, look)

    def look(self, state, look):
        first, last = self.ranges[look.id]
        for view in range(max(first, state.view), last + 1):
            if self.fits(look, view, state.read):
                yield self.looked(state, look, view)
                if look.id not in self.used:
                    return  # an older view forbids nothing that a newer one allows

    def look_after(self, state, look):
        """What a mark was answered with: only when it has been made."""
        if look.args["mark"] not in dict(state.looked):
            return
        first, last = self.ranges[look.id]
        for view in range(max(first, state.view), last + 1):
            if self.unread(view, state.read).bit_count() == look.answer["total"]:
                looked = tuple(pair for pair in state.looked if pair[0] != look.args["mark"])
                yield dataclasses.replace(self.looked(state, look, view), looked=looked)
                return

    def looked(self, state, look, view):
        looked = state.looked
        if look.id in self.used:
            needed = [(call, shown) for call, shown in looked if self.used.get(call, math.inf) >= look.begin]
            looked = replace(needed, look.id, view)
        return State(state.view if look.is_old else view, state.read, looked)

    def mark(self, state, look):
        first, last = self.ranges[look.id]
        first = max(first, state.view)
        return self.open_marks(state, look, first, last) if look.answer is None else self.answered_marks(state, look, first, last)

    def open_marks(self, state, look, first, last):
        """Never answered: in the first view in which it can have been done. Later ones differ in nothing that counts."""
        if look.id in self.masks:
            doable = self.doable_in(look)
            i = bisect.bisect_left(doable, first)
            first = doable[i] if i < len(doable) else last + 1
        if first <= last:
            read = self.read_after(state, look, first)
            if read is not None:
                yield self.marked(state, look, first, read)

    def doable_in(self, look):
        """The views in which all posts that it names are there: many are tried, and they are always the same."""
        if look.id not in self.doable:
            mask = self.masks[look.id]
            self.doable[look.id] = [i for i, view in enumerate(self.views.views) if mask is not None and not mask & ~view.delivered]
        return self.doable[look.id]

    def answered_marks(self, state, look, first, last):
        """In the oldest view in which as many are marked as it says. With a key what is left is of the same moment; without one it is
        read afterwards, by a call of its own."""
        for view in range(first, last + 1):
            read = self.read_after(state, look, view)
            if read is None or (look.has_key and self.unread(view, read).bit_count() != look.answer["total"]):
                continue
            changed = self.unread(view, read) ^ self.unread(view, state.read)
            if look.op == "open" or changed.bit_count() == look.answer["marked"]:
                made = self.marked(state, look, view, read)
                yield made if look.has_key else dataclasses.replace(made, looked=replace(made.looked, look.id, view))
                return

    @staticmethod
    def marked(state, look, view, read):
        if look.answer is None:  # when it happened is not known, so it forbids no older view
            return State(state.view, read, state.looked)
        return State(max(view, state.view), read, state.looked)

    def read_after(self, state, look, view):
        """What is read after it in this view; None: it cannot have been done."""
        delivered = self.views.views[view].delivered
        if look.op == "open":
            return state.read | self.views.bits.get(look.args["post"], 0)
        if look.op in ("mark", "unmark"):
            mask = self.masks[look.id]
            if mask is None or mask & ~delivered:
                return None
            return state.read | mask if look.op == "mark" else state.read & ~(mask & ~self.views.views[view].deleted)
        source = dict(state.looked).get(look.args["from"])
        if source is None:
            return None
        upto = self.views.views[source].delivered & delivered
        if look.op == "mark_author":
            upto &= self.views.by_author[look.args["author"]]
        return state.read | upto


def check_inboxes(users, calls, changes, events, witness, findings):
    """Every user's; and what is in it at the end."""
    views = views_of(users, events, findings)
    looks, wholes = defaultdict(list), []
    for call in calls:
        if call["op"] in LOOKS and call["outcome"] == "ok":
            looks[call["user"]].append(look_of_call(call))
        elif call["op"] in ("inbox", "following") and call["outcome"] == "ok":
            wholes.append(call)
    for change in changes:
        if change.op in MARKS and not change.refused:
            looks[change.user] += looks_of_change(change)
    sources = sources_of(calls, changes)
    for user in users:
        heed_tokens(looks[user], sources)
        check_inbox(user, views[user], looks[user], witness, findings)
    for call in wholes:
        check_whole(views[call["user"]], call, findings)


def heed_tokens(looks, sources):
    """A read that had a mark's token in its question has the mark."""
    numbers = {look.id: number for number, look in enumerate(looks)}
    for look in looks:
        source = sources.get(look.id)
        if look.is_old and source in numbers:
            look.after = numbers[source]
            look.begin = max(look.begin, looks[look.after].begin + MOMENT_S)


def sources_of(calls, changes):
    """By read: the change whose answer had the token that the read was asked with."""
    attempts = {attempt["id"]: change.id for change in changes if change.answer for attempt in change.attempts}
    told, made = {}, {}
    for call in sorted(calls, key=lambda one: one["begin"]):
        token = (call["session"], call["seen"])
        if call["seen"] is not None and token in told:
            made[call["id"]] = attempts.get(told[token])
        if "seen_now" in call:
            told.setdefault((call["session"], call["seen_now"]), call["id"])
    return made


def check_inbox(user, views, looks, witness, findings):
    for look in looks:
        check_adds_up(look, findings)
    inbox = Inbox(views, looks, witness)
    try:
        wrong, _ = search(looks, State(), inbox.step, inbox.is_aside)
    except Undecided:
        findings.undecided.append(f"inbox of {user}")
        return
    if wrong:
        kind = "bounded" if wrong.is_old else "exact"
        first, last = inbox.ranges[wrong.id]
        findings.add(kind, f"user {user}: {wrong.op} was answered {wrong.answer}, which no order explains; views {first} to {last}, at "
                           f"{[views.views[i].position for i in range(first, min(last + 1, len(views.views)))][:8]}", wrong.record)


def check_adds_up(look, findings):
    answer = look.answer
    if look.op == "unread" and answer["total"] != sum(row[1] for row in answer["authors"]):
        findings.add("adds up", f"total {answer['total']} is not the sum of {answer['authors']}", look.record)
    if look.op == "list" and answer["wrong"]:
        findings.add("adds up", f"{answer['wrong']} in a list of what is unread", look.record)
    if look.op == "list" and len(set(answer["posts"])) != len(answer["posts"]):
        findings.add("adds up", f"a post twice in {answer['posts']}", look.record)


def check_whole(views, call, findings):
    """The last look: all pages of the inbox, all that are followed."""
    last = views.views[-1]
    if call["op"] == "following":
        if sorted(call["answer"]) != sorted(last.following):
            findings.add("at the end", f"user {call['user']} follows {sorted(call['answer'])}, events say {sorted(last.following)}", call)
        return
    shown = [row[0] for row in call["answer"]]
    mask = views.mask(shown)
    deleted = views.mask([row[0] for row in call["answer"] if row[2]])
    if len(set(shown)) != len(shown) or mask != last.delivered or deleted != last.deleted & last.delivered:
        wanted = {post for post, bit in views.bits.items() if bit & last.delivered}
        findings.add("at the end", f"inbox of {call['user']}: missing {sorted(wanted - set(shown))[:5]}, "
                                   f"too much {sorted(set(shown) - wanted)[:5]}", call)
