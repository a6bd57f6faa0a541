-- check: does this token hold the slot, and for how long still?
-- KEYS: lease and info of the slot
-- ARGV: 1 clock; 2 token
-- Reply: {'held', remaining ms or -1, fence or 0} {'gone'} {'broken', by} {'taken', known, host, pid, user, label, since}
local token = ARGV[2]
local value = redis.pcall('GET', KEYS[1])
local was = history(KEYS[2])
local bad = unusable(value, 'GET', KEYS[1]) or unusable(was, 'HMGET', KEYS[2])
if bad then
  return bad
end
if value == token then
  return { 'held', call('PTTL', KEYS[1]), was[1] == token and was[2] or '0' }
end
primary(KEYS[2])
if value == 'broken:' .. token or was[4] == token then
  return { 'broken', was[5] or '' }
end
if not value or value == 'cooling:' .. token then
  return { 'gone' }
end
return taken(value, was)
