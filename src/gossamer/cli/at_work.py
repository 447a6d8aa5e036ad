"""Who works the jobs of this home: asked by nearly every command, so it loads nothing of what it takes to be one."""

from gossamer.assembly import App
from gossamer.store.health import working_home


async def runner_of(app: App) -> int | None:
    """The process id of whoever works the jobs here, 0 if that is on another home; None if nobody does."""
    holder = app.lock.holder()
    if holder is not None:
        return holder
    # What our own home has written there is left over from a runner that is gone.
    home = await app.database.read(working_home)
    return 0 if home and home != app.home_name else None
