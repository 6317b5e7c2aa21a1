"""bench/simulation.py where the answer is known without it."""
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

import simulation  # noqa: E402


def test_a_change_that_comes_alone_takes_a_commit():
    found = simulation.queue(rate=1, commit_s=0.01, change_s=0.001, seconds=200)
    assert found.p50 == pytest.approx(0.011)
    assert found.batch == pytest.approx(1, rel=0.05)


def test_who_comes_during_a_commit_waits_for_the_next():
    """Many a commit: half of one commit left, and a whole one."""
    found = simulation.queue(rate=10_000, commit_s=0.01, change_s=0)
    assert found.p50 == pytest.approx(0.015, rel=0.1)
    assert found.batch == pytest.approx(100, rel=0.1)


def test_batches_grow_with_the_rate_until_they_are_full():
    slow, fast = (simulation.queue(rate, 0.005, 1e-6) for rate in (1000, 10_000))
    assert fast.batch > 5 * slow.batch and fast.keeps_up
    assert not simulation.queue(10_000, 0.02, 0, batch_max=100).keeps_up  # 5,000 a second at most


def test_the_thread_is_busy_with_as_much_as_comes():
    assert simulation.queue(10_000, 0.001, 20e-6).busy == pytest.approx(0.2, rel=0.1)
    assert not simulation.queue(100_000, 0.001, 20e-6, seconds=1).keeps_up


def test_the_seed_decides_everything():
    first, again, other = (simulation.queue(1000, 0.005, 20e-6, seed=seed) for seed in (1, 1, 2))
    assert first == again != other
