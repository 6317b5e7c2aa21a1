-- A page of what is unread: fetches and filters until it is full, in one round trip.
-- KEYS: feed, read. ARGV: highest score, limit.
local limit, offset = tonumber(ARGV[2]), 0
local found, keys, rows = {}, {}, {}
while #keys < limit do
    local ids = redis.call('ZREVRANGEBYSCORE', KEYS[1], ARGV[1], '-inf', 'WITHSCORES', 'LIMIT', offset, 2 * limit)
    for i = 1, #ids, 2 do
        if #keys < limit and not redis.call('ZSCORE', KEYS[2], ids[i])
            and redis.call('SISMEMBER', 'deleted_blogs', ids[i]) == 0 then
            keys[#keys + 1] = 'blog:' .. ids[i]
            found[#found + 1] = ids[i]
            found[#found + 1] = ids[i + 1]
        end
    end
    if #ids < 4 * limit then
        break
    end
    offset = offset + 2 * limit
end
local contents = #keys > 0 and redis.call('MGET', unpack(keys)) or {}
for i = 1, #keys do
    local n = #rows
    rows[n + 1], rows[n + 2], rows[n + 3], rows[n + 4] = found[2 * i - 1], found[2 * i], 0, contents[i]
end
return rows
