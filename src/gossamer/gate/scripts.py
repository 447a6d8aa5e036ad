"""What Redis runs for the Gate: a script per method, each one atomic step that goes by the server's own clock.

All times are microseconds. ARGV[1] is always the run of the server, as the connection knows it. A light is kept as
`last owed held`: its last slot, the spacing owed after it, and the moment before which nobody may pass. It lives for an
hour longer than it says anything, so a key without one was not used in the last hour, unless the server was started
since.
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

ALL = (TURN, HOLD_OFF, ENTER, LEAVE)
