"""`tidings cluster reconcile` on tables of several pages: no row is passed over where one page ends and the next begins, and no statement
is about much more than a page, however large the tables are."""
from collections import Counter
from contextlib import contextmanager

import database
import pytest
from support.server import tidings
from test_reconcile import reconcile

PAGE = 500  # PAGE_ROWS of verify.h
USERS, FIRST = 2 * PAGE + 7, 1000  # those of the crowd, and the first one's id
POSTS = 20


@pytest.fixture
def crowd(make_servers):
    """A server, and a database where many users do the same: they follow an author, like one of the posts, and comment on another."""
    (server,) = make_servers(1)
    author, fan = server.users(2)
    posts = [author.publish()["id"] for _ in range(POSTS)]
    fan.follow(author)
    comment = fan.comment(posts[0])["id"]
    seq = f"seq_{FIRST}_to_{FIRST + USERS - 1}"
    listed = ", ".join(f"({i}, {post})" for i, post in enumerate(posts))
    database.run(f"""
        CREATE TABLE chosen (n INT PRIMARY KEY, post_id BIGINT UNSIGNED NOT NULL); INSERT INTO chosen VALUES {listed};
        INSERT INTO user SELECT seq, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 FROM {seq};
        INSERT INTO following SELECT seq, to_user_id, rel_status, rank_id, pair FROM {seq} JOIN following;
        INSERT INTO follower SELECT to_user_id, rank_id, seq FROM {seq} JOIN follower;
        INSERT INTO reaction SELECT seq, post_id, 1, 1, seq FROM {seq} JOIN chosen ON n = seq % {POSTS};
        INSERT INTO comment SELECT comment_id + seq * 65536, chosen.post_id, 0, seq, 1, 0, 0, 0, 0, 0, chosen.post_id, heat
            FROM {seq} JOIN comment JOIN chosen ON n = seq % {POSTS} WHERE comment_id = {comment};
        INSERT INTO comment_body SELECT comment_id, 'x' FROM comment WHERE comment_id > {comment};
        INSERT INTO profile SELECT seq, 'name', '', '' FROM {seq};
        INSERT INTO profile_name SELECT seq, 'name' FROM {seq};
        DROP TABLE chosen""", database.name_of(server))
    assert reconcile(server)[0] == 0  # the counts of the author and the posts
    assert reconcile(server, "--check") == (0, {})
    return server


# What is done to each row of a table, and the difference that it makes.
EACH = {
    "user.liked_posts": "UPDATE user SET liked_posts = liked_posts + 7",
    "following: one whom no follower knows": "DELETE FROM follower",
    "comment.likes": "UPDATE comment SET likes = likes + 1",
    "comment.replies": "UPDATE comment SET replies = replies + 1",
    "a user who cannot be found by the name": "DELETE FROM profile_name",
    "the body of a post that is gone": f"INSERT INTO post_body SELECT seq, 'x' FROM seq_1_to_{USERS}",
}


def test_no_row_of_any_page_is_passed_over(crowd):
    name = database.name_of(crowd)
    rows = {what: int(database.run(f"{plant}; SELECT ROW_COUNT()", name)[0]) for what, plant in EACH.items()}
    done = tidings("cluster", "reconcile", "--mysql", database.url_of(crowd))
    assert done.returncode == 0, done.stdout[-2000:]
    found = Counter(line.split(": of ")[0] for line in done.stdout.splitlines())
    assert {what: found[what] for what in EACH} == rows and min(rows.values()) >= USERS


@contextmanager
def logged_statements():
    """With the rows that each has read, in mysql.slow_log."""
    database.run("TRUNCATE mysql.slow_log; SET GLOBAL log_output='TABLE', long_query_time=0, slow_query_log=ON")
    try:
        yield
    finally:
        database.run("SET GLOBAL slow_query_log=OFF, log_output='FILE'")


def test_no_statement_is_about_much_more_than_a_page(crowd):
    with logged_statements():
        assert reconcile(crowd, "--check") == (0, {})
    # A row counts again where it is put into a table in memory, or joined: at most eight times.
    (most,) = database.run(f"SELECT rows_examined, sql_text FROM mysql.slow_log WHERE db = '{database.name_of(crowd)}' "
                           "ORDER BY rows_examined DESC LIMIT 1")
    assert PAGE < int(most.split("\t")[0]) < 8 * PAGE, most
