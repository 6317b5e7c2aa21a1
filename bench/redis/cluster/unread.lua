-- The same of what is unread: fetches and filters until the page is full.
-- KEYS: feed, read. ARGV: highest score, limit.
local limit, offset, rows = tonumber(ARGV[2]), 0, {}
while #rows < 4 * limit do
    local ids = redis.call('ZREVRANGEBYSCORE', KEYS[1], ARGV[1], '-inf', 'WITHSCORES', 'LIMIT', offset, 2 * limit)
    for i = 1, #ids, 2 do
        if #rows < 4 * limit and not redis.call('ZSCORE', KEYS[2], ids[i]) then
            local n = #rows
            rows[n + 1], rows[n + 2], rows[n + 3], rows[n + 4] = ids[i], ids[i + 1], 0, ''
        end
    end
    if #ids < 4 * limit then
        break
    end
    offset = offset + 2 * limit
end
return rows
