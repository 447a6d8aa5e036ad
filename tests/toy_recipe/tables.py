"""The tables of a toy job."""

from gossamer.recipes.tables import COSTS, ERRORS, PAGES, table_of
from tests.toy_recipe import SHOP

SHOPS = table_of(SHOP, "shops")

TABLES = (SHOPS, ERRORS, PAGES, COSTS)
