"""Several servers on one log, in place of one: every request goes to the next of them, and so does every stream."""
import itertools
import os

from .server import Server, Spoken, engine, wait_until

# How many the tests' shared server is; more than one only on `replica`.
COUNT = int(os.environ.get("TIDINGS_TEST_SERVERS", "1"))


class Servers(Spoken):
    """What is asked of a process is asked of the first; the lines that they log are all of theirs."""

    def __init__(self, count, **how):
        super().__init__()
        self.first = Server(**how)
        self.members = [self.first, *(Server(beside=self.first, **how) for _ in range(count - 1))]
        self.secret, self.data = self.first.secret, self.first.data
        self.ports = None

    def start(self):
        try:
            for one in self.members:
                one.start()
            self.settle()
        except BaseException:
            self.close()
            raise
        self.ports = itertools.cycle([one.port for one in self.members])
        return self

    def have_the_same(self):
        """Of replicas: whether one makes changes, and the others have applied what it made."""
        told = [one.replica() for one in self.members]
        return (sorted(one["role"] for one in told) == ["follower"] * (len(told) - 1) + ["writer"]
                and len({(one["position"], one["chain"]) for one in told}) == 1)

    @property
    def port(self):
        """Another one each time."""
        return next(self.ports)

    def settle(self):
        """A server hears of what others did a moment later, and would tell it to who begins to listen meanwhile."""
        if engine() == "replica":
            wait_until(self.have_the_same, "one makes changes, and the others have all of it")

    @property
    def process(self):
        return self.first.process

    def rss_bytes(self):
        return self.first.rss_bytes()

    def log_text(self):
        return "".join(one.log_text() for one in self.members)

    def verify(self):
        """Stops them all; then `tidings verify` finds nothing in any directory."""
        self.close_actors()
        for one in reversed(self.members):
            one.close_actors()
            one.stop()
        for one in self.members:
            one.verify()

    def close(self):
        self.close_actors()
        for one in reversed(self.members):
            one.close()
