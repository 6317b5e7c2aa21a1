"""How large everything is: one column for `make bench`, one for `make bench QUICK=1`."""
from dataclasses import dataclass, field


@dataclass
class Sizes:
    quick: bool
    # The community that most measurements share; primes, so that steps through it visit everybody.
    users: int = 10_007
    followed: int = 200
    posts: int = 5
    rounds: int = 5
    seconds: float = 2.0
    connections: int = 64
    mark_connections: int = 256
    fans: list = field(default_factory=lambda: [100, 1_000, 10_000, 100_000, 1_000_000])
    mix_connections: int = 128
    # 10 authors, 150 posts each: what this many users add to as many others
    s1_users: int = 1000
    # Growth
    growth_users: int = 101
    growth_followed: list = field(default_factory=lambda: [10, 50, 200, 1000, 5000])
    growth_posts: list = field(default_factory=lambda: [10, 100, 1000, 10_000])
    growth_history: list = field(default_factory=lambda: [0, 100, 1000, 10_000])
    growth_samples: int = 3000
    memory_mb: int = 256
    memory_users: list = field(default_factory=lambda: [1009, 5003, 20_011, 40_009])
    # The engine alone, and its cold start
    big_users: int = 100_003
    big_fans: int = 1_000_000
    big_samples: int = 20_000
    recovery_seconds: float = 20.0


FULL = Sizes(quick=False)
QUICK = Sizes(
    quick=True, users=1009, followed=50, posts=10, rounds=2, seconds=0.5, fans=[100, 10_000],
    s1_users=150, growth_users=53, growth_followed=[10, 200, 1000], growth_posts=[10, 1000],
    growth_history=[0, 100], growth_samples=500, memory_mb=64, memory_users=[503, 3001],
    big_users=5003, big_fans=10_000, big_samples=2000, recovery_seconds=2.0)
