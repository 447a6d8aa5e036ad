"""The crawl of one site, and with it the path of every URL. Read this module first.

A visit crawls one site. A worker process leases it, crawls it for a slice of time (`SiteCrawl.run_slice`), and hands it
back. The frontier (frontier/) decides which page is next. Each page takes these steps, in this order:

    1. check robots.txt           `RobotsReader.rules` (crawl/site_files.py), rules parsed by frontier/robots.py
    2. wait for the domain's turn `Requester` (crawl/requester.py) at the Gate (gate/), which spaces all requests
    3. fetch                      a session of the page's rung (fetch/); on a paid rung its price is reserved first
    4. follow redirects           `Redirects` (crawl/redirects.py): each hop repeats 1-3; a page of another site becomes
                                  a `Moved`, and is handed over to that site's own visit
    5. judge the response         `find_trouble` (judge/): an error status becomes a `Trouble`
    6. parse                      `parse_document` (parse/): bytes become a `Document`
    7. judge the page             `find_flaw` (judge/): block pages, empty shells and soft 404s become `Trouble`
    8. extract fields             `Extraction` (crawl/extraction.py), if the job has extraction rules
    9. harvest                    the job's recipe (recipes/): records, files, and requests that follow
   10. decide the outcome         `Outcomes` (crawl/outcome.py): done, failed, skipped, again later, a stronger rung,
                                  or handed over; the frontier learns it, with the page's links as candidates
   11. settle                     `Settler` (settle/): writes the step, many visits in one transaction

`_visit_page` is steps 1-11 for one page, `_attempt` steps 1-8. A page that needs a stronger rung is tried again by this
visit if the rung belongs to its lane. Otherwise the page moves to the site's visit in the rung's lane, and this visit
rests until all pages of the level have ended in every lane.

A level is all pages that were chosen together, beginning with the homepage. After the homepage, and before the next
level is chosen, the site's sitemaps are read (`SiteSitemaps` in crawl/site_files.py).

This module writes nothing to the database except through the settler, and nothing at all once its lease is lost. Before
a page is parsed and after it was harvested, other pages that have arrived catch up: decision 0025.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from gossamer.blobs.page_files import PageFiles
from gossamer.clock import milliseconds
from gossamer.crawl.extraction import Extraction, RuleSet
from gossamer.crawl.ip_block import JobRefusals
from gossamer.crawl.job_guards import ProviderGuard, RecipeFailures
from gossamer.crawl.leases import HeldLease
from gossamer.crawl.outcome import Gathered, NewFacts, Outcome, Outcomes, our_mistake
from gossamer.crawl.redirects import Moved, Redirects
from gossamer.crawl.requester import LONGEST_SLEEP, Interrupted, NoProvider, NoWayOut, Requester, TooEarly
from gossamer.crawl.site_breaker import SiteBreaker
from gossamer.crawl.site_files import RobotsReader, SiteSitemaps
from gossamer.fetch import FetchError
from gossamer.frontier.frontier import MOST_IN_VAIN, Frontier
from gossamer.judge import find_flaw, find_refusal, find_trouble
from gossamer.judge.rung_stats import has_failed, lesson
from gossamer.logging import get_logger
from gossamer.model.alert import rendering_sentence
from gossamer.model.document import Document, Request, Response
from gossamer.model.job import CrawlPolicy
from gossamer.model.page import Attempt, Page, PageRequest
from gossamer.model.recipe import Bound
from gossamer.model.rungs import DIRECT, RUNGS, Rung, provider_of, provider_title
from gossamer.model.states import PageState, SiteState
from gossamer.model.trouble import Reason, Trouble
from gossamer.parse import bare_document, json_document, parse_document
from gossamer.parse.document import wants_body
from gossamer.settle.settler import Settler
from gossamer.settle.step import Finished, HandBack, PageStep, Rested, Step

SLICE = timedelta(seconds=60)  # if other visits wait for a slot
LONGEST_SLICE = timedelta(seconds=120)

log = get_logger(__name__)


class SiteCrawl:
    """The crawl of one visit for one slice. `run_slice` is the whole sequence; the other methods are its parts."""

    def __init__(
        self,
        lease: HeldLease,
        frontier: Frontier,
        requester: Requester,
        robots: RobotsReader,
        redirects: Redirects,
        bound: Bound,
        policy: CrawlPolicy,
        policy_of: Callable[[str], CrawlPolicy],
        request_of: Callable[[PageRequest], Awaitable[Request]],
        settler: Settler,
        refusals: JobRefusals,
        recipe_failures: RecipeFailures,
        providers: ProviderGuard,
        breaker: SiteBreaker,
        files: PageFiles,
        max_page_bytes: int,
        jitter: float,
        extraction: Extraction,
        rules: RuleSet | None,
    ) -> None:
        """`policy` is that of ordinary pages, `policy_of` that of each step of the recipe.

        `request_of` builds the request for a page that a recipe asked for, with its secrets.
        """
        self._lease = lease
        self._visit = lease.visit
        self._frontier = frontier
        self._requester = requester
        self._redirects = redirects
        self._sitemaps = SiteSitemaps(requester, robots, redirects.follow, requester.clock)
        self._bound = bound
        self._policy = policy
        self._policy_of = policy_of
        self._request_of = request_of
        self._rungs = {rung.name: rung for rung in policy.ladder.rungs}
        self._learns = len(self._rungs) > 1
        self._new_facts = NewFacts(self._visit, frontier, robots, requester)
        self._outcomes = Outcomes(
            self._visit, frontier, self._new_facts, bound, policy, policy_of, requester.clock, jitter
        )
        self._settler = settler
        self._refusals = refusals
        self._recipe_failures = recipe_failures
        self._providers = providers
        self._breaker = breaker
        self._files = files
        self._extraction = extraction
        self._rules = rules
        self._clock = requester.clock
        self._max_page_bytes = max_page_bytes
        self._began = self._marked = self._clock.monotonic()
        times = [policy.visit_time, *(policy_of(step).visit_time for step in frontier.steps)]
        self._left = (max(times) - self._visit.walked).total_seconds()  # of the visit's time

    async def run_slice(self, others_wait: bool) -> None:
        """Crawl until no page is left, none is due soon, or the time is over."""
        try:
            await self._crawl((SLICE if others_wait else LONGEST_SLICE).total_seconds())
        except (TooEarly, NoWayOut) as early:
            self._hand_back(self._clock.now() + early.wait)
        except (Interrupted, asyncio.CancelledError):
            # Cancelled: the request in flight took longer than its grace. Its page stays pending, as if never tried.
            if not self._lease.lost:
                self._hand_back(self._clock.now())

    async def _crawl(self, longest: float) -> None:
        while True:
            if not self._settler.has_room:
                await self._settler.relief()
            now, walked = self._clock.now(), self._clock.monotonic() - self._began
            if self._lease.stop.is_set() or walked >= longest:
                return self._hand_back(now)
            if walked >= self._left:
                return self._run_out_of_time()
            if gone := self._breaker.gone or self._frontier.refusal:
                return self._give_up_site(gone)
            wait = self._site_wait(now)
            page = self._frontier.next(now) if wait is None else None
            if page:
                await self._visit_page(page, now)
                self._lease.paying = False  # only now: what was paid for is on its way to the database
                continue
            wait = wait or self._frontier.wait(now)
            if wait is not None:
                if wait > LONGEST_SLEEP:
                    return self._hand_back(now + wait)
                await self._requester.rest(wait)
            elif not await self._next_level():
                return self._finish()

    def _site_wait(self, now: datetime) -> timedelta | None:
        """Return how long the site still asks for no requests, if there is anything to request."""
        rest = self._wait_left(now)
        return rest if rest and self._frontier.asks else None

    def _wait_left(self, now: datetime) -> timedelta | None:
        until = self._new_facts.not_before
        return until - now if until and until > now else None

    async def _next_level(self) -> bool:
        """Continue after a level: read a sitemap, else choose the next level. False if there is neither."""
        if self._frontier.wants_sitemaps and await self._read_sitemap():
            return True
        chosen = self._frontier.deepen()
        by_lane: dict[str, list[Page]] = {}
        for page in chosen:
            by_lane.setdefault(self._rung(page).lane, []).append(page)
        for lane, pages in by_lane.items():
            self._put(Step(self._visit, chosen=tuple(pages), facts=self._new_facts.facts(size=True), lane=lane))
        return bool(chosen)

    async def _read_sitemap(self) -> bool:
        """Read one more sitemap file of the site; False if none is left."""
        home = self._frontier.home
        if home is None or not await self._sitemaps.read_next(self._frontier, home):
            return False
        if self._sitemaps.not_before:
            self._new_facts.rest_until(self._sitemaps.not_before)
            await self._requester.stay_away(self._visit.domain, self._sitemaps.not_before - self._clock.now())
        self._put(Step(self._visit, facts=self._new_facts.facts(size=True)))
        return True

    async def _visit_page(self, page: Page, started_at: datetime) -> None:
        began = self._clock.monotonic()
        self._requester.sent.clear()
        try:
            outcome = await self._attempt(page)
        except TooEarly as early:
            due = page.due(self._clock.now() + early.wait)
            self._frontier.park(due)
            self._put(Step(self._visit, PageStep(due, PageState.PENDING)))
            return
        took = round((self._clock.monotonic() - began) * 1000)
        page = page.tried(_attempt_of(page, outcome, took, started_at, self._requester.sent))
        if isinstance(outcome, Trouble):
            self._frontier.skipped_rungs.failed(page.rung, outcome.reason)
        else:
            self._frontier.skipped_rungs.worked(page.rung)
        # Before the outcome is decided: a blocked IP address is noticed before pages move to stronger rungs for it.
        if not self._rung(page).is_paid:
            self._refusals.note(self._visit.domain, outcome)
        if silence := await self._breaker.note(page, outcome):
            self._new_facts.rest_until(self._clock.now() + silence)
        gathered = self._outcomes.gather(page, outcome) if isinstance(outcome, Document) else outcome
        del outcome  # the document, which is large: from here on the results may have to wait
        if isinstance(gathered, Gathered):
            if gathered.harvest.files:
                await self._files.keep(self._visit.job_id, page.key, gathered.harvest.files)
            await self._let_others_catch_up()
        await self._settler.room()
        # Nothing is awaited between the change of the frontier and the step to the settler, so they always agree.
        self._put_result(page, gathered)
        rest = self._wait_left(started_at)
        if rest:
            await self._requester.stay_away(self._visit.domain, rest - (self._clock.now() - started_at))

    async def _attempt(self, page: Page) -> Outcome:
        """Try once to fetch and read a page."""
        rung = self._rung(page)
        if futile := self._why_unused(rung):
            return futile
        try:
            response = await self._fetch_page(page, rung)
        except NoProvider as none:
            ladder = self._outcomes.ladder(page)
            # A server of the operator's own is optional: a job with another rung does not wait for it.
            is_offer = rung.is_own_server and rung.name != ladder.first.name
            if is_offer or ladder.beyond(rung.name):
                return none.error.trouble
            self._providers.note(self._visit.job_id, none.error.provider, none.error.trouble, heard=none.error.heard)
            raise
        except FetchError as error:
            return error.trouble
        if not isinstance(response, Response):
            return response
        try:
            return await self._read(page, response)
        except Exception as error:  # noqa: BLE001 - logged whole and kept with the page
            return our_mistake(page, error, response.status)

    def _fetch_page(self, page: Page, rung: Rung) -> Awaitable[Response | Moved | Trouble]:
        if page.request is not None:
            return self._fetch_requested(page, page.request, rung)
        return self._redirects.follow(page.url, partial(self._fetch, rung))

    def _why_unused(self, rung: Rung) -> Trouble | None:
        """Return the reason why a rung is no longer used for this site; None if it is used."""
        if rung.is_paid and not self._frontier.is_worth_paying:
            return Trouble(Reason.NOT_WORTH_PAYING, f"{MOST_IN_VAIN} paid pages of this site have failed")
        if rung.name in self._frontier.skipped_rungs.names:
            return Trouble(Reason.RUNG_SKIPPED, provider_title(provider_of(rung.name)))
        return None

    async def _let_others_catch_up(self) -> None:
        """Let other pages that have arrived reach the same point first.

        Parsing a page evicts everything else from the CPU cache. If all waiting pages are parsed one after the other,
        and then harvested one after the other, the code and data of each phase are loaded once, not once per page.
        """
        self._lease.answered = True
        await asyncio.sleep(0)
        self._lease.answered = False

    def _fetch(self, rung: Rung, url: str) -> Awaitable[Response]:
        accept = None if self._policy.any_kind else wants_body
        return self._requester.get(url, self._max_page_bytes, rung=rung, accept=accept)

    async def _fetch_requested(self, page: Page, asked: PageRequest, rung: Rung) -> Response | Moved | Trouble:
        """Fetch a page as its recipe requested it; redirects are followed only for plain GET requests."""
        policy = self._policy_of(page.step)
        accept = None if policy.any_kind or policy.json or rung.json else wants_body
        usual, self._requester.timeout = self._requester.timeout, policy.timeout or self._requester.timeout
        try:
            request = None if asked.is_plain else await self._request_of(asked)

            def ask(url: str) -> Awaitable[Response]:
                return self._requester.get(url, self._max_page_bytes, rung=rung, accept=accept, request=request)

            return await self._redirects.follow(page.url, ask, led=asked.is_plain)
        finally:
            self._requester.timeout = usual

    def _rung(self, page: Page) -> Rung:
        """Return the page's rung; one that is not known here (of a plug-in that is gone) is requested directly."""
        return self._rungs.get(page.rung) or RUNGS.get(page.rung, DIRECT)

    async def _read(self, page: Page, response: Response) -> Document | Trouble:
        policy = self._policy if page.request is None else self._policy_of(page.step)
        if policy.json or self._rung(page).json:
            return self._read_data(page, response)
        trouble = find_trouble(response)
        if trouble:
            return trouble  # at once: it may ask for a pause
        await self._let_others_catch_up()
        read = self._parse(response, policy)
        if isinstance(read, Trouble):
            return read
        if self._rules and page.request is None:
            found = self._rules.fields_now(read)
            if found is None:
                del read  # its tree is too large to be kept while it waits
                found = await self._extraction.fields(self._rules, response)
                read = self._parse(response, policy)
            if isinstance(found, Trouble) or isinstance(read, Trouble):
                return found if isinstance(found, Trouble) else read
            read = replace(read, fields=found)
        return self._bound.accept(page, read) or read

    def _read_data(self, page: Page, response: Response) -> Document | Trouble:
        """Read a response that is not a page; only the recipe can judge its value."""
        read = find_refusal(response) or json_document(response)
        return read if isinstance(read, Trouble) else self._bound.accept(page, read) or read

    def _parse(self, response: Response, policy: CrawlPolicy) -> Document | Trouble:
        read = parse_document(response)
        if not isinstance(read, Trouble):
            return find_flaw(read) or read
        return bare_document(response) if policy.any_kind and read.reason is Reason.NOT_HTML else read

    # Ending a slice

    def _hand_back(self, due_at: datetime) -> None:
        self._put(Step(self._visit, facts=self._new_facts.facts(size=True), ending=HandBack(due_at)))

    def _finish(self) -> None:
        state, trouble = self._frontier.outcome()
        self._end(Finished(state, trouble, self._frontier.retries))

    def _former_end(self) -> Finished | None:
        """Return the former ending of a site that was reopened only for a recipe's last requests."""
        return Finished(self._visit.before, again=True) if self._visit.before else None

    def _end(self, ending: Finished) -> None:
        """End the site if no lane has pages of it left; otherwise only this lane's visit rests."""
        told = (self._former_end() or ending) if self._frontier.is_over else Rested()
        if self._frontier.rendered and isinstance(told, Finished):
            said = rendering_sentence(self._visit.host, self._frontier.rendered, self._frontier.read)
            log.info("site.rendered", said=said)
        self._put(Step(self._visit, facts=self._new_facts.facts(size=True), ending=told))

    def _run_out_of_time(self) -> None:
        """End the visit because its time is over: its results count, the remaining pages are skipped."""
        minutes = f"{self._policy.visit_time // timedelta(minutes=1)} minutes"
        trouble = Trouble(Reason.PARTIAL_TIME, minutes)
        self._end_pages(partial(self._outcomes.skip, trouble=trouble), trouble)

    def _give_up_site(self, gone: Trouble) -> None:
        """End the visit because the site is down or refuses us: the remaining pages fail, and can be retried."""
        self._end_pages(partial(self._outcomes.give_up, trouble=gone), Trouble(Reason.PARTIAL_FAILED, gone.sentence))

    def _end_pages(self, end: Callable[[Page], Step], verdict: Trouble) -> None:
        while page := self._frontier.next(datetime.max.replace(tzinfo=self._clock.now().tzinfo)):
            self._put(end(page))
        state, found = self._frontier.outcome()
        self._end(Finished(state, found) if state is SiteState.FAILED else Finished(SiteState.PARTIAL, verdict))

    def _put_result(self, page: Page, outcome: Gathered | Moved | Trouble) -> None:
        """Pass a page's outcome to the settler, which has reserved room for it."""
        try:
            step = self._stamped(self._outcomes.step(page, outcome))
            step.failed = has_failed(page.attempts[-1])
            if self._learns:
                step.lesson = lesson(page.attempts[-1])
        except BaseException:
            self._settler.give_back()
            raise
        self._settler.put_result(step)
        if step.page:
            self._recipe_failures.note(self._visit.job_id, step.page)

    def _put(self, step: Step) -> None:
        self._settler.put(self._stamped(step))

    def _stamped(self, step: Step) -> Step:
        if self._lease.lost:
            raise Interrupted  # a worker that lost its lease writes nothing
        now = self._clock.monotonic()
        step.walked, self._marked = now - self._marked, now
        if self._requester.request_budget.charges:
            step.charges = self._requester.request_budget.take_charges()
        return step


def _attempt_of(page: Page, outcome: Outcome, took: int, at: datetime, sent: Sequence[int]) -> Attempt:
    if isinstance(outcome, Trouble):
        return Attempt(page.rung, outcome.http_status, outcome.reason.name, took, milliseconds(at), tuple(sent))
    return Attempt(page.rung, outcome.status, "", took, milliseconds(at), tuple(sent))
