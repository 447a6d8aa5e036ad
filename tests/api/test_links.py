"""A signed link fetches one file until it is over, without a key; nothing else of the folder can be had or seen."""

import asyncio
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import httpx
import pytest

from gossamer.blobs.atomic_files import make_secret
from gossamer.blobs.folder import SERVED, FolderBlobs
from gossamer.clock import FrozenClock
from tests.api.conftest import Server, new_job, server
from tests.stories.program import until as until_it

pytestmark = pytest.mark.xdist_group("api")  # they share a server


def signed(home: Path, key: str, expires: timedelta) -> str:
    """By the server's own secret, as it would itself."""
    folder = FolderBlobs(home / "files", make_secret(home / "secret"), FrozenClock(datetime.now(UTC)))
    return asyncio.run(folder.link(key, expires))


def test_a_link_fetches_its_file_and_nothing_else_until_it_is_over(api: Server) -> None:
    with api.client() as owner, api.stranger() as stranger:
        path = f"/v1/jobs/{owner.post('/v1/jobs', json=new_job()).json()['id']}"
        (made,) = owner.post(f"{path}/exports", json={"format": "csv"}).json()["items"]
        assert made["link"] is None
        # The server makes it itself: it works no jobs, and no worker could put a file where it has its own.
        until_it(partial(_is_done, owner, f"{path}/exports/{made['id']}"))
        export = owner.get(f"{path}/exports/{made['id']}").json()
        assert export["partial"]
        assert "-partial." in export["name"]
        link = export["link"]
        assert link.startswith(f"{api.url}{SERVED}exports/")
        assert stranger.get(export["url"]).status_code == 401

        got = stranger.get(link)
        assert got.status_code == 200
        assert got.content == owner.get(export["url"]).content
        assert got.content.startswith(b"domain,url,keyword,")
        assert got.headers["content-disposition"] == f'attachment; filename="{export["name"]}"'
        assert (got.headers["cache-control"], got.headers["x-robots-tag"]) == ("no-store", "noindex")
        assert stranger.get(link, headers={"Range": "bytes=0-5"}).content == b"domain"

        bare, _, query = link.removeprefix(api.url).partition("?")
        key = bare.removeprefix(SERVED)
        until = query.partition("&")[0].removeprefix("expires=")
        week = f"{SERVED}{key}?expires={until}"
        refused = [
            bare,
            week,
            f"{week}&signature={'0' * 64}",
            f"{week}&signature=",
            link.replace(f"expires={until}", f"expires={int(until) + 1}"),
            link.replace(f"expires={until}", f"expires=0{until}"),
            link.replace(f"expires={until}", "expires=x"),
            link[:-1] + ("0" if link[-1] != "0" else "1"),
            link.replace(".csv", ".json"),
            link.replace(key, f"{key.rpartition('/')[0]}"),
            link.replace(key, "%2e%2e/gossamer.db"),
            link.replace(key, "/etc/passwd"),
            signed(api.home, key, timedelta(seconds=-1)),
            signed(api.home, key, timedelta(days=-30)),
            SERVED,
            f"{SERVED}exports",
            f"{SERVED}exports/",
            f"{bare.rpartition('/')[0]}/",
        ]
        for address in refused:
            answer = stranger.get(address)
            assert (answer.status_code, answer.headers["content-type"]) == (403, "application/problem+json"), address
            assert answer.json()["code"] == "link.refused"
        folder = signed(api.home, "exports", timedelta(hours=1))
        for address in (SERVED.rstrip("/"), link.replace(key, "../gossamer.db"), folder):
            answer = stranger.get(address)
            assert answer.status_code in (404, 410), address
            assert key.split("/")[1] not in answer.text  # a folder is nothing, whoever has signed it
        assert stranger.get(signed(api.home, key, timedelta(minutes=1))).status_code == 200
        assert stranger.post(link).status_code == 405

        owner.post(f"{path}/cancel")
        assert owner.delete(path).status_code == 200
        gone = stranger.get(link)
        assert (gone.status_code, gone.json()["code"]) == (410, "link.gone")
        assert not list((api.home / "files").rglob(key.rpartition("/")[2]))


def _is_done(owner: httpx.Client, path: str) -> bool:
    return bool(owner.get(path).json()["state"] == "done")


def test_links_are_not_made_of_what_a_request_calls_us(tmp_path: Path) -> None:
    trusting = {"GOSSAMER_API_TRUSTED_PROXIES": "127.0.0.0/8"}
    named = {"GOSSAMER_API_URL": "https://crawl.example.com", **trusting}
    lies = {"Host": "evil.example", "X-Forwarded-Host": "proxy.example:8443", "X-Forwarded-Proto": "https"}
    for name, settings in (("plain", {}), ("proxied", trusting), ("named", named)):
        with server(tmp_path / name, "--api-only", settings=settings) as one, one.client() as owner:
            expected = {"plain": one.url, "proxied": "https://proxy.example:8443", "named": "https://crawl.example.com"}
            page = {"urls": ["http://a.test/"]}
            started = owner.post("/firecrawl/v2/batch/scrape", json=page, headers=lies).json()
            assert started["url"].startswith(f"{expected[name]}/firecrawl/v2/batch/scrape/"), name
            path = f"/v1/jobs/{started['id']}/exports"
            (made,) = owner.post(path, json={"type": "pages", "format": "csv"}).json()["items"]
            until_it(partial(_is_done, owner, f"{path}/{made['id']}"))
            link = owner.get(f"{path}/{made['id']}", headers=lies).json()["link"]
            assert link.startswith(f"{expected[name]}{SERVED}exports/"), name
            if name == "proxied":  # a proxy that says nothing of its own passes the name on
                bare = owner.get(f"{path}/{made['id']}", headers={"Host": "crawl.example"}).json()["link"]
                assert bare.startswith("http://crawl.example/")
