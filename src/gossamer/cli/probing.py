"""`--probe N`: a look at some homepages before a job is made. The only requests that a command makes by itself."""

from collections.abc import Iterator
from contextlib import contextmanager

from gossamer.assembly import App, open_kit
from gossamer.cli import words
from gossamer.cli.probe_words import ALL_MET, looked
from gossamer.cli.session import say
from gossamer.intake.estimate import Asked, not_known
from gossamer.model.estimate import Probed
from gossamer.model.job import Target
from gossamer.model.url import domain_of
from gossamer.store import estimates
from gossamer.work.probe import Probe, choose


async def look_first(app: App, asked: Asked, number: int, *, quiet: bool) -> Probed | None:
    """What a plain request gets of so many of the job's sites; None if there is none to look at."""
    unknown = await not_known(app.database, asked)
    if not unknown:
        say(ALL_MET, quiet=quiet)
        return None
    with _working(app):
        chosen = choose(await _left_alone(app, unknown), number)
        if not chosen:
            say("Another job is at work on all of these domains, so no homepage was looked at.", quiet=quiet)
            return None
        say(f"Looking at {words.several(len(chosen), 'homepage')}...", quiet=quiet)
        async with open_kit(app.settings, 1, app.clock, pool=2) as kit:
            found = await Probe(kit).look(chosen)
    say(looked(found), quiet=quiet)
    return found if found.asked else None


@contextmanager
def _working(app: App) -> Iterator[None]:
    """Nobody begins to work this home meanwhile: they and we would not know when the other asked a domain last."""
    ours = app.lock.take()
    try:
        yield
    finally:
        if ours:
            app.lock.release()


async def _left_alone(app: App, targets: list[Target]) -> list[Target]:
    """Sites that nobody is at work on, unless all requests are spaced together anyway."""
    if app.settings.redis_url is not None:
        return targets
    domains = sorted({domain_of(target.host) for target in targets})
    busy = await app.database.read(estimates.busy_domains, domains)
    return [target for target in targets if domain_of(target.host) not in busy]
