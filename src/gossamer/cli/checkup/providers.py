"""The providers that are set up: whether they take the key, and whether jobs have found that they do not work."""

from pathlib import Path

from gossamer.assembly import database_url, open_gate, provider_desk, provider_rungs
from gossamer.cli import words
from gossamer.cli.checkup.finding import Finding, fail, ok, warn
from gossamer.clock import SteadyClock
from gossamer.db.database import open_database
from gossamer.gate.memory import MemoryPlaces
from gossamer.ledger.methods import provider_name
from gossamer.model.breaker import Standing, trouble_of
from gossamer.model.rungs import provider_of
from gossamer.settings import Settings

_REFUSED = ("HTTP 401", "HTTP 403")


async def check_providers(settings: Settings) -> list[Finding]:
    names = list(dict.fromkeys(provider_of(rung) for rung in provider_rungs(settings)))
    if not names:
        return [ok("providers", "No provider is set up: jobs fetch directly, and cost nothing.")]
    standings = await _standings(settings, names)
    return [finding for name in names for finding in (await _account(settings, name), *_breaker(name, standings[name]))]


async def _account(settings: Settings, name: str) -> Finding:
    from gossamer.fetch.providers import Unread  # the client is large, and only needed where there is a provider

    title, setting = provider_name(name), f"GOSSAMER_{name.upper()}_KEY"
    clock = SteadyClock()
    try:
        account = await provider_desk(settings, clock, MemoryPlaces(clock), "doctor").read_books(name)
    except Unread as error:
        if str(error) in _REFUSED:
            return fail("providers", f"{title} does not accept the key ({error}).", f"Correct {setting}.")
        return warn("providers", f"The account at {title} cannot be read: {error}.", "Look at its status page.")
    if account is None:
        return ok("providers", f"{title} is set up. It has no account that could be looked at.")
    if account.remaining is None:
        return ok("providers", f"{title} takes the key.")
    if not account.remaining:
        return warn("providers", f"The credits at {title} are used up.", "Buy some there, or wait for your plan.")
    return ok("providers", f"{title} takes the key. {words.several(account.remaining, 'credit')} left there.")


def _breaker(name: str, standing: Standing) -> list[Finding]:
    if not standing.open:
        return []
    said = f"{provider_name(name)} has not worked for {words.duration(standing.down)}"
    step = "Once it is mended, resume what has paused: 'gossamer job list'."
    return [warn("providers", f"{said}: {trouble_of(standing).sentence}.", step)]


async def _standings(settings: Settings, names: list[str]) -> dict[str, Standing]:
    """What the workers have found; nothing where there is no database yet for them to have written it in."""
    url = database_url(settings)
    if url.startswith("sqlite:///") and not Path(url.removeprefix("sqlite:///")).exists():
        return dict.fromkeys(names, Standing())
    clock = SteadyClock()
    database = open_database(url, clock, checkpoints=False, pooled=settings.pooled)
    try:
        async with open_gate(settings, clock, database) as lights:
            return {name: await lights.breakers.look(f"provider:{name}") for name in names}
    except Exception:  # noqa: BLE001 - what is wrong with the database stands on a line of its own
        return dict.fromkeys(names, Standing())
    finally:
        await database.close()
