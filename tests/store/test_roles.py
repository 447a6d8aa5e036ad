"""The SQL for two roles: names are checked before they stand in it. What the roles can do is a story of its own."""

import pytest

from gossamer.db.postgres import roles_sql
from gossamer.errors import UserError


@pytest.mark.parametrize("name", ["", "Owner", "a b", "x;DROP", "1st", "a" * 64, 'q"uote', "ünder"])
def test_names_that_need_quotes_are_refused(name: str) -> None:
    for names in ((name, "worker", "public"), ("owner", name, "public"), ("owner", "worker", name)):
        with pytest.raises(UserError, match="cannot be used") as refused:
            roles_sql(*names)
        assert refused.value.code == "roles.name"


def test_two_roles_are_two() -> None:
    with pytest.raises(UserError, match="cannot be both"):
        roles_sql("same", "same", "public")


def test_no_name_but_ours_is_in_it() -> None:
    text = roles_sql("one", "two", "three")
    assert "gossamer_owner" not in text
    assert "public" not in text
    assert "GRANT USAGE ON SCHEMA three TO two" in text
