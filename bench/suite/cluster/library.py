"""Through the library, without HTTP, beside the same tables written one transaction an operation (bench/database)."""
import tempfile
from pathlib import Path

from .. import relay
from .database import World, socket_path, sql
from .reads import in_turns

CONNECTIONS, IN_FLIGHT = 64, 512
WORKS = ["marks", "follows", "likes", "one-post"]


class Library:
    def __init__(self, sizes):
        self.sizes, self.worlds = sizes, {}

    def world(self, name, *shape):
        if name not in self.worlds:
            self.worlds[name] = World(f"bench_{name}", *shape)
        return self.worlds[name]

    def plain(self, name):
        return self.world(name, *self.sizes.library)

    def singly(self):
        """Its events have numbers of the database's own."""
        made = "singly" in self.worlds
        world = self.plain("singly")
        if not made:
            sql("ALTER TABLE outbox_event MODIFY position BIGINT UNSIGNED NOT NULL AUTO_INCREMENT", world.database)
        return world

    def wide(self):
        return self.world("wide", 1000, 1000, 200, 20)

    def round_trips(self):
        with tempfile.TemporaryDirectory(prefix="tidings-relay-") as directory:
            between = relay.Relay(Path(directory) / "s", socket_path(), b"FROM following", b"COMMIT")
            result = self.wide().run("calls", "badge", 1, 1, path=Path(directory) / "s", users=20)
            between.close()
            return between.packets / result["all_steps"]

    def bytes_a_post(self):
        authors, posts = self.sizes.heads
        return self.world("heads", 1, authors, authors, posts).run("calls", "heads", 1, 0)["bytes_per_post"]


def run(community, record, sizes):
    library = community.library
    contestants = [("library", library.plain("batched"), "calls", IN_FLIGHT), ("plain SQL", library.singly(), "singly", CONNECTIONS)]
    for number in range(sizes.rounds):
        for work in WORKS:
            for who, world, how, in_flight in in_turns(contestants, number):
                result = world.run(how, work, in_flight, sizes.seconds)
                record.add("library", work, who, "per_second", result["per_second"])
                record.add("library", work, who, "cpu_us", result["cpu_us"])
        badges = library.wide().run("calls", "badge", IN_FLIGHT, sizes.seconds)
        record.add("library", "badge of 200", "library", "per_second", badges["per_second"])
        record.add("library", "badge of 200", "library", "cpu_us", badges["cpu_us"])
    record.add("library", "round trips of a badge from MySQL", "library", "round_trips", library.round_trips())
    record.add("memory", "a post", "tidings", "bytes", library.bytes_a_post())
