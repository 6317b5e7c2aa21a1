#!/usr/bin/env python3
"""All that can happen to the version of one user in Redis: src/engine/cluster/versions.h, with few writers and readers.

A state is what Redis and MySQL have and where everybody stands. From each, every step of everybody and every fault is tried; what
was not met before is looked at in turn. Wrong is a reader who is told of an older version than had been acknowledged when it asked.
Variants that leave a rule out must be found wrong: so the search can find something. Exits with 1 if any run ends otherwise.
"""

import sys
from collections import deque, namedtuple

# Redis: what the key has, the run that the process is of, the epoch that the key is of. A value is None, ("C", run, version),
# ("M", run, writer), ("S",) or ("R", run, reader).
State = namedtuple("State", "db value replica run epoch writers readers acked faults")
# Writers: (where, version, epoch); readers: (where, version, acknowledged when it asked, epoch).
# Redis may also lose what it has. Then a writer that dies after its commit is asked for by nobody: what both together do is bounded by
# the time that a version is remembered, and by nothing else.
LOSES = "loses"
IDLE, MARKED, COMMITTED, DONE = range(4)
LOOKING, LOOKED = 1, 2


def put(all_of, i, one):
    return all_of[:i] + (one,) + all_of[i + 1:]


def after_mark(value, run, i, rules):
    if "mark" not in rules:
        return value
    if value and value[0] in "MS" and "several" in rules:
        return ("S",)
    return ("M", run, i)


def after_tell(value, run, i, version, rules):
    if value is None or value == ("S",):
        return value
    if value == ("M", run, i) or ("right" not in rules):
        return ("C", run, version)
    if value[0] == "M" and value[2] != i:
        return ("S",)
    return None


def steps_of_writer(s, i, rules):
    where, version, epoch = s.writers[i]
    faults = s.faults
    if where == IDLE or (where == MARKED and epoch != s.epoch):  # it reads the epoch under its lock
        marked = after_mark(s.value, s.run, i, rules)
        yield s._replace(value=marked, writers=put(s.writers, i, (MARKED, 0, s.epoch)))
        if faults:  # not confirmed, whether or not it happened: the epoch is raised, and it begins again
            if "epoch" in rules:
                yield s._replace(value=None, replica=None, epoch=s.epoch + 1, faults=faults - 1)
            else:
                yield s._replace(writers=put(s.writers, i, (MARKED, 0, s.epoch)), faults=faults - 1)
    elif where == MARKED:
        yield s._replace(db=s.db + 1, writers=put(s.writers, i, (COMMITTED, s.db + 1, epoch)))
    elif where == COMMITTED:
        done = put(s.writers, i, (DONE, version, epoch))
        value = after_tell(s.value, s.run, i, version, rules) if epoch == s.epoch else s.value
        yield s._replace(value=value, writers=done, acked=max(s.acked, version))
        if faults:
            if "epoch" in rules:
                yield s._replace(value=None, replica=None, epoch=s.epoch + 1, writers=done, acked=max(s.acked, version), faults=faults - 1)
            else:
                yield s._replace(writers=done, acked=max(s.acked, version), faults=faults - 1)
            # It dies. Its caller asks again with the key, and is told that it has been done.
            yield s._replace(writers=done, acked=s.acked if LOSES in rules else max(s.acked, version), faults=faults - 1)


def steps_of_reader(s, i, rules):
    where, version, asked, epoch = s.readers[i]
    idle = (IDLE, 0, 0, 0)
    if where == IDLE:
        value = s.value
        if value and value[0] == "C" and (value[1] == s.run or "run" not in rules):
            if value[2] < s.acked:
                yield None
            return
        if value and value[0] in "MS":
            return
        yield s._replace(value=("R", s.run, i), readers=put(s.readers, i, (LOOKING, 0, s.acked, s.epoch)))
    elif where == LOOKING:
        yield s._replace(readers=put(s.readers, i, (LOOKED, s.db, asked, epoch)))
    else:
        mine = s.value == ("R", s.run, i) or ("right" not in rules and (s.value is None or s.value[0] != "M"))
        value = ("C", s.run, version) if mine and epoch == s.epoch else s.value
        yield s._replace(value=value, readers=put(s.readers, i, idle))


def faults_of(s, rules):
    if not s.faults or LOSES not in rules:
        return
    less = s.faults - 1
    yield s._replace(value=None, faults=less)  # emptied, evicted, or its time was over
    if s.replica != s.value:
        yield s._replace(replica=s.value)
    yield s._replace(value=s.replica, run=s.run + 1, faults=less)  # a replica takes over, with what it has


def search(writers, readers, faults, rules):
    """How many states there are, or None if one of them is wrong."""
    first = State(0, None, None, 0, 0, ((IDLE, 0, 0),) * writers, ((IDLE, 0, 0, 0),) * readers, 0, faults)
    seen, queue = {first}, deque([first])
    while queue:
        s = queue.popleft()
        following = list(faults_of(s, rules))
        for i in range(writers):
            following += steps_of_writer(s, i, rules)
        for i in range(readers):
            following += steps_of_reader(s, i, rules)
        for state in following:
            if state is None:
                return None
            if state not in seen:
                seen.add(state)
                queue.append(state)
    return len(seen)


RULES = {"mark", "several", "right", "run", "epoch"}
failed = 0
for loses in (set(), {LOSES}):
    for writers, readers, faults in ((1, 2, 2), (2, 1, 3), (2, 2, 1)):
        states = search(writers, readers, faults, RULES | loses)
        what = "Redis loses what it has" if loses else "Redis keeps what it has"
        print(f"{writers} writers, {readers} readers, {faults} faults, {what}: {states or 'WRONG'} states")
        failed += states is None
for rule, loses in (("mark", set()), ("several", set()), ("right", set()), ("run", {LOSES}), ("epoch", set())):
    states = search(2, 1, 2, RULES - {rule} | loses)
    print(f"without the rule `{rule}`: {'found wrong' if states is None else f'NOT found in {states} states'}")
    failed += states is not None
print(f"{11 - failed} passed, {failed} failed")
sys.exit(failed != 0)
