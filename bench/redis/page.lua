-- A page of the inbox in one round trip: post, score, state, content of each row.
-- KEYS: feed, read. ARGV: highest score, limit.
local ids = redis.call('ZREVRANGEBYSCORE', KEYS[1], ARGV[1], '-inf', 'WITHSCORES', 'LIMIT', 0, ARGV[2])
local rows, keys = {}, {}
for i = 1, #ids, 2 do
    keys[#keys + 1] = 'blog:' .. ids[i]
end
local contents = #keys > 0 and redis.call('MGET', unpack(keys)) or {}
for i = 1, #ids, 2 do
    local state = 0
    if redis.call('ZSCORE', KEYS[2], ids[i]) then
        state = 1
    end
    if redis.call('SISMEMBER', 'deleted_blogs', ids[i]) == 1 then
        state = state + 2
    end
    local n = #rows
    rows[n + 1], rows[n + 2], rows[n + 3], rows[n + 4] = ids[i], ids[i + 1], state, contents[(i + 1) / 2]
end
return rows
