-- The classic design's tables and indexes, with counters kept in the same transaction. `follow` and `unfollow` are one
-- call each, so that a step costs one round trip and one commit.
CREATE TABLE following (
  id BIGINT PRIMARY KEY AUTO_INCREMENT,
  from_user_id BIGINT NOT NULL,
  to_user_id BIGINT NOT NULL,
  rel_status TINYINT NOT NULL DEFAULT 1,
  created_at DATETIME(3) NOT NULL,
  updated_at DATETIME(3) NOT NULL,
  UNIQUE KEY uk_from_to (from_user_id, to_user_id),
  KEY idx_from_created (from_user_id, created_at, to_user_id, rel_status),
  KEY idx_to (to_user_id, from_user_id, rel_status)
) ENGINE=InnoDB;

CREATE TABLE follower (
  id BIGINT PRIMARY KEY AUTO_INCREMENT,
  to_user_id BIGINT NOT NULL,
  from_user_id BIGINT NOT NULL,
  rel_status TINYINT NOT NULL DEFAULT 1,
  created_at DATETIME(3) NOT NULL,
  updated_at DATETIME(3) NOT NULL,
  UNIQUE KEY uk_to_from (to_user_id, from_user_id),
  KEY idx_to_created (to_user_id, created_at, from_user_id, rel_status),
  KEY idx_from (from_user_id, to_user_id, rel_status)
) ENGINE=InnoDB;

CREATE TABLE user_counters (
  user_id BIGINT PRIMARY KEY,
  following INT NOT NULL DEFAULT 0,
  followers INT NOT NULL DEFAULT 0,
  posts INT NOT NULL DEFAULT 0,
  liked_posts INT NOT NULL DEFAULT 0,
  faved_posts INT NOT NULL DEFAULT 0
) ENGINE=InnoDB;

DELIMITER //
CREATE PROCEDURE follow(f BIGINT, t BIGINT)
BEGIN
  DECLARE n TIMESTAMP(3) DEFAULT NOW(3);
  START TRANSACTION;
  INSERT INTO following (from_user_id, to_user_id, created_at, updated_at) VALUES (f, t, n, n)
    ON DUPLICATE KEY UPDATE updated_at = IF(rel_status = 1, updated_at, n),
      created_at = IF(rel_status = 1, created_at, n), rel_status = 1;
  IF ROW_COUNT() > 0 THEN
    INSERT INTO follower (to_user_id, from_user_id, created_at, updated_at) VALUES (t, f, n, n)
      ON DUPLICATE KEY UPDATE rel_status = 1, created_at = n, updated_at = n;
    INSERT INTO user_counters (user_id, following) VALUES (f, 1)
      ON DUPLICATE KEY UPDATE following = following + 1;
    INSERT INTO user_counters (user_id, followers) VALUES (t, 1)
      ON DUPLICATE KEY UPDATE followers = followers + 1;
  END IF;
  COMMIT;
END//
CREATE PROCEDURE unfollow(f BIGINT, t BIGINT)
BEGIN
  DECLARE n TIMESTAMP(3) DEFAULT NOW(3);
  START TRANSACTION;
  UPDATE following SET rel_status = 0, updated_at = n
    WHERE from_user_id = f AND to_user_id = t AND rel_status = 1;
  IF ROW_COUNT() > 0 THEN
    UPDATE follower SET rel_status = 0, updated_at = n WHERE to_user_id = t AND from_user_id = f;
    UPDATE user_counters SET following = following - 1 WHERE user_id = f;
    UPDATE user_counters SET followers = followers - 1 WHERE user_id = t;
  END IF;
  COMMIT;
END//
DELIMITER ;
