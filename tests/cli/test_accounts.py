"""The commands about accounts, users and keys."""

import io
import sys
from datetime import timedelta
from pathlib import Path

import orjson
import pytest

from gossamer.accounts import queries as account_queries
from gossamer.accounts.service import digest_of
from gossamer.app import open_app
from gossamer.cli import accounts
from gossamer.cli.here import LocalHome
from gossamer.errors import UserError
from gossamer.model.account import Right
from gossamer.settings import Settings


async def test_an_account_gets_a_key_that_is_shown_once_and_revoked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with open_app(Settings(home=tmp_path)) as app:
        await accounts.create_account(app, "acme", "Acme Inc.", as_json=False)
        assert "Account acme was made." in capsys.readouterr().out
        with pytest.raises(UserError, match="There is an account 'acme' already"):
            await accounts.create_account(app, "acme", "Acme Inc.", as_json=False)
        with pytest.raises(UserError, match="cannot be the id"):
            await accounts.create_account(app, "Acme Inc.", "Acme", as_json=False)
        await accounts.make_new_key(LocalHome(app), "acme", "nightly", Right.READ, as_json=True)
        made = orjson.loads(capsys.readouterr().out)
        held = await app.database.read(account_queries.key_holder, digest_of(made["key"]))
        assert held is not None
        assert (held.account, held.right) == ("acme", Right.READ)
        await accounts.show_keys(LocalHome(app), "acme", as_json=False)
        listed = capsys.readouterr().out
        assert "nightly" in listed
        assert made["key"] not in listed
        await accounts.revoke_one(LocalHome(app), made["id"][-8:], as_json=False)
        assert "is revoked" in capsys.readouterr().out
        assert await app.database.read(account_queries.key_holder, digest_of(made["key"])) is None
        with pytest.raises(UserError, match="fits no key"):
            await accounts.revoke_one(LocalHome(app), "00000000", as_json=False)
        with pytest.raises(UserError, match="There is no account 'nobody'"):
            await accounts.make_new_key(LocalHome(app), "nobody", "x", Right.READ, as_json=False)


async def test_limits_are_set_and_an_account_is_closed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with open_app(Settings(home=tmp_path)) as app:
        await accounts.create_account(app, "acme", "Acme Inc.", as_json=False)
        await accounts.change_account(app, "acme", {"credits": 500, "running_jobs": None}, closed=True, as_json=False)
        capsys.readouterr()
        await accounts.show_accounts(app, as_json=True)
        acme, default = orjson.loads(capsys.readouterr().out)
        assert (acme["id"], acme["credits"], bool(acme["closed_at"])) == ("acme", 500, True)
        assert (default["id"], default["credits"], default["closed_at"]) == ("default", None, None)
        with pytest.raises(UserError, match="Nothing to change"):
            await accounts.change_account(app, "acme", {"credits": None}, closed=None, as_json=False)


async def test_a_user_is_made_with_a_password_from_standard_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async with open_app(Settings(home=tmp_path)) as app:
        monkeypatch.setattr(sys, "stdin", io.StringIO("short\n"))
        with pytest.raises(UserError, match="A password has 12 to"):
            await accounts.create_user(app, "default", "ann@acme.test", Right.ADMIN, as_json=False)
        monkeypatch.setattr(sys, "stdin", io.StringIO("a sentence that only ann says\n"))
        await accounts.create_user(app, "default", " Ann@acme.test", Right.ADMIN, as_json=False)
        assert "ann@acme.test can log in to default." in capsys.readouterr().out
        found = await app.database.read(account_queries.user_by_email, "ann@acme.test")
        assert found is not None
        assert found[1].startswith("$argon2id$")
        login = await app.database.write(
            account_queries.begin_login, found[0].id, b"one", app.clock.now() + timedelta(days=1)
        )
        monkeypatch.setattr(sys, "stdin", io.StringIO("another sentence of hers\n"))
        await accounts.change_password(app, "ann@acme.test", as_json=False)
        changed = await app.database.read(account_queries.user_by_email, "ann@acme.test")
        assert changed is not None
        assert changed[1] != found[1]
        assert await app.database.read(account_queries.get_login, login) is None
        with pytest.raises(UserError, match="No user logs in as 'bob"):
            await accounts.change_password(app, "bob@acme.test", as_json=False)
