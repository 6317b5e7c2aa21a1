-- The tables of docs/operations/tables.md, for a server whose user may not make them.
-- The server makes them with the same statements.

CREATE TABLE IF NOT EXISTS following (
    id BIGINT PRIMARY KEY,
    from_user_id BIGINT NOT NULL,
    to_user_id BIGINT NOT NULL,
    rel_status TINYINT NOT NULL DEFAULT 1,
    created_at DATETIME(3) NOT NULL,
    updated_at DATETIME(3) NOT NULL,
    UNIQUE KEY uk_from_to (from_user_id, to_user_id),
    KEY idx_from_created (from_user_id, created_at, to_user_id, rel_status),
    KEY idx_to (to_user_id, from_user_id, rel_status)
) ENGINE=InnoDB;

CREATE TABLE IF NOT EXISTS follower (
    id BIGINT PRIMARY KEY,
    to_user_id BIGINT NOT NULL,
    from_user_id BIGINT NOT NULL,
    rel_status TINYINT NOT NULL DEFAULT 1,
    created_at DATETIME(3) NOT NULL,
    updated_at DATETIME(3) NOT NULL,
    UNIQUE KEY uk_to_from (to_user_id, from_user_id),
    KEY idx_to_created (to_user_id, created_at, from_user_id, rel_status),
    KEY idx_from (from_user_id, to_user_id, rel_status)
) ENGINE=InnoDB;

CREATE TABLE IF NOT EXISTS yl_content_stats (
    content_id BIGINT PRIMARY KEY,
    like_count BIGINT NOT NULL DEFAULT 0,
    fav_count BIGINT NOT NULL DEFAULT 0,
    comment_count BIGINT NOT NULL DEFAULT 0,
    hot_score BIGINT NOT NULL DEFAULT 0
) ENGINE=InnoDB;

CREATE TABLE IF NOT EXISTS yl_activity_stats (
    activity_id BIGINT PRIMARY KEY,
    like_count BIGINT NOT NULL DEFAULT 0,
    fav_count BIGINT NOT NULL DEFAULT 0,
    comment_count BIGINT NOT NULL DEFAULT 0,
    hot_score BIGINT NOT NULL DEFAULT 0
) ENGINE=InnoDB;

CREATE TABLE IF NOT EXISTS yl_comment_stats (
    comment_id BIGINT PRIMARY KEY,
    like_count BIGINT NOT NULL DEFAULT 0,
    down_count BIGINT NOT NULL DEFAULT 0,
    reply_count BIGINT NOT NULL DEFAULT 0,
    hot_score BIGINT NOT NULL DEFAULT 0
) ENGINE=InnoDB;

CREATE TABLE IF NOT EXISTS yl_reaction (
    user_id BIGINT NOT NULL,
    target_type VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    target_id BIGINT NOT NULL,
    type VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    created_at DATETIME(3) NOT NULL,
    UNIQUE KEY uk_reaction (user_id, target_type, target_id, type),
    KEY idx_target (target_type, target_id, type)
) ENGINE=InnoDB;

CREATE TABLE IF NOT EXISTS yl_comment (
    id BIGINT PRIMARY KEY,
    target_type VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    target_id BIGINT NOT NULL,
    parent_id BIGINT NULL,
    user_id BIGINT NOT NULL,
    status VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    created_at DATETIME(3) NOT NULL,
    KEY idx_target (target_type, target_id, status),
    KEY idx_parent (parent_id, status)
) ENGINE=InnoDB;

CREATE TABLE IF NOT EXISTS yl_outbox_event (
    id BIGINT PRIMARY KEY,
    event_type VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    payload JSON NOT NULL,
    status SMALLINT NOT NULL DEFAULT 1,
    created_at DATETIME(3) NOT NULL,
    updated_at DATETIME(3) NOT NULL,
    retry_count INT NOT NULL DEFAULT 0,
    KEY idx_status (status, id)
) ENGINE=InnoDB;

CREATE TABLE IF NOT EXISTS tidings_tables (
    id TINYINT PRIMARY KEY,
    version INT NOT NULL,
    position BIGINT NOT NULL,
    event_id BIGINT NOT NULL,
    era BIGINT NOT NULL,
    state VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    rules VARCHAR(120) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    settled BIGINT NOT NULL,
    compared_at DATETIME(3) NULL,
    differences BIGINT NOT NULL DEFAULT 0,
    updated_at DATETIME(3) NOT NULL
) ENGINE=InnoDB;
