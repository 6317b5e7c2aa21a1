"""How new answers are: exact by default, bounded if asked for, and never older than Tidings-Seen."""
from conftest import leave, wait_for_role, writer_of

BOUNDED = {"Tidings-Freshness": "bounded"}


def seen_of(answer):
    return answer.headers["tidings-seen"]


def test_a_bounded_answer_is_no_older_than_what_was_seen_elsewhere(make_servers):
    servers = make_servers(3)
    writer = writer_of(servers)
    ann, bob = writer.users(2)
    bob.follow(ann)
    authors = [one.user(ann.id) for one in servers]
    readers = [one.user(bob.id) for one in servers]
    for n in range(1, 120):
        told = authors[n % 3].send("POST", "/v1/posts", body={"kind": "note", "title": str(n)})
        assert told.status == 201
        token = seen_of(told)
        for reader in readers:
            answer = reader.send("GET", "/v1/inbox/badge", headers={**BOUNDED, "Tidings-Seen": token})
            assert (answer.status, answer.json["total"]) == (200, n)
            token = seen_of(answer)


def test_a_place_that_the_history_does_not_have_is_refused(make_servers):
    servers = make_servers(2)
    writer = writer_of(servers)
    writer.user(1).publish()
    for one in servers:
        reader = one.user(1)
        era, position = map(int, seen_of(reader.send("GET", "/v1/inbox/badge")).split("."))
        for token in (f"{era}.{position + 1000}", f"{era + 1}.1"):
            for more in ({}, BOUNDED):
                answer = reader.send("GET", "/v1/inbox/badge", headers={**more, "Tidings-Seen": token})
                assert (answer.status, answer.json["code"]) == (503, "unreachable") and answer.headers["retry-after"]
        for token in (f"{era}.{position}", "0.0", f"{era}.1"):
            assert reader.send("GET", "/v1/inbox/badge", headers={"Tidings-Seen": token}).status == 200


def test_a_token_that_no_answer_had_is_refused(make_servers):
    server, = make_servers(1)
    wait_for_role(server, "writer")
    for token in ("", "7", "1.", ".1", "1.2.3", "-1.2", "1.x", "99999999999999999999.1"):
        answer = server.user(1).send("GET", "/v1/inbox/badge", headers={"Tidings-Seen": token})
        assert (answer.status, answer.json["field"]) == (400, "Tidings-Seen"), token


def test_a_lone_server_is_exact_and_takes_no_notice(make_server):
    lone = make_server().start()
    answer = lone.user(1).send("GET", "/v1/inbox/badge", headers={**BOUNDED, "Tidings-Seen": "5.1000000"})
    assert answer.status == 200 and "tidings-seen" not in answer.headers and "tidings-age" not in answer.headers
    leave(lone)
