-- Fans with the ids ARGV[2] ... ARGV[3] of the author ARGV[1].
for fan = tonumber(ARGV[2]), tonumber(ARGV[3]) do
    redis.call('ZADD', 'uf:fans:' .. ARGV[1], fan, fan)
end
return 0
