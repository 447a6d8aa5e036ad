"""Redis scripts of the Gate: a script per method, each one atomic step that uses the server's own clock.

All times are microseconds. ARGV[1] is always the run id of the server, as known to the connection. A
light is stored as `last owed held`: its last slot, the spacing owed after it, and the moment before
which no request may pass. Its key expires an hour after it stops having an effect, so a key without
one was not used in the last hour, unless the server was started since.
"""

from dataclasses import dataclass, field
from hashlib import sha1


@dataclass(frozen=True, slots=True)
class Script:
    text: str
    sha: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sha", sha1(self.text.encode(), usedforsecurity=False).hexdigest())


_NOW = """
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
"""

# KEYS: the light, since when the server knows everything.
_LIGHT = """
local FORGET, WEEK = 3600000000, 604800000
-- A server that was started anew may have lost what happened last, with or without a snapshot of what was before.
local run, since = string.match(redis.call('GET', KEYS[2]) or '', '^(%S+) (%d+)$')
if run ~= ARGV[1] then
  since = now
  redis.call('SET', KEYS[2], string.format('%s %.0f', ARGV[1], now), 'PX', WEEK)
end
local last, owed, held = string.match(redis.call('GET', KEYS[1]) or '', '^(%d+) (%d+) (%d+)$')
last = math.max(tonumber(last) or (now - FORGET), math.min(tonumber(since), now))
owed, held = tonumber(owed) or 0, tonumber(held) or 0
local function remember(last, owed, held)
  local lives = math.ceil((math.max(last + owed, held, now) - now + FORGET) / 1000)
  redis.call('SET', KEYS[1], string.format('%.0f %.0f %.0f', last, owed, held), 'PX', string.format('%.0f', lives))
end
"""

# ARGV after the run: spacing, patience.
TURN = Script(f"""{_NOW}{_LIGHT}
local spacing = tonumber(ARGV[2])
local slot = math.max(now, last + math.max(spacing, owed), held)
if slot - now <= tonumber(ARGV[3]) then remember(slot, spacing, held) end
return slot - now
""")

# ARGV after the run: wait.
HOLD_OFF = Script(f"""{_NOW}{_LIGHT}
remember(last, owed, math.max(held, now + tonumber(ARGV[2])))
return 1
""")

# KEYS: the place, a sorted set of holders by the moment each drops out. ARGV after the run: holder, limit, ttl.
ENTER = Script(f"""{_NOW}
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
local others = redis.call('ZCARD', KEYS[1])
if redis.call('ZSCORE', KEYS[1], ARGV[2]) then others = others - 1 end
if others >= tonumber(ARGV[3]) then return 0 end
redis.call('ZADD', KEYS[1], string.format('%.0f', now + tonumber(ARGV[4])), ARGV[2])
-- The set lives as long as the last of its holders.
local last = redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')
redis.call('PEXPIREAT', KEYS[1], string.format('%.0f', math.ceil(tonumber(last[2]) / 1000)))
return 1
""")

# KEYS: the place. ARGV after the run: holder.
LEAVE = Script("return redis.call('ZREM', KEYS[1], ARGV[2])")

# KEYS: the breaker, a hash: the fields of `BreakerState` in model/breaker.py, whose rules these are, and a field for
# the requests and the failures of each bucket.
_BREAKER = f"""{_NOW}
local GONE, KEPT = 200000000, 3600000000
local kept = {{}}
local flat = redis.call('HGETALL', KEYS[1])
for i = 1, #flat, 2 do kept[flat[i]] = flat[i + 1] end
local function read(field) return tonumber(kept[field]) or 0 end
local row, since, till = read('in_a_row'), read('since'), read('until')
local out, out_at, good, failed_at = read('out'), read('out_at'), read('good'), read('failed_at')
local why = kept['why'] or ''
local function write(lives, ...)
  redis.call('HSET', KEYS[1], ...)
  redis.call('PEXPIRE', KEYS[1], string.format('%.0f', math.ceil(lives / 1000)))
end
local function text(number) return string.format('%.0f', number) end
local function standing()
  local is_open = since > 0
  return {{is_open and 1 or 0, is_open and math.max(till - now, 0) or 0, row, is_open and now - since or 0,
          failed_at > 0 and now - failed_at or -1, why}}
end
"""

# ARGV after the run: rest, probes.
ASK = Script(f"""{_BREAKER}
local rest, probes = tonumber(ARGV[2]), tonumber(ARGV[3])
if since == 0 then return 0 end
if now < till then return till - now end
if now - out_at > GONE then out = 0 end
if out >= probes then return math.ceil(rest / probes) end
write(KEPT, 'out', text(out + 1), 'out_at', text(now))
return 0
""")

# ARGV after the run: rest, probes, failures, share in thousandths, window, buckets, the news, why, goods.
TELL = Script(f"""{_BREAKER}
local rest, probes, failures, share = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local window, buckets, news, goods = tonumber(ARGV[6]), tonumber(ARGV[7]), ARGV[8], tonumber(ARGV[10])
local function to_rest()
  redis.call('DEL', KEYS[1])
  if since == 0 then since = now end
  till, failed_at, why = now + rest, now, ARGV[9]
  write(rest + KEPT, 'in_a_row', text(row), 'since', text(since), 'until', text(till), 'failed_at', text(now),
        'why', why)
  return standing()
end
local function back(found)
  good = good + found
  if good >= probes then
    redis.call('DEL', KEYS[1])
    row, since, failed_at, why = 0, 0, 0, ''
  else
    write(KEPT, 'out', text(math.max(out - 1, 0)), 'good', text(good))
  end
  return standing()
end
if since > 0 then
  if news == 'grave' then return to_rest() end
  if now < till then
    if news == 'bad' then
      failed_at = now
      write(till - now + KEPT, 'failed_at', text(now))
    end
    return standing()
  end
  if news == 'bad' or (news == 'poor' and good == 0) then return to_rest() end
  return back(news == 'good' and 1 or 0)
end
local number = math.floor(now / (window / buckets))
local function count(requests, failed)
  for _, kind in ipairs({{'r', 'f'}}) do
    local field = kind .. text(number)
    kept[field] = text(read(field) + (kind == 'r' and requests or failed))
    write(window, field, kept[field])
  end
end
if news == 'good' then goods = goods + 1 end
if goods > 0 then
  row = 0
  write(window, 'in_a_row', '0')
  count(goods, 0)
end
if news == 'good' or news == 'nothing' then return standing() end
row = (now - failed_at <= window and row or 0) + 1
failed_at, why = now, ARGV[9]
if news == 'bad' then count(1, 1) end
write(window, 'in_a_row', text(row), 'failed_at', text(now), 'why', why)
local requests, failed = 0, 0
for field, value in pairs(kept) do
  local kind, of = string.match(field, '^([rf])(%d+)$')
  if kind and tonumber(of) <= number - buckets then
    redis.call('HDEL', KEYS[1], field)
  elseif kind == 'r' then
    requests = requests + tonumber(value)
  elseif kind == 'f' then
    failed = failed + tonumber(value)
  end
end
local too_many = news == 'bad' and requests >= failures and failed * 1000 >= requests * share
if news == 'grave' or row >= failures or too_many then return to_rest() end
return standing()
""")

LOOK = Script(f"""{_BREAKER}
return standing()
""")

ALL = (TURN, HOLD_OFF, ENTER, LEAVE, ASK, TELL, LOOK)
