#!/usr/bin/env python3
"""A first look at the API with nothing but the standard library. Start `make run`, then in another terminal:

    SERVICE=... python3 examples/tour.py        # the token that `make run` printed
"""
import json
import os
import urllib.error
import urllib.request
import uuid

API = os.environ.get("API", "http://127.0.0.1:8080")
READER, AUTHOR = 101, 102  # any numbers will do: nobody has to sign up


class Problem(Exception):
    def __init__(self, answer):
        super().__init__(f"{answer['status']} {answer['code']}: {answer['detail']}")


def call(user, method, path, body=None):
    """A backend's call for one of its users."""
    headers = {"Authorization": "Bearer " + os.environ["SERVICE"], "X-User-Id": str(user)}
    if method == "POST":
        headers["Idempotency-Key"] = str(uuid.uuid4())  # send it again with the same key, and nothing happens twice
    data = None if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(API + path, data, headers, method=method)) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        raise Problem(json.load(error)) from None


follow = call(READER, "POST", "/v1/relation/follow", {"user_id": AUTHOR})
print("following:", str(follow["following"]).lower())
for i in range(1, 4):
    call(AUTHOR, "POST", "/v1/posts", {"kind": "note", "title": f"Note {i}", "body": "From the tour."})
print("unread:", call(READER, "GET", "/v1/inbox/badge")["total"])

unread, cursor = [], ""
while cursor is not None:  # two at a time, to the end
    page = call(READER, "GET", "/v1/inbox?filter=unread&limit=2" + (cursor and "&cursor=" + cursor))
    unread += page["items"]
    cursor = page["next_cursor"]
print("list:", ", ".join(item["title"] for item in unread))

opened = call(READER, "POST", f"/v1/posts/{unread[0]['post_id']}/open")
print(f"opened {opened['post']['title']}:", opened["unread"]["total"], "left")
marked = call(READER, "POST", "/v1/inbox/mark-read", {"up_to": page["as_of"]})  # what came after it stays unread
print(f"marked {marked['marked']}:", marked["total"], "left")

try:
    call(READER, "GET", "/v1/posts/1")
except Problem as problem:
    print(problem)
