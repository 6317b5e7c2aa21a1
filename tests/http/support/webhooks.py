"""A server whose webhook leads to a receiver, and somebody who writes what it is told of."""

import pytest

from .receiver import SECRET, Receiver
from .server import wait_until

QUICK = {"webhook_backoff_first_ms": 20, "webhook_backoff_most_ms": 100, "webhook_timeout_ms": 20000}
PATH = "/v1/admin/webhooks"


@pytest.fixture
def make_receiver():
    made = []

    def make(**how):
        made.append(Receiver(**how))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def told(make_server, make_receiver):
    """A server with a webhook "gateway" that leads to a receiver: (server, admin, receiver)."""
    def make(settings=None, **how):
        receiver = make_receiver(**how)
        server = make_server(settings={**QUICK, "webhook_allow": receiver.place, **(settings or {})})
        admin = server.admin()
        put(admin, "gateway", receiver.url())
        return server, admin, receiver
    return make


def put(admin, name, url, secret=SECRET, status=200, **more):
    body = {"url": url, **more}
    if secret is not None:
        body["secret"] = secret
    return admin.expect(status, "PUT", f"{PATH}/{name}", body)


def look(admin, name="gateway"):
    return admin.expect(200, "GET", f"{PATH}/{name}")


def retry(admin, name="gateway"):
    return admin.expect(200, "POST", f"{PATH}/{name}/retry")


def wait_for_state(admin, state, name="gateway"):
    wait_until(lambda: look(admin, name)["state"] == state, f"{name} is {state}")
    return look(admin, name)


class Author:
    """Someone who writes stories, scene by scene."""

    def __init__(self, server, n=1):
        self.actor = server.user()
        self.stories = [self.actor.publish(kind="story")["id"] for _ in range(n)]
        self.scenes = []

    def go_on(self, n=1):
        for _ in range(n):
            story = self.stories[len(self.scenes) % len(self.stories)]
            body = {"title": "A scene", "messages": ["Hello"]}
            self.scenes.append(self.actor.post(f"/stories/{story}/scenes", body, 201)["id"])
        return self.scenes[-n:]
