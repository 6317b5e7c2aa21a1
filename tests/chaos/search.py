"""Is there an order of these calls that explains their answers?  A search for a linearization, a point in time after the other.

Each call has `begin` and `end` (infinite if it was never answered: then it may have happened at any time later, or never). `step(state,
call)` gives the states that are possible behind a call in a state, none if its answer contradicts the state. All
explanations are kept that differ in their state, so the search is complete; calls take effect as late as they may (Lowe, Testing for
linearizability), so few calls are under way at a time and there are few explanations.
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


def behind(ways, last, calls, waiting, step):
    """All ways behind which `last` has happened."""
    found, seen, todo = set(), set(ways), list(ways)
    while todo:
        state, done = todo.pop()
        if last in done:
            found.add((state, done - {last}))
            continue
        for i in waiting - done:
            for after in step(state, calls[i]):
                if after == state and calls[i].end == math.inf:
                    continue  # it need not have happened
                way = (after, done | {i})
                if way not in seen:
                    seen.add(way)
                    todo.append(way)
        if len(seen) > LIMIT:
            raise Undecided
    return found


def search(calls, initial, step):
    """The first call that cannot be explained, or None; and the states at the end."""
    ways, waiting = {(initial, frozenset())}, set()
    for _, is_end, i in points_of(calls):
        if not is_end:
            waiting.add(i)
            continue
        ways = behind(ways, i, calls, waiting, step)
        waiting.discard(i)
        if not ways:
            return calls[i], set()
    return None, {state for state, _ in unfinished(ways, calls, waiting, step)}


def unfinished(ways, calls, waiting, step):
    """With what was never answered done, or not."""
    seen, todo = set(ways), list(ways)
    while todo:
        state, done = todo.pop()
        for i in waiting - done:
            for after in step(state, calls[i]):
                way = (after, done | {i})
                if after != state and way not in seen:
                    seen.add(way)
                    todo.append(way)
        if len(seen) > LIMIT:
            raise Undecided
    return seen
