"""9: what a badge and a page cost as one thing grows and all else stays: `tidings bench-engine` on one thread."""
import re

from .services import BUILD, MemoryGroup, Tidings, evict, load, remove, run as run_program

LINE = re.compile(r"^(.+?)\s+([\d.]+) us mean\s+([\d.]+) median\s+([\d.]+) p99", re.M)
WALL = re.compile(r"^(.+?)\s+([\d.]+) us wall\s+([\d.]+) user\s+([\d.]+) sys", re.M)


def engine(directory, users, authors, followed, posts, samples, fans=1, comments=1, only=""):
    """The medians of what it measured, by name, and user + system time of what it does in batches."""
    flags = ["--only", only] if only else []
    text = run_program(BUILD / "tidings", "bench-engine", "--data", directory, "--users", users, "--authors", authors,
                       "--followed", followed, "--posts", posts, "--fans", fans, "--comments", comments, "--samples",
                       samples, *flags)
    found = {name: float(median) for name, _, median, _ in LINE.findall(text)}
    found.update({name: float(user) + float(system) for name, _, user, system in WALL.findall(text)})
    return found, text


def sweep(world, record, sizes, name, values, arguments):
    for value in values:
        directory = world.directory / "growth"
        for _ in range(1 if sizes.quick else 3):
            found, _ = engine(directory, samples=sizes.growth_samples, only="page of 10", **arguments(value))
            found.update(engine(directory, samples=sizes.growth_samples, only="badge", **arguments(value))[0])
            for case, metric in (("badge", "badge"), ("inbox, first page of 10", "first page"),
                                 ("inbox, older page of 10", "older page")):
                record.add("growth", name, metric, str(value), found[case])
        remove(directory)


def history(world, record, sizes):
    """The same pages after so many items a user were marked one by one."""
    directory = world.directory / "history"
    users, shape = 20, {"users": 20, "authors": 53, "followed": 50, "posts": 1000}
    for value in sizes.growth_history:
        if value:
            engine(directory, samples=value * users, only="mark-read", **shape)
        for _ in range(1 if sizes.quick else 3):
            found, _ = engine(directory, samples=sizes.growth_samples, only="after marking", **shape)
            record.add("growth", "read items", "badge", str(value), found["badge, after marking"])
            record.add("growth", "read items", "first page", str(value), found["inbox, first page, after marking"])
    remove(directory)


def beyond_memory(world, record, sizes):
    """Answers over HTTP for users at random, while the data outgrow what the server may have of memory."""
    try:
        group = MemoryGroup(sizes.memory_mb << 20)
    except OSError as error:
        record.note("growth", f"Data larger than the memory: not measured, no control group can be made here ({error}).")
        return
    try:
        for users in sizes.memory_users:
            tidings = Tidings(world.directory / "memory")
            tidings.fill(users, 200, 5)
            tidings.group = group
            data = int((tidings.directory / "data.mdb").stat().st_size / 2 ** 20)
            evict(tidings.directory)  # so that its pages count for whoever reads them next
            tidings.start()
            try:
                for _ in range(1 if sizes.quick else 3):
                    for mix, name in (("badge=1", "badge"), ("first=1", "first page")):
                        latency = load(tidings, mix, users, sizes.seconds, 8)["latency_us"]["all"]
                        for point in ("p50", "p99"):
                            record.add("growth", f"MiB of data, in {sizes.memory_mb} MiB of memory", f"{name}, {point}",
                                       str(data), latency[point])
            finally:
                tidings.stop()
                remove(tidings.directory)
    finally:
        group.remove()


def run(world, record, sizes):
    most = max(sizes.growth_followed) + 3
    sweep(world, record, sizes, "followed authors", sizes.growth_followed,
          lambda n: {"users": sizes.growth_users, "authors": most, "followed": n, "posts": 10})
    sweep(world, record, sizes, "posts per author", sizes.growth_posts,
          lambda n: {"users": sizes.growth_users, "authors": 53, "followed": 50, "posts": n})
    history(world, record, sizes)
    for fans in sizes.fans:
        directory = world.directory / "growth"
        found, _ = engine(directory, users=101, authors=101, followed=10, posts=1, samples=2000, fans=fans, only="publish")
        record.add("growth", "fans", "publish, CPU", str(fans), found["publish to the big author, batches"])
        remove(directory)
    beyond_memory(world, record, sizes)
