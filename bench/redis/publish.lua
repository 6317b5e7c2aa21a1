-- push_to_fan of the classic design for a run of an author's fans, counting only what was added (the mistake mended).
-- KEYS: fans. ARGV: author, post, now, first and last position among the fans.
if ARGV[4] == '0' then
    redis.call('SET', 'blog:' .. ARGV[2], '{"author_id":' .. ARGV[1] .. ',"title":"An ordinary title"}')
    redis.call('ZADD', 'hot:note', 0, ARGV[2])
end
local fans = redis.call('ZRANGE', KEYS[1], ARGV[4], ARGV[5])
for i = 1, #fans do
    if redis.call('ZADD', 'feed:' .. fans[i], ARGV[3], ARGV[2]) == 1 then
        redis.call('INCR', 'total_unread:' .. fans[i])
        redis.call('INCR', 'author_unread:' .. fans[i] .. ':' .. ARGV[1])
    end
end
return #fans
