-- Put before every script: the clock, numbers as text, and keys that hold something else.
-- ARGV[1] is the client's wall clock in microseconds since 1970. It stands in where the server refuses TIME or
-- answers zero (seen on servers that only speak the protocol), and decides nothing elsewhere.
local now = tonumber(ARGV[1])
local time = redis.pcall('TIME')
if type(time) == 'table' and not time.err and (tonumber(time[1]) or 0) > 0 then
  now = tonumber(time[1]) * 1000000 + tonumber(time[2])
end

-- `tostring` and `..` print 14 digits of a number, and a time in microseconds has 16.
local function digits(n)
  return string.format('%.0f', n)
end

local function number(text)
  return tonumber(text) or 0
end

-- A stored time that lies in the future comes from before the server's clock stepped back: it counts as now.
local function past(text)
  return math.min(number(text), now)
end

-- Redis to 7.0 refuses a command of a script without naming it; this is how newer ones say it.
local function refused(err, name)
  if string.find(err, "can't run this command", 1, true) then
    return "ACL failure in script: the user has no permissions to run the '" .. string.lower(name) .. "' command"
  end
  return nil
end

-- As redis.call, which is left to raise all other errors: the server words them.
local function call(name, ...)
  local reply = redis.pcall(name, ...)
  if type(reply) ~= 'table' or not reply.err then
    return reply
  end
  local text = refused(reply.err, name)
  if text then
    error(text, 0)
  end
  return redis.call(name, ...)
end

-- The error to answer with when a read failed, else nil. A key of another type is never overwritten.
local function unusable(reply, name, key)
  if type(reply) ~= 'table' or not reply.err then
    return nil
  end
  if string.find(reply.err, 'WRONGTYPE', 1, true) then
    return redis.error_reply('WRONGTYPE redlease: the key ' .. key .. ' holds something else than a lease')
  end
  local text = refused(reply.err, name)
  return text and redis.error_reply('NOPERM ' .. text) or reply
end

-- A replica answers reads with what may be old, and "not yours" from it proves nothing. A write that changes
-- nothing makes it say READONLY instead.
local function primary(info)
  call('HDEL', info, '')
end

local function starts(text, with)
  return string.sub(text, 1, #with) == with
end
