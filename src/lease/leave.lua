-- leave: a waiter goes, and whatever its attempts were granted goes back. No job has run under it.
-- KEYS: lease and info of slot 1, of slot 2, … of slot N; queue; waiters
-- ARGV: 1 clock; 2 N; 3 wake channels' beginning; 4 waiter id or ''; 5… tokens of its attempts
-- Reply: how many slots were given back
local limit = tonumber(ARGV[2])
local q = { queue = KEYS[2 * limit + 1], waiters = KEYS[2 * limit + 2], wake = ARGV[3] }
local ours = {}
for i = 5, #ARGV do
  ours[ARGV[i]] = true
end
local free, back = 0, 0
for slot = 1, limit do
  local value = redis.pcall('GET', KEYS[2 * slot - 1])
  if value and type(value) ~= 'table' and ours[value] then
    call('DEL', KEYS[2 * slot - 1])
    redis.pcall('HSET', KEYS[2 * slot], 'ended', value, 'free_since', digits(now))
    if slot > 1 then
      redis.pcall('HDEL', KEYS[2], 's' .. slot)
    end
    back = back + 1
    value = false
  end
  if not value then
    free = free + 1
  end
end
local gone = 0
if ARGV[4] ~= '' then
  gone = call('ZREM', q.queue, ARGV[4])
  redis.pcall('HDEL', q.waiters, ARGV[4])
end
gone = gone + wake(q, free)
if free > back then
  skip(KEYS[2], gone)
end
return back
