"""Tables for others, by a lone server and by three: exactly what the events say up to the position beside them, whatever fails."""
import itertools
import os
import shutil
import signal

import pytest
import table_rows
from conftest import replicas, writer_of
from losing import Losing
from support.metrics import scrape
from support.server import make_database, wait_until
from table_rows import FAST, Traffic, catch_up, check, numbers, place, sql, url_of

counter = itertools.count()


@pytest.fixture
def database():
    name = f"tables_{os.getpid()}_{next(counter)}"
    make_database(name)
    return name


@pytest.fixture
def make_lone(make_server, database):
    def make(settings=None, **how):
        server = make_server(settings={"tables": url_of(database), **FAST, **(settings or {})}, **how).start()
        wait_until(lambda: place(database)[1] == "ready", "the tables are filled")
        return server
    return make


def tables_of(server):
    rows = server.admin().get("/admin/status")["consumers"]
    return next((row for row in rows if row["name"] == "tables"), None)


def leave(server, how):
    server.close_actors()
    server.actors.clear()
    how(server)


# ---- One server ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(2))
def test_random_traffic_stands_in_the_tables_as_the_api_answers_it(make_lone, database, seed):
    server = make_lone()
    traffic = Traffic(server, seed)
    for _ in range(3):
        traffic.do(150)
        check(server, database)
    assert numbers(database, "SELECT COUNT(*) FROM yl_comment WHERE status='HIDDEN'") != [(0,)], "votes have folded some"
    assert scrape(server).get("tidings_consumer_failing", consumer="tables") == 0


def test_tables_are_filled_with_what_was_there_before(make_server, database):
    server = make_server(settings=FAST).start()
    traffic = Traffic(server, 7)
    traffic.do(300)
    server.settings["tables"] = url_of(database)
    server.restart()
    check(server, database)
    assert sql(database, "SELECT COUNT(*) FROM following WHERE rel_status=0") == [("0",)], "who left before is not known"
    traffic.at(server)
    traffic.do(100)
    check(server, database)
    compare(database)
    assert place(database)[2] == 0


def test_what_happens_while_they_are_filled_is_not_left_out(make_server, database):
    between = Losing(table_rows.SOCKET)
    server = make_server(settings={"tables": f"mysql://root@localhost/{database}?socket={between.path}", **FAST})
    between.open.clear()
    traffic = Traffic(server.start(), 16)
    wait_until(lambda: between.held, "filling has begun")
    traffic.do(30)
    between.open.set()
    check(server, database)
    between.close()


def test_an_unfollow_keeps_the_row_with_its_time(make_lone, database):
    server = make_lone()
    ann, ben = server.users(2)
    ann.follow(ben)
    ann.unfollow(ben)
    catch_up(server, database)
    events = server.admin().get("/events", limit=100)["items"]
    created, canceled = [event for event in events if event["type"].startswith("Follow")]
    for table in ("following", "follower"):
        row, = sql(database, f"SELECT id,rel_status,created_at,updated_at FROM {table}")
        assert row[:2] == (str(created["event_id"]), "0")
        assert table_rows.ms(row[2]) == created["happened_at"] and table_rows.ms(row[3]) == canceled["happened_at"]
    ann.follow(ben)
    check(server, database)


def test_folding_and_deleting_lower_the_counts_of_visible_comments(make_lone, database):
    server = make_lone()
    people = server.users(4)
    post = people[0].publish(kind="activity")["id"]
    top = people[0].comment(post)["id"]
    reply = people[1].comment(post, parent_id=top)["id"]
    last = people[1].comment(post)["id"]

    def counts():
        catch_up(server, database)
        return numbers(database, f"SELECT comment_count,hot_score FROM yl_activity_stats WHERE activity_id={post}") + \
            numbers(database, f"SELECT reply_count FROM yl_comment_stats WHERE comment_id={top}")

    assert counts() == [(3, 15), (1,)]
    for one in people[:3]:
        one.react(f"/comments/{reply}/downvote")
    assert counts() == [(2, 10), (0,)]
    people[0].unreact(f"/comments/{reply}/downvote")
    assert counts() == [(3, 15), (1,)]
    people[1].expect(204, "DELETE", f"/v1/comments/{last}")
    assert counts() == [(2, 10), (1,)]
    check(server, database)


def test_a_server_that_is_killed_goes_on_without_doing_anything_twice(make_lone, database):
    server = make_lone()
    traffic = Traffic(server, 3)
    for _ in range(3):
        traffic.do(60)
        server.restart(signal.SIGKILL)
        traffic.at(server)
    traffic.do(20)
    check(server, database)


def test_mysql_away_and_back(make_lone, database):
    server = make_lone()
    traffic = Traffic(server, 4)
    traffic.do(40)
    check(server, database)
    for word, mended in ("kill", "start"), ("stop", "start"):
        table_rows.control(word)
        try:
            traffic.do(60)
            wait_until(lambda: tables_of(server)["trouble"], "it says why")
            assert scrape(server).get("tidings_consumer_failing", consumer="tables") == 1
        finally:
            table_rows.control(mended)
        check(server, database)
    wait_until(lambda: not tables_of(server)["trouble"], "and nothing is wrong any more")
    said = [line["message"] for line in server.log_lines() if line.get("consumer") == "tables"]
    assert said.count("the consumer fails") == said.count("the consumer works again") == 2


def test_a_commit_whose_answer_is_lost_counts_once(make_lone, database):
    between = Losing(table_rows.SOCKET)
    server = make_lone({"tables": f"mysql://root@localhost/{database}?socket={between.path}"})
    traffic = Traffic(server, 10)
    between.every = 3
    wait_until(lambda: traffic.do(10) or (between.unanswered >= 5 and between.unsent >= 5), "commits are lost")
    between.every = 0
    check(server, database)
    assert compare(database) == 0
    between.close()


def compare(database, patience=60):
    """Has everything compared; how many rows differed."""
    sql(database, "UPDATE tidings_tables SET state='compare',differences=-1")
    wait_until(lambda: place(database)[1] == "ready" and place(database)[2] >= 0, "all was compared", patience)
    return place(database)[2]


DAMAGE = [
    "DELETE FROM following LIMIT 1", "UPDATE follower SET rel_status=0 WHERE rel_status=1 LIMIT 1",
    "INSERT INTO following VALUES (5,1,2,1,NOW(3),NOW(3))", "UPDATE following SET rel_status=2 WHERE rel_status=1 LIMIT 1",
    "UPDATE following SET created_at='2001-01-01' WHERE rel_status=1 LIMIT 1",
    "DELETE FROM yl_reaction LIMIT 2", "INSERT INTO yl_reaction VALUES (1,'CONTENT',17,'LIKE',NOW(3))",
    "UPDATE yl_reaction SET type='NONE' LIMIT 1", "UPDATE yl_comment SET status='DELETED' WHERE status='VISIBLE' LIMIT 1",
    "DELETE FROM yl_comment LIMIT 1", "INSERT INTO yl_comment VALUES (3,'CONTENT',4,NULL,5,'VISIBLE',NOW(3))",
    "UPDATE yl_comment SET parent_id=1 WHERE parent_id IS NULL LIMIT 1", "DELETE FROM yl_content_stats LIMIT 1",
    "UPDATE yl_activity_stats SET like_count=like_count+1 LIMIT 1", "UPDATE yl_comment_stats SET hot_score=999 LIMIT 1",
    "INSERT INTO yl_content_stats VALUES (9,1,1,1,1)", "TRUNCATE yl_comment_stats",
]


def test_tables_that_were_damaged_are_mended_and_it_is_said_how_many_rows(make_lone, database):
    server = make_lone()
    traffic = Traffic(server, 5)
    traffic.do(300)
    check(server, database)
    assert compare(database) == 0
    for damage in DAMAGE:
        sql(database, damage)
        if "following" not in damage and "follower" not in damage:
            traffic.do(5)
        assert compare(database) > 0, damage
        check_rows(server, database)
    line, *_ = [line for line in server.log_lines() if line["message"] == "the tables differed and are mended"]
    assert line["following"] == 1
    assert compare(database) == 0


def check_rows(server, database):
    """Without the outbox; the two tables of follows may differ by when a row was mended."""
    catch_up(server, database)
    facts = table_rows.facts_of(server)
    table_rows.check_reactions(database, facts)
    table_rows.check_comments(database, facts)
    table_rows.check_counts(server, database, facts)
    wanted = {(fact["user_id"], fact["author_id"]) for fact in facts if fact["type"] == "follow" and "id" in fact}
    for table in ("following", "follower"):
        found = numbers(database, f"SELECT from_user_id,to_user_id FROM {table} WHERE rel_status=1")
        assert set(found) == wanted and len(found) == len(wanted)


def test_an_operator_has_the_tables_compared_and_reads_in_the_log_what_differed(make_lone, database):
    server = make_lone()
    traffic = Traffic(server, 17)
    traffic.do(200)
    check(server, database)
    admin = server.admin()
    sql(database, "DELETE FROM yl_reaction LIMIT 2; UPDATE yl_comment_stats SET like_count=like_count+7 LIMIT 1")
    assert admin.post("/admin/targets/tables/reconcile")["reconciling"]
    compared = "what stands at the consumer's target was compared"
    wait_until(lambda: any(line["message"] == compared for line in server.log_lines()), "it is compared")
    check_rows(server, database)
    line, = [line for line in server.log_lines() if line["message"] == "the tables differed and are mended"]
    assert line["yl_reaction"] == 2 and line["counts"] >= 1
    last, = [line for line in server.log_lines() if line["message"] == compared]
    assert last["looked_at"] > 50
    row, = admin.get("/admin/targets")["items"]
    assert row["can_reconcile"] and not row["reconciling"] and place(database)[2] >= 3
    admin.post("/admin/targets/tables/rebuild")
    wait_until(lambda: any(line.get("reason") == "the consumer is to be made anew" for line in server.log_lines()), "and made anew")
    check(server, database)


def test_other_weights_are_in_the_tables_after_a_restart(make_lone, database):
    server = make_lone()
    traffic = Traffic(server, 6)
    traffic.do(100)
    check(server, database)
    server.settings.update({"hot_like": 7, "hot_comment_down": 9, "fold_down": 1})
    server.restart()
    traffic.at(server)
    check(server, database)
    traffic.do(100)
    check(server, database)


def test_tables_that_were_put_back_or_lost_come_back(make_lone, database):
    server = make_lone()
    traffic = Traffic(server, 8)
    traffic.do(100)
    check(server, database)
    sql(database, "DROP TABLE tidings_tables, yl_reaction, following")
    server.restart()
    traffic.at(server)
    check_rows(server, database)
    sql(database, "UPDATE tidings_tables SET position=position+1000000000,event_id=event_id+16")
    server.restart()
    traffic.at(server)
    check_rows(server, database)
    traffic.do(50)
    check_rows(server, database)


def test_a_directory_that_was_put_back_has_its_tables_filled_anew(make_lone, database, tmp_path):
    server = make_lone()
    traffic = Traffic(server, 15)
    traffic.do(80)
    leave(server, lambda server: server.stop())
    shutil.copytree(server.data, tmp_path / "copy")
    server.start()
    traffic.at(server)
    traffic.do(40)
    check(server, database)
    leave(server, lambda server: server.stop())
    shutil.rmtree(server.data)
    shutil.copytree(tmp_path / "copy", server.data)
    server.start()
    wait_until(lambda: any(line.get("reason") == "they are of another history" for line in server.log_lines()), "it says so")
    wait_until(lambda: place(database)[1] == "ready", "they are filled")
    check_rows(server, database)


def test_tables_of_a_newer_version_are_not_touched(make_lone, database):
    server = make_lone()
    Traffic(server, 9).do(20)
    check(server, database)
    server.stop()
    sql(database, "UPDATE tidings_tables SET version=2")
    before = place(database)
    server.actors.clear()
    server.start()
    wait_until(lambda: "newer program" in (tables_of(server) or {}).get("trouble", ""), "it says why")
    server.user().publish()
    assert place(database) == before


def test_a_user_without_the_right_to_make_tables_is_told_what_to_run(make_server, database):
    statements = (table_rows.ROOT / "docs/tables.sql").read_text()
    sql(database, f"CREATE USER IF NOT EXISTS plain@localhost; GRANT SELECT,INSERT,UPDATE,DELETE ON {database}.* TO plain@localhost")
    server = make_server(settings={"tables": url_of(database, "plain"), **FAST}).start()
    wait_until(lambda: "docs/tables.sql" in (tables_of(server) or {}).get("trouble", ""), "it says what to run")
    sql(database, statements)
    Traffic(server, 1).do(30)
    check(server, database)


def test_the_statements_by_hand_make_what_the_server_makes(make_lone, database):
    def shape(of):
        return sql(of, "SELECT table_name,column_name,column_type,is_nullable,column_key,column_default FROM "
                       f"information_schema.columns WHERE table_schema='{of}' ORDER BY 1,2;") + \
            sql(of, "SELECT table_name,index_name,seq_in_index,column_name,non_unique FROM information_schema.statistics "
                    f"WHERE table_schema='{of}' ORDER BY 1,2,3;")
    server = make_lone()
    catch_up(server, database)
    other = database + "_by_hand"
    make_database(other)
    sql(other, (table_rows.ROOT / "docs/tables.sql").read_text())
    assert shape(other) == shape(database)


def test_old_rows_of_the_outbox_are_removed(make_lone, database):
    server = make_lone()
    Traffic(server, 2).do(30)
    check(server, database)
    sql(database, "INSERT INTO yl_outbox_event VALUES (5000,'REACTION_CREATED','{}',3,'2020-01-01','2020-01-01',0)")
    wait_until(lambda: not sql(database, "SELECT 1 FROM yl_outbox_event WHERE id=5000"), "it is removed")
    wait_until(lambda: sql(database, "SELECT DISTINCT status FROM yl_outbox_event") == [("3",)], "nobody else is to be told")


# ---- Several servers ---------------------------------------------------------------------------------------------------


def database_of(server):
    url = server.arguments[server.arguments.index("--mysql") + 1]
    return url.split("?")[0].rpartition("/")[2]


def test_three_servers_keep_them_in_the_database_of_their_log(make_servers):
    servers = make_servers(3, settings={"tables": "log", **FAST})
    writer = writer_of(servers)
    traffic = Traffic(writer, 11)
    traffic.do(150)
    check(writer, database_of(writer))


@pytest.mark.parametrize("how", ["kill", "stop"])
def test_whoever_takes_over_goes_on_at_the_position(make_servers, how):
    servers = make_servers(3, settings={"tables": "log", **FAST})
    writer = writer_of(servers)
    database = database_of(writer)
    traffic = Traffic(writer, 12)
    traffic.do(200)
    leave(writer, lambda server: server.kill() if how == "kill" else server.stop())
    others = [one for one in servers if one is not writer]
    following = writer_of(others)
    traffic.at(following)
    traffic.do(100)
    check(following, database)
    filled = [line for one in servers for line in one.log_lines() if line["message"] == "the tables are filled"]
    assert len(filled) == 1
    replicas.wait_for_all(others)


def test_statements_that_come_after_a_takeover_change_nothing(make_servers, database):
    between = [Losing(table_rows.SOCKET) for _ in range(2)]
    servers = make_servers(2, more=[["--tables", f"mysql://root@localhost/{database}?socket={one.path}"] for one in between],
                           settings=FAST)
    writer = writer_of(servers)
    own = between[servers.index(writer)]
    traffic = Traffic(writer, 14)
    traffic.do(50)
    check(writer, database)
    own.open.clear()
    traffic.do(20)
    wait_until(lambda: own.held, "its statements are under way")
    leave(writer, lambda server: server.process.send_signal(signal.SIGSTOP))
    try:
        following = writer_of([one for one in servers if one is not writer])
        traffic.at(following)
        traffic.do(20)
        check(following, database)
        own.open.set()
        traffic.do(20)
        check(following, database)
    finally:
        own.open.set()
        writer.process.send_signal(signal.SIGCONT)
    assert compare(database) == 0
    for one in between:
        one.close()


def test_a_writer_that_slept_changes_nothing(make_servers):
    servers = make_servers(3, settings={"tables": "log", **FAST})
    writer = writer_of(servers)
    database = database_of(writer)
    traffic = Traffic(writer, 13)
    traffic.do(100)
    leave(writer, lambda server: server.process.send_signal(signal.SIGSTOP))
    try:
        following = writer_of([one for one in servers if one is not writer])
        traffic.at(following)
        traffic.do(100)
        check(following, database)
    finally:
        writer.process.send_signal(signal.SIGCONT)
    traffic.do(50)
    check(following, database)
    assert compare(database) == 0
