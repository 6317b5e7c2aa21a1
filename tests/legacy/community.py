"""People who follow, write and read, some of them in a share and some not."""
import random
import threading
import time

from bridging import Keys, check, gate, in_share
from support.server import wait_until

SHARE = 60


class Traffic(threading.Thread):
    """A community that does everything there is to do with an inbox, by chance."""

    def __init__(self, servers, users, seed):
        super().__init__(daemon=True)
        self.random = random.Random(seed)
        self.users = [[server.user(user.id) for user in users] for server in servers]
        self.posts = []  # of whom, what
        self.stopping = threading.Event()
        self.wrong, self.done = None, 0

    def one(self):
        return self.random.choice(self.random.choice(self.users))

    def publish(self):
        author = self.one()
        self.posts.append((author, author.publish()["id"]))

    def delete(self):
        if self.posts:
            author, post = self.posts.pop(self.random.randrange(len(self.posts)))
            author.delete(post)

    def read(self):
        if self.posts:
            self.one().open(self.random.choice(self.posts)[1])

    def mark(self):
        user = self.one()
        posts = [row["post_id"] for row in user.get("/inbox", limit=5)["items"] if not row["is_deleted"]]
        if posts:
            user.post(f"/inbox/mark-{self.random.choice(['read', 'unread'])}", {"post_ids": posts})

    def mark_all(self):
        user = self.one()
        user.mark_read(up_to=user.get("/inbox/unread")["as_of"])

    def follow(self):
        user, author = self.one(), self.one()
        if user.id != author.id:
            user.follow(author)

    def unfollow(self):
        user, author = self.one(), self.one()
        if user.id != author.id:
            user.unfollow(author, purge_inbox=self.random.random() < 0.5)

    def run(self):
        ways = [(self.publish, 6), (self.read, 8), (self.mark, 4), (self.mark_all, 1), (self.follow, 4), (self.unfollow, 2), (self.delete, 1)]
        try:
            while not self.stopping.is_set():
                with gate:
                    self.random.choices([way for way, _ in ways], [often for _, often in ways])[0]()
                self.done += 1
                time.sleep(0.0005)  # a gate is not fair
        except BaseException as error:
            self.wrong = error
            raise

    def go_on(self, more):
        goal = self.done + more
        wait_until(lambda: self.wrong or self.done >= goal, "the community goes on")
        assert not self.wrong

    def finish(self):
        self.stopping.set()
        self.join()
        assert not self.wrong


def community(servers, count=12):
    """Users of whom some are in the share and some are not, who follow each other."""
    users = servers[0].users(count)
    for user in users:
        for author in users:
            if user is not author and (user.id + author.id) % 3:
                user.follow(author)
    for author in users:
        author.publish()
    assert 0 < sum(in_share(user.id, SHARE) for user in users) < count
    return users


def check_all(redis, users):
    keys = Keys(redis)
    check(keys, [user for user in users if in_share(user.id, SHARE)])
    for user in users:
        assert in_share(user.id, SHARE) or not keys.of(user.id)
