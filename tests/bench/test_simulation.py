"""bench/simulation.py where the answer is known without it."""
import random
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

import simulation  # noqa: E402

EVERY = simulation.EVERY_S


def test_news_waits_for_half_of_the_time_between_looks():
    found = simulation.news(50, 8, 20e-6, posts=50, others=0, seconds=2)
    assert found.p50 == pytest.approx(EVERY / 2, rel=0.1)
    assert found.worst < EVERY * 1.1


def test_every_server_hears_every_post_once():
    servers, posts, lags = 20, 40, []
    share = simulation.share
    try:
        simulation.share = lambda values, part: lags.append(len(values)) or share(values, part)
        simulation.news(servers, 4, 20e-6, posts=posts, seconds=1)
    finally:
        simulation.share = share
    assert lags[0] == servers * posts


def test_news_is_late_when_looks_take_more_than_there_is():
    """1,000 servers, 40 looks a second of 100 us each: four cores; there is one."""
    easy, hard = (simulation.news(1000, cores, 100e-6, posts=20, others=0, seconds=1) for cores in (16, 1))
    assert hard.p50 > 2 * easy.p50
    assert hard.busy > 0.99
    assert hard.looks < 11_000


def test_who_always_asks_the_same_server_is_known_there():
    """Four visits a day of 20 requests; with room for everybody only the first request of a day misses, and those behind a stray one."""
    assert simulation.hit_rate(10, 1000, 10_000, sticky=True, moved=0, sample=50) == pytest.approx(79 / 80)


def test_who_asks_any_of_many_servers_is_known_nowhere():
    assert simulation.hit_rate(1000, 100_000, 10_000, sticky=False, sample=50) < 0.05


def test_with_one_server_routing_does_not_matter():
    sticky, random_one = (simulation.hit_rate(1, 1000, 10_000, sticky, sample=50) for sticky in (True, False))
    assert sticky == pytest.approx(random_one)


def test_less_room_finds_fewer():
    rates = [simulation.hit_rate(10, 100_000, room, sticky=True, sample=100) for room in (20, 200, 20_000)]
    assert rates == sorted(rates) and rates[0] < rates[-1]


def test_a_copy_of_an_older_version_is_no_hit():
    chance = random.Random(1)
    times = [(float(n), True) for n in range(100)]
    hits, misses = simulation.hits_of(times, 50, 1e9, False, 0, chance)
    assert hits + misses == 100 and hits < 10


def test_a_herd_that_fits_waits_for_nothing_and_one_that_does_not_waits():
    """A thousand users who ask every 10 s are 100 a second at first, of 10 ms each: one core."""
    assert simulation.restart(1, 1000, 10, 4, 0.01, 0).longest_s == 0
    found = simulation.restart(8, 1000, 10, 1, 0.01, 0, limit_s=300)
    assert found.longest_s > 10
    assert found.settled_s == pytest.approx(80, rel=0.1)  # 8,000 times 10 ms
    assert found.missing_s == pytest.approx(23, rel=0.1)  # 10 s times ln 10


def test_the_last_of_the_biggest_author_is_told_after_a_look_and_the_telling():
    found = simulation.hot_post(100, 1_000_000, 0.1, 0.1, 100e-6, 1)
    telling = 1_000_000 * 0.1 / 100 * simulation.TELL_US / 1e6
    assert EVERY * 0.9 + telling < found.last_told_s <= EVERY + telling
    assert found.database_cores == pytest.approx(found.pages * 100e-6)


def test_the_seed_decides_everything():
    first, again, other = (simulation.news(20, 4, 50e-6, posts=30, seed=seed) for seed in (1, 1, 2))
    assert first == again != other
