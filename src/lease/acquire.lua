-- acquire: takes a free slot, or says who has it.
-- KEYS: lease and info of slot 1, of slot 2, … of slot N; queue; waiters
-- ARGV: 1 clock; 2 token; 3 ttl ms; 4 N; 5 retain ms; 6 host; 7 pid; 8 user; 9 label; 10 waiter id or ''; 11 ticket
--   or ''; 12 wake channels' beginning; 13 once-per period us or 0; 14 its offset us; 15… tokens that this replaces
-- Reply: {'granted', slot, fence, acquired_at, expires_at, again}
--   {'limit', N that is kept} {'done', host, us to the next period}
--   {'queued', waiting, us until our turn at the latest, ahead or -1, ticket}
--   {'held' 'cooling' or 'broken', remaining ms or -1, waiting, ahead or -1, ticket, broken by,
--     known, host, pid, user, label, since, us since then}
local token, ttl, limit, retain = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]
local me, ticket = ARGV[10], tonumber(ARGV[11])
local period, offset = number(ARGV[13]), number(ARGV[14])
local q = { queue = KEYS[2 * limit + 1], waiters = KEYS[2 * limit + 2], wake = ARGV[12] }
local ours = { [token] = true }
for i = 15, #ARGV do
  ours[ARGV[i]] = true
end
local function lease(slot)
  return KEYS[2 * slot - 1]
end
local function info(slot)
  return KEYS[2 * slot]
end

local values, infos, free, bad = {}, {}, {}, nil
for slot = 1, limit do
  values[slot] = redis.pcall('GET', lease(slot))
  bad = bad or unusable(values[slot], 'GET', lease(slot))
  infos[slot] = redis.pcall('HMGET', info(slot), 'token', 'held', 'acquired_at', 'expires_at', 'ttl', 'free_since',
    'host', 'pid', 'user', 'label', 'broken_by', 'keep')
  bad = bad or unusable(infos[slot], 'HMGET', info(slot))
  if not values[slot] then
    free[#free + 1] = slot
  end
end
local shared = redis.pcall('HMGET', info(1), 'fence', 'limit', 'done_at', 'done_host', 'skipped')
local waiting = redis.pcall('ZCARD', q.queue)
bad = bad or unusable(waiting, 'ZCARD', q.queue)
  or unusable(redis.pcall('HMGET', q.waiters, ''), 'HMGET', q.waiters)
if bad then
  return bad
end

local function go()
  if me ~= '' then
    drop(q, me)
  end
end

-- The fence is stored before the key: a fence that no one got harms nobody, one that two got does. When memory is
-- full the first of these fails, and nothing has changed.
local function grant(slot, fence, acquired, again)
  local expires = now + ttl * 1000
  call('HSET', info(1), 'fence', digits(math.max(fence, number(shared[1]))), 'limit', limit)
  call('HSET', info(slot), 'token', token, 'held', digits(fence), 'host', ARGV[6], 'pid', ARGV[7],
    'user', ARGV[8], 'label', ARGV[9], 'acquired_at', digits(acquired), 'renewed_at', digits(now),
    'expires_at', digits(expires), 'ttl', ARGV[3])
  call('SET', lease(slot), token, 'PX', ARGV[3])
  redis.pcall('HDEL', info(slot), 'free_since')
  redis.pcall('HDEL', info(1), 'skipped')
  if slot > 1 then
    redis.pcall('HSET', info(1), 's' .. slot, digits(expires))
    redis.pcall('PEXPIRE', info(slot), retain)
  end
  if not again then
    redis.pcall('HINCRBY', info(1), 'grants', 1)
  end
  redis.pcall('PEXPIRE', info(1), retain)
  go()
  return { 'granted', slot, digits(fence), digits(acquired), digits(expires), again and 1 or 0 }
end

-- An earlier attempt of ours was granted, and its reply was lost: the same holding under the new token. A second
-- such slot goes back.
local taken
for slot = 1, limit do
  if values[slot] and ours[values[slot]] then
    if taken then
      call('DEL', lease(slot))
      redis.pcall('HSET', info(slot), 'ended', values[slot], 'free_since', digits(now))
      redis.pcall('HDEL', info(1), 's' .. slot)
      free[#free + 1] = slot
    else
      taken = slot
    end
  end
end
if taken then
  local was = infos[taken]
  local granted
  if was[1] == values[taken] and was[2] then
    granted = grant(taken, number(was[2]), past(was[3]), true)
  else
    granted = grant(taken, math.max(number(shared[1]) + 1, now), now, true)
  end
  if #free > 0 then
    wake(q, #free)
  end
  return granted
end

-- Slots past N are not among our keys; `s2`, `s3`, … of slot 1's info say until when each is held.
local kept = number(shared[2])
if kept > 0 and kept ~= limit then
  local busy = #free < limit or heads(q, 1) > 0
  for slot = limit + 1, kept do
    busy = busy or number(call('HMGET', info(1), 's' .. slot)[1]) > now
  end
  if busy then
    primary(info(1))
    go()
    return { 'limit', kept }
  end
end

-- The period of the last successful run is the one that it was acquired in.
if period > 0 and shared[3] then
  local this = math.floor((now - offset) / period)
  if math.floor((past(shared[3]) - offset) / period) == this then
    primary(info(1))
    go()
    wake(q, #free)
    return { 'done', shared[4] or '', digits((this + 1) * period + offset - now) }
  end
end

if #free > 0 and waiting == 0 then
  return grant(free[1], math.max(number(shared[1]) + 1, now), now, false)
end

if me ~= '' then
  local place = call('ZSCORE', q.queue, me)
  if place then
    ticket = tonumber(place)
  else
    if not ticket then
      local last = call('ZRANGE', q.queue, -1, -1, 'WITHSCORES')
      ticket = math.max(number(last[2]) + 1, now)
    end
    call('ZADD', q.queue, digits(ticket), me)
  end
  call('HSET', q.waiters, me,
    table.concat({ digits(now + SILENCE), digits(past(ticket)), ARGV[7], ARGV[6], ARGV[8], ARGV[9] }, '\n'))
  call('PEXPIRE', q.queue, QUEUE_LIFE)
  call('PEXPIRE', q.waiters, QUEUE_LIFE)
  -- Kept from here on, because callers may not disagree while anyone is queued.
  if kept ~= limit then
    call('HSET', info(1), 'limit', limit)
    call('PEXPIRE', info(1), retain)
  end
end

local _, dropped = heads(q, #free + 2)
waiting = call('ZCARD', q.queue)
local ahead = waiting
if me ~= '' then
  ahead = call('ZRANK', q.queue, me) or waiting
end

if #free > 0 then
  skip(info(1), dropped)
  local oldest, since = free[1], now
  for _, slot in ipairs(free) do
    local freed, expires = tonumber(infos[slot][6]), tonumber(infos[slot][4])
    if not freed and expires and expires <= now then
      freed = expires
    elseif not freed or freed > now then
      freed = now
      redis.pcall('HSET', info(slot), 'free_since', digits(now))
      redis.pcall('PEXPIRE', info(slot), retain)
    end
    if freed < since then
      oldest, since = slot, freed
    end
  end
  local wait = 0
  if ahead >= #free then
    local place = ahead + number(shared[5]) + dropped
    wait = (place - #free + 1) * STEP - (now - since)
  end
  if wait <= 0 then
    return grant(oldest, math.max(number(shared[1]) + 1, now), now, false)
  end
  primary(info(1))
  if dropped > 0 then
    skip(info(1), wake(q, #free))
  end
  return { 'queued', waiting, digits(wait), me ~= '' and ahead or -1, digits(ticket or 0) }
end

-- All are held: the one that ends first is described. A time to live beyond what was asked for comes from before
-- the server's clock stepped back.
local best, least, kind, known
for slot = 1, limit do
  local value, was = values[slot], infos[slot]
  local holder, what = whose(value)
  local most = tonumber(was[what == 'cooling' and 12 or 5])
  local left = call('PTTL', lease(slot))
  if most and was[1] == holder and left > most then
    call('PEXPIRE', lease(slot), digits(most))
    if what == 'held' then
      redis.pcall('HSET', info(slot), 'expires_at', digits(now + most * 1000))
    end
    left = most
  end
  local rank = left < 0 and math.huge or left
  if not best or rank < least then
    best, least, kind, known = slot, rank, what, was[1] == holder
  end
end
if me == '' then
  primary(info(1))
end
local was = infos[best]
return { kind, least == math.huge and -1 or least, waiting, me ~= '' and ahead or -1, digits(ticket or 0),
  was[11] or '', known and 1 or 0, was[7] or '', was[8] or '', was[9] or '', was[10] or '', digits(past(was[3])),
  digits(now - past(was[3])) }
