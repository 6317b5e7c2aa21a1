-- push_to_fan of the classic design, for one fan: a slot has no other's keys. Counts only what was added (the mistake mended).
-- KEYS: feed, total_unread, author_unread. ARGV: post, now.
if redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1]) == 1 then
    redis.call('INCR', KEYS[2])
    redis.call('INCR', KEYS[3])
    return 1
end
return 0
