"""The events of a server, page by page."""


def tail(reader, after, limit=100):
    rows = []
    while True:
        page = reader.get("/events", after=after, limit=limit)
        rows += page["items"]
        if not page["items"]:
            assert page["next_after"] == after, "the position stays where nothing is new"
            return rows
        assert page["next_after"] == page["items"][-1]["event_id"]
        after = page["next_after"]
