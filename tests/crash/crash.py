#!/usr/bin/env python3
"""The crash test: a server under many clients that change things, killed at a random moment and started again.

    crash.py [--rounds N] [--clients N] [--seed N] [--keep]

Every change that was answered must be there, every client must see the whole of its world as it remembers it, and
`tidings verify` must find nothing. The data directory goes through all rounds. The seed decides what the clients do and
after how many answers the server is killed; what is answered when is up to the machine.
"""
import argparse
import asyncio
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

from client import Client  # sets the path to support, too

from support.server import BIN, SECRET, Server, clean_environment  # noqa: E402

VERIFY_EVERY = 10
SETTINGS = {"follow_burst": 1_000_000, "react_burst": 1_000_000, "comment_burst": 1_000_000, "publish_burst": 1_000_000, "access_log": 0,
            "map_mb": 1024, "log_segment_mb": 1, "snapshot_log_mb": 1}


class Failure(Exception):
    pass


class Test:
    def __init__(self, arguments):
        self.seed = arguments.seed
        self.rng = random.Random(arguments.seed)
        self.data = tempfile.mkdtemp(prefix="tidings-crash-")
        self.clients = [Client(number, arguments.seed, SECRET) for number in range(arguments.clients)]
        self.settings = SETTINGS
        self.answers = 0
        self.unanswered = 0

    def server(self):
        return Server(data=self.data, settings=self.settings)

    def kill_while_starting(self):
        """Recovery can be cut short like anything else."""
        flags = [f"--{name.replace('_', '-')}={value}" for name, value in self.settings.items()]
        process = subprocess.Popen([BIN, "serve", "--data", self.data, "--listen", "127.0.0.1:0", *flags],
                                   env=clean_environment(TIDINGS_JWT_SECRET=SECRET),
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(self.rng.random() * 0.04)
        process.kill()
        process.wait()

    async def connect(self, server):
        for client in self.clients:
            client.close()
            await client.connect(server.port)

    async def look(self, server):
        """Settles what was not answered, then compares everything."""
        await self.connect(server)
        self.unanswered += sum(client.pending is not None for client in self.clients)
        await asyncio.gather(*(client.settle() for client in self.clients))
        wrong = sum(await asyncio.gather(*(client.check() for client in self.clients)), [])
        if wrong:
            raise Failure("\n".join(wrong[:20]))

    async def crash(self, server):
        left = self.rng.randint(1, 1200)

        def answered():
            nonlocal left
            left -= 1
            self.answers += 1
            if left == 0:
                server.process.kill()

        await asyncio.gather(*(client.work(answered) for client in self.clients))

    async def round(self, number):
        server = self.server().start()
        try:
            await self.look(server)
            await self.crash(server)
            server.kill()
        finally:
            server.close()
        if self.rng.random() < 0.2:
            self.kill_while_starting()
        if number % VERIFY_EVERY == 0:
            server.verify()

    async def would_notice(self):
        """Changes something that a client does not know of: it must see that."""
        client = self.clients[0]
        await client.send("PUT", "/v1/users/me", {"name": "somebody else"}, client.tokens[0])
        if not await client.check():
            raise Failure("a change behind a client's back was not noticed: the test proves nothing")

    async def finish(self):
        server = self.server().start()
        try:
            await self.look(server)
            await self.would_notice()
            for client in self.clients:
                client.close()
            server.stop()
            print("verify:", server.verify().strip())
        finally:
            server.close()


async def run(arguments):
    test = Test(arguments)
    print(f"crash: seed {test.seed}, {arguments.rounds} rounds, {arguments.clients} clients, {test.data}", flush=True)
    for number in range(1, arguments.rounds + 1):
        try:
            await test.round(number)
        except (AssertionError, Failure) as error:
            print(f"\nround {number} of seed {test.seed}: {error}\nthe data stay in {test.data}")
            return 1
        if sys.stdout.isatty() or number % 20 == 0:
            end = "" if sys.stdout.isatty() else "\n"
            print(f"\rround {number}: {test.answers} changes answered, {test.unanswered} left open ", end=end, flush=True)
    try:
        await test.finish()
    except (AssertionError, Failure) as error:
        print(f"\nat the end of seed {test.seed}: {error}\nthe data stay in {test.data}")
        return 1
    print(f"crash: {arguments.rounds} rounds, {test.answers} changes answered, {test.unanswered} settled, all there")
    if not arguments.keep:
        shutil.rmtree(test.data)
    return 0


def main():
    parser = argparse.ArgumentParser(description="kill -9 under load, again and again")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--seed", type=int, default=int(time.time() * 1000) + os.getpid())
    parser.add_argument("--keep", action="store_true", help="leave the data directory")
    return asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(main())
