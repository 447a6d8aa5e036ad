"""A toy job at a glance: what is counted and ranked of its shops."""

from collections import Counter
from typing import Any

from gossamer.db.database import Database
from gossamer.recipes.base import Also, Column, Lines, TableQuery
from gossamer.recipes.overview import (
    Best,
    BestColumn,
    FrequencyTable,
    FrontSheet,
    Overview,
    PageSummary,
    ScreenSummary,
    ScreenTable,
    SummaryAnswer,
    read_overview,
)
from tests.toy_recipe import SHOP
from tests.toy_recipe.tables import SHOPS

_ABOUT = "Shops by area"


class ToySurvey:
    """The shops of one job, the most expensive first."""

    def __init__(self, database: Database, asked: TableQuery) -> None:
        self._database = database
        self._asked = asked
        self._shops: list[dict[str, Any]] = []
        self._changes: Counter[str] = Counter()

    async def read(self, also: Also | None = None) -> Overview:
        async for some in SHOPS.lines(self._database, TableQuery(self._asked.job, SHOP.columns)):
            self._shops += [dict(zip(SHOP.names, line, strict=True)) for line in some]
            if also:
                await also(some)
        self._changes.update(str(shop["change"]) for shop in self._shops)
        self._shops.sort(key=lambda shop: (-(shop["price"] or 0), shop["name"]))
        return await read_overview(self._database, self._asked)

    async def ranked(self, columns: tuple[Column, ...]) -> Lines:
        yield [[shop[column.name] for column in columns] for shop in self._shops]

    @property
    def ranked_count(self) -> int:
        return len(self._shops)

    @property
    def _counts(self) -> tuple[FrequencyTable, ...]:
        return (FrequencyTable("Shops by change", tuple(sorted(self._changes.items()))),)

    def screen(self) -> ScreenSummary:
        rows = tuple((shop["name"], str(shop["price"]), shop["areas"]) for shop in self._shops[:5])
        best = ScreenTable(("Dearest shops", "Price", "Areas"), rows, (40, 8, 60), (14, 5, 5))
        return ScreenSummary(f"{len(self._areas)} areas", ("Shops", str(len(self._shops))), self._counts, best)

    def page(self, client: str = "") -> PageSummary:
        columns = (BestColumn("Shop", "name"), BestColumn("Price", label="price"))
        rows = tuple(((shop["name"], shop["change"]), shop["price"]) for shop in self._shops[:10])
        return PageSummary(
            _ABOUT,
            "shops",
            (("shops", len(self._shops)),),
            (("Areas", ", ".join(self._areas)), ("For", client)) if client else (("Areas", ", ".join(self._areas)),),
            self._counts,
            Best("The dearest shops", "By their highest price.", columns, rows),
        )

    def front(self, client: str = "", only: str = "") -> FrontSheet:
        found = (("Shops", len(self._shops)),)
        return FrontSheet(
            _ABOUT, (("Areas", ", ".join(self._areas)),), found, self._counts, ("Shops: one line each.",), "Prices"
        )

    def answer(self) -> SummaryAnswer:
        return SummaryAnswer({"areas": self._areas}, {}, {"shops": len(self._shops)}, {"dearest": self._shops[:3]})

    @property
    def _areas(self) -> list[str]:
        return list(self._asked.job.params["areas"])
