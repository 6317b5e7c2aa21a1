"""The seeds' design on a Redis Cluster, as tidings-load does it for bench/cluster: what it leaves behind must agree with itself, or the comparison is
with something that does less.

    tests/support/with-redis --nodes=3 --replicas=0 tests/support/in-venv -m pytest tests/bench/test_seeds.py
"""
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from suite.cluster.community import Seeds  # noqa: E402
from suite.cluster.database import FANS_FROM  # noqa: E402

USERS, FOLLOWED, POSTS = 53, 10, 5


@pytest.fixture
def seeds():
    seeds = Seeds()
    seeds.empty()
    seeds.fill(USERS, FOLLOWED, POSTS)
    return seeds


def load(seeds, *flags):
    done = subprocess.run([os.environ["TIDINGS_LOAD"], "--protocol", "redis-cluster", "--port", ",".join(map(str, seeds.ports)), "--users",
                           str(USERS), "--scripts", ROOT / "bench/redis", *map(str, flags)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def ask(seeds, user, *words):
    return seeds.node_of(user).ask(*words)


def counted(seeds, user):
    return int(ask(seeds, user, "GET", f"total_unread:{{{user}}}"))


def test_everybody_begins_with_every_post_of_those_followed(seeds):
    for user in range(1, USERS + 1):
        assert counted(seeds, user) == FOLLOWED * POSTS == ask(seeds, user, "ZCARD", f"feed:{{{user}}}")
        assert ask(seeds, user, "ZCARD", f"uf:fans:{{{user}}}") == FOLLOWED


@pytest.mark.parametrize("page", ["first", "older", "unread", "badge", "counters", "following"])
def test_reads_are_answered(seeds, page):
    result = load(seeds, "--mix", f"{page}=1", "--seconds", 1, "--connections", 4)
    assert set(result["statuses"]) == {"200"}


def test_marks_leave_what_is_unread(seeds):
    load(seeds, "--mix", "mark=1", "--seconds", 1, "--warm-up", 0, "--connections", 4, "--items", 500)
    read = 0
    for user in range(1, USERS + 1):
        marked = ask(seeds, user, "ZCARD", f"read:{{{user}}}")
        assert counted(seeds, user) == FOLLOWED * POSTS - marked
        read += marked
    assert read == 500


CONNECTIONS = 40  # each follows and unfollows in turn, and may be half way when time is up, where the sides are in different slots


def test_both_sides_of_a_follow_agree(seeds):
    load(seeds, "--mix", "follow=1", "--seconds", 1, "--connections", CONNECTIONS)
    follows = set()
    for user in range(1, USERS + 1):
        followed = ask(seeds, user, "ZRANGE", f"uf:flws:{{{user}}}", 0, -1)
        assert int(ask(seeds, user, "HGET", f"ucnt:{{{user}}}", "following")) == len(followed)
        follows |= {(user, int(author)) for author in followed if int(author) > USERS}
    for author in {author for _, author in follows}:
        assert int(ask(seeds, author, "HGET", f"ucnt:{{{author}}}", "followers")) == ask(seeds, author, "ZCARD", f"uf:fans:{{{author}}}")
    one_sided = [pair for pair in follows if ask(seeds, pair[1], "ZSCORE", f"uf:fans:{{{pair[1]}}}", pair[0]) is None]
    assert len(one_sided) < len(follows) / 2, (one_sided, follows)


def test_all_sides_of_a_like_agree(seeds):
    load(seeds, "--mix", "like=1", "--seconds", 1, "--connections", CONNECTIONS, "--items", 1)
    liked = {user for user in range(1, USERS + 1) if ask(seeds, user, "ZCARD", f"liked:{{{user}}}")}
    (post,) = {ask(seeds, user, "ZRANGE", f"liked:{{{user}}}", 0, -1)[0] for user in liked}
    likes = {int(user) for user in ask(seeds, post, "ZRANGE", f"likes:{{{post}}}", 0, -1)}
    assert int(ask(seeds, post, "HGET", f"stats:{{{post}}}", "like_count")) == len(likes)
    assert len(likes & liked) > len(likes ^ liked), (likes, liked)
    assert abs(int(ask(seeds, 0, "ZSCORE", "hot:note:{0}", post)) / 3 - len(likes)) < len(likes) / 2


def test_a_publish_reaches_every_follower_once(seeds):
    author, fans = 100, 2500
    seeds.add_fans(author, fans, 1)
    before = counted(seeds, 1)
    load(seeds, "--publish-to", fans, "--author", author, "--last-fan", 1, "--times", 2)
    assert counted(seeds, 1) == before + 2
    for fan in range(FANS_FROM + 1, FANS_FROM + fans):
        assert counted(seeds, fan) == 2
        assert ask(seeds, fan, "ZCARD", f"feed:{{{fan}}}") == 2


def test_a_publish_in_mixed_traffic_reaches_all_followers(seeds):
    load(seeds, "--mix", "publish=1", "--seconds", 1, "--warm-up", 0, "--connections", 1)
    for user in range(1, USERS + 1):
        assert counted(seeds, user) == ask(seeds, user, "ZCARD", f"feed:{{{user}}}")
    assert sum(counted(seeds, user) for user in range(1, USERS + 1)) > USERS * FOLLOWED * POSTS
