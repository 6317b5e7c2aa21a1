-- The posts numbered from ARGV[1] to before ARGV[2], with the content that a row of a page needs.
local authors = tonumber(ARGV[3])
for n = tonumber(ARGV[1]), tonumber(ARGV[2]) - 1 do
    local post = string.format('%.0f', 800000000000000 + n)
    redis.call('SET', 'blog:' .. post, '{"post_id":' .. post .. ',"kind":"note","author_id":' .. (1 + n * 104729 % authors) ..
        ',"author_name":"An ordinary name","title":"An ordinary title","excerpt":"A body of ordinary length, as people ' ..
        'write it: a hundred characters or so, and then some more of them to make it look real.",' ..
        '"created_at":1700000000000}')
    redis.call('ZADD', 'hot:note', 0, post)
end
return 0
