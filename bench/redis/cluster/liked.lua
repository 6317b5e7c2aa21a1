-- The user's side of it.
-- KEYS: liked, counters of the user. ARGV: post, now, like?
if ARGV[3] == '1' then
    redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
else
    redis.call('ZREM', KEYS[1], ARGV[1])
end
return redis.call('HINCRBY', KEYS[2], 'liked_posts', ARGV[3] == '1' and 1 or -1)
