"""What is mistyped, missing or asked for: what the program says, and how it exits."""
import re
import shlex

import pytest
from support.server import SECRET, tidings
from tables import commands, options


def test_the_version_is_told():
    for how in ("--version", "version"):
        done = tidings(how)
        assert done.returncode == 0 and re.fullmatch(r"tidings \d+\.\d+\.\d+\n", done.stdout) and not done.stderr


def test_every_command_tells_what_it_takes():
    names = commands()
    assert {"serve", "token", "verify", "backup", "restore", "log", "help", "version"} <= set(names)
    for name in names:
        for how in ((name, "--help"), ("help", name)):
            done = tidings(*how)
            assert done.returncode == 0 and done.stdout.startswith(f"usage: tidings {name}") and not done.stderr
            assert "\nExit: 0" in done.stdout and "2 usage" in done.stdout
            assert max(map(len, done.stdout.splitlines())) <= 96


def test_every_command_has_examples_of_what_it_takes():
    for name in commands():
        text = tidings(name, "--help").stdout
        examples = text.partition("\nExample:\n")[2].partition("\n\nExit: ")[0].splitlines()
        assert examples, name
        for line in examples:
            assert line.startswith(f"  tidings {name}"), line
            words = shlex.split(re.split(r" [|>] ", line)[0])[2:]
            flags = {word for word in words if word.startswith("--")}
            assert flags <= set(re.findall(r"(?m)^  (--[\w-]+)", text)), line
        assert examples[0].strip().replace("-", r"\-") in tidings("help", "--man").stdout


def test_an_export_names_its_file_as_a_backup_does(tmp_path):
    data = tmp_path / "data"
    facts = tmp_path / "facts"
    facts.write_text('{"type":"user","user_id":1,"name":"Ann"}\n')
    assert tidings("import", str(facts), "--data", str(data)).returncode == 0
    said = tidings("export", "--data", str(data)).stdout
    assert '"Ann"' in said and tidings("export", "-", "--data", str(data)).stdout == said
    for n, how in enumerate((lambda to: [to], lambda to: ["--to", to])):
        to = tmp_path / f"out{n}"
        done = tidings("export", *how(str(to)), "--data", str(data))
        assert done.returncode == 0 and not done.stdout and to.read_text() == said
    done = tidings("export", "a", "--to", "b", "--data", str(data))
    assert done.returncode == 2 and "FILE and --to are the same" in done.stderr


@pytest.mark.parametrize("typed, meant", [
    ("serv", "serve"), ("srve", "serve"), ("sevre", "serve"), ("serves", "serve"), ("ver", None), ("verif", "verify"),
    ("bakcup", "backup"), ("lgo", "log"), ("restor", "restore"), ("bench", "bench-engine"), ("xyzzy", None),
    ("--versoin", None), ("", None), ("s" * 200, None)])
def test_an_unknown_command(typed, meant):
    done = tidings(typed)
    assert done.returncode == 2 and not done.stdout
    first = done.stderr.splitlines()[0]
    assert first.startswith(f"tidings: {typed} is not a command"), first
    if meant:
        assert first.endswith(f"did you mean {meant}?"), first
    assert "usage: tidings COMMAND" in done.stderr


@pytest.mark.parametrize("command, typed, meant", [
    ("serve", "--lisen", "--listen"), ("serve", "--lisen=127.0.0.1:0", "--listen"), ("serve", "--listne", "--listen"),
    ("serve", "--folow-burst", "--follow-burst"), ("serve", "--webhook-alow", "--webhook-allow"),
    ("serve", "--hlep", "--help"), ("verify", "--repare", "--repair"), ("verify", "--rep", "--repair"),
    ("restore", "--untill", "--until"), ("token", "--usr", "--user"), ("log", "--row", "--rows"),
    ("bench-engine", "--inflight", "--in-flight"), ("routes", "--halp", "--help"),
    ("serve", "--xyzzy", None), ("verify", "-x", None), ("verify", "---", None), ("verify", "--=5", None)])
def test_an_unknown_option(command, typed, meant):
    done = tidings(command, typed, "value")
    first = done.stderr.splitlines()[0]
    assert done.returncode == 2 and not done.stdout
    assert first.startswith(f"tidings: {typed.split('=')[0]} is not known"), first
    assert first.endswith(f"; did you mean {meant}?" if meant else "is not known"), first
    assert f"usage: tidings {command}" in done.stderr


@pytest.mark.parametrize("arguments, says", [
    (["verify"], "--data is missing"),
    (["verify", "--data"], "--data needs a value"),
    (["verify", "--data", "x", "--repair=yes"], "--repair takes no value"),
    (["verify", "--data", "x", "more"], "more is not a flag"),
    (["verify", "--data", "x", "--", "--repair"], "--repair is not a flag"),
    (["backup", "--data", "x"], "DEST is missing"),
    (["backup", "a", "b", "--data", "x"], "b is not a flag"),
    (["restore", "--data", "x"], "SRC is missing"),
    (["restore", "x"], "--data is missing"),
    (["restore", "x", "--data", "y", "--until", "noon"], "until must be"),
    (["restore", "x", "--data", "y", "--until", "0"], "until must be"),
    (["restore", "x", "--data", "y", "--until", "2026-11-15T12:00:00"], "until must be"),
    (["log", "--data", "x", "--after", "-1"], "after must be a number"),
    (["log", "--data", "x", "--after", "1x"], "after must be a number"),
    (["log", "--data", "x", "--after", "18446744073709551616"], "after must be a number"),
    (["token"], "--user is missing"),
    (["token", "--user", "0"], "user must be a number from 1"),
    (["token", "--user", "9007199254740992"], "user must be a number from 1"),
    (["token", "--user", "1", "--role", "root"], "role must be user, service or admin"),
    (["token", "--user", "1", "--role", "user|service"], "role must be user, service or admin"),
    (["token", "--user", "1", "--ttl", "soon"], "ttl must be"),
    (["token", "--user", "1", "--ttl", "0"], "ttl must be"),
    (["bench-engine", "--data", "x", "--users", "0"], "users must be a number"),
    (["bench-engine", "--data", "x", "--users", "5", "--followed", "6"], "fewer authors"),
    (["routes", "more"], "more is not a flag"),
    (["help", "nothing"], "nothing is not a command"),
    (["help", "serve", "token"], "token is not a flag"),
    (["serve"], "--data is missing"),
    (["serve", "--data", "x", "--durability", "never"], "durability must be commit or second"),
    (["serve", "--data", "x", "--access-log", "2"], "access_log must be a number from 0 to 1"),
    (["serve", "--data", "x", "--webhook-allow", "10.0.0.0/33"], "webhook_allow: it must be hosts"),
    (["serve", "--data", "x", "--engine", "local"], "--engine is not known"),
    (["verify", "--engine", "cluster"], "--engine is not known"),
    (["move"], "move is not a command"),
    (["serve", "--mysql", "mysql://u@h/d"], "--data is missing"),
    (["serve", "--dev", "--mysql", "mysql://u@h/d"], "--data is missing"),
    (["serve", "--data", "x", "--freshness", "stale"], "freshness must be exact or bounded"),
    (["serve", "--data", "x", "--heads-mb", "5"], "--heads-mb is not known"),
    (["serve", "--data", "x", "--image-mysql-mb", "-1"], "image_mysql_mb must be a number from 0"),
    (["promote"], "ADDRESS is missing"),
    (["cluster"], "ACTION is missing"),
    (["cluster", "destroy", "--mysql", "mysql://u@h/d"], "destroy is not one of: init|status|begin|targets|dead|retry|replay|rebuild|reconcile"),
    (["cluster", "status", "more"], "more is not a flag"),
    (["cluster", "begin", "--mysql", "mysql://u@h/d"], "--from is missing"),
    (["cluster", "dead", "--mysql", "mysql://u@h/d"], "TARGET is missing"),
    (["cluster", "replay", "kafka", "--mysql", "mysql://u@h/d"], "--after is missing"),
    (["cluster", "replay", "kafka", "--after", "yesterday", "--mysql", "mysql://u@h/d"], "after must be the id of an event"),
    (["cluster", "targets", "--mysql", "mysql://u@h/d", "--server", "http://h"], "exclude each other"),
    (["cluster", "status"], "--mysql is missing"),
    (["cluster", "init"], "--mysql is missing"),
    (["cluster", "init", "--mysql", "mysql://h/d"], "mysql: it must name the user"),
])
def test_wrong_usage_exits_2_and_says_what_is_wrong(tmp_path, monkeypatch, arguments, says):
    monkeypatch.chdir(tmp_path)
    done = tidings(*arguments, TIDINGS_JWT_SECRET=SECRET)
    assert done.returncode == 2 and says in done.stderr and not done.stdout, done
    assert not list(tmp_path.iterdir()), "and nothing was made"


@pytest.mark.parametrize("listen", ["nonsense", "127.0.0.1", "127.0.0.1:99999", "127.0.0.1:x", ":"])
def test_an_address_to_listen_on_that_is_none_is_wrong_usage(tmp_path, listen):
    done = tidings("serve", "--data", str(tmp_path / "data"), "--listen", listen, TIDINGS_JWT_SECRET=SECRET)
    assert done.returncode == 2 and listen in done.stderr, done


def test_values_stand_behind_a_space_or_an_equals_sign_and_operands_anywhere(tmp_path):
    for how in (["--user", "5", "--ttl=2d", "--role=admin"], ["--role", "admin", "--ttl", "48h", "--user=5"]):
        assert tidings("token", *how, TIDINGS_JWT_SECRET=SECRET).returncode == 0
    missing = str(tmp_path / "missing")
    for how in (["x", "--data", missing], ["--data", missing, "x"], [f"--data={missing}", "--", "x"]):
        assert tidings("backup", *how).returncode == 3, "understood, and there is nothing"


def test_a_name_is_the_same_with_dashes_and_underscores():
    assert "in_flight must be" in tidings("bench-engine", "--in_flight=0").stderr
    assert "in_flight must be" in tidings("bench-engine", "--in-flight=0").stderr
    assert "--in-flight" in options("bench-engine")


URL = "mysql://tidings@127.0.0.1:1/tidings"
COMMANDS = [["cluster", "init"], ["cluster", "status"], ["cluster", "targets"]]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_clusters_commands_take_no_password_in_the_url(command):
    done = tidings(*command, "--mysql", "mysql://tidings:s3cr3t@127.0.0.1:1/tidings", TIDINGS_JWT_SECRET=SECRET)
    assert done.returncode == 2 and "TIDINGS_MYSQL_PASSWORD_FILE" in done.stderr, done
    assert "s3cr3t" not in done.stderr + done.stdout


@pytest.fixture
def serve(tmp_path):
    def run(*arguments, **variables):
        return tidings("serve", "--data", str(tmp_path / "data"), *arguments, TIDINGS_JWT_SECRET=SECRET, **variables)

    return run


@pytest.mark.parametrize("arguments, says", [
    (["--mysql", "h/d"], "mysql: it must begin with mysql://"),
    (["--mysql", "mysql://h/d"], "mysql: it must name the user"),
    (["--mysql", "mysql://u@h:x/d"], "mysql: the port must be"),
    (["--mysql", URL, "--follow", "tidings://127.0.0.1:1"], "follow"),
])
def test_servers_that_share_a_log_are_told_what_is_wrong(serve, arguments, says):
    done = serve(*arguments)
    assert done.returncode == 2 and says in done.stderr and not done.stdout, done


def test_a_database_that_does_not_answer_is_told(serve):
    done = serve("--mysql", URL)
    assert done.returncode == 3 and "Can't connect" in done.stderr, done


def test_a_password_in_the_url_is_refused_and_not_repeated(serve):
    done = serve("--mysql", "mysql://tidings:s3cr3t@127.0.0.1:1/tidings")
    assert done.returncode == 2 and "TIDINGS_MYSQL_PASSWORD_FILE" in done.stderr, done
    assert "s3cr3t" not in done.stderr + done.stdout


def test_the_database_may_be_named_by_a_variable(serve):
    done = serve(TIDINGS_MYSQL="nonsense")
    assert done.returncode == 2 and "mysql: it must begin with mysql://" in done.stderr, done


def test_a_password_comes_from_one_place(tmp_path, serve):
    def run(**variables):
        return serve("--mysql", URL, **variables)

    file = tmp_path / "password"
    file.write_text("s3cr3t\n")
    done = run(TIDINGS_MYSQL_PASSWORD="s3cr3t", TIDINGS_MYSQL_PASSWORD_FILE=str(file))
    assert done.returncode == 2 and "TIDINGS_MYSQL_PASSWORD_FILE is, too" in done.stderr and "s3cr3t" not in done.stderr
    done = run(TIDINGS_MYSQL_PASSWORD="x" * 1025)
    assert done.returncode == 2 and "at most 1024 bytes" in done.stderr, done
    done = run(TIDINGS_MYSQL_PASSWORD_FILE=str(tmp_path / "none"))
    assert done.returncode == 3 and "TIDINGS_MYSQL_PASSWORD_FILE: No such file" in done.stderr, done
    for text in ("", "\n", "x" * 1025 + "\n"):
        file.write_text(text)
        done = run(TIDINGS_MYSQL_PASSWORD_FILE=str(file))
        assert done.returncode == 3 and "1 to 1024 bytes" in done.stderr, done
    for text in ("x\n", "x" * 1024, "x" * 1024 + "\r\n", "x\nanother line\n"):
        file.write_text(text)
        done = run(TIDINGS_MYSQL_PASSWORD_FILE=str(file))
        assert done.returncode == 3 and "Can't connect" in done.stderr, "it got as far as the database, where nobody is"
