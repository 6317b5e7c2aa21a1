-- mark_read of the classic design: only what is in the inbox, only the first time (the two mistakes mended).
-- KEYS: feed, read, total_unread, author_unread. ARGV: post, now.
if not redis.call('ZSCORE', KEYS[1], ARGV[1]) then
    return -1
end
if redis.call('ZADD', KEYS[2], 'NX', ARGV[2], ARGV[1]) == 1 then
    redis.call('DECR', KEYS[4])
    return redis.call('DECR', KEYS[3])
end
return redis.call('GET', KEYS[3])
