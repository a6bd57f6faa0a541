-- break: an operator ends a holding. Its job may still run, so that a tombstone keeps others out for what the holding
-- has left, unless `now` is asked for.
-- KEYS: lease and info of the slot; info of slot 1; queue; waiters; leases of slots 1 to N
-- ARGV: 1 clock; 2 the token that must hold, or ''; 3 who; 4 1 for now; 5 slot; 6 N; 7 retain ms; 8 wake channels'
--   beginning; 9 ms for the tombstone of a key without a time to live
-- Reply: {'free'} {'other'} {'already', remaining ms} {'broken' or 'freed', remaining ms, cooling, known, host, pid,
--   user, label, since}
local at_once, slot, limit = ARGV[4] == '1', tonumber(ARGV[5]), tonumber(ARGV[6])
local q = { queue = KEYS[4], waiters = KEYS[5], wake = ARGV[8] }
local value = redis.pcall('GET', KEYS[1])
local was = redis.pcall('HMGET', KEYS[2], 'token', 'host', 'pid', 'user', 'label', 'acquired_at')
local bad = unusable(value, 'GET', KEYS[1]) or unusable(was, 'HMGET', KEYS[2])
if bad then
  return bad
end
if not value then
  primary(KEYS[2])
  return { 'free' }
end
local holder, kind = whose(value)
local cooling = kind == 'cooling'
if ARGV[2] ~= '' and ARGV[2] ~= holder then
  primary(KEYS[2])
  return { 'other' }
end
local left = call('PTTL', KEYS[1])
if kind == 'broken' and not at_once then
  return { 'already', left }
end
-- Nothing runs under a tombstone of --min-hold.
local freed = at_once or cooling
if freed then
  call('DEL', KEYS[1])
  left = 0
else
  if left < 0 then
    left = tonumber(ARGV[9])
  end
  -- PEXPIRE needs no memory, and after it the server lets the rest of the script write.
  call('PEXPIRE', KEYS[1], digits(left))
  call('SET', KEYS[1], 'broken:' .. holder, 'PX', digits(left))
end

local known = was[1] == holder
if not known then
  -- With `info` gone, the broken holder could have itself restored: a new fence there forbids it.
  local fence = math.max(number(redis.pcall('HMGET', KEYS[3], 'fence')[1]) + 1, now)
  redis.pcall('HSET', KEYS[3], 'fence', digits(fence))
  redis.pcall('HSET', KEYS[2], 'token', holder, 'held', digits(fence), 'acquired_at', digits(now), 'host', '',
    'pid', '0', 'user', '', 'label', '')
end
redis.pcall('HSET', KEYS[2], 'ended', holder, 'free_since', digits(now + left * 1000))
if not cooling then
  redis.pcall('HSET', KEYS[2], 'broken', holder, 'broken_by', ARGV[3], 'ended_at', digits(now), 'outcome', 'broken')
  redis.pcall('HDEL', KEYS[2], 'code', 'duration', 'last_host')
  if known then
    redis.pcall('HSET', KEYS[2], 'duration', digits((now - past(was[6])) / 1000), 'last_host', was[2] or '')
  end
end
redis.pcall('HINCRBY', KEYS[3], 'breaks', 1)
redis.pcall('PEXPIRE', KEYS[2], ARGV[7])
redis.pcall('PEXPIRE', KEYS[3], ARGV[7])
if slot > 1 then
  redis.pcall('HSET', KEYS[3], 's' .. slot, digits(now + left * 1000))
end
if freed then
  local busy = 0
  for i = 6, #KEYS do
    busy = busy + call('EXISTS', KEYS[i])
  end
  wake(q, limit - busy)
end
return { freed and 'freed' or 'broken', left, cooling and 1 or 0, known and 1 or 0, was[2] or '', was[3] or '',
  was[4] or '', was[5] or '', digits(past(was[6])) }
