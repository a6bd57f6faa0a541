-- fence: a high-water mark for a resource that can store nothing. It accepts a fence that is not below the mark, and
-- moves the mark there. The mark has no time to live: forgetting it would let the past in.
-- KEYS: the mark
-- ARGV: 1 clock; 2 fence, in digits
-- Reply: {1 when accepted else 0, mark}
local mark = redis.pcall('GET', KEYS[1])
local bad = unusable(mark, 'GET', KEYS[1])
if bad then
  return bad
end
mark = mark or '0'
if not string.find(mark, '^%d+$') then
  return redis.error_reply('WRONGTYPE redlease: the key ' .. KEYS[1] .. ' holds something else than a fence')
end
-- As text, because a Lua number is exact only to 2^53: the longer one is greater, then the first digit that differs.
local fence = ARGV[2]
if #fence > #mark or (#fence == #mark and fence >= mark) then
  call('SET', KEYS[1], fence)
  return { 1, fence }
end
return { 0, mark }
