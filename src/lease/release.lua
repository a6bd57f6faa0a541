-- release: gives a holding back, or says that it had been lost before. Asked twice it does nothing twice.
-- KEYS: lease and info of the slot; info of slot 1; queue; waiters; leases of slots 1 to N
-- ARGV: 1 clock; 2 token; 3 fence; 4 slot; 5 N; 6 retain ms; 7 wake channels' beginning; 8 1 on a resend; 9 1 when
--   strict: a key that is gone was lost; 10 keep until us or ''; 11 unlost until us or ''; 12 outcome or '';
--   13 code; 14 duration ms; 15 host; 16 acquired_at us when a success counts for --once-per, else ''
-- Reply: {'released'} {'gone'} {'broken', by} {'taken', known, host, pid, user, label, since}
local token, fence, slot, limit = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local resend, strict, outcome = ARGV[8] == '1', ARGV[9] == '1', ARGV[12]
local keep_until = tonumber(ARGV[10]) or 0
local q = { queue = KEYS[4], waiters = KEYS[5], wake = ARGV[7] }

local value = redis.pcall('GET', KEYS[1])
local was = history(KEYS[2])
local bad = unusable(value, 'GET', KEYS[1])
if bad then
  return bad
end
if was.err then
  was = {}
end

-- What follows the write that freed the slot.
local function record()
  local free_since = math.max(now, keep_until)
  redis.pcall('HSET', KEYS[2], 'ended', token, 'free_since', digits(free_since))
  if outcome ~= '' then
    redis.pcall('HSET', KEYS[2], 'ended_at', digits(now), 'outcome', outcome, 'code', ARGV[13], 'duration', ARGV[14],
      'last_host', ARGV[15])
  end
  if keep_until > now then
    redis.pcall('HSET', KEYS[2], 'keep', digits(math.ceil((keep_until - now) / 1000)))
  end
  if number(redis.pcall('HMGET', KEYS[3], 'fence')[1]) < fence then
    redis.pcall('HSET', KEYS[3], 'fence', ARGV[3])
  end
  if ARGV[16] ~= '' then
    redis.pcall('HSET', KEYS[3], 'done_at', ARGV[16], 'done_host', ARGV[15])
  end
  redis.pcall('PEXPIRE', KEYS[2], ARGV[6])
  if slot > 1 then
    redis.pcall('HSET', KEYS[3], 's' .. slot, digits(math.max(keep_until, 0)))
    redis.pcall('PEXPIRE', KEYS[3], ARGV[6])
  end
  local busy = 0
  for i = 6, #KEYS do
    busy = busy + call('EXISTS', KEYS[i])
  end
  wake(q, limit - busy)
end

local function tombstone()
  redis.pcall('SET', KEYS[1], 'cooling:' .. token, 'PX', digits(math.ceil((keep_until - now) / 1000)))
end

if value == token then
  if keep_until > now then
    -- PEXPIRE needs no memory, and after it the server lets the rest of the script write.
    call('PEXPIRE', KEYS[1], digits(math.ceil((keep_until - now) / 1000)))
    tombstone()
  else
    call('DEL', KEYS[1])
  end
  record()
  return { 'released' }
end
if value == 'broken:' .. token then
  -- The job of the broken holding has ended, so that the next may start.
  call('DEL', KEYS[1])
  keep_until = 0
  if outcome ~= '' then
    outcome = 'broken'
  end
  ARGV[16] = ''
  record()
  return { 'broken', was[5] or '' }
end

primary(KEYS[2])
if was[4] == token then
  return { 'broken', was[5] or '' }
end
local forgiving = resend or not strict
if was[3] == token and forgiving then
  return { 'released' }
end
if not value and forgiving then
  -- It lapsed, or the server lost it, and nobody has held it since: as for a restore.
  local lost_all = not was[1] and not was[2] and now < number(ARGV[11])
  if number(was[2]) == fence or lost_all then
    if keep_until > now then
      tombstone()
    end
    record()
    return { 'released' }
  end
end
-- A resend follows a reply that was lost: the first one released it, and somebody took it since.
if resend then
  return { 'released' }
end
if not value or value == 'cooling:' .. token then
  return { 'gone' }
end
return taken(value, was)
