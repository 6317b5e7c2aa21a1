-- The author's side of it.
-- KEYS: fans, counters of the author. ARGV: user, now, follow?
if ARGV[3] == '1' then
    redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
else
    redis.call('ZREM', KEYS[1], ARGV[1])
end
return redis.call('HINCRBY', KEYS[2], 'followers', ARGV[3] == '1' and 1 or -1)
