"""What the tables of moves do not allow changes no row and leaves no event, whoever asks for it."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import select, update

from gossamer.db.tables import jobs as job_rows
from gossamer.db.tables import sites as site_rows
from gossamer.db.tables import visits as visit_rows
from gossamer.db.transactions import Tx
from gossamer.model.states import JOB_MOVES, SITE_MOVES, VISIT_MOVES, JobState, SiteState, VisitState
from gossamer.store import events, jobs, reclaim, sites, visits
from gossamer.store.visit_transitions import Ending, end
from tests.conftest import AnyDatabase
from tests.jobs import LEASE, make_job, tokens

Row = dict[str, Any]


async def test_a_job_moves_only_as_the_table_says(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")

    def attempt(tx: Tx, was: JobState, target: JobState) -> tuple[bool, JobState, int]:
        tx.run(update(job_rows).where(job_rows.c.id == job.id).values(state=was))
        before = len(events.of_job(tx, job.id))
        moved = jobs.move(tx, job.id, target)
        now = jobs.get(tx, job.id)
        assert now
        return moved, now.state, len(events.of_job(tx, job.id)) - before

    for was in JobState:
        for target in JobState:
            legal = target in JOB_MOVES[was]
            result = await database.write(attempt, was, target)
            assert result == (legal, target if legal else was, int(legal)), f"{was} > {target}"


def walk_all(tx: Tx) -> None:
    """A site ends when none of its visits is to be walked any more."""
    tx.run(update(visit_rows).values(state=VisitState.DONE))


async def test_a_site_moves_only_as_the_table_says(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    ((_, site_id),) = await database.read(sites.hosts, job.id, "", 1)

    def attempt(tx: Tx, was: SiteState, target: SiteState) -> tuple[bool, str]:
        mine = site_rows.c.id == site_id
        walk_all(tx)
        tx.run(update(site_rows).where(mine).values(state=was))
        reopens = target is SiteState.OPEN
        moved = (
            bool(sites.reopen(tx, [site_id])) if reopens else bool(sites.close(tx, [sites.SiteEnding(site_id, target)]))
        )
        return moved, tx.run(select(site_rows.c.state).where(mine)).scalar_one()

    for was in SiteState:
        for target in SiteState:
            legal = target in SITE_MOVES[was]
            result = await database.write(attempt, was, target)
            assert result == (legal, target if legal else was), f"{was} > {target}"


async def test_a_site_that_is_opened_again_forgets_why_it_ended(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    ((_, site_id),) = await database.read(sites.hosts, job.id, "", 1)
    await database.write(walk_all)
    await database.write(sites.close, [sites.SiteEnding(site_id, SiteState.FAILED, "DNS", retries=2)])
    assert await database.write(sites.reopen, [site_id], "retried", who="user") == {site_id}
    await database.write(sites.want_whole, [site_id])
    (summary,) = await database.read(sites.summaries, job.id)
    assert (summary.state, summary.trouble, summary.retries) == (SiteState.OPEN, None, 0)
    last = (await database.read(events.of_job, job.id))[-1]
    assert (last.kind, last.who, last.why, last.site_id) == ("site.open", "user", "retried", site_id)
    # Open as it is: to want it whole is no change of its state.
    assert not await database.write(sites.reopen, [site_id])


async def test_of_many_sites_those_that_have_ended_are_opened_again(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test", "b.test", "c.test")
    ids = [site_id for _, site_id in await database.read(sites.hosts, job.id, "", 3)]
    closings = [sites.SiteEnding(ids[0], SiteState.FAILED), sites.SiteEnding(ids[1], SiteState.PARTIAL)]
    await database.write(walk_all)
    await database.write(sites.close, closings)
    before = len(await database.read(events.of_job, job.id))
    assert await database.write(sites.reopen, ids) == set(ids[:2])
    assert await database.write(sites.reopen, []) == set()
    told = (await database.read(events.of_job, job.id))[before:]
    assert [(event.kind, event.site_id) for event in told] == [("site.open", site_id) for site_id in sorted(ids[:2])]


def _ask(target: VisitState, was: VisitState) -> Callable[[Tx, UUID, UUID, UUID], object]:
    """Whoever makes visits what is asked for; of several, the one that would from this state."""
    in_hand = (VisitState.RUNNING, VisitState.READY)
    asked: dict[VisitState, Callable[[Tx, UUID, UUID, UUID], object]] = {
        VisitState.ISSUED: lambda tx, visit, lease, site: visits.issue(tx, [visit], "home/0-1"),
        VisitState.RUNNING: lambda tx, visit, lease, site: visits.claim(tx, tokens([visit]), "home/0-1", LEASE),
        VisitState.DONE: lambda tx, visit, lease, site: bool(end(tx, [Ending(visit, lease, VisitState.DONE)])),
        VisitState.FAILED: lambda tx, visit, lease, site: bool(end(tx, [Ending(visit, lease, VisitState.FAILED)])),
        VisitState.DEAD: lambda tx, visit, lease, site: reclaim.take_back(tx, {visit: lease}),
        VisitState.READY: lambda tx, visit, lease, site: visits.reopen(tx, site, "http"),
    }
    if target is VisitState.READY and was in in_hand:
        return lambda tx, visit, lease, site: end(tx, [Ending(visit, lease, VisitState.READY)])
    if target is VisitState.READY and was is VisitState.ISSUED:
        return lambda tx, visit, lease, site: reclaim.lost_nudges(tx, timedelta(0))
    return asked[target]


async def test_a_visit_moves_only_as_the_table_says(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    ((_, site_id),) = await database.read(sites.hosts, job.id, "", 1)
    lease = uuid4()

    def row(tx: Tx) -> Row:
        return dict(tx.run(select(visit_rows).where(visit_rows.c.site_id == site_id)).one()._mapping)

    def attempt(tx: Tx, was: VisitState, target: VisitState) -> tuple[Row, Row, list[str]]:
        # A token in every state, so that it is the state alone that decides.
        values = {"state": was, "lease": lease, "deaths": 2, "due_at": tx.now - LEASE, "worker": "home/1-1"}
        tx.run(update(visit_rows).where(visit_rows.c.site_id == site_id).values(**values))
        told, before = len(events.of_job(tx, job.id)), row(tx)
        _ask(target, was)(tx, before["id"], lease, site_id)
        # A visit that dies takes its site with it, which is another event.
        kinds = [event.kind for event in events.of_job(tx, job.id)[told:] if event.kind.startswith("visit.")]
        return before, row(tx), kinds

    for was in VisitState:
        for target in VisitState:
            before, after, kinds = await database.write(attempt, was, target)
            move = f"{was} > {target}"
            if target in VISIT_MOVES[was]:
                # A nudge is a hint, not news.
                news = [] if target is VisitState.ISSUED else [f"visit.{target}"]
                assert (after["state"], kinds) == (target, news), move
            elif (was, target) == (VisitState.ISSUED, VisitState.DEAD):
                # Whoever was only nudged has harmed nobody: it is ready again, with all its lives.
                assert (after["state"], after["deaths"], kinds) == (VisitState.READY, 2, ["visit.ready"]), move
            else:
                assert (after, kinds) == (before, []), move
