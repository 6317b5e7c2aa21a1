-- What of a page one slot knows: post, score, state, and an empty text for the content, which is in other slots.
-- KEYS: feed, read. ARGV: highest score, limit.
local ids = redis.call('ZREVRANGEBYSCORE', KEYS[1], ARGV[1], '-inf', 'WITHSCORES', 'LIMIT', 0, ARGV[2])
local rows = {}
for i = 1, #ids, 2 do
    local n = #rows
    rows[n + 1], rows[n + 2], rows[n + 4] = ids[i], ids[i + 1], ''
    rows[n + 3] = redis.call('ZSCORE', KEYS[2], ids[i]) and 1 or 0
end
return rows
