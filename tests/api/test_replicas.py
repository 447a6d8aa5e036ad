"""Two servers on one Postgres are one to everybody else."""

from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests.api.conftest import Server, new_job, second_server, server

pytestmark = pytest.mark.xdist_group("api-replicas")

SETTINGS = {"GOSSAMER_API_KEY_RATE": "20", "GOSSAMER_API_SECRET": "the same for both of them, and long enough"}


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory, new_postgres: Callable[[], str]) -> Iterator[tuple[Server, Server]]:
    folder: Path = tmp_path_factory.mktemp("pair")
    settings = {**SETTINGS, "GOSSAMER_DATABASE_URL": new_postgres()}
    with (
        server(folder / "one", "--api-only", settings=settings) as one,
        second_server(one, folder / "two", "--api-only", settings=settings) as two,
    ):
        yield one, two


def test_idempotency_and_steering_are_shared(pair: tuple[Server, Server]) -> None:
    one, two = (here.client(right="submit", **{"Idempotency-Key": "once"}) for here in pair)
    with one, two:
        first, again = one.post("/v1/jobs", json=new_job()), two.post("/v1/jobs", json=new_job())
        assert first.status_code == again.status_code == 201
        assert first.json() == again.json()
        path = f"/v1/jobs/{first.json()['id']}"
        with one.stream("GET", f"{path}/live") as live:
            lines = live.iter_lines()
            assert next(lines) == "retry: 2000"
            assert two.post(f"{path}/cancel").json()["state"] == "cancelled"
            assert any(line == "event: end" for line in lines)


def test_requests_are_counted_together(pair: tuple[Server, Server]) -> None:
    with pair[0].client("other") as admin:
        key = {"X-API-Key": admin.post("/v1/keys", json={"name": "counted"}).json()["key"]}
    with httpx.Client(headers=key) as client:
        answers = [client.get(f"{pair[number % 2].url}/v1/account").status_code for number in range(24)]
        assert answers == [200] * 20 + [429] * 4
        with pair[1].client("other") as admin:
            (kept,) = (one for one in admin.get("/v1/keys").json()["items"] if one["name"] == "counted")
            admin.delete(f"/v1/keys/{kept['id']}")
        assert client.get(f"{pair[0].url}/v1/account").status_code == 401
