"""The tables of a toy job."""

from gossamer.recipes.tables import COSTS, ERRORS, PAGES, table_of
from tests.toy_recipe import SHOP

TABLES = (table_of(SHOP, "shops"), ERRORS, PAGES, COSTS)
