"""The toy recipe at work."""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import orjson

from gossamer.model.document import Document
from gossamer.model.job import CrawlPolicy
from gossamer.model.page import Page
from gossamer.model.recipe import FIRST, LAST_LIKE_IT, Bound, Comparison, Concluded, Cursor, JobRows
from gossamer.model.record import FIRST_STEP, Follow, Harvest, Record, Value
from gossamer.model.trouble import Reason, Trouble
from tests.toy_recipe.params import ToyParams

_READ = 1_000  # rows of one look


class BoundToy(Bound):
    def __init__(self, params: ToyParams) -> None:
        self._params = params
        self._ladder = params.rungs

    def seeds(self) -> Iterable[Follow]:
        """One request per area, all of them to one address."""
        return [self._area(area, 0) for area in self._params.areas]

    def _area(self, area: str, part: int) -> Follow:
        key = (("X-Key", "{secret}"),) if self._params.credential else ()
        return Follow(
            self._params.source,
            "source",
            method="POST",
            headers=(("Content-Type", "application/json"), *key),
            body=orjson.dumps({"area": area, "part": part}),
            credential=self._params.credential,
            identity=f"{area}/{part}",
            carry={"area": area, "part": part},
        )

    def policy(self, step: str = FIRST_STEP) -> CrawlPolicy:
        match step:
            case "source":
                return CrawlPolicy(ladder=self._ladder, json=True)
            case "shop":
                return CrawlPolicy(ladder=self._ladder, depth=2, pages_per_site=5)
        return CrawlPolicy(ladder=self._ladder, depth=0)

    def accept(self, page: Page, doc: Document) -> Trouble | None:
        if page.step == "source" and not isinstance(doc.data.get("shops"), list):
            return Trouble(Reason.UNAVAILABLE, http_status=doc.status)
        if page.step == "shop" and "|" not in doc.title:
            return Trouble(Reason.FIELD_MISSING, "price", doc.status)
        return None

    def harvest(self, page: Page, doc: Document) -> Harvest:
        if page.step == "source":
            carry = {"area": page.carry["area"]}
            follows = [Follow(url, "shop", carry=carry) for url in doc.data["shops"]]
            if doc.data.get("more"):
                follows.append(self._area(str(page.carry["area"]), int(page.carry["part"]) + 1))
            return Harvest(follows=tuple(follows))
        name, _, price = doc.title.partition("|")
        data: dict[str, Value] = {"url": page.url, "name": name, "price": int(price), **page.carry}
        return Harvest((Record("sighting", (page.url,), data),))

    # When the walk is over

    def comparison(self) -> Comparison:
        wanted = self._params.compare_with
        return Comparison("" if wanted == "none" else LAST_LIKE_IT if wanted == "last" else wanted)

    def last_call(self, rows: JobRows) -> Iterable[Follow]:
        """Shops of the job before that nothing has led to this time."""
        baseline, after, left = rows.baseline(), FIRST, self._params.again
        while baseline and left:
            some = baseline.records("sighting", after, _READ)
            here = {page.url for page in _pages(rows)} if some else set()
            time.sleep(self._params.pause)
            for one in some:
                if left and str(one.data["url"]) not in here:
                    left -= 1
                    yield Follow(str(one.data["url"]), "shop", carry={"area": one.data["area"]})
            if len(some) < _READ:
                return
            after = some[-1].key

    def conclude(self, rows: JobRows, after: Cursor) -> Iterator[Concluded]:
        """Sightings of one name are one shop, in the order of the names; the cursor is the last name written."""
        baseline = rows.baseline()
        before = _shops(baseline) if baseline else {}
        now = _shops(rows)
        names = sorted({*now, *before})
        note = f"comparing with the job of {baseline.created_at:%d %b}" if baseline else "merging shops"
        left = [name for name in names if name > after]
        for start in range(0, len(left), self._params.batch):
            some = left[start : start + self._params.batch]
            time.sleep(self._params.pause)
            done = len(names) - len(left) + start + len(some)
            merged = [_shop(name, now.get(name), before.get(name)) for name in some]
            yield Concluded(merged, some[-1], note, done, len(names))


def _pages(rows: JobRows) -> Iterator[Page]:
    after = FIRST
    while some := rows.pages(after, _READ):
        yield from (Page.at(one.url) for one in some)
        after = some[-1].key


@dataclass
class Shop:
    """All sightings of one name."""

    areas: set[str] = field(default_factory=set)
    price: int = 0
    pages: int = 0


def _shops(rows: JobRows) -> dict[str, Shop]:
    found: dict[str, Shop] = {}
    after = FIRST
    while some := rows.records("sighting", after, _READ):
        for one in some:
            shop = found.setdefault(str(one.data["name"]), Shop())
            shop.areas.add(str(one.data["area"]))
            shop.price = max(shop.price, int(str(one.data["price"])))
            shop.pages += 1
        after = some[-1].key
    return found


def _shop(name: str, now: Shop | None, before: Shop | None) -> Record:
    was = before.price if before else None
    price = now.price if now else None
    change = "gone" if now is None else "new" if was is None else "same" if was == price else "changed"
    areas, pages = ("+".join(sorted(now.areas)), now.pages) if now else ("", 0)
    data = {"name": name, "areas": areas, "price": price, "pages": pages, "change": change, "price_before": was}
    return Record("shop", (name, areas), data)
