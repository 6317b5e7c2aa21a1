"""What operators do with targets of events: over HTTP, and by `tidings cluster` with the database alone."""
import json

import pytest
from conftest import replicas, writer_of
from support.metrics import scrape
from support.receiver import answer
from support.server import tidings, wait_until
from support.webhooks import QUICK, Author, make_receiver, put  # noqa: F401 (fixtures)

NAME = "webhook:gateway"
HASTY = {**QUICK, "webhook_give_up_hours": 0}


def targets(admin):
    return {row["name"]: row for row in admin.get("/admin/targets")["items"]}


def dead(admin, name=NAME):
    return admin.get(f"/admin/targets/{name}/dead?limit=100")


def events_of(server, kind="ScenePublished"):
    return [row["event_id"] for row in server.admin().get("/events?limit=100")["items"] if row["type"] == kind]


@pytest.fixture
def told(make_server, make_receiver):  # noqa: F811
    """A server alone and a webhook that gives up at once: (server, admin, receiver)."""
    receiver = make_receiver()
    server = make_server(settings={**HASTY, "webhook_allow": receiver.place}).start()
    admin = server.admin()
    put(admin, "gateway", receiver.url())
    return server, admin, receiver


@pytest.fixture
def three(make_servers, make_receiver):  # noqa: F811
    """The same with three servers: (servers, who makes changes, receiver)."""
    receiver = make_receiver()
    servers = make_servers(3, settings={**HASTY, "webhook_allow": receiver.place})
    writer = writer_of(servers)
    put(writer.admin(), "gateway", receiver.url())
    return servers, writer, receiver


def some_dead_ones(server, receiver, n=3):
    """Scenes that are refused for good, and one behind them that is taken."""
    author, admin = Author(server), server.admin()
    receiver.how = answer(503)
    refused = author.go_on(n)
    wait_until(lambda: dead(admin)["kept"] == n, "all are dead letters")
    receiver.how = answer(204)
    taken = author.go_on(1)
    receiver.wait_for(taken)
    return author, refused, taken


# ---- Over HTTP -------------------------------------------------------------------------------------------------------


def test_what_a_target_refuses_for_good_is_kept_in_order_with_the_reason(told):
    server, admin, receiver = told
    _, refused, _ = some_dead_ones(server, receiver)
    letters = dead(admin)
    assert [row["event_id"] for row in letters["items"]] == events_of(server)[:3]
    assert all(row["reason"] == "status 503" and not row["again"] and row["noted_at"] >= row["happened_at"]
               for row in letters["items"])
    assert letters["kept"] == 3 and letters["dropped"] == 0 and letters["next_after"] is None
    wait_until(lambda: targets(admin)[NAME]["state"] == "ok", "it gets on")
    row = targets(admin)[NAME]
    assert (row["kind"], row["dead"], row["refused"], row["told"]) == ("webhook", 3, 3, 1)
    assert row["newest_event"] >= row["position"] and row["lag_ms"] == 0 and not row["can_rebuild"]
    assert scrape(server).get("tidings_target_dead_letters", target=NAME) == 3
    first = admin.get(f"/admin/targets/{NAME}/dead?limit=2")
    assert first["next_after"] == first["items"][-1]["event_id"]
    rest = admin.get(f"/admin/targets/{NAME}/dead?limit=2&after={first['next_after']}")
    assert first["items"] + rest["items"] == letters["items"]


def test_a_retry_tells_dead_letters_once_more_and_what_is_taken_is_none_any_more(told):
    server, admin, receiver = told
    author, refused, taken = some_dead_ones(server, receiver)
    assert receiver.scenes() == taken
    answer_of = admin.post(f"/admin/targets/{NAME}/retry")
    assert answer_of["dead_waiting"] == 3
    wait_until(lambda: dead(admin)["kept"] == 0, "all are told")
    assert receiver.scenes() == taken + refused
    receiver.wait_for(author.go_on(1))
    wait_until(lambda: targets(admin)[NAME]["told"] == 5, "it is noted")


def test_what_is_refused_again_stays_a_dead_letter_and_holds_nothing_up(told):
    server, admin, receiver = told
    author, refused, _ = some_dead_ones(server, receiver)
    noted = {row["event_id"]: row["noted_at"] for row in dead(admin)["items"]}
    receiver.how = answer(410)
    admin.post(f"/admin/targets/{NAME}/retry")
    wait_until(lambda: all(row["reason"] == "status 410" and not row["again"] for row in dead(admin)["items"]), "each was tried")
    assert all(row["noted_at"] > noted[row["event_id"]] for row in dead(admin)["items"])
    receiver.how = answer(204)
    receiver.wait_for(author.go_on(1))


def test_a_restart_forgets_no_dead_letter_and_no_wish(told):
    server, admin, receiver = told
    _, refused, taken = some_dead_ones(server, receiver)
    before = dead(admin)
    receiver.die()
    server.restart()
    admin = server.admin()
    assert dead(admin) == before
    receiver.start()
    admin.post(f"/admin/targets/{NAME}/retry")
    wait_until(lambda: receiver.scenes() == taken + refused, "all are told")


def test_a_replay_goes_back_and_never_forward(told):
    server, admin, receiver = told
    author = Author(server)
    scenes = author.go_on(5)
    receiver.wait_for(scenes)
    ids = events_of(server)
    wait_until(lambda: targets(admin)[NAME]["position"] >= ids[-1], "it is noted")
    position = targets(admin)[NAME]["position"]
    ahead = admin.post(f"/admin/targets/{NAME}/replay", {"after": position + (1 << 30)})
    assert ahead["position"] == position
    admin.post(f"/admin/targets/{NAME}/replay", {"after": ids[2]})
    wait_until(lambda: receiver.scenes() == scenes + scenes[3:], "the last two once more")
    since = admin.get("/events?limit=100")["items"]
    at = next(row["happened_at"] for row in since if row["event_id"] == ids[4])
    admin.post(f"/admin/targets/{NAME}/replay", {"since_ms": at})
    wait_until(lambda: receiver.scenes()[7:] == scenes[-len(receiver.scenes()[7:]):] and len(receiver.scenes()) > 7, "since then")
    receiver.wait_for(author.go_on(1))


def test_events_that_are_replayed_are_no_dead_letters_any_more(told):
    server, admin, receiver = told
    _, refused, taken = some_dead_ones(server, receiver)
    first = dead(admin)["items"][0]["event_id"]
    admin.post(f"/admin/targets/{NAME}/replay", {"after": first})
    assert [row["event_id"] for row in dead(admin)["items"]] == [first]
    wait_until(lambda: receiver.scenes() == taken + refused[1:] + taken, "what is behind it")


def test_more_dead_letters_than_are_kept_drop_the_oldest_and_count_them(told):
    server, admin, receiver = told
    receiver.how = answer(503)
    author = Author(server)
    author.go_on(1003)
    wait_until(lambda: targets(admin)[NAME]["dead_dropped"] == 3, "the oldest are dropped", 120)
    row = targets(admin)[NAME]
    assert row["dead"] == 1000 and row["refused"] == 1003
    assert dead(admin)["dropped"] == 3
    admin.expect(204, "DELETE", "/v1/admin/webhooks/gateway")
    put(admin, "gateway", receiver.url())
    assert dead(admin)["kept"] == dead(admin)["dropped"] == 0, "those of another webhook of that name"
    server.close_actors()
    server.actors.clear()
    server.stop()
    server.verify()


@pytest.mark.parametrize("action, body, status", [
    ("rebuild", None, 501), ("reconcile", None, 501), ("replay", {}, 400), ("replay", {"after": 1, "since_ms": 1}, 400),
    ("replay", {"after": "1"}, 400), ("replay", {"behind": 1}, 400),
])
def test_what_a_target_cannot_do_and_bad_input(told, action, body, status):
    _, admin, _ = told
    admin.expect(status, "POST", f"/v1/admin/targets/{NAME}/{action}", body)


def test_who_is_no_admin_and_what_is_no_target(told):
    server, admin, _ = told
    for name in ("webhook:nobody", "kafka", "gateway"):
        admin.expect(404, "GET", f"/v1/admin/targets/{name}/dead")
        admin.expect(404, "POST", f"/v1/admin/targets/{name}/retry")
    admin.expect(400, "GET", f"/v1/admin/targets/{'x' * 200}/dead")
    server.user(1).expect(403, "GET", "/v1/admin/targets")
    server.service().expect(403, "POST", f"/v1/admin/targets/{NAME}/retry")


# ---- Several servers, and the commands -------------------------------------------------------------------------------


def url_of(server):
    return server.arguments[server.arguments.index("--mysql") + 1]


def cluster(action, *arguments, **environment):
    return tidings("cluster", action, *arguments, **environment)


def listed(done):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_takeover_loses_no_dead_letter(three):
    servers, writer, receiver = three
    _, refused, _ = some_dead_ones(writer, receiver)
    before = dead(writer.admin())
    writer.close_actors()
    writer.actors.clear()
    writer.kill()
    others = [one for one in servers if one is not writer]
    following = writer_of(others)
    assert dead(following.admin()) == before and len(before["items"]) == 3
    admin = following.admin()
    admin.post(f"/admin/targets/{NAME}/retry")
    wait_until(lambda: dead(admin)["kept"] == 0, "all are told")
    assert set(refused) <= set(receiver.scenes())


def test_the_commands_need_the_database_alone(three):
    servers, writer, receiver = three
    _, refused, taken = some_dead_ones(writer, receiver)
    url = url_of(writer)
    rows = listed(cluster("targets", "--mysql", url, "--json"))["items"]
    assert [row["name"] for row in rows] == [NAME] and rows[0]["dead"] == 3
    assert "webhook:gateway" in cluster("targets", "--mysql", url).stdout
    letters = listed(cluster("dead", NAME, "--mysql", url, "--json"))
    assert letters == dead(writer.admin())
    assert cluster("dead", NAME, "--mysql", url).stdout.count("status 503") == 3
    done = cluster("retry", NAME, "--mysql", url)
    assert done.returncode == 0, done.stderr
    wait_until(lambda: receiver.scenes() == taken + refused, "all are told")
    wait_until(lambda: "there are no dead letters" in cluster("dead", NAME, "--mysql", url).stdout, "none is left")
    event = events_of(writer)[-2]
    assert cluster("replay", NAME, "--after", str(event), "--mysql", url).returncode == 0
    wait_until(lambda: receiver.scenes() == taken + refused + taken, "the last one again")
    for action in ("rebuild", "reconcile"):
        cannot = cluster(action, NAME, "--mysql", url)
        assert cannot.returncode == 1 and "not supported by this target" in cannot.stderr
    nobody = cluster("retry", "kafka", "--mysql", url)
    assert nobody.returncode == 1 and "there is no target kafka" in nobody.stderr
    assert cluster("replay", NAME, "--mysql", url).returncode == 2


def test_a_follower_hands_the_commands_on_when_the_writer_is_gone(three):
    servers, writer, receiver = three
    _, refused, _ = some_dead_ones(writer, receiver)
    url = url_of(writer)
    writer.close_actors()
    writer.actors.clear()
    writer.kill()
    done = cluster("retry", NAME, "--mysql", url)
    assert done.returncode == 0, done.stderr
    wait_until(lambda: set(refused) <= set(receiver.scenes()), "all are told")


def test_nobody_runs(three):
    servers, writer, _ = three
    url = url_of(writer)
    for one in servers:
        one.close_actors()
        one.actors.clear()
        one.stop()
    done = cluster("targets", "--mysql", url)
    assert done.returncode == 3 and "no server of the log" in done.stderr


def test_a_lone_server_is_asked_over_http(told):
    server, admin, receiver = told
    _, refused, taken = some_dead_ones(server, receiver)
    place, secret = f"http://127.0.0.1:{server.port}", {"TIDINGS_JWT_SECRET": server.secret}
    assert listed(cluster("targets", "--server", place, "--json", **secret))["items"][0]["dead"] == 3
    assert listed(cluster("dead", NAME, "--server", place, "--json", **secret)) == dead(admin)
    assert cluster("retry", NAME, "--server", place, **secret).returncode == 0
    wait_until(lambda: receiver.scenes() == taken + refused, "all are told")
    assert cluster("replay", NAME, "--after", "2020-01-02T00:00:00Z", "--server", place, **secret).returncode == 0
    cannot = cluster("rebuild", NAME, "--server", place, **secret)
    assert cannot.returncode == 1 and "not supported by this target" in cannot.stderr
    wrong = cluster("targets", "--server", place, TIDINGS_JWT_SECRET="another secret of 32 bytes or more, wrong")
    assert wrong.returncode == 3 and "the server says" in wrong.stderr
    assert cluster("targets", "--server", "http://127.0.0.1:1", **secret).returncode == 3
    assert cluster("targets", "--server", place, "--mysql", "mysql://a@b/c", **secret).returncode == 2
