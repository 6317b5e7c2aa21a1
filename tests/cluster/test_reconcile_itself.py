"""Servers recount by themselves: drift of each kind is found, mended, counted and told of; a round goes on where it was on another server;
and what people do meanwhile is no drift."""
import json
import random
import threading

import database
import pytest
from support.metrics import scrape
from support.server import tidings, wait_until
from test_reconcile import DRIFT, populate, reconcile

ROUND_S = 120


@pytest.fixture(name="make_servers")
def make_recounting(make_servers):
    return lambda count, settings=None: make_servers(count, settings={"reconcile_hours": 24, **(settings or {})})


def reconciliation(server):
    return server.admin().get("/admin/status")["cluster"]["reconciliation"]


def place(name):
    """Of the round, in an order that it goes in."""
    (row,) = database.run("SELECT step, stage, walk, under_way, last_ended_at FROM reconciliation", name)
    step, stage, walk, under_way, ended = row.split("\t")
    return int(step), (int(stage), int(walk)), under_way == "1", ended


def make_late(name):
    """As if the round had begun long ago: it goes as fast as it may."""
    database.run("UPDATE reconciliation SET began_at = '2020-01-01'", name)


def let_rounds_pass(name, count=1):
    """So many, from their beginnings to their ends."""
    for _ in range(count + 1):  # one may be under way
        ended = place(name)[-1]

        def over(before=ended):
            make_late(name)
            return place(name)[-1] != before
        wait_until(over, "a round is over", ROUND_S)


def test_drift_of_each_kind_is_found_mended_and_told_of(make_servers):
    first, second = make_servers(2)
    name = database.name_of(first)
    populate(first)
    let_rounds_pass(name)
    status = reconciliation(second)
    assert status["last"]["found"] == status["last"]["mended"] == 0 and status["last"]["rows"] > 40
    assert [(row["kind"], row["found"], row["mended"]) for row in status["drift"]] == [(kind, 0, 0) for kind in DRIFT]
    for plant in DRIFT.values():
        database.run(plant, name)
    let_rounds_pass(name)
    assert reconcile(first, "--check") == (0, {})
    wait_until(lambda: all(row["found"] > 0 and row["mended"] > 0 for row in reconciliation(second)["drift"]), "all kinds are told of")
    metrics = scrape(second)
    for row in reconciliation(second)["drift"]:
        labels = (("kind", row["kind"]),)
        assert metrics.samples["tidings_cluster_drift_found_total", labels] == row["found"]
        assert metrics.samples["tidings_cluster_drift_mended_total", labels] == row["mended"]
    lines = [line["message"] for server in (first, second) for line in server.log_lines() if "drift: " in line.get("message", "")]
    assert any("author.posts: of " in line for line in lines) and any("content_stats.likes: of " in line for line in lines)


def test_the_command_tells_of_rounds(make_servers):
    (server,) = make_servers(1)
    let_rounds_pass(database.name_of(server))
    done = tidings("cluster", "status", "--mysql", database.url_of(server), "--json")
    told = json.loads(done.stdout)["reconciliation"]
    assert told["last"]["found"] == 0 and len(told["drift"]) == len(DRIFT)
    assert "recounted  " in tidings("cluster", "status", "--mysql", database.url_of(server)).stdout


def test_another_server_goes_on_where_it_was(make_servers):
    first, second = make_servers(2)
    name = database.name_of(first)

    def is_halfway():
        make_late(name)
        return place(name)[1] >= (3, 0)
    wait_until(is_halfway, "half of it is done", ROUND_S)
    first.stop()
    step, before, _, ended = place(name)

    def has_moved():
        make_late(name)
        return place(name)[0] > step
    wait_until(has_moved, "the second goes on", ROUND_S)
    _, now, _, _ = place(name)
    assert now >= before or place(name)[-1] != ended, "it began anew"
    assert second.process.poll() is None


def test_a_day_is_not_over_in_a_moment(make_servers):
    (server,) = make_servers(1)
    name = database.name_of(server)
    wait_until(lambda: place(name)[0] > 0, "the first page")
    step, _, under_way, _ = place(name)
    server.user().publish()
    assert under_way and place(name)[0] == step  # the next one is in half an hour


@pytest.mark.parametrize("hours, begins", [(0, False), (24, True)])
def test_it_can_be_turned_off(make_servers, hours, begins):
    (server,) = make_servers(1, settings={"reconcile_hours": hours})
    name = database.name_of(server)
    if begins:
        wait_until(lambda: place(name)[2], "it has begun")
    else:
        assert "reconcile" not in threads_of(server)


def threads_of(server):
    done = database.subprocess.run(["ps", "-L", "-o", "comm=", "-p", str(server.process.pid)], capture_output=True, text=True, check=True)
    return done.stdout.split()


def do_anything(server, seed, stopping, wrong):
    """As a user among others, on one of the servers."""
    dice = random.Random(seed)
    try:
        me, author = server.user(), server.user()
        posts = [author.publish()["id"] for _ in range(3)]
        comments = [me.comment(posts[0])["id"]]
        tale = author.story()
        while not stopping.is_set():
            post, comment = dice.choice(posts), dice.choice(comments)
            dice.choice([
                lambda: me.follow(author), lambda: me.unfollow(author), lambda: me.open(post), lambda: posts.append(author.publish()["id"]),
                lambda: me.react(f"/posts/{post}/like"), lambda: me.unreact(f"/posts/{post}/like"),
                lambda: me.react(f"/comments/{comment}/like"), lambda: me.unreact(f"/comments/{comment}/like"),
                lambda: comments.append(me.comment(post)["id"]),
                lambda: me.subscribe(tale), lambda: author.scene(tale)])()
    except Exception as failure:  # pylint: disable=broad-except
        wrong.append(failure)


def test_what_people_do_meanwhile_is_no_drift(make_servers):
    servers = make_servers(2, settings={"react_burst": 1_000_000, "comment_burst": 1_000_000, "follow_burst": 1_000_000})
    name = database.name_of(servers[0])
    stopping, wrong = threading.Event(), []
    threads = [threading.Thread(target=do_anything, args=(servers[i % 2], i, stopping, wrong)) for i in range(4)]
    for thread in threads:
        thread.start()
    try:
        let_rounds_pass(name, 2)
    finally:
        stopping.set()
        for thread in threads:
            thread.join()
    assert not wrong
    assert database.run("SELECT COUNT(*) FROM reaction", name) != ["0"]
    assert not database.run("SELECT * FROM drift", name)
