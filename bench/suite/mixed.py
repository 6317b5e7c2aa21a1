"""7: a community's traffic. Latency at a fixed rate, counted from when each request was due, and the highest rate
that keeps 99 of 100 below 10 ms."""
from .services import load

# Of 10,000: reads 9,000, marks 800, reactions 150, publishes and follows 50.
MIX = "badge=4500,first=2500,unread=1200,older=800,mark=800,like=150,publish=25,follow=25"
LIMIT_US = 10_000
STEP = 1.25


def at_rate(service, sizes, rate):
    items = int(rate * (sizes.seconds + 1) * 0.12) + 2000
    return load(service, MIX, sizes.users, sizes.seconds, sizes.mix_connections, rate=int(rate), items=items)


def holds(result):
    return result["latency_us"]["all"]["p99"] < LIMIT_US and result["overdue"] == 0


def highest(service, sizes, rate):
    """Up while it holds, then down while it does not; one more try before a rate counts as missed."""
    def try_rate(rate):
        return holds(at_rate(service, sizes, rate)) or holds(at_rate(service, sizes, rate))

    if try_rate(rate):
        while try_rate(rate * STEP):
            rate *= STEP
        return rate
    while rate > 100 and not try_rate(rate / STEP):
        rate /= STEP
    return rate / STEP


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
        for _ in range(1 if sizes.quick else 3):
            for service in (world.tidings, world.redis):
                found = highest(prepare(service, durable), sizes, 4000 if service is world.redis else 8000)
                record.add("mixed", f"{case}, highest", service.name, "per_second", found)
        if sizes.quick:
            break
