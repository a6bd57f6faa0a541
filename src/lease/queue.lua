-- Put before the scripts that touch the queue: who is alive in it, and whom to wake. `q` has the names `queue`,
-- `waiters` and `wake` (what the channel of a waiter begins with). Nothing here looks at more than the head of the
-- queue, so that the work does not grow with the number of waiters.
local SILENCE = 6000000 -- a waiter that has not asked for this long is dropped by whoever looks
local STEP = 500000 -- how long each waiter has to answer before the next in line may take its turn
local QUEUE_LIFE = '20000' -- ms; the keys outlive the last waiter's last ask by this

-- Whether the waiter is gone from the queue. A server that refuses writes (a replica, a full disk, too few replicas)
-- keeps it: a loop that waits for the head to go would then never end, and hang the server for everyone.
local function drop(q, id)
  local gone = redis.pcall('ZREM', q.queue, id)
  redis.pcall('HDEL', q.waiters, id)
  return gone == 1
end

-- An entry is six lines: deadline, since, pid, host, user, label.
local function alive(q, id)
  local entry = redis.pcall('HMGET', q.waiters, id)
  entry = not entry.err and entry[1]
  local deadline = entry and tonumber(string.match(entry, '^%d+'))
  if not deadline then
    return false
  end
  if deadline > now + SILENCE then
    redis.pcall('HSET', q.waiters, id, (string.gsub(entry, '^%d+', digits(now + SILENCE), 1)))
  end
  return deadline > now
end

-- Drops the dead among the first, until `want` living ones are there or the queue ends. Returns how many are there,
-- and how many were dropped.
local function heads(q, want)
  local found, dropped = 0, 0
  while found < want do
    local id = redis.pcall('ZRANGE', q.queue, found, found)
    if id.err or not id[1] then
      break
    end
    if alive(q, id[1]) then
      found = found + 1
    elseif drop(q, id[1]) then
      dropped = dropped + 1
    else
      break
    end
  end
  return found, dropped
end

-- Who goes from the queue while a slot is free moves the others up, and without this the second could take its turn
-- together with the first: a waiter's time is that of its place when the slot became free. Forgotten with the next
-- grant.
local function skip(info, count)
  if count > 0 then
    redis.pcall('HINCRBY', info, 'skipped', count)
  end
end

-- Wakes the first free + 2. The message is 0 for those who may take now, and n for one who may when the slot has
-- been free for n steps. Nobody heard: that waiter is gone, and the next moves up. A server that refuses PUBLISH
-- costs the waiters a heartbeat and nothing else. Returns how many were dropped.
local function wake(q, free)
  local at, dropped = 0, 0
  if free < 1 then
    return dropped
  end
  while at < free + 2 do
    local id = redis.pcall('ZRANGE', q.queue, at, at)
    if id.err or not id[1] then
      break
    end
    local heard = 0
    if alive(q, id[1]) then
      heard = redis.pcall('PUBLISH', q.wake .. id[1], digits(math.max(0, at - free + 1)))
      if type(heard) == 'table' then
        break
      end
    end
    if heard ~= 0 then
      at = at + 1
    elseif drop(q, id[1]) then
      dropped = dropped + 1
    else
      break
    end
  end
  return dropped
end
