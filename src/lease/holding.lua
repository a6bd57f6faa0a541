-- Put before the scripts that tell a holding from another.

-- The token behind the value of a lease key, and what the value says of it.
local function whose(value)
  if starts(value, 'cooling:') then
    return string.sub(value, 9), 'cooling'
  elseif starts(value, 'broken:') then
    return string.sub(value, 8), 'broken'
  end
  return value, 'held'
end

local function history(info)
  return redis.pcall('HMGET', info, 'token', 'held', 'ended', 'broken', 'broken_by', 'host', 'pid', 'user', 'label',
    'acquired_at')
end

-- `info` describes the holder only while its token is the one at the key.
local function taken(value, was)
  return { 'taken', was[1] == whose(value) and 1 or 0, was[6] or '', was[7] or '', was[8] or '', was[9] or '',
    digits(past(was[10])) }
end
