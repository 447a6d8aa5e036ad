"""Development mode: no key on this machine, nothing for others, and the documents' samples as they stand."""

import asyncio
import os
import ssl
from pathlib import Path
from uuid import UUID

import httpx
import pytest

from gossamer.api.development import take_samples
from gossamer.settings import Settings
from tests.api.conftest import Server, server
from tests.api.town import town
from tests.stories.test_api_page import certificate

# The blocks of variables in the documents, as they are printed there.
BLOCKS = {
    "business search": """
# Database
DATABASE_URL=postgresql://user:pass@host/db
DATABASE_POOL_SIZE=20

# Redis
REDIS_URL=redis://redis:6379

# Celery
CELERY_BROKER_URL=redis://redis:6379/0
CELERY_RESULT_BACKEND=redis://redis:6379/1

# Proxy Provider
PROXY_PROVIDER=brightdata
PROXY_API_KEY=your_key_here

# Security
SECRET_KEY=your_secret_key
JWT_ALGORITHM=HS256

# Monitoring
SENTRY_DSN=your_sentry_dsn
""",
    "web scraper, api": """
      DATABASE_URL: postgresql://scraper:scraper@postgres:5432/scraper
      REDIS_URL: redis://redis:6379/0
      FLARESOLVERR_URL: http://flaresolverr:8191
""",
    "web scraper, settings": """
DATABASE_URL=postgresql://scraper:scraper@localhost:5432/scraper
REDIS_URL=redis://localhost:6379/0
CORS_ORIGINS=["http://localhost:3000"]
ADMIN_TOKEN=dev-admin-token
S3_ENDPOINT=http://localhost:9000
S3_BUCKET=scraper-artifacts
S3_ACCESS_KEY=minioadmin
S3_SECRET_KEY=minioadmin
""",
}


@pytest.mark.parametrize("block", BLOCKS)
def test_the_blocks_of_the_documents_are_accepted(block: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("GOSSAMER_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GOSSAMER_HOME", str(tmp_path))
    lines = [line.strip() for line in BLOCKS[block].splitlines() if line.strip() and not line.startswith("#")]
    given = dict(line.split("=" if "=" in line.partition("//")[0] else ": ", 1) for line in lines)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    token = take_samples(os.environ)
    settings = Settings()
    assert settings.database_url is not None
    assert settings.database_url.get_secret_value() == given["DATABASE_URL"]
    assert settings.redis_url is not None
    assert token == given.get("ADMIN_TOKEN", "")
    if "CORS_ORIGINS" in given:
        assert settings.api_cors == ("http://localhost:3000",)
        assert settings.storage_url == "s3://scraper-artifacts"
    if "SECRET_KEY" in given:
        assert settings.api_secret is not None
        assert settings.api_secret.get_secret_value() != given["SECRET_KEY"]


@pytest.mark.parametrize("given", ["https://a.test,http://b.test:3000", '["https://a.test", "http://b.test:3000"]'])
def test_origins_are_a_list_of_json_or_separated_by_commas(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CORS_ORIGINS", given)
    assert Settings().api_cors == ("https://a.test", "http://b.test:3000")


async def _test_full_job_pipeline(address: str) -> str:
    """The document's own test, up to its exports; its client is open to the end, and listens elsewhere."""
    async with httpx.AsyncClient() as client:
        response = await client.post(
            f"{address}/api/jobs",
            json={
                "sitemap_urls": ["https://example.com/product1", "https://example.com/product2"],
                "options": {"domain": "example.com", "max_concurrency": 1},
            },
        )
        assert response.status_code == 201
        job = response.json()
        job_id: str = job["id"]
        for _ in range(60):
            await asyncio.sleep(1)
            response = await client.get(f"{address}/api/jobs/{job_id}")
            job = response.json()
            if job["status"] in ["succeeded", "failed"]:
                break
        assert job["status"] == "succeeded"
        assert job["success_urls"] >= 1
    return job_id


def test_the_test_of_the_document_passes_in_development(tmp_path: Path) -> None:
    chain, key = certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain, key)
    with town(context) as port:
        settings = {"GOSSAMER_CONNECT_TO": f"example.com=127.0.0.1:{port}", "GOSSAMER_CA_FILE": str(chain)}
        samples = {"SECRET_KEY": "your_secret_key", "ADMIN_TOKEN": "dev-admin-token"}
        arguments = {**settings, **samples, "GOSSAMER_PROCESSES": "1"}
        with server(tmp_path / "home", "--dev", settings=arguments) as one:
            job = asyncio.run(_test_full_job_pipeline(one.url))
            assert str(UUID(job)) == job
            said = (one.home / "said.txt").read_text()
            assert "Development mode: no key is needed here, and pages of http://localhost:3000 may ask." in said
            assert "gsk_" not in said
            _nobody_else_is_let_in(one)


def _nobody_else_is_let_in(one: Server) -> None:
    with one.stranger() as client:
        assert client.get("/v1/jobs").status_code == 200
        assert client.get("/v1/jobs", headers={"Authorization": "Bearer dev-admin-token"}).status_code == 200
        page = client.get("/v1/jobs", headers={"Origin": "http://localhost:3000"})
        assert (page.status_code, page.headers["access-control-allow-origin"]) == (200, "http://localhost:3000")
        # A wrong key is wrong, a page of somebody else may not ask, and a name that was made to lead here neither.
        assert client.get("/v1/jobs", headers={"Authorization": "Bearer gsk_wrong"}).status_code == 401
        assert client.get("/v1/jobs", headers={"Origin": "https://evil.example"}).status_code == 401
        assert client.get("/v1/jobs", headers={"Host": "evil.example:8000"}).status_code == 401
        # Pages of other programs on this machine, what pages embed without a name, origins that are none, and proxies.
        host = client.base_url.netloc.decode()
        refused = [
            {"Origin": "http://localhost:9"},
            {"Origin": "null"},
            {"Origin": "http://[::1"},
            {"Origin": "http://["},
        ]
        refused += [{"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors"}]
        refused += [{"X-Forwarded-For": "203.0.113.7"}, {"Via": "1.1 proxy"}, {"Host": "127.0.0.1.evil.example"}]
        for headers in refused:
            assert client.get("/v1/jobs", headers=headers).status_code == 401, headers
            assert client.get("/api/v1/", params={"url": "http://a.test/"}, headers=headers).status_code == 401, headers
        for headers in ({"Origin": f"http://{host}"}, {"Sec-Fetch-Site": "none"}, {"Host": "localhost:8000"}):
            assert client.get("/v1/jobs", headers=headers).status_code == 200, headers


def test_development_is_refused_where_others_could_ask(tmp_path: Path) -> None:
    said = r"--dev is for this machine alone, and 0\.0\.0\.0 can be reached from others"
    with pytest.raises(AssertionError, match=said), server(tmp_path / "home", "--dev", "--host", "0.0.0.0"):
        pass
