#!/usr/bin/env python3
"""Links that can be made bad: a process that forwards connections, told by lines of JSON what to do with them.

    {"do": "add", "link": "mysql-0", "to": ["127.0.0.1", 3306]}   answered with {"port": …}
    {"do": "set", "link": "mysql-0", "how": "hold"}               answered with {}
    {"do": "aim", "link": "client-0", "to": ["127.0.0.1", 8081]}  where new connections lead from now on

    pass      as if it were not there
    delay     every piece comes 150 ms later
    far       every piece comes 20 ms later
    slow      4,000 bytes a second
    hold      connections are taken, and nothing comes through; what was held comes when the link is well again
    old       as hold, but for connections that are made now: these are well, and what the others held comes behind it all
    deaf      what is sent to the target arrives, its answers are held: half open
    commits   as hold, from the first statement on with which changes are committed: the database has their locks meanwhile
    lost      connections are reset with a commit under way, and new ones are well: by turns the commit never arrives, some of its bytes do,
              its answer does not, some bytes of its answer do, or it arrives a second later, when somebody has looked already whether
              it did; three of four are well, so that there is something to be lost
    cut       all connections are reset, and new ones, too
    snap      each connection is reset in the middle of the next answer
"""
import asyncio
import json
import random
import socket
import struct
import sys

PIECE = 16384
DELAY_S = 0.15
SLOW_BYTES = 4000
COMMITS = b"UPDATE tidings_writer SET append_id="
FAR_S = 0.02
WAYS = {"pass", "delay", "far", "slow", "hold", "old", "deaf", "commits", "lost", "cut", "snap"}
LATE_S = 1


class Link:
    def __init__(self, target):
        self.target = target
        self.how = "pass"
        self.changed = asyncio.Event()
        self.open = set()  # writers
        self.made = self.old = 0  # connections, and how many of them there were when the link became bad
        self.commits, self.doomed = 0, {}  # and connections whose next answer gets lost: whether some bytes of it come

    async def start(self):
        self.server = await asyncio.start_server(self.take, "127.0.0.1", 0)
        return self.server.sockets[0].getsockname()[1]

    def set(self, how):
        self.how, self.old = how, self.made
        self.changed.set()
        self.changed = asyncio.Event()
        if how == "cut":
            for writer in list(self.open):
                reset(writer)

    async def take(self, reader, writer):
        if self.how == "cut":
            reset(writer)
            return
        try:
            there = await asyncio.open_connection(*self.target)
        except OSError:
            reset(writer)
            return
        self.open |= {writer, there[1]}
        self.made += 1
        ways = [asyncio.create_task(self.forward(reader, there[1], False, self.made, writer)),
                asyncio.create_task(self.forward(there[0], writer, True, self.made))]
        try:
            await asyncio.gather(*ways)
        except OSError:
            pass  # one way has ended badly, so both have
        finally:
            for way in ways:
                way.cancel()
            for one in (writer, there[1]):
                self.open.discard(one)
                one.transport.abort()

    async def forward(self, reader, writer, is_answer, number, back=None):
        while piece := await reader.read(PIECE):
            await self.pace(piece, is_answer, number)
            if is_answer and number in self.doomed:
                if self.doomed[number]:
                    await self.begin_piece(writer, piece)
                reset(writer)
                return
            if not is_answer and self.how == "lost" and COMMITS in piece and await self.lose(piece, writer, back, number):
                return
            if is_answer and self.how == "snap":
                writer.write(piece[:len(piece) // 2])
                await writer.drain()
                for one in (writer, *self.open):
                    reset(one)
                return
            writer.write(piece)
            await writer.drain()
        writer.write_eof()

    async def begin_piece(self, writer, piece):
        """Some bytes of it."""
        writer.write(piece[:random.randrange(len(piece))])
        await writer.drain()
        await asyncio.sleep(FAR_S)

    async def lose(self, piece, writer, back, number):
        """Whether the commit does not arrive."""
        self.commits += 1
        turn, is_well = self.commits // 4 % 5, self.commits % 4
        if is_well:
            return False
        if turn == 0:
            reset(writer)
            return True
        if turn == 1:
            await self.begin_piece(writer, piece)
            reset(writer)
            return True
        if turn < 4:
            self.doomed[number] = turn == 3
        else:
            reset(back)
            await asyncio.sleep(LATE_S)
        return False

    def holds(self, piece, is_answer, number):
        if self.how == "commits" and COMMITS in piece:
            self.how = "hold"
        if self.how == "old":
            return number <= self.old
        return self.how == "hold" or (self.how == "deaf" and is_answer)

    async def pace(self, piece, is_answer, number):
        while self.holds(piece, is_answer, number):
            await self.changed.wait()
        if self.how == "delay":
            await asyncio.sleep(DELAY_S)
        elif self.how == "far":
            await asyncio.sleep(FAR_S)
        elif self.how == "slow":
            await asyncio.sleep(len(piece) / SLOW_BYTES)


def reset(writer):
    """Not closed in order: whoever is at the other end learns nothing of what was on its way."""
    sock = writer.get_extra_info("socket")
    if sock is not None and sock.fileno() >= 0:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def obey(links, order):
    if order["do"] == "add":
        links[order["link"]] = link = Link(order["to"])
        return {"port": await link.start()}
    link = links[order["link"]]
    if order["do"] == "aim":
        link.target = order["to"]
    else:
        assert order["how"] in WAYS
        link.set(order["how"])
    return {}


async def main():
    loop, links = asyncio.get_running_loop(), {}
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        print(json.dumps(await obey(links, json.loads(line))), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
