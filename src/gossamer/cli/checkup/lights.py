"""The server that keeps the spacing of requests for several homes, where there is one."""

from gossamer.assembly import require_redis
from gossamer.cli.checkup.finding import Finding, ok, warn
from gossamer.settings import Settings

_OLDEST = 6


async def check_redis(settings: Settings) -> list[Finding]:
    if settings.redis_url is None:
        return [ok("redis", "No Redis is set: this home spaces its requests by itself.")]
    require_redis()
    from gossamer.gate.examined import Unusable, examine, shown  # only where there is a server to talk to

    url = settings.redis_url.get_secret_value()
    where = shown(url)
    try:
        server = await examine(url, settings.redis_prefix)
    except Unusable as error:
        said = f"Redis at {where} cannot be used: {error}. Jobs go at one request in two seconds per domain and worker."
        return [warn("redis", said, "See that it runs, or correct GOSSAMER_REDIS_URL.")]
    found = [ok("redis", f"Redis {server.version} at {where} answers in {server.took * 1000:.1f} ms.")]
    if int(server.version.partition(".")[0]) < _OLDEST:
        said = f"Redis {server.version} at {where} is no longer looked after."
        found = [warn("redis", said, "Update the server to 6 or later.")]
    if server.evicts:
        said = f"Redis at {where} may forget what was asked when its memory is full ({server.policy})."
        found.append(warn("redis", said, "Set maxmemory-policy to noeviction there, or sites may be asked too often."))
    return found
