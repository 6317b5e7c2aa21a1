"""Servers of one cluster whose clocks differ: one that is more than a second off makes no ids."""
import pytest

from support.server import SANITIZED, wait_until
from test_clock import Clock, HOUR, somebody, status

pytestmark = pytest.mark.skipif(SANITIZED, reason="libfaketime comes before the sanitizer")


@pytest.fixture
def clock(tmp_path):
    return Clock(tmp_path / "clock")


@pytest.fixture
def right(make_server, tmp_path):
    return make_server(data=str(tmp_path / "data"))


def publishes(author):
    return author.send("POST", "/v1/posts", {"kind": "note", "title": "t", "body": "b"}).status == 201


def refused(author):
    author.refused(503, "clock", "POST", "/v1/posts", {"kind": "note", "title": "t", "body": "b"})


@pytest.mark.parametrize("off", [-3, 3, HOUR])
def test_a_server_that_is_off_makes_no_ids_and_reads_on(make_server, right, clock, off):
    wrong = make_server(data=right.data, environment=clock.environment)
    author, fan = somebody(right), somebody(wrong)
    fan.follow(author)
    clock.set(off)
    refused(somebody(wrong))
    told = status(wrong)
    assert told["clock"]["stopped"] is True and told["writable"] is False
    assert abs(told["clock"]["off_ms"] - off * 1000) < 1000
    author.publish()
    assert fan.badge() == 1  # what others write is read at once
    assert status(right)["clock"]["stopped"] is False
    clock.set(0)
    wait_until(lambda: publishes(somebody(wrong)), "writing again")
    assert status(wrong)["clock"]["stopped"] is False


def test_one_that_is_off_from_the_start_starts_and_reads(make_server, right, clock):
    author = somebody(right)
    author.publish()
    clock.set(-HOUR)
    wrong = make_server(data=right.data, environment=clock.environment)
    assert somebody(wrong).get("/relation/counter", user_id=author.id)["posts"] == 1
    refused(somebody(wrong))


def test_half_a_second_is_nothing(make_server, right, clock):
    """And ids of the one behind come in the order of the changes all the same."""
    with open(clock.path, "w", encoding="ascii") as file:
        file.write("-0.5s\n")
    behind = make_server(data=right.data, environment=clock.environment)
    author, elsewhere = somebody(right), somebody(behind)
    elsewhere.id, elsewhere.bearer = author.id, author.bearer
    posts = [one.publish()["id"] for one in (author, elsewhere) * 5]
    assert posts == sorted(posts)
