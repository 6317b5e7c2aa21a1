"""What an operation takes, counted, while one thing grows: whom a user follows, posts of an author, users, followers."""
from .community import Some, add
from .database import World

OPERATIONS = ("badge", "first", "mark")
SHORT = 0.5  # of the time that others get


def measure(community, record, sizes, what, value, world):
    server = community.server(f"growth-{what.split()[0]}-{value}")
    who = Some("1 server", [server.start(world.database)])
    community.warm(who.servers, world.users)
    for operation in OPERATIONS:
        result = community.load(who, f"{operation}=1", sizes.seconds * SHORT, sizes.connections, users=world.users,
                                items=int(20_000 * sizes.seconds))
        add(record, f"growth: {what}", value, operation, result)
    server.stop()
    community.meter.servers.remove(server)


def followers(community, record, sizes):
    """A publish by the library, CPU of program and database together."""
    world = community.library.plain("batched")
    for number, fans in enumerate(sizes.growth_fans):
        author = 5000001 + number
        world.add_fans(author, fans)
        world.run("calls", "publish", sizes.connections, 0.2, big=author)
        before = community.meter.read()
        result = world.run("calls", "publish", sizes.connections, sizes.seconds, big=author)
        each = community.meter.between(before, community.meter.read(), result["all_steps"])
        record.add("growth: followers", fans, "publish", "cpu_us", result["cpu_us"])
        record.add("growth: followers", fans, "publish", "statements", each["statements"])


def run(community, record, sizes):
    followers(community, record, sizes)
    worlds = [("followed", followed, (200, 2 * followed, followed, 5)) for followed in sizes.growth_followed]
    worlds += [("posts of an author", posts, (200, 100, 50, posts)) for posts in sizes.growth_posts]
    worlds += [("users", users, (users, 1000, 20, 10)) for users in sizes.growth_users]
    for what, value, shape in worlds:
        world = World("bench_growth", *shape)
        measure(community, record, sizes, what, value, world)
        world.drop()
