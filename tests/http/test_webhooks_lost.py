"""Webhooks when something is lost: what is given up, crashes, addresses that must not be called, certificates."""
import random
import socket
import time

import pytest

from support.metrics import scrape
from support.receiver import Stall, answer, drop, in_turn, tls_context
from support.server import wait_until
from support.webhooks import QUICK, Author, look, make_receiver, put, retry, told, wait_for_state  # noqa: F401 (fixtures)

# ---- Given up -----------------------------------------------------------------------------------

AT_ONCE = {"webhook_give_up_hours": 0}


def test_what_is_given_up_is_counted_and_the_next_is_told(told):
    server, admin, receiver = told(AT_ONCE, how=in_turn(answer(500), answer(400), answer(204)))
    author = Author(server)
    scenes = author.go_on(4)
    receiver.wait_for(scenes[2:])
    receiver.check(scenes[2:])
    assert [call.json["scene_id"] for call in receiver.calls] == scenes, "one attempt each"
    wait_until(lambda: look(admin)["delivered"] == 2, "it is noted")
    seen = look(admin)
    assert seen["dead"] == 2 and seen["failed"] == 2 and seen["state"] == "ok"
    assert scrape(server).get("tidings_webhook_dead_total", webhook="gateway") == 2
    assert any(line["message"] == "the webhook's event is given up" and line["webhook"] == "gateway"
               for line in server.log_lines())
    server.restart()
    assert look(admin) == seen


def test_a_dead_webhook_is_told_everything_after_a_retry(told):
    server, admin, receiver = told(AT_ONCE)
    author = Author(server)
    receiver.wait_for(author.go_on(2))
    receiver.how = answer(503)
    author.go_on(4)
    wait_until(lambda: look(admin)["dead"] == 4, "all are given up")
    seen = look(admin)
    assert seen["state"] == "dead" and seen["waiting_since"] is None and seen["last_error"] == "status 503"
    assert scrape(server).get("tidings_webhook_state", webhook="gateway", state="dead") == 1
    server.restart(how=9)
    assert look(admin)["state"] == "dead"
    receiver.how = answer(204)
    assert retry(admin)["state"] == "ok"
    author.go_on(1)
    receiver.wait_for(author.scenes)
    receiver.check(author.scenes)
    wait_until(lambda: look(admin)["delivered"] == 7, "it is noted")
    assert look(admin)["state"] == "ok" and look(admin)["dead"] == 4, "that they were given up once stays counted"


def test_retry_on_a_healthy_webhook_changes_nothing(told):
    server, admin, receiver = told()
    author = Author(server)
    receiver.wait_for(author.go_on(2))
    wait_until(lambda: look(admin)["delivered"] == 2, "it is noted")
    retry(admin)
    receiver.wait_for(author.go_on(1))
    receiver.check(author.scenes)
    assert len(receiver.calls) == 3


# ---- Crashes ------------------------------------------------------------------------------------

def test_a_receiver_that_dies_and_comes_back(told):
    server, admin, receiver = told()
    author = Author(server)
    receiver.wait_for(author.go_on(3))
    receiver.die()
    author.go_on(5)
    seen = wait_for_state(admin, "retrying")
    assert "onnect" in seen["last_error"]
    receiver.start()
    author.go_on(2)
    receiver.wait_for(author.scenes)
    receiver.check(author.scenes)


def moody(seed):
    """Fails, drops, stalls a moment or takes it."""
    rng = random.Random(seed)

    def how(handler, call):
        mood = rng.random()
        if mood < 0.3:
            (answer(500) if mood < 0.15 else drop)(handler, call)
            return
        if mood < 0.35:
            time.sleep(0.3)
        answer(204)(handler, call)
    return how


def test_kill_9_in_the_middle_loses_none(told):
    """Both sides misbehave: the receiver fails, drops and dies, the server is killed again and again."""
    seed = random.randrange(2 ** 32)
    print("seed", seed)
    rng = random.Random(seed)
    server, admin, receiver = told({"webhook_timeout_ms": 200}, how=moody(seed))
    put(admin, "second", receiver.url("/second"))
    author = Author(server, 3)
    for round_ in range(6):
        author.go_on(10)
        time.sleep(rng.random() * 0.15)
        if round_ % 3 == 2:
            receiver.die()
        server.restart(how=9)
        if not receiver.listener:
            author.go_on(2)
            receiver.start()
    receiver.how = answer(204)
    wait_until(lambda: all(look(admin, name)["waiting_since"] is None and look(admin, name)["state"] == "ok"
                           and {call.json["scene_id"] for call in receiver.taken if call.path == path}
                           == set(author.scenes)
                           for name, path in (("gateway", "/hook"), ("second", "/second"))), "everything arrives")
    assert not receiver.wrong
    for path in ("/hook", "/second"):
        mine = [call for call in receiver.taken if call.path == path]
        for story in author.stories:
            told_of = [call.json["scene_id"] for call in mine if call.json["story_id"] == story]
            firsts = list(dict.fromkeys(told_of))
            assert firsts == [s for i, s in enumerate(author.scenes) if author.stories[i % 3] == story], "in order"
    seen = look(admin)
    assert seen["dead"] == 0 and seen["delivered"] >= 1
    for actor in server.actors:
        actor.close()
    server.stop()
    server.verify()


def test_it_goes_on_where_it_was_after_a_restart(told):
    server, admin, receiver = told({"webhook_backoff_first_ms": 3600000, "webhook_backoff_most_ms": 3600000},
                                   how=in_turn(answer(204), answer(204), answer(500), answer(204)))
    author = Author(server)
    author.go_on(4)
    before = wait_for_state(admin, "retrying")
    assert before["delivered"] == 2 and before["attempts"] == 1
    server.restart(how=9)
    after = look(admin)
    assert after == before, "also when it is tried again"
    time.sleep(0.3)
    assert len(receiver.calls) == 3, "not before its time"
    retry(admin)
    receiver.wait_for(author.scenes)
    receiver.check(author.scenes)
    assert len(receiver.calls) == 5, "each once, but for the one that failed"


def test_stopping_does_not_wait_for_a_receiver(told):
    server, admin, receiver = told({"webhook_timeout_ms": 600000}, how=Stall())
    author = Author(server)
    author.go_on(3)
    wait_until(lambda: receiver.calls, "a call is under way")
    for actor in server.actors:
        actor.close()
    start = time.monotonic()
    server.stop()
    assert time.monotonic() - start < 5
    receiver.how = answer(204)
    server.start()
    receiver.wait_for(author.scenes)
    receiver.check(author.scenes)


# ---- Where it may lead, when it comes to it -----------------------------------------------------

def inside_name():
    """A name that looks like any other and leads inside."""
    for name in ("ip6-localhost", socket.gethostname()):
        try:
            found = {info[4][0] for info in socket.getaddrinfo(name, 443, proto=socket.IPPROTO_TCP)}
        except OSError:
            continue
        if found:
            return name
    return pytest.skip("this machine has no name that leads inside")


def test_a_name_that_leads_inside_is_not_connected_to(make_server):
    name = inside_name()
    listener = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
    listener.settimeout(0.5)
    port = listener.getsockname()[1]
    server = make_server(settings=QUICK)
    admin = server.admin()
    put(admin, "inside", f"https://{name}:{port}/")
    Author(server).go_on()
    seen = wait_for_state(admin, "retrying", "inside")
    assert seen["last_error"] == "the host's address is not public"
    with pytest.raises(TimeoutError):
        listener.accept()
    listener.close()


def test_a_name_that_leads_into_an_allowed_network_is_connected_to(make_server):
    name = inside_name()
    with socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True) as listener:
        listener.settimeout(60)
        port = listener.getsockname()[1]
        server = make_server(settings={**QUICK, "webhook_allow": f"0.0.0.0/0:{port}, ::/0:{port}"})
        put(server.admin(), "inside", f"https://{name}:{port}/")
        Author(server).go_on()
        listener.accept()[0].close()


def test_what_is_no_longer_allowed_is_not_called(told):
    server, admin, receiver = told()
    author = Author(server)
    receiver.wait_for(author.go_on())
    server.settings["webhook_allow"] = "elsewhere.example"
    server.restart()
    author.go_on()
    seen = wait_for_state(admin, "retrying")
    assert seen["last_error"] == "the URL is not allowed" and len(receiver.calls) == 1


def test_a_proxy_of_the_environment_is_not_used(make_server, make_receiver):
    receiver, proxy = make_receiver(), make_receiver()
    address = f"http://127.0.0.1:{proxy.port}"
    server = make_server(settings={**QUICK, "webhook_allow": receiver.place},
                         environment={"http_proxy": address, "https_proxy": address, "ALL_PROXY": address})
    put(server.admin(), "direct", receiver.url())
    receiver.wait_for(Author(server).go_on())
    assert not proxy.calls


# ---- TLS ----------------------------------------------------------------------------------------

def test_https_with_a_certificate_that_is_trusted(told, authority):
    tls = tls_context(authority / "server.pem", authority / "server.key")
    server, admin, receiver = told({"webhook_ca_file": authority / "ca.pem"}, tls=tls)
    author = Author(server)
    author.go_on(3)
    receiver.wait_for(author.scenes)
    receiver.check(author.scenes)


def test_https_with_a_certificate_that_is_not(told, authority):
    tls = tls_context(authority / "server.pem", authority / "server.key")
    server, admin, receiver = told(tls=tls)
    Author(server).go_on()
    seen = wait_for_state(admin, "retrying")
    assert "certificate" in seen["last_error"] and not receiver.calls


def test_https_with_a_certificate_of_another_host(told, authority):
    tls = tls_context(authority / "server.pem", authority / "server.key")
    server, admin, receiver = told({"webhook_ca_file": authority / "ca.pem"}, tls=tls)
    server.settings["webhook_allow"] = "localhost"
    server.restart()
    put(admin, "gateway", receiver.url(host="localhost"))
    Author(server).go_on()
    seen = wait_for_state(admin, "retrying")
    assert "certificate" in seen["last_error"] and not receiver.calls
