-- The post's side of a like.
-- KEYS: likes, stats of the post. ARGV: user, now, like?
local changed
if ARGV[3] == '1' then
    changed = redis.call('ZADD', KEYS[1], 'NX', ARGV[2], ARGV[1])
else
    changed = redis.call('ZREM', KEYS[1], ARGV[1])
end
if changed == 1 then
    redis.call('HINCRBY', KEYS[2], 'like_count', ARGV[3] == '1' and 1 or -1)
end
return changed
