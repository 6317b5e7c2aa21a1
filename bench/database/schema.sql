-- Tables of a community in plain SQL, as one would design them for a transaction per operation (singly.c). No program of ours
-- uses them otherwise.
CREATE TABLE user (
  user_id BIGINT UNSIGNED PRIMARY KEY, version BIGINT UNSIGNED NOT NULL, following BIGINT UNSIGNED NOT NULL,
  liked_posts BIGINT UNSIGNED NOT NULL, faved_posts BIGINT UNSIGNED NOT NULL, follow_full_at BIGINT UNSIGNED NOT NULL,
  react_full_at BIGINT UNSIGNED NOT NULL, comment_full_at BIGINT UNSIGNED NOT NULL, publish_full_at BIGINT UNSIGNED NOT NULL,
  history_cleared BIGINT UNSIGNED NOT NULL, subscriptions BIGINT UNSIGNED NOT NULL, positions BIGINT UNSIGNED NOT NULL,
  reading_cleared BIGINT UNSIGNED NOT NULL, quiet TINYINT UNSIGNED NOT NULL);
CREATE TABLE user_counter (
  user_id BIGINT UNSIGNED PRIMARY KEY, followers BIGINT NOT NULL, posts BIGINT NOT NULL, likes_received BIGINT NOT NULL,
  favs_received BIGINT NOT NULL);
CREATE TABLE author (
  author_id BIGINT UNSIGNED PRIMARY KEY, posts INT UNSIGNED NOT NULL, deleted INT UNSIGNED NOT NULL,
  last_id BIGINT UNSIGNED NOT NULL);
CREATE TABLE post (
  post_id BIGINT UNSIGNED PRIMARY KEY, author_id BIGINT UNSIGNED NOT NULL, number INT UNSIGNED NOT NULL,
  kind TINYINT UNSIGNED NOT NULL, edited BIGINT UNSIGNED NOT NULL, removed BIGINT UNSIGNED NOT NULL,
  position BIGINT UNSIGNED NOT NULL, title TEXT NOT NULL, excerpt TEXT NOT NULL, extra TEXT NOT NULL,
  UNIQUE KEY by_author (author_id, number));
CREATE TABLE following (
  from_user_id BIGINT UNSIGNED NOT NULL, to_user_id BIGINT UNSIGNED NOT NULL, rel_status TINYINT UNSIGNED NOT NULL,
  rank_id BIGINT UNSIGNED NOT NULL, pair MEDIUMBLOB NOT NULL, PRIMARY KEY (from_user_id, to_user_id));
CREATE TABLE follower (
  to_user_id BIGINT UNSIGNED NOT NULL, rank_id BIGINT UNSIGNED NOT NULL, from_user_id BIGINT UNSIGNED NOT NULL,
  PRIMARY KEY (to_user_id, rank_id, from_user_id));
CREATE TABLE read_map (
  user_id BIGINT UNSIGNED NOT NULL, author_id BIGINT UNSIGNED NOT NULL, chunk INT UNSIGNED NOT NULL, map BLOB NOT NULL,
  PRIMARY KEY (user_id, author_id, chunk));
CREATE TABLE history (
  user_id BIGINT UNSIGNED NOT NULL, stamp BIGINT UNSIGNED NOT NULL, post_id BIGINT UNSIGNED NOT NULL,
  PRIMARY KEY (user_id, stamp, post_id));
CREATE TABLE reaction (
  user_id BIGINT UNSIGNED NOT NULL, target_id BIGINT UNSIGNED NOT NULL, reaction TINYINT UNSIGNED NOT NULL,
  target_kind TINYINT UNSIGNED NOT NULL, stamp BIGINT UNSIGNED NOT NULL, PRIMARY KEY (user_id, target_id, reaction),
  KEY reactors (target_id, reaction, stamp), KEY reacted (user_id, target_kind, reaction, stamp));
CREATE TABLE content_stats (
  post_id BIGINT UNSIGNED PRIMARY KEY, kind TINYINT UNSIGNED NOT NULL, likes BIGINT UNSIGNED NOT NULL,
  favs BIGINT UNSIGNED NOT NULL, comments BIGINT UNSIGNED NOT NULL, heat BIGINT UNSIGNED NOT NULL, KEY hot (kind, heat, post_id));
CREATE TABLE outbox_event (
  position BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, event_type TINYINT UNSIGNED NOT NULL, happened_at BIGINT NOT NULL,
  actor_id BIGINT UNSIGNED NOT NULL, target_id BIGINT UNSIGNED NOT NULL, author_id BIGINT UNSIGNED NOT NULL,
  delta BIGINT NOT NULL, post_id BIGINT UNSIGNED NOT NULL, reaction TINYINT UNSIGNED NOT NULL, slot TINYINT UNSIGNED NOT NULL);
