-- The classic design's lists, counters and token bucket in one step.
-- KEYS: flws, fans, counters of the user, counters of the author, bucket. ARGV: user, author, now, follow?
local bucket = redis.call('HMGET', KEYS[5], 'tokens', 'at')
local now, burst = tonumber(ARGV[3]), 1000000
local tokens = math.min(burst, (tonumber(bucket[1]) or burst) + (now - (tonumber(bucket[2]) or now)) / 1000)
if tokens < 1 then
    return -1
end
local changed
if ARGV[4] == '1' then
    changed = redis.call('ZADD', KEYS[1], 'NX', now, ARGV[2])
    if changed == 1 then
        redis.call('ZADD', KEYS[2], now, ARGV[1])
    end
else
    changed = redis.call('ZREM', KEYS[1], ARGV[2])
    if changed == 1 then
        redis.call('ZREM', KEYS[2], ARGV[1])
    end
end
if changed == 1 then
    local delta = ARGV[4] == '1' and 1 or -1
    redis.call('HINCRBY', KEYS[3], 'following', delta)
    redis.call('HINCRBY', KEYS[4], 'followers', delta)
    redis.call('HSET', KEYS[5], 'tokens', tokens - 1, 'at', now)
end
return changed
