"""What an operation takes of a server and its log, counted, while one thing grows: whom a user follows, posts of an author, users."""
from .community import add

OPERATIONS = ("badge", "first", "mark")
SHORT = 0.5  # of the time that others get


def measure(community, record, sizes, what, value, shape):
    world = dict(zip(("users", "authors", "followed", "posts"), shape))
    replicas = community.make("growth", servers=1, **world).start()
    community.warm(replicas.servers, world["users"])
    for operation in OPERATIONS:
        result = community.load(replicas.writer(), f"{operation}=1", sizes.seconds * SHORT, sizes.connections, users=world["users"],
                                items=int(20_000 * sizes.seconds))
        add(record, f"growth: {what}", value, operation, result)
    replicas.remove()


def run(community, record, sizes):
    worlds = [("followed", followed, (200, 2 * followed, followed, 5)) for followed in sizes.growth_followed]
    worlds += [("posts of an author", posts, (200, 100, 50, posts)) for posts in sizes.growth_posts]
    worlds += [("users", users, (users, 1000, 20, 10)) for users in sizes.growth_users]
    for what, value, shape in worlds:
        measure(community, record, sizes, what, value, shape)
