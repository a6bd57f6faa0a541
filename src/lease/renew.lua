-- renew: the lease lives for another TTL, if it is ours.
-- KEYS: lease and info of the slot; info of slot 1
-- ARGV: 1 clock; 2 token; 3 fence; 4 ttl ms; 5 retain ms; 6 slot; 7 N; 8 restore until us or ''; 9 acquired_at us;
--   10 host; 11 pid; 12 user; 13 label; 14 1 when what is left may not be shortened
-- Reply: {'renewed', expires_at, restored} {'gone'} {'broken', by} {'taken', known, host, pid, user, label, since}
local token, fence, ttl, slot = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[6])
local expires = now + ttl * 1000

local value = redis.pcall('GET', KEYS[1])
local bad = unusable(value, 'GET', KEYS[1])
if bad then
  return bad
end

local function note(whole)
  local shared = redis.pcall('HMGET', KEYS[3], 'fence', 'limit')
  if number(shared[1]) < fence then
    redis.pcall('HSET', KEYS[3], 'fence', ARGV[3])
  end
  if not shared[2] then
    redis.pcall('HSET', KEYS[3], 'limit', ARGV[7])
  end
  if whole then
    redis.pcall('HSET', KEYS[2], 'token', token, 'held', ARGV[3], 'acquired_at', ARGV[9], 'host', ARGV[10],
      'pid', ARGV[11], 'user', ARGV[12], 'label', ARGV[13])
    redis.pcall('HDEL', KEYS[2], 'free_since')
  end
  redis.pcall('HSET', KEYS[2], 'renewed_at', digits(now), 'expires_at', digits(expires), 'ttl', ARGV[4])
  redis.pcall('PEXPIRE', KEYS[2], ARGV[5])
  if slot > 1 then
    redis.pcall('HSET', KEYS[3], 's' .. slot, digits(expires))
    redis.pcall('PEXPIRE', KEYS[3], ARGV[5])
  end
end

if value == token then
  local left = ARGV[14] == '1' and call('PTTL', KEYS[1]) or 0
  if left > ttl then
    -- A keeper, or the script that acquired it, counts on the longer time.
    primary(KEYS[2])
    return { 'renewed', digits(now + left * 1000), 0 }
  end
  -- First, because it needs no memory: after it the server lets the rest of the script write.
  call('PEXPIRE', KEYS[1], ARGV[4])
  local held = redis.pcall('HMGET', KEYS[2], 'token')
  note(held[1] ~= token)
  return { 'renewed', digits(expires), 0 }
end

local was = history(KEYS[2])
bad = unusable(was, 'HMGET', KEYS[2])
if bad then
  return bad
end
if value == 'broken:' .. token or was[4] == token then
  primary(KEYS[2])
  return { 'broken', was[5] or '' }
end
if not value then
  -- Nobody has held it since: the holding in `info` is ours and did not end, or `info` went the same way as the
  -- key, less than a TTL ago. The time limit is there because a renewal may have hung in a dead connection and be
  -- executed after the release.
  local until_us = tonumber(ARGV[8])
  local since_lost = was[3] ~= token and ((not was[1] and not was[2]) or number(was[2]) == fence)
  if until_us and now < until_us and since_lost then
    call('SET', KEYS[1], token, 'PX', ARGV[4], 'NX')
    note(true)
    redis.pcall('HINCRBY', KEYS[3], 'restores', 1)
    return { 'renewed', digits(expires), 1 }
  end
  primary(KEYS[2])
  return { 'gone' }
end
primary(KEYS[2])
if whose(value) == token then
  return { 'gone' }
end
return taken(value, was)
