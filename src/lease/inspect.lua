-- inspect: all that can be said of one slot, at one instant. It writes nothing.
-- KEYS: lease and info of the slot; info of slot 1; queue; waiters
-- ARGV: 1 clock
-- Reply: {now, type ('' where it is a string or absent), value or '', remaining ms (-1 none, -2 no key),
--   {19 fields of the slot}, {7 fields of slot 1}, waiting, {id, ticket, entry, …}}

-- No text of ours is longer; what somebody else wrote is cut, so that a reply stays small.
local LONGEST = 256
local value = redis.pcall('GET', KEYS[1])
local wrong = ''
if type(value) == 'table' then
  if not string.find(value.err, 'WRONGTYPE', 1, true) then
    return value
  end
  wrong, value = KEYS[1], ''
end
local function fields(key, ...)
  local got = redis.pcall('HMGET', key, ...)
  if got.err then
    if wrong == '' and string.find(got.err, 'WRONGTYPE', 1, true) then
      wrong = key
    end
    got = {}
  end
  for i = 1, select('#', ...) do
    got[i] = string.sub(got[i] or '', 1, LONGEST)
  end
  return got
end
local slot = fields(KEYS[2], 'token', 'held', 'host', 'pid', 'user', 'label', 'acquired_at', 'renewed_at',
  'expires_at', 'ttl', 'ended', 'ended_at', 'outcome', 'code', 'duration', 'last_host', 'broken', 'broken_by',
  'free_since')
local shared = fields(KEYS[3], 'fence', 'limit', 'grants', 'restores', 'breaks', 'done_at', 'done_host')
local waiters, waiting = {}, redis.pcall('ZCARD', KEYS[4])
if type(waiting) == 'table' then
  waiting = 0
end
-- The first thousand: unpack has a limit, and so has a reader.
local order = redis.pcall('ZRANGE', KEYS[4], 0, 999, 'WITHSCORES')
for i = 1, order.err and 0 or #order, 2 do
  local entry = redis.pcall('HMGET', KEYS[5], order[i])
  waiters[#waiters + 1] = string.sub(order[i], 1, LONGEST)
  waiters[#waiters + 1] = order[i + 1]
  waiters[#waiters + 1] = not entry.err and string.sub(entry[1] or '', 1, 2 * LONGEST) or ''
end
return { digits(now), wrong, string.sub(value or '', 1, LONGEST), call('PTTL', KEYS[1]), slot, shared, waiting, waiters }
