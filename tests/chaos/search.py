"""Is there an order of these calls that explains their answers?  A search for a linearization, a point in time after the other.

Each call has `begin` and `end` (infinite if it was never answered: then it may have happened at any time later, or never). `step(state,
call)` gives the states that are possible behind a call in a state, none if its answer contradicts the state. All
explanations are kept that differ in their state, so the search is complete; calls take effect as late as they may (Lowe, Testing for
linearizability), so few calls are under way at a time and there are few explanations.

Calls for which `is_aside` holds change nothing, and many may be under way at a time: answers that may be old. Such a call is done in
the first state that explains it, which forbids nothing. A call that has `after`, the number of another one, does not happen before that.
"""
import math

LIMIT = 20_000  # explanations at a time; beyond them nothing is decided


class Undecided(Exception):
    pass


def points_of(calls):
    """Begins and ends in time; at the same moment a begin comes first, so that the two may be in either order."""
    points = [(call.begin, 0, i) for i, call in enumerate(calls)]
    points += [(call.end, 1, i) for i, call in enumerate(calls) if call.end < math.inf]
    return sorted(points)


class Search:
    def __init__(self, calls, step, is_aside):
        self.calls, self.step, self.is_aside = calls, step, is_aside
        self.waiting, self.asides = set(), set()

    def explained(self, way):
        """The way, with what its state explains besides."""
        state, done = way
        more = {i for i in self.asides - done
                if (self.calls[i].after not in self.waiting or self.calls[i].after in done)
                and any(True for _ in self.step(state, self.calls[i]))}
        return (state, done | more) if more else way

    def behind(self, ways, last):
        """All ways behind which `last` has happened."""
        found, seen, todo = set(), set(ways), list(ways)
        while todo:
            state, done = todo.pop()
            if last in done:
                found.add((state, done - {last}))
                continue
            for i in self.waiting - done:
                for after in self.step(state, self.calls[i]):
                    if after == state and self.calls[i].end == math.inf:
                        continue  # it need not have happened
                    way = self.explained((after, done | {i}))
                    if way not in seen:
                        seen.add(way)
                        todo.append(way)
            if len(seen) > LIMIT:
                raise Undecided
        return self.most_explained(found)

    def most_explained(self, ways):
        """Without ways that explain less than another one which is as it otherwise."""
        if not self.asides:
            return ways
        alike = {}
        for state, done in ways:
            alike.setdefault((state, done - self.asides), []).append(done & self.asides)
        return {(state, done | most) for (state, done), sets in alike.items()
                for most in sets if not any(most < other for other in sets)}

    def begins(self, ways, i):
        if not self.is_aside(self.calls[i]):
            self.waiting.add(i)
            return ways
        self.asides.add(i)
        return {self.explained(way) for way in ways}

    def ends(self, ways, i):
        ways = self.behind(ways, i)
        self.waiting.discard(i)
        self.asides.discard(i)
        return ways

    def unfinished(self, ways):
        """With what was never answered done, or not."""
        seen, todo = set(ways), list(ways)
        while todo:
            state, done = todo.pop()
            for i in self.waiting - done:
                for after in self.step(state, self.calls[i]):
                    way = (after, done | {i})
                    if after != state and way not in seen:
                        seen.add(way)
                        todo.append(way)
            if len(seen) > LIMIT:
                raise Undecided
        return seen


def search(calls, initial, step, is_aside=lambda call: False):
    """The first call that cannot be explained, or None; and the states at the end."""
    ways, search_ = {(initial, frozenset())}, Search(calls, step, is_aside)
    for _, is_end, i in points_of(calls):
        ways = search_.ends(ways, i) if is_end else search_.begins(ways, i)
        if not ways:
            return calls[i], set()
    return None, {state for state, _ in search_.unfinished(ways)}
