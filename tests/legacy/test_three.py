"""The old application's keys beside three servers on one log: whatever happens to the one that makes changes, the next one goes on, nothing is
counted twice, nobody outside of the share is written, and a server that lost its turn writes nothing old over new."""
import http.client
import time

import pytest
import replicas
from bridging import Keys, check, compare_words, consumer_of, pause, resume, secret_of, settle, state_of
from community import SHARE, Traffic, check_all, community
from support.server import tidings, wait_until

LEASE_S = 3


class Storm(Traffic):
    """Goes on whatever servers answer, or do not: a change that was answered with an error may have been made."""

    def __init__(self, servers, users, seed):
        super().__init__(servers, users, seed)
        self.away = set()

    def one(self):
        at = self.random.choice([i for i in range(len(self.users)) if i not in self.away])
        return self.random.choice(self.users[at])

    def delete(self):
        """At any server, not where it was published."""
        if self.posts:
            author, post = self.posts.pop(self.random.randrange(len(self.posts)))
            at = self.random.choice([i for i in range(len(self.users)) if i not in self.away])
            next(user for user in self.users[at] if user.id == author.id).delete(post)

    def leave(self, at):
        """Nothing of it is under way there any more."""
        self.away.add(at)
        self.go_on(3)

    def run(self):
        ways = [self.publish, self.publish, self.read, self.read, self.mark, self.mark_all, self.follow, self.unfollow, self.delete]
        while not self.stopping.is_set():
            try:
                self.random.choice(ways)()
                self.done += 1
            except (AssertionError, OSError, http.client.HTTPException):
                for users in self.users:
                    for user in users:
                        user.close()
                time.sleep(0.05)


def forget(server):
    server.close_actors()
    server.actors.clear()


def agrees(server, redis, share=f"{SHARE}%"):
    done = tidings(*compare_words(server, redis, share, "--patience", "60"), timeout=180, **secret_of(server))
    assert done.returncode == 0, done.stdout + done.stderr


def catch_up(servers, redis, users):
    """Users' connections are of servers that may be gone."""
    replicas.writer_of(servers)
    settle(servers[0], redis, lambda: "".join(one.log_text() for one in servers))
    check_all(redis, [servers[0].user(user.id) for user in users])


@pytest.mark.parametrize("how", ["kill", "stop"])
@pytest.mark.parametrize("read_events", [1, 0])
def test_another_server_goes_on_when_the_writer_ends(make_three, redis, how, read_events):
    servers = make_three(f"{SHARE}%", read_events=read_events)
    users = community(servers)
    storm = Storm(servers, users, 11)
    storm.start()
    storm.go_on(100)
    writer = replicas.writer_of(servers)
    storm.away.add(servers.index(writer))
    wait_until(lambda: consumer_of(writer) and state_of(redis), "it has begun")
    forget(writer)
    writer.kill() if how == "kill" else writer.stop()
    rest = [one for one in servers if one is not writer]
    storm.go_on(100)
    storm.finish()
    catch_up(rest, redis, users)
    said = "".join(one.log_text() for one in rest)
    assert ("goes on behind event" if read_events else "filled anew") in said


@pytest.mark.parametrize("read_events", [1, 0])
def test_a_writer_that_stood_still_writes_nothing_old_over_new(make_three, redis, read_events):
    servers = make_three(f"{SHARE}%", read_events=read_events)
    users = community(servers)
    settle(servers[0], redis)
    storm = Storm(servers, users, 12)
    storm.start()
    for _ in range(2):
        storm.go_on(60)
        writer = replicas.writer_of([one for i, one in enumerate(servers) if i not in storm.away])
        storm.leave(servers.index(writer))
        forget(writer)
        pause(writer)
        try:
            rest = [one for one in servers if one is not writer]
            replicas.writer_of(rest, 20 * LEASE_S)
            storm.go_on(60)
        finally:
            resume(writer)
        storm.away.clear()
    storm.finish()
    catch_up(servers, redis, users)


def test_what_is_read_at_any_server_is_heard(make_three, redis):
    """It leaves no event, and travels in the log."""
    servers = make_three(read_events=0)
    author, reader = servers[0].users(2)
    reader.follow(author)
    posts = [author.publish()["id"] for _ in range(3)]
    settle(servers[0], redis)
    keys = Keys(redis)
    for n, (server, post) in enumerate(zip(servers, posts, strict=True), 1):
        server.user(reader.id).open(post)
        wait_until(lambda n=n: len(keys.read(reader.id)) == n, "the reading is in the keys")
    check(keys, [reader])


def test_any_server_is_compared_while_the_writer_is_replaced(make_three, redis):
    servers = make_three(f"{SHARE}%")
    users = community(servers)
    settle(servers[0], redis)
    writer = replicas.writer_of(servers)
    others = [one for one in servers if one is not writer]
    for one in others:
        agrees(one, redis)
    forget(writer)
    writer.kill()
    agrees(others[0], redis)
    replicas.writer_of(others, 20 * LEASE_S)
    others[0].user(users[0].id).publish()
    agrees(others[1], redis)


def test_every_server_says_the_same_of_the_keys(make_three, redis):
    servers = make_three()
    users = community(servers)
    settle(servers[0], redis)
    users[0].publish()
    settle(servers[0], redis)
    position = state_of(redis)["position"]
    for one in servers:
        wait_until(lambda one=one: (row := consumer_of(one)) and row["position"] == position and not row["waiting_since"], "it is told")
