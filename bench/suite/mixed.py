"""7: a community's traffic. Latency at a fixed rate, counted from when each request was due, and the highest rate
that keeps 99 of 100 below 10 ms."""
from .services import load

# Of 10,000: reads 9,000, marks 800, reactions 150, publishes and follows 50.
MIX = "badge=4500,first=2500,unread=1200,older=800,mark=800,like=150,publish=25,follow=25"
LIMIT_US = 10_000


def at_rate(service, sizes, rate):
    items = int(rate * (sizes.seconds + 1) * 0.12) + 2000
    return load(service, MIX, sizes.users, sizes.seconds, sizes.mix_connections, rate=int(rate), items=items)


def holds(result):
    return result["latency_us"]["all"]["p99"] < LIMIT_US and result["overdue"] == 0


def highest(holds_at, rate, quick):
    """Doubles or halves until one rate holds and its double does not, then halves the gap."""
    def try_rate(rate):
        """A rate that is missed gets one more try: somebody else may have been at work."""
        return any(holds_at(rate) for _ in range(1 if quick else 2))

    low = rate
    if try_rate(low):
        while try_rate(low * 2):
            low *= 2
    else:
        low /= 2
        while low > 100 and not try_rate(low):
            low /= 2
    high = low * 2
    for _ in range(1 if quick else 3):
        middle = (low + high) / 2
        low, high = (middle, high) if try_rate(middle) else (low, middle)
    return low


def prepare(service, durable):
    if service.name == "tidings":
        return service.ensure("commit" if durable else "second")
    return service.sync("always" if durable else "everysec")


def run(world, record, sizes):
    for durable in (True, False):
        case = "durable" if durable else "every second"
        fixed = 1000 if sizes.quick else 2000
        for _ in range(sizes.rounds):
            for service in (world.tidings, world.redis):
                result = at_rate(prepare(service, durable), sizes, fixed)
                record.add_load("mixed", f"{case}, {fixed}/s", service.name, result)
        for _ in range(1 if sizes.quick else 2):
            for service in (world.tidings, world.redis):
                prepare(service, durable)
                found = highest(lambda rate, who=service: holds(at_rate(who, sizes, rate)),
                                4000 if service is world.redis else 8000, sizes.quick)
                record.add("mixed", f"{case}, highest", service.name, "per_second", found)
        if sizes.quick:
            break
