"""serve --follow, and tidings promote."""
import os

from conftest import peer_port, replica, wait_for_all, wait_for_role
from support.server import tidings, wait_until
from support.receiver import Receiver


def promote(standby):
    return tidings("promote", f"tidings://127.0.0.1:{peer_port(standby)}", "--data", standby.data)


def test_a_standby_answers_reads_with_their_age_and_refuses_changes(make_standby):
    first, standby = make_standby()
    ann, bob = first.users(2)
    bob.follow(ann)
    ann.publish()
    wait_for_all([first, standby])
    there = standby.user(bob.id)
    assert there.badge() == 1
    answer = there.send("GET", "/v1/inbox/badge")
    assert int(answer.headers["tidings-age"]) >= 1
    there.refused(503, "standby", "POST", "/v1/posts", {"title": "t", "body": "b", "kind": "note"})
    said = replica(standby)
    assert said["role"] == "follower" and said["following"]["connected"] and said["following"]["behind"] == 0
    assert [one["position"] for one in replica(first)["followers"]] == [said["position"]]


def test_a_standby_is_no_older_than_what_the_first_server_told(make_standby):
    first, standby = make_standby()
    first.user(1).publish()
    wait_for_all([first, standby])
    era, position = map(int, first.user(1).send("GET", "/v1/inbox/badge").headers["tidings-seen"].split("."))
    there = standby.user(1)
    assert there.send("GET", "/v1/inbox/badge", headers={"Tidings-Seen": f"{era}.{position}"}).status == 200
    there.refused(503, "unreachable", "GET", "/v1/inbox/badge", headers={"Tidings-Seen": f"{era}.{position + 100}"})


def test_a_standby_takes_over_in_order_and_nothing_is_lost(make_standby):
    first, standby = make_standby()
    ann, bob = first.users(2)
    bob.follow(ann)
    for _ in range(50):
        ann.publish()
    done = promote(standby)
    assert done.returncode == 0, done.stderr
    assert "era 1" in done.stdout
    assert replica(first)["role"] == "replaced"
    first.user(ann.id).refused(503, "standby", "POST", "/v1/posts", {"title": "t", "body": "b", "kind": "note"})
    there = standby.user(bob.id)
    assert there.badge() == 50
    standby.user(ann.id).publish()
    assert there.badge() == 51
    first.stop()
    refused = tidings("serve", "--data", first.data, "--listen", "127.0.0.1:0", TIDINGS_JWT_SECRET=first.secret)
    assert refused.returncode == 2 and "was replaced by" in refused.stderr
    assert promote(standby).returncode == 2  # it follows nobody any more


def test_a_standby_takes_over_from_one_that_was_killed(make_standby):
    first, standby = make_standby()
    ann = first.user()
    ann.publish()
    wait_for_all([first, standby])
    first.kill()
    done = promote(standby)
    assert done.returncode == 0, done.stderr
    standby.user(ann.id).publish()
    wait_for_role(standby, "writer")


def test_webhooks_are_called_by_whoever_makes_changes(make_standby):
    """Two servers and one webhook: each event comes once, in order, also across a promotion."""
    receiver = Receiver()
    first, standby = make_standby(settings={"webhook_allow": receiver.place})
    first.admin().expect(200, "PUT", "/v1/admin/webhooks/hook", {"url": receiver.url(), "secret": receiver.secret, "events": ["PostPublished"]})
    ann = first.user()
    posts = [ann.publish()["id"] for _ in range(5)]
    admin = first.admin()
    wait_until(lambda: admin.get("/admin/webhooks/hook")["delivered"] == 5, "five calls are noted")
    wait_for_all([first, standby])
    assert promote(standby).returncode == 0
    posts += [standby.user(ann.id).publish()["id"] for _ in range(5)]
    wait_until(lambda: len(receiver.taken) >= 10, "ten calls")
    assert [call.json["target_id"] for call in receiver.taken] == posts and not receiver.wrong
    receiver.close()


def test_a_wrong_key_and_a_missing_one_are_told(make_standby, make_server, tmp_path):
    first, _ = make_standby()
    port = peer_port(first)
    (tmp_path / "data").mkdir()
    how = ["serve", "--data", str(tmp_path / "data"), "--listen", "127.0.0.1:0", "--follow", f"tidings://127.0.0.1:{port}"]
    done = tidings(*how, TIDINGS_JWT_SECRET=first.secret)
    assert done.returncode == 2 and "peer.key" in done.stderr
    (tmp_path / "data" / "peer.key").write_text("0" * 64 + "\n", encoding="ascii")
    done = tidings(*how, TIDINGS_JWT_SECRET=first.secret)
    assert done.returncode == 2 and "same key" in done.stderr
    assert os.stat(os.path.join(first.data, "peer.key")).st_mode & 0o777 == 0o600
