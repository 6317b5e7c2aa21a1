#!/usr/bin/env python3
"""No success is sent before it is durable: watches the calls of a real server with strace.

Clients, one alone and then many at once, send changes with a mark in their text. For every answer that says that a
change was made, there must be: a write of the mark to a file of the data directory, then a sync of that file that
began after the write had ended, and ended, before the sending of the answer began. Changes without a text must at least
have some write and its sync between the request and the answer.

Then the calls are doctored: with syncs left out, begun too early or ended too late every answer must be found wanting.

Exit 77, which is "skipped", if there is no strace, or it may not watch.
"""
import asyncio
import dataclasses
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "http"))

from support.connection import Connection  # noqa: E402
from support.server import SECRET, Server  # noqa: E402
from support.tokens import token  # noqa: E402

from calls import read_calls  # noqa: E402

CALLS = "read,recvfrom,recvmsg,write,writev,sendto,sendmsg,pwrite64,pwritev,fdatasync,fsync,msync"
STRACE = ["strace", "-D", "-f", "-yy", "-s", "262144", "-e", "trace=" + CALLS]
READS = {"read", "recvfrom", "recvmsg"}
SENDS = {"write", "writev", "sendto", "sendmsg"}
WRITES = {"write", "writev", "pwrite64", "pwritev"}
SYNCS = {"fdatasync", "fsync"}
CHANGE = re.compile(r'"(POST|PUT|PATCH|DELETE) (/v1/\S+) ')
STATUS = re.compile(r'"HTTP/1\.1 (\d+) ')
MARK = re.compile(r"mark-\d+-\d+-")
SKIPPED = 77
CLIENTS, CHANGES = 16, 25


# ---- The clients --------------------------------------------------------------------------------

async def work(port, number):
    connection = Connection()
    bearer = token(SECRET, 1000 + number)
    await connection.connect(port)
    for i in range(CHANGES):
        mark = f"mark-{number}-{i}-"
        status, post = await connection.send("POST", "/v1/posts", {"kind": "note", "title": mark, "body": ""}, bearer)
        assert status == 201, post
        status, _ = await connection.send("PUT", "/v1/users/me", {"name": "name " + mark}, bearer)
        assert status == 200
        status, _ = await connection.send("POST", "/v1/relation/follow", {"user_id": 5000 + i}, bearer)
        assert status == 200
        status, _ = await connection.send("DELETE", f"/v1/posts/{post['id']}", None, bearer)
        assert status == 204
    connection.close()


async def work_all(port):
    await work(port, CLIENTS)
    await asyncio.gather(*(work(port, number) for number in range(CLIENTS)))


# ---- The check ----------------------------------------------------------------------------------

def answers_of(calls):
    """(request, answer) for every change that was answered with success. One at a time on each connection."""
    asked = {}
    for call in calls:
        if not call.target.startswith("TCP"):
            continue
        if call.name in READS and (change := CHANGE.search(call.text)):
            asked[call.target] = call
        elif call.name in SENDS and (status := STATUS.search(call.text)):
            request = asked.pop(call.target, None)
            if request and status.group(1).startswith("2"):
                yield request, call


def is_durable(request, answer, writes, syncs):
    """Whether what was asked for was written and synced before it was answered."""
    mark = MARK.search(request.text)
    for write in writes:
        if not (request.end < write.begin and write.end < answer.begin):
            continue
        if mark and mark.group() not in write.text:
            continue
        if any(sync.target == write.target and write.end < sync.begin and sync.end < answer.begin for sync in syncs):
            return True
    return False


def check(calls, data):
    """The answers in all, and those that came too early."""
    in_data = [call for call in calls if call.target.startswith(data + "/")]
    writes = [call for call in in_data if call.name in WRITES and call.result > 0]
    syncs = [call for call in in_data if call.name in SYNCS and call.result == 0]
    answers = list(answers_of(calls))
    early = [(request, answer) for request, answer in answers if not is_durable(request, answer, writes, syncs)]
    return answers, early


def doctored(calls):
    """The same calls with syncs that do not cover what they should, in several ways."""
    def syncs_become(change):
        return [change(call) if call.name in SYNCS else call for call in calls]

    last = calls[-1].end
    yield "without syncs", [call for call in calls if call.name not in SYNCS]
    yield "with syncs that fail", syncs_become(lambda call: dataclasses.replace(call, result=-1))
    yield "with syncs that end too late", syncs_become(lambda call: dataclasses.replace(call, end=last + 1))
    yield "with syncs that begin too early", syncs_become(lambda call: dataclasses.replace(call, begin=-1))
    yield "with syncs of another file", syncs_become(lambda call: dataclasses.replace(call, target="/elsewhere"))


# ---- Putting it together ------------------------------------------------------------------------

def can_watch():
    if not shutil.which("strace"):
        return False
    return subprocess.run(["strace", "-f", "-o", "/dev/null", "true"], capture_output=True, check=False).returncode == 0


def record(directory):
    trace = os.path.join(directory, "strace")
    server = Server(data=os.path.join(directory, "data"), wrapper=[*STRACE, "-o", trace],
                    settings={"follow_burst": 100_000, "publish_burst": 100_000, "access_log": 0}).start()
    try:
        asyncio.run(work_all(server.port))
        server.stop()
    finally:
        server.close()
    with open(trace, encoding="latin-1") as file:
        return read_calls(file)


def main():
    if not can_watch():
        print("skipped: strace is not there, or may not watch")
        return SKIPPED
    directory = os.path.realpath(tempfile.mkdtemp(prefix="tidings-acks-"))
    data = os.path.join(directory, "data")
    calls = record(directory)
    answers, early = check(calls, data)
    for request, answer in early[:10]:
        print(f"answered too early: line {request.begin}: {request.text[:120]}\n  line {answer.begin}: {answer.text[:80]}")
    print(f"{len(answers)} changes answered, {len(early)} before they were durable")
    expected = (CLIENTS + 1) * CHANGES * 4
    if len(answers) != expected:
        print(f"expected {expected} answers: the calls were not all understood")
        return 1
    for how, wrong in doctored(calls):
        found = len(check(wrong, data)[1])
        if found != len(answers):
            print(f"{how}: only {found} of {len(answers)} answers were found wanting")
            return 1
    if early:
        print(f"the calls are in {directory}/strace")
        return 1
    shutil.rmtree(directory)
    return 0


if __name__ == "__main__":
    sys.exit(main())
