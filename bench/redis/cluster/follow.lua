-- The user's side of a follow: The classic design's list, counter and token bucket.
-- KEYS: flws, counters, bucket of the user. ARGV: author, now, follow?
local bucket = redis.call('HMGET', KEYS[3], 'tokens', 'at')
local now, burst = tonumber(ARGV[2]), 1000000
local tokens = math.min(burst, (tonumber(bucket[1]) or burst) + (now - (tonumber(bucket[2]) or now)) / 1000)
if tokens < 1 then
    return -1
end
local changed
if ARGV[3] == '1' then
    changed = redis.call('ZADD', KEYS[1], 'NX', now, ARGV[1])
else
    changed = redis.call('ZREM', KEYS[1], ARGV[1])
end
if changed == 1 then
    redis.call('HINCRBY', KEYS[2], 'following', ARGV[3] == '1' and 1 or -1)
    redis.call('HSET', KEYS[3], 'tokens', tokens - 1, 'at', now)
end
return changed
