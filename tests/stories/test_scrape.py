"""`gossamer scrape` as a person types it: lines of JSON on one stream, everything else on the other."""

import csv
from io import StringIO
from pathlib import Path

import orjson
import pytest

from tests.stories.program import Terminal, quick_web


def test_pages_are_scraped_without_a_server_and_the_job_is_like_any_other(tmp_path: Path) -> None:
    with quick_web(tmp_path / "web", "--sites", "4", "--nasty", "0") as web:
        terminal = Terminal(tmp_path / "home", web, {"GOSSAMER_DOMAIN_RATE": "20"})
        domains = web.domains.read_text().split()
        urls = [f"http://{domain}/" for domain in domains] + [f"http://{domains[0]}/not-there"]
        listed, rules = tmp_path / "urls.txt", tmp_path / "rules.json"
        listed.write_text("\n".join(urls))
        rules.write_text('{"heading": "h1", "links": {"css": "a", "list": true, "fields": {"to": "a["}}}')

        # A rule that means nothing is named, and nothing is created.
        refused = terminal.type("scrape", urls[0], "--extract", str(rules), check=False)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert '--extract: the rule "links.to" has an invalid CSS selector' in refused.stderr
        assert terminal.ask("job", "list") == []

        rules.write_text('{"heading": "h1", "links": {"css": "a", "list": true, "fields": {"to": "@href"}}}')
        done = terminal.type(
            "scrape", "--file", str(listed), "--format", "markdown", "--extract", str(rules), check=False
        )
        rows = [orjson.loads(line) for line in done.stdout.splitlines()]
        assert [row["url"] for row in rows] == urls
        assert [row["status"] for row in rows] == ["done"] * len(domains) + ["failed"]
        assert (done.returncode, rows[-1]["error"]) == (1, "HTTP 404 Not Found")
        assert f"{len(domains)} of {len(urls)} pages read, 1 failed" in done.stderr
        assert all(row["markdown"] and row["extract"]["heading"] for row in rows[:-1])
        asked = {one["path"] for one in map(orjson.loads, web.log.read_bytes().splitlines())}
        assert asked == {"/", "/not-there", "/robots.txt"}

        (job,) = terminal.ask("job", "list")
        terminal.assert_clean(job["id"])
        assert [row["status"] for row in terminal.ask("job", "results", job["id"])].count("done") == len(domains)
        assert [row["url"] for row in terminal.ask("job", "errors", job["id"])] == [urls[-1]]
        table = terminal.type("job", "export", job["id"], "--format", "csv", "--output", "-").stdout
        assert sorted(row["url"] for row in csv.DictReader(StringIO(table))) == sorted(urls)
        assert "no summary" in terminal.type("job", "summary", job["id"], check=False).stderr
        only, whole = (terminal.type("scrape", urls[0], "--plain", *more).stdout for more in ((), ("--whole-page",)))
        assert len(only) < len(whole)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "There is no address to fetch."),
        (("ftp://a.test/",), "is not a web address"),
        (("https://a.test/", "--format", "screenshot"), "A screenshot needs the browser lane"),
        (("https://a.test/", "https://b.test/", "--plain"), "--plain is for one page in one format"),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_is_fetched(
    tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    refused = Terminal(tmp_path / "home").type("scrape", *arguments, check=False)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert said in refused.stderr
