-- Fills one user of the world of `tidings bench-engine`: the same authors, posts and order.
-- ARGV: user, authors, followed, posts, share of items read (of 100), inverse of 104729 among the authors.
local user, authors, followed, posts, read = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]),
    tonumber(ARGV[4]), tonumber(ARGV[5])
local base, inverse = 800000000000000, tonumber(ARGV[6])
local feed, reads, unread = {}, {}, 0
for i = 0, followed - 1 do
    local author = 1 + (user * 7919 + (i + 1) * 104729) % authors
    if author ~= user then
        redis.call('ZADD', 'uf:flws:' .. user, i, author)
        redis.call('ZADD', 'uf:fans:' .. author, i, user)
        redis.call('HINCRBY', 'ucnt:' .. user, 'following', 1)
        redis.call('HINCRBY', 'ucnt:' .. author, 'followers', 1)
        local mine = 0
        for p = 0, posts - 1 do
            -- The number n for which 1 + n * 104729 % authors is the author.
            local n = (author - 1) * inverse % authors + p * authors
            local post = string.format('%.0f', base + n)
            feed[#feed + 1], feed[#feed + 2] = n + 1, post
            if (n * 31 + user) % 100 < read then
                reads[#reads + 1], reads[#reads + 2] = n + 1, post
            else
                mine = mine + 1
            end
        end
        unread = unread + mine
        redis.call('SET', 'author_unread:' .. user .. ':' .. author, mine)
    end
end
for i = 1, #feed, 4000 do
    redis.call('ZADD', 'feed:' .. user, unpack(feed, i, math.min(i + 3999, #feed)))
end
for i = 1, #reads, 4000 do
    redis.call('ZADD', 'read:' .. user, unpack(reads, i, math.min(i + 3999, #reads)))
end
redis.call('SET', 'total_unread:' .. user, unread)
return unread
