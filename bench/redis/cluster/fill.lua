-- What fill.lua makes, of it the user's own keys. Nothing is read.
-- KEYS: feed. ARGV: user, authors, followed, posts, inverse of 104729 among the authors.
local user, authors, followed, posts = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local base, inverse, tag = 800000000000000, tonumber(ARGV[5]), '{' .. ARGV[1] .. '}'
local feed, unread = {}, 0
for i = 1, followed do
    local author = 1 + (user * 7919 + i * 104729) % authors
    redis.call('ZADD', 'uf:flws:' .. tag, i, author)
    redis.call('SET', 'author_unread:' .. tag .. ':' .. author, posts)
    for p = 0, posts - 1 do
        local n = (author - 1) * inverse % authors + p * authors
        feed[#feed + 1], feed[#feed + 2] = n + 1, string.format('%.0f', base + n)
    end
    unread = unread + posts
end
for i = 1, #feed, 4000 do
    redis.call('ZADD', KEYS[1], unpack(feed, i, math.min(i + 3999, #feed)))
end
redis.call('HSET', 'ucnt:' .. tag, 'following', followed)
redis.call('SET', 'total_unread:' .. tag, unread)
return unread
