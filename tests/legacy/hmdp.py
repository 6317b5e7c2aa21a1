"""An application as the documents about hmdp have it: inboxes by fan-out, sorted sets of what was read, counters beside them; and
the second scheme of sets. Every step is a command of its own, so each can be the last before something fails: `until` says which."""
from datetime import datetime, timezone

from stores import REDIS, Database, Redis
from support.server import tidings

T0 = 1_700_000_000_000  # in 2023

TABLES = """
CREATE TABLE tb_user (id bigint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY, phone varchar(11) NOT NULL, password varchar(128) DEFAULT '',
  nick_name varchar(32) DEFAULT '', icon varchar(255) DEFAULT '', create_time timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
  update_time timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP);
CREATE TABLE tb_blog (id bigint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY, shop_id bigint, user_id bigint unsigned NOT NULL,
  title varchar(255) NOT NULL, images varchar(2048) NOT NULL, content mediumtext NOT NULL, liked int unsigned DEFAULT 0,
  comments int unsigned DEFAULT NULL, create_time timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
  update_time timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP);
CREATE TABLE tb_follow (id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, user_id bigint unsigned NOT NULL,
  follow_user_id bigint unsigned NOT NULL, create_time timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP);
CREATE TABLE tb_blog_comments (id bigint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY, user_id bigint unsigned NOT NULL,
  blog_id bigint unsigned NOT NULL, parent_id bigint unsigned NOT NULL, answer_id bigint unsigned NOT NULL, content varchar(255) NOT NULL,
  liked int unsigned, status tinyint unsigned, create_time timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
  update_time timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP);
"""


def when(at):
    return datetime.fromtimestamp(at / 1000, timezone.utc).strftime("'%Y-%m-%d %H:%M:%S'")


def text(value):
    return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"


class Hmdp:
    """The application. A clock that goes on by a second with every step of its users."""

    def __init__(self, second_scheme=False, tables=TABLES):
        self.db, self.redis = Database(), Redis()
        self.db.later(tables.strip().rstrip(";"))
        self.second = second_scheme
        self.now = T0
        self.blogs = {}  # id: author
        self.fans = {}  # author: fans, in the order of rows, as often as there are rows

    def tick(self):
        self.now += 1000
        return self.now

    def user(self, user, name="", icon=""):
        self.db.later(f"INSERT INTO tb_user (id, phone, password, nick_name, icon) VALUES ({user}, '13800000000', 'secret word', "
                      f"{text(name)}, {text(icon)})")

    # There is no unique key: a second tap on the button is a second row.
    def follow(self, fan, author, until="set"):
        self.db.later(f"INSERT INTO tb_follow (user_id, follow_user_id, create_time) VALUES ({fan}, {author}, {when(self.tick())})")
        self.fans.setdefault(author, []).append(fan)
        if until == "set":
            self.redis("SADD", f"follows:{fan}", author)

    def unfollow(self, fan, author, until="set"):
        self.tick()
        self.db.later(f"DELETE FROM tb_follow WHERE user_id = {fan} AND follow_user_id = {author}")
        self.fans[author] = [other for other in self.fans[author] if other != fan]
        if until == "set":
            self.redis("SREM", f"follows:{fan}", author)

    def publish(self, author, title=None, content="text", missed=(), half=(), **columns):
        """`missed` fans get nothing of it; `half` have it in the inbox, and are not counted."""
        blog, at = len(self.blogs) + 1, self.tick()
        self.blogs[blog] = author
        row = {"id": blog, "shop_id": 1, "user_id": author, "title": text(f"Title {blog}" if title is None else title), "images": "''",
               "content": text(content), "comments": 0, "create_time": when(at), "update_time": when(at)} | columns
        self.db.later(f"INSERT INTO tb_blog ({', '.join(row)}) VALUES ({', '.join(map(str, row.values()))})")
        self.redis("SET", f"blog_author:{blog}", author)
        for fan in dict.fromkeys(self.fans.get(author, [])):
            if fan not in missed:
                self.push(fan, author, blog, counted=fan not in half)
        return blog

    def push(self, fan, author, blog, counted=True):
        self.redis("ZADD", f"feed:{fan}", self.now, blog)
        if counted:
            self.redis("INCR", f"total_unread:{fan}")
            self.redis("INCR", f"author_unread:{fan}:{author}")
        if self.second:
            self.redis("SADD", f"user:unread:{fan}:{author}", blog)
            self.redis("HINCRBY", f"user:unread:count:{fan}", author, 1)

    def read(self, user, blog, until="all"):
        """As mark_read of the first scheme, and, if there is one, of the second. `until` is the last step that is done."""
        author, at = self.blogs[blog], self.tick()
        if self.redis("ZSCORE", f"blog:read:{user}", blog) is not None:
            return
        self.redis("ZADD", f"blog:read:{user}", at, blog)
        if until == "read":
            return
        self.redis("DECR", f"total_unread:{user}")
        if until == "total":
            return
        self.redis("DECR", f"author_unread:{user}:{author}")
        if not self.second:
            return
        self.redis("SADD", f"user:read:{user}", blog)
        if until == "second":
            return
        self.redis("SREM", f"user:unread:{user}:{author}", blog)
        self.redis("HINCRBY", f"user:unread:count:{user}", author, -1)

    def like(self, user, blog, until="zset"):
        at = self.tick()
        self.db.later(f"UPDATE tb_blog SET liked = liked + 1 WHERE id = {blog}")
        if until == "zset":
            self.redis("ZADD", f"blog:liked:{blog}", at, user)

    def comment(self, user, blog, content="comment", parent=0, answer=0, status=0, counted=True):
        self.db.later(f"INSERT INTO tb_blog_comments (user_id, blog_id, parent_id, answer_id, content, status, create_time) VALUES "
                      f"({user}, {blog}, {parent}, {answer}, {text(content)}, {status}, {when(self.tick())})")
        if counted:
            self.db.later(f"UPDATE tb_blog SET comments = comments + 1 WHERE id = {blog}")

    def delete(self, blog, row=True, hint=True):
        """The row goes, unless it is only hidden; readers are told by the set, if somebody thought of it."""
        self.tick()
        if row:
            self.db.later(f"DELETE FROM tb_blog WHERE id = {blog}")
        if hint:
            self.redis("SADD", "deleted_blogs", blog)

    def command(self, *more, **environment):
        self.db.flush()
        return tidings("import", "--from", "hmdp", "--source-mysql", self.db.url, "--source-redis", REDIS, "--max-load", "0", *more,
                       **environment)
