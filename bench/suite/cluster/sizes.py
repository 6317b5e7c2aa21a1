"""How much is measured: one set for `make bench-cluster`, one for `make bench-cluster QUICK=1`."""
from dataclasses import dataclass, field


@dataclass
class Sizes:
    quick: bool
    # Primes, so that steps through it visit everybody.
    users: int = 5003
    followed: int = 200
    posts: int = 5
    rounds: int = 3
    seconds: float = 1.5
    # Of every contestant, over all its servers.
    connections: int = 192
    mark_connections: int = 384
    mix_connections: int = 128
    fans: list = field(default_factory=lambda: [100, 1_000, 10_000, 100_000, 1_000_000])
    posts_seen: int = 100  # published one after the other, for the distribution
    rates: list = field(default_factory=lambda: [500, 2000, 5000])
    # As bench/database takes them: users, authors, followed, posts of each.
    plain: tuple = (20_000, 1_000, 20, 50)
    heads: tuple = (10, 210)  # posts of an author, of 1,009
    growth_followed: list = field(default_factory=lambda: [10, 50, 200, 1000])
    growth_posts: list = field(default_factory=lambda: [10, 100, 1000])
    growth_users: list = field(default_factory=lambda: [500, 5_000, 20_000])
    peer_fans: list = field(default_factory=lambda: [100, 1_000, 10_000])
    away_s: int = 60


FULL = Sizes(quick=False)
QUICK = Sizes(
    quick=True, users=503, followed=50, posts=10, rounds=1, seconds=0.6, fans=[100, 10_000], posts_seen=20, rates=[500, 1000],
    plain=(4000, 500, 10, 40), heads=(10, 60), growth_followed=[10, 50, 200], growth_posts=[10, 100], growth_users=[500],
    peer_fans=[100, 1000], away_s=5)
