"""The database that all share, and worlds in it, made by SQL out of one real follow."""
import functools
import json
import os
import subprocess
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from .. import services

AUTHORS_FROM, STRANGERS_FROM, FANS_FROM = 2000000, 3000000, 20000000  # bench/database/bench.h
MEMORY = ["--innodb-buffer-pool-size=2G", "--innodb-log-file-size=512M"]


def socket_path():
    return parse_qs(urlsplit(os.environ["TIDINGS_TEST_MYSQL"]).query)["socket"][0]


def url(database, path=None):
    return f"mysql://root@localhost/{database}?socket={path or socket_path()}"


def client(*more):
    return ["mariadb", "--no-defaults", f"--socket={socket_path()}", "--user=root", "--batch", "--skip-column-names", *more]


def sql(text, *database):
    return services.run(*client(*database), input=text)


@functools.cache
def server_pid():
    return int(Path(sql("SELECT @@pid_file").strip()).read_text())


class Session:
    """A connection that stays, for questions that must not take long."""
    END = "-- that was it"

    def __init__(self, *database):
        self.process = subprocess.Popen(client("--unbuffered", *database), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, text):
        """Rows of words."""
        self.process.stdin.write(f"{text}; SELECT '{self.END}';\n")
        self.process.stdin.flush()
        rows = []
        for line in self.process.stdout:
            if line.rstrip("\n") == self.END:
                return rows
            rows.append(line.rstrip("\n").split("\t"))
        raise RuntimeError(f"the database refuses: {text}")

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class World:
    """Users who each follow some authors, of whom each has some posts, in a database of their own."""

    def __init__(self, database, users, authors, followed, posts):
        self.database, self.users, self.authors, self.followed, self.posts = database, users, authors, followed, posts
        self.next = {}
        sql(f"DROP DATABASE IF EXISTS {database}")
        services.run(services.BUILD / "tidings", "cluster", "init", "--mysql", url(database))
        self.run("calls", "follows", 1, 0, users=1, authors=1)
        status, rank, pair = sql("SELECT rel_status, rank_id, HEX(pair) FROM following", database).split()
        self.pair = f"{status}, {rank}, x'{pair}'"
        self.rank = int(rank)
        self.first_post = self.rank - authors * posts
        self.fill()

    def run(self, how, work, in_flight, seconds, path=None, **changed):
        world = {"users": self.users, "authors": self.authors, "followed": self.followed, "posts": self.posts,
                 "first-post": getattr(self, "first_post", 1), **changed}
        flags = [part for name, value in world.items() for part in (f"--{name}", value)]
        alone = {name: value for name, value in os.environ.items() if name != "TIDINGS_TEST_REDIS"}  # with MySQL, that is
        result = json.loads(services.run(
            services.BUILD / "bench/database/bench-database", how, work, "--mysql", url(self.database, path), "--socket",
            socket_path(), "--database", self.database, "--server", server_pid(), "--in-flight", in_flight, "--ms", int(seconds * 1000), "--from",
            self.next.get(work, 0), *flags, env=alone))
        if not changed:
            self.next[work] = result.get("next")
        return result

    def fill(self):
        authors, posts = self.authors, self.posts
        zeros = ", 0" * 11
        sql(f"""
            SET unique_checks = 0, foreign_key_checks = 0;
            DELETE FROM following; DELETE FROM follower; DELETE FROM user; DELETE FROM user_counter; DELETE FROM author;
            DELETE FROM outbox_event;
            INSERT INTO user SELECT seq, 1, {self.followed}{zeros} FROM seq_1_to_{self.users};
            INSERT INTO following SELECT u.seq, {AUTHORS_FROM} + (u.seq * 7919 + i.seq * 104729) % {authors} AS t, {self.pair}
              FROM seq_1_to_{self.users} u, seq_1_to_{self.followed} i ORDER BY 1, 2;
            INSERT INTO follower SELECT to_user_id, rank_id, from_user_id FROM following ORDER BY 1, 2, 3;
            INSERT INTO author SELECT {AUTHORS_FROM - 1} + seq, {posts}, 0, {self.first_post - 1} + seq * {posts}, 0
              FROM seq_1_to_{authors};
            INSERT INTO author SELECT {STRANGERS_FROM - 1} + seq, 0, 0, 0, 0 FROM seq_1_to_{authors};
            INSERT INTO user_counter SELECT to_user_id, COUNT(*), {posts}, 0, 0 FROM follower GROUP BY 1;
            INSERT INTO post SELECT {self.first_post} + seq, {AUTHORS_FROM} + seq DIV {posts}, seq % {posts}, 1, 0, 0, seq + 1,
              'An ordinary title', 'And what is shown of its body in lists', '' FROM seq_0_to_{authors * posts - 1};
            INSERT INTO content_stats SELECT post_id, 1, 0, 0, 0, 0 FROM post;
            UPDATE news_position SET position = {authors * posts + 1};
            """, self.database)

    def add_fans(self, author, fans, last=None):
        """An author whom so many follow, of whom nobody else knows; the last of them has that id."""
        others = fans - (last is not None)
        sql(f"""
            SET unique_checks = 0, foreign_key_checks = 0;
            INSERT INTO author VALUES ({author}, 0, 0, 0, 0);
            INSERT INTO following SELECT {FANS_FROM} + seq, {author}, {self.pair} FROM seq_1_to_{others};
            INSERT INTO follower SELECT {author}, {self.rank}, {FANS_FROM} + seq FROM seq_1_to_{others};
            INSERT INTO user SELECT {FANS_FROM} + seq, 1, 1{", 0" * 11} FROM seq_1_to_{others}
              ON DUPLICATE KEY UPDATE following = user.following + 1;
            INSERT INTO user_counter VALUES ({author}, {fans}, 0, 0, 0) ON DUPLICATE KEY UPDATE followers = {fans};
            """, self.database)
        if last is not None:
            sql(f"""INSERT INTO following VALUES ({last}, {author}, {self.pair}); INSERT INTO follower VALUES ({author}, {self.rank}, {last});
                    INSERT INTO user VALUES ({last}, 1, 1{", 0" * 11});""", self.database)

    def drop(self):
        sql(f"DROP DATABASE {self.database}")
