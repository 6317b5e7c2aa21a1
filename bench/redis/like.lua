-- Who liked it, what a user liked, the counts and the hot list in one step (a like counts 3).
-- KEYS: likes, liked, stats, hot, counters of the user, counters of the author. ARGV: user, post, now, like?
local changed
if ARGV[4] == '1' then
    changed = redis.call('ZADD', KEYS[1], 'NX', ARGV[3], ARGV[1])
    if changed == 1 then
        redis.call('ZADD', KEYS[2], ARGV[3], ARGV[2])
    end
else
    changed = redis.call('ZREM', KEYS[1], ARGV[1])
    if changed == 1 then
        redis.call('ZREM', KEYS[2], ARGV[2])
    end
end
if changed == 1 then
    local delta = ARGV[4] == '1' and 1 or -1
    redis.call('HINCRBY', KEYS[3], 'like_count', delta)
    redis.call('ZINCRBY', KEYS[4], 3 * delta, ARGV[2])
    redis.call('HINCRBY', KEYS[5], 'liked_posts', delta)
    redis.call('HINCRBY', KEYS[6], 'likes_received', delta)
end
return changed
