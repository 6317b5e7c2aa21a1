"""The database that all share: the replicas' logs, and a community in plain SQL."""
import functools
import json
import os
import subprocess
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from .. import services

AUTHORS_FROM, STRANGERS_FROM, FANS_FROM = 2000000, 3000000, 20000000  # bench/database/bench.h
SETTINGS = ["--innodb-buffer-pool-size=2G", "--innodb-log-file-size=512M", "--max-allowed-packet=64M"]
SCHEMA = services.ROOT / "bench/database/schema.sql"


def socket_path():
    return parse_qs(urlsplit(os.environ["TIDINGS_TEST_MYSQL"]).query)["socket"][0]


def url(database):
    return f"mysql://root@localhost/{database}?socket={socket_path()}"


def client(*more):
    return ["mariadb", "--no-defaults", f"--socket={socket_path()}", "--user=root", "--batch", "--skip-column-names", *more]


def sql(text, *database):
    return services.run(*client(*database), input=text)


def make_database(name):
    sql(f"DROP DATABASE IF EXISTS {name}; CREATE DATABASE {name} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")
    return name


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


class PlainSql:
    """A community in the tables of bench/database: users who each follow some authors, of whom each has some posts."""
    name = "plain SQL"

    def __init__(self, users, authors, followed, posts):
        self.database, self.next = make_database("bench_plain"), {}
        self.world = {"users": users, "authors": authors, "followed": followed, "posts": posts, "first-post": 1}
        sql(SCHEMA.read_text(), self.database)
        zeros = ", 0" * 11
        sql(f"""
            SET unique_checks = 0, foreign_key_checks = 0;
            INSERT INTO user SELECT seq, 1, {followed}{zeros} FROM seq_1_to_{users};
            INSERT INTO following SELECT u.seq, {AUTHORS_FROM} + (u.seq * 7919 + i.seq * 104729) % {authors} AS t, 2, 1,
              x'010203040506' FROM seq_1_to_{users} u, seq_1_to_{followed} i ORDER BY 1, 2;
            INSERT INTO follower SELECT to_user_id, rank_id, from_user_id FROM following ORDER BY 1, 2, 3;
            INSERT INTO author SELECT {AUTHORS_FROM - 1} + seq, {posts}, 0, seq * {posts} FROM seq_1_to_{authors};
            INSERT INTO author SELECT {STRANGERS_FROM - 1} + seq, 0, 0, 0 FROM seq_1_to_{authors};
            INSERT INTO user_counter SELECT to_user_id, COUNT(*), {posts}, 0, 0 FROM follower GROUP BY 1;
            INSERT INTO post SELECT 1 + seq, {AUTHORS_FROM} + seq DIV {posts}, seq % {posts}, 1, 0, 0, seq + 1,
              'An ordinary title', 'And what is shown of its body in lists', '' FROM seq_0_to_{authors * posts - 1};
            INSERT INTO content_stats SELECT post_id, 1, 0, 0, 0, 0 FROM post;
            """, self.database)

    def run(self, work, connections, seconds):
        """What bench-database printed; it goes on where the last run of that work ended."""
        flags = [part for name, value in self.world.items() for part in (f"--{name}", value)]
        result = json.loads(services.run(
            services.BUILD / "bench/database/bench-database", work, "--socket", socket_path(), "--database", self.database, "--server",
            server_pid(), "--connections", connections, "--ms", int(seconds * 1000), "--from", self.next.get(work, 0), *flags))
        self.next[work] = result["next"]
        return result
