"""A laptop without a database: every command goes to the server, and says what it would say there."""

import re
import signal
import stat
import time
from collections.abc import Iterator
from inspect import signature
from pathlib import Path
from typing import Any

import orjson
import pytest

from gossamer.api.questions import QUESTIONS
from tests import warm
from tests.api.conftest import Server, new_job, server
from tests.stories.program import LONGEST, Terminal, Web, finish, quick_web, until

pytestmark = pytest.mark.xdist_group("api")  # they share a server


class Laptop(Terminal):
    """Somebody's own machine: whatever here tries to reach a database fails."""

    def environment(self) -> dict[str, str]:
        own = {
            "GOSSAMER_HOME": "/dev/null/nowhere",
            "GOSSAMER_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/nothing",
            "XDG_CONFIG_HOME": str(self.home / "config"),
            "COLUMNS": "120",
        }
        return {**super().environment(), **own, **self.settings}

    def log_in(self, one: Server, account: str = "default", right: str = "admin") -> str:
        (self.home / "key.txt").write_text(one.keys[account][right] + "\n")
        return self.type("login", one.url, "--key-file", str(self.home / "key.txt")).stdout

    def refused(self, *arguments: str) -> str:
        """The one sentence of a command that cannot do what it was asked."""
        done = self.type(*arguments, check=False)
        said = [line for line in done.stderr.splitlines() if not line.startswith("Server: ")]
        assert (done.returncode in (1, 2), len(said), done.stdout) == (True, 1, ""), (done, said)
        return said[0]


def there(one: Server) -> Terminal:
    """The machine of the server, and somebody who types there."""
    own = {"GOSSAMER_DOMAIN_RATE": "50", "COLUMNS": "120"}
    return Terminal(one.home, one.web, own)


def plain(text: str) -> str:
    """Without what passes while one looks."""
    passing = r'\b(\d+ (s|min) ago|just now)|\(expires in [^)]*\)|"domains_per_hour": [\d.]+|"as_of": "[^"]*"'
    return re.sub(passing, "-", text)


@pytest.fixture(scope="module")
def rows(working: Server) -> str:
    """A job that is over, with all that can be looked at."""
    with working.client() as client:
        assert working.web
        listed = orjson.loads(working.web.truth.read_bytes())["sites"]
        domains = [site["listed_as"] for site in listed if not site["crawl_delay"]]
        params = {"keywords": ["CRM", "e-commerce"], "client_domains": ["acme.test"], "top_pages": 6}
        job = client.post("/v1/jobs", json=new_job(name="Looked at", domains=domains, params=params)).json()["id"]
        while client.get(f"/v1/jobs/{job}").json()["state"] != "completed":
            time.sleep(0.1)
        while any(one["state"] in ("pending", "running") for one in _exports(client, job)):
            time.sleep(0.1)
    return str(job)


def _exports(client: Any, job: str) -> Any:
    return client.get(f"/v1/jobs/{job}/exports").json()["items"]


LOOKS = (
    "job status JOB",
    "job list --limit 3",
    "job list --recipe prospect --state completed --name look",
    "job sites JOB",
    "job sites JOB --state failed",
    "job pages JOB --limit 7",
    "job pages JOB --limit 2000",
    "job pages JOB --state skipped --site SITE",
    "job results JOB --limit 5",
    "job results JOB --verdict unlinked --page 2 --limit 3",
    "job results JOB --page 400",
    "job summary JOB",
    "job summary JOB --since-job JOB --without-costs",
    "job politeness JOB",
    "job audit JOB",
    "job history JOB --limit 4",
    "job history JOB --site SITE",
    "job errors JOB",
    "job errors JOB --by-hand",
    "job errors JOB --format csv",
    "job cost-report JOB",
    "job cost-report JOB --output -",
    "job export JOB --format jsonl --columns domain,url --output -",
    "job export JOB --type prospects --since-job JOB --exclude-domains EXCLUDED --output -",
    "job exports JOB",
    "job watch JOB",
    "job forget --domain SITE --job JOB --dry-run",
    "explain SITE --job JOB",
    "explain SITE/nowhere --job JOB",
    "system workers",
    "system cluster-settings",
    "system queue-status",
    "system backlog",
    "system alerts",
    "system alerts --all",
    "system credits",
    "system dead-letters list",
    "system retention",
    "system keys list",
    "system keys list --account other",
)
NOT_IN_JSON = ("--output", "--format csv", "job watch", "job exports")  # links to files are others on another machine


def test_a_command_says_the_same_here_and_there(working: Server, rows: str, tmp_path: Path) -> None:
    laptop, machine = Laptop(tmp_path), there(working)
    laptop.log_in(working)
    assert working.web
    (tmp_path / "excluded.txt").write_text("site-0002.test\n")
    names = {"JOB": rows, "SITE": "site-0003.test", "EXCLUDED": str(tmp_path / "excluded.txt")}
    for look in LOOKS:
        words = [re.sub("|".join(names), lambda found: names[found[0]], word) for word in look.split()]
        far, near = laptop.type(*words, check=False), machine.type(*words, check=False)
        assert plain(far.stdout) == plain(near.stdout) != "", look
        assert far.returncode == near.returncode, look
        assert far.stderr == f"Server: {working.url}\n{near.stderr}", look
        if not any(part in look for part in NOT_IN_JSON):
            far, near = (one.type(*words, "--json", check=False) for one in (laptop, machine))
            assert (plain(far.stdout), far.stderr) == (plain(near.stdout), ""), look
    for name in ("results.xlsx", "results.parquet"):
        laptop.type("job", "export", rows, "--output", str(tmp_path / name))
        assert (tmp_path / name).stat().st_size > 1_000
    laptop.type("job", "summary", rows, "--html", str(tmp_path / "report.html"))
    assert "Looked at" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert not list(Path(tmp_path).rglob("*.db"))


def test_files_are_made_there_and_can_be_fetched_by_their_links(working: Server, rows: str, tmp_path: Path) -> None:
    laptop = Laptop(tmp_path)
    laptop.log_in(working)
    said = laptop.type("job", "export", rows, "--format", "csv,json", "--wait")
    links = re.findall(r"Export ready: (\S+) \(expires in 7 days\)", said.stdout)
    assert len(links) == 2
    with working.stranger() as anybody:
        assert [anybody.get(link).status_code for link in links] == [200, 200]
    started = laptop.type("job", "export", rows, "--format", "csv").stdout
    assert started.startswith("Export started.")
    assert links[0].rpartition("/")[0].partition("/v1/")[0] == working.url
    assert "Export ready" in laptop.type("job", "export-status", rows, "--wait").stdout
    assert laptop.type("job", "export-cancel", rows).stdout == "No file is being made.\n"


def test_a_job_is_named_renamed_and_run_again_from_afar(working: Server, tmp_path: Path) -> None:
    laptop = Laptop(tmp_path, working.web)
    laptop.log_in(working)
    job = _unstarted(laptop)
    assert laptop.ask("job", "rename", job, "From afar")["name"] == "From afar"
    assert laptop.ask("job", "status", "from afar")["short_id"] == job
    again = laptop.ask("job", "rerun", "From afar", "--no-auto-start")
    assert (again["name"], again["state"]) == ("From afar (2)", "pending")
    assert laptop.ask("job", "status", "last")["id"] == again["id"]
    former, now = (laptop.ask("job", "status", one) for one in (job, again["id"]))
    assert now["params"] == former["params"]
    assert now["domains"]["total"] == former["domains"]["total"]
    assert "There is no job" in laptop.refused("job", "status", "ffffffff")


def test_every_question_is_asked_by_some_command() -> None:
    """And so by the tests of commands: one that nobody asks would be a way in that nobody looks at."""
    source = Path(__file__).parents[2] / "src" / "gossamer" / "cli"
    text = "\n".join(path.read_text() for path in source.glob("*.py"))
    assert [
        name for name in QUESTIONS if not re.search(rf"\bask\(\s*(\w+\.)?({name}|question)\b|ask\({name}", text)
    ] == []


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Web]]:
    """A server that takes its time, so that there is something to pause."""
    folder = tmp_path_factory.mktemp("slow")
    with quick_web(folder / "web", "--sites", "4") as web:
        settings = {"GOSSAMER_DOMAIN_RATE": "2"}
        with server(folder / "home", "--processes", "1", settings=settings, web=web) as one:
            yield one, web


def test_a_job_is_run_watched_paused_resumed_and_taken_home(slow: tuple[Server, Web], tmp_path: Path) -> None:
    one, web = slow
    laptop = Laptop(tmp_path, web)
    said = laptop.log_in(one)
    assert said.startswith(f"Logged in to {one.url}, account default.\n")
    assert "--local" in said
    running = laptop.begin(*laptop.prospect("--top-pages", "24", "--max-pages-per-domain", "24", name="from afar"))
    job = _newest(laptop)
    laptop.until(job, lambda status: status["pages"]["done"] >= 3)
    watching = laptop.begin("job", "watch", job)
    time.sleep(1)
    running.send_signal(signal.SIGINT)  # as Ctrl-C does: it pauses
    code, told = finish(running)
    assert (code, "Paused at" in told) == (3, True), told
    assert f"Server: {one.url}" in told
    code, told = finish(watching)
    assert (code, "Paused at" in told) == (3, True), told
    assert laptop.ask("job", "status", job)["state"] == "paused"
    assert laptop.type("job", "resume", job, "--detach", "--max-credits", "50").stdout.startswith("It runs in the back")
    assert laptop.ask("job", "status", job)["cost"]["limits"]["credits"] == 50
    assert laptop.type("job", "pause", job).stdout.splitlines()[-1].startswith("Paused at")
    ended = laptop.type("job", "resume", job)
    assert "Completed: " in ended.stdout
    laptop.assert_clean(job)
    table = tmp_path / "results.csv"
    assert laptop.type("job", "export", job, "--output", str(table)).stdout.startswith("Wrote ")
    assert len(table.read_text().splitlines()) == len(laptop.rows(job)) + 1
    assert laptop.type("job", "retry-failed", job, check=False).returncode in (0, 1)
    assert "Cancelled at" in laptop.type("job", "cancel", _unstarted(laptop)).stdout
    assert laptop.type("job", "resume", "--all").stdout.startswith("Nothing to resume.")
    assert laptop.type("job", "forget", "--domain", "site-0002.test", "--job", job, "--yes").stdout.endswith(
        "Forgotten.\n"
    )
    assert laptop.type("job", "delete", job, "--yes").stdout.startswith("Deleted ")
    assert "were deleted on" in laptop.refused("job", "results", job)


def test_ctrl_c_twice_in_quick_succession_pauses_and_leaves(slow: tuple[Server, Web], tmp_path: Path) -> None:
    one, web = slow
    laptop = Laptop(tmp_path, web)
    laptop.log_in(one)
    running = laptop.begin(*laptop.prospect("--top-pages", "24", "--max-pages-per-domain", "24", name="left"))
    until(lambda: laptop.ask("job", "list", "--name", "left"))
    job = laptop.ask("job", "list", "--name", "left")[0]["id"]
    laptop.until(job, lambda status: status["pages"]["done"] >= 1)
    running.send_signal(signal.SIGINT)
    time.sleep(0.02)  # two of one kind that wait to be delivered would be one
    running.send_signal(signal.SIGINT)
    assert finish(running)[0] == 3
    laptop.until(job, lambda status: status["state"] == "paused", 30)
    laptop.type("job", "cancel", job)


def _newest(laptop: Laptop) -> str:
    while not (found := laptop.ask("job", "list")):
        time.sleep(0.1)
    return str(found[0]["id"])


def _unstarted(laptop: Laptop) -> str:
    """Made under a key twice, and one job; started by hand, and paused before it is over."""
    made = laptop.prospect("--no-auto-start", "--idempotency-key", "once", name="later")
    first, second = laptop.type(*made).stdout, laptop.type(*made).stdout
    assert " created\n" in first
    assert "was created before with this key\nIt is pending." in second
    job = re.search(r"short: (\w+)", first)
    assert job
    laptop.type("job", "start", job[1], "--detach")
    return job[1]


def test_single_pages_are_scraped_there(working: Server, tmp_path: Path) -> None:
    laptop, machine = Laptop(tmp_path), there(working)
    laptop.log_in(working)
    urls = ("http://shop.town/lamp", "http://shop.town/gone")
    far = laptop.type("scrape", *urls, "--format", "metadata,raw", check=False)
    assert far.returncode == 1
    lines = [orjson.loads(line) for line in far.stdout.splitlines()]
    assert [(one["url"], one["status"]) for one in lines] == [(urls[0], "done"), (urls[1], "failed")]
    assert "<h1>Lamp lamp</h1>" in lines[0]["raw"]
    assert "1 of 2 pages read, 1 failed" in far.stderr
    assert laptop.type("scrape", urls[0], "--plain").stdout.startswith("# Lamp lamp")
    (tmp_path / "rules.json").write_text('{"price": ".price["}')
    wrong = ("scrape", urls[0], "--extract", str(tmp_path / "rules.json"))
    said = laptop.refused(*wrong)
    assert said.startswith('Error: --extract: the rule "price" has an invalid CSS selector ".price["')
    here = machine.type(*wrong, check=False).stderr
    assert here.partition(" See ")[0] == said.partition(" See ")[0]
    assert "Job " in laptop.type("scrape", *urls, "--detach").stderr
    assert laptop.ask("job", "list")[0]["recipe"] == "scrape"
    job = _newest(laptop)
    laptop.until(job, lambda status: status["state"] == "completed")
    assert laptop.type("job", "results", job).stdout == machine.type("job", "results", job).stdout


def test_how_keywords_match_is_said_and_kept_on_both_sides(working: Server, tmp_path: Path) -> None:
    laptop, machine = Laptop(tmp_path), there(working)
    laptop.log_in(working)
    assert working.web
    domain = working.web.domains.read_text().split()[2]
    command: tuple[str, ...] = (
        "job",
        "run",
        "--name",
        "Short",
        "--domain",
        domain,
        "--max-pages-per-domain",
        "3",
        "--top-pages",
        "3",
    )
    command += ("--keyword", "CRM", "--keyword", "crm", "--keyword", "“the”", "--keyword", "word")
    found = []
    for terminal in (laptop, machine):
        said = terminal.type(*command, "--snippet", "30", "--case-sensitive", "--plurals").stdout
        assert said.startswith("Loaded 4 keywords\nWhole words only, in exactly this case, singular and plural\n")
        job = terminal.newest()
        rows = terminal.ask("job", "results", job, "--limit", "100")
        with working.client() as client:
            params = client.get(f"/v1/jobs/{job}").json()["params"]
        assert (params["snippet"], params["case_sensitive"], params["plurals"]) == (30, True, True)
        assert params["keywords"] == ["CRM", "crm", "the", "word"]
        assert all(len(row["context_snippet"]) <= len(row["keyword"]) + 2 + 60 for row in rows)
        found.append(sorted((row["url"], row["keyword"], row["frequency"], row["context_snippet"]) for row in rows))
    assert found[0] == found[1] != []


def test_two_accounts_see_nothing_of_each_other(working: Server, rows: str, tmp_path: Path) -> None:
    other = Laptop(tmp_path)
    other.log_in(working, "other")
    assert rows not in str(other.ask("job", "list", "--limit", "1000"))
    for look in ("status", "results", "summary", "audit", "history", "pause", "cancel", "errors", "export", "delete"):
        more = ("--yes",) if look == "delete" else ()
        assert other.refused("job", look, rows, *more).startswith(f"Error: There is no job '{rows}' here."), look
    assert "There is no job" in other.refused("explain", "site-0003.test", "--job", rows)
    for house in ("workers", "queue-status", "metrics", "credits", "alerts", "retention", "backlog"):
        assert "takes an admin key of the account 'default'" in other.refused("system", house), house
    assert "'default'" in other.refused("system", "keys", "list", "--account", "default")
    made = other.ask("system", "keys", "create", "for a test", "--scope", "read")
    assert made["account"] == "other"
    assert made["id"] in [key["id"] for key in other.ask("system", "keys", "list")]
    reader = Laptop(tmp_path, settings={"GOSSAMER_API_KEY": made["key"]})
    assert "takes one that may admin" in reader.refused("system", "keys", "list")
    assert "takes one that may submit" in reader.refused("scrape", "http://shop.town/lamp")
    assert "revoked" in other.type("system", "keys", "revoke", made["id"]).stdout
    key = working.keys["default"]["read"]
    with working.client() as owner:
        theirs = owner.get("/v1/keys").json()["items"][0]["id"]
    assert "fits no key" in other.refused("system", "keys", "revoke", theirs)
    looker = Laptop(tmp_path, settings={"GOSSAMER_API_KEY": key})
    assert looker.ask("job", "status", rows)["state"] == "completed"
    assert "takes an admin key" in looker.refused("system", "workers")


OWN = ("listing", "running", "house_rules", "foreseen", "unmet", "hooks")
"""What everybody may ask about what is their own."""
UNREADABLE = ("foreseen", "unmet", "add_hook")
"""What is not given enough here."""


def test_what_a_laptop_may_ask_is_what_it_may_see(api: Server) -> None:
    """Every question, with somebody else's job and without a right to the house, is refused; and nonsense is."""
    with api.client() as owner, api.client("other") as other, api.stranger() as nobody:
        job = owner.post("/v1/jobs", json=new_job(name="a secret name")).json()["id"]
        whole = {"job": job, "limit": 5, "page": 1, "state": None, "site": "", "host": "", "after": "", "lane": "http"}
        whole |= {"conditions": {}, "since": "", "excluded": [], "text": job, "url": "a.test", "urls": [], "ids": []}
        whole |= {"account": "default", "name": "x", "right": "read", "on": True, "overlap_seconds": 0, "events": []}
        for question in QUESTIONS:
            shape = {name: whole[name] for name in _given(question) if name in whole}
            asked = {"question": question, "given": shape}
            assert nobody.post("/v1/questions", json=asked).status_code == 401
            theirs = other.post("/v1/questions", json=asked)
            assert "a secret name" not in theirs.text
            mine = "job" in shape or {"text", "account"} & set(shape)
            expected = (403, 404) if mine or question not in OWN else (200,)
            assert theirs.status_code in (*expected, 400 if question in UNREADABLE else 403), (question, theirs.text)
            assert other.post("/v1/questions", json={"question": question, "given": {"x": []}}).status_code == 400
        assert owner.post("/v1/questions", json={"question": "no such"}).status_code == 404


JUNK: tuple[Any, ...] = (None, "", "\0", "é" * 3_000, -1, 10**30, 1.5, [], ["\0"], {"a": []}, True)


def test_no_question_makes_a_mistake_of_ours(api: Server) -> None:
    with api.client() as owner:
        job = owner.post("/v1/jobs", json=new_job()).json()["id"]
        usual = {"job": job, "limit": 5, "page": 1, "state": None, "site": "", "host": "", "after": "", "url": "a.test"}
        usual |= {"conditions": {}, "since": "", "excluded": [], "urls": ["http://a.test/"], "text": "abcd"}
        usual |= {
            "walk": {"recipe": "prospect", "mode": "hybrid", "ladder": ["direct"], "pages_per_site": 5, "top_pages": 5}
        }
        usual |= {"domains": ["a.test"], "account": "other", "name": "x", "right": "read", "lane": "http"}
        usual |= {"probed": None, "on": True, "overlap_seconds": 0, "events": [], "url": "http://93.184.216.34/hooks"}
        for question in QUESTIONS:
            names = _given(question)
            whole = {name: usual[name] for name in names if name in usual}
            for given in [whole, *({**whole, name: junk} for name in names for junk in JUNK)]:
                answer = owner.post("/v1/questions", json={"question": question, "given": given})
                assert answer.status_code < 500, (question, given, answer.text)
            answered = owner.post("/v1/questions", json={"question": question, "given": whole})
            assert answered.status_code in ((400, 404) if "text" in names else (200,)), (question, answered.text)


def _given(question: str) -> list[str]:
    return list(signature(QUESTIONS[question]).parameters)[1:]


def test_what_can_go_wrong_is_one_sentence(working: Server, tmp_path: Path) -> None:
    laptop = Laptop(tmp_path)
    assert "is not the address of a server" in laptop.refused("login", "ftp://x")
    assert "That does not look like an API key" in laptop.refused("login", working.url)
    wrong = Laptop(tmp_path, settings={"GOSSAMER_API_KEY": "gsk_wrong"})
    said = wrong.refused("login", working.url)
    assert "does not accept the key" in said
    assert "gsk_wrong" not in said
    assert "There is no file" in laptop.refused("login", working.url, "--key-file", str(tmp_path / "none.txt"))
    encrypted = working.url.replace("http://", "https://")
    assert f"If it is a server without TLS, its address is {working.url}." in wrong.refused("login", encrypted)
    assert "does not answer: no server is listening there" in wrong.refused("login", "http://127.0.0.1:1")
    assert not (tmp_path / "config").exists()
    laptop.log_in(working)
    kept = tmp_path / "config" / "gossamer" / "login.json"
    assert (stat.S_IMODE(kept.stat().st_mode), stat.S_IMODE(kept.parent.stat().st_mode)) == (0o600, 0o700)
    assert "It is the key in GOSSAMER_API_KEY: correct or unset that." in wrong.refused("job", "list")
    good = kept.read_bytes()
    assert set(orjson.loads(good)) == {"url", "key"}
    kept.write_bytes(orjson.dumps({"url": working.url, "key": "gsk_revoked"}))
    assert f"Log in again with 'gossamer login {working.url}'" in laptop.refused("job", "list")
    kept.write_bytes(good)
    away = Laptop(tmp_path, settings={"GOSSAMER_REMOTE": "http://127.0.0.1:1", "GOSSAMER_API_KEY": "gsk_x"})
    assert "http://127.0.0.1:1 does not answer: no server is listening there." in away.refused("job", "list")
    assert orjson.loads(away.type("job", "list", "--json", check=False).stderr)["error"]["code"] == "failed"
    unknown = Laptop(tmp_path, settings={"GOSSAMER_REMOTE": "http://127.0.0.1:1"})
    assert "There is no key for http://127.0.0.1:1" in unknown.refused("job", "list")
    for only_here in (
        ("db", "upgrade"),
        ("doctor",),
        ("serve",),
        ("worker",),
        ("account", "list"),
    ):
        assert "only works for this machine" in laptop.refused(*only_here), only_here
    kept.chmod(0o644)
    assert "Others can read the key" in laptop.refused("job", "list")
    assert laptop.type("logout").stdout.endswith("Commands are about this machine.\n")
    assert not kept.exists()


def test_this_machine_is_meant_where_that_is_said(working: Server, rows: str, tmp_path: Path) -> None:
    laptop = Laptop(tmp_path, settings={"GOSSAMER_HOME": str(tmp_path / "home"), "GOSSAMER_DATABASE_URL": ""})
    laptop.log_in(working)
    assert rows in str(laptop.ask("job", "list", "--limit", "1000"))
    assert laptop.ask("--local", "job", "list") == []
    here = Laptop(tmp_path, settings={**laptop.settings, "GOSSAMER_REMOTE": "local"})
    assert here.ask("job", "list") == []
    assert here.type("doctor", check=False).stdout
    elsewhere = {**laptop.settings, "GOSSAMER_REMOTE": working.url, "GOSSAMER_API_KEY": working.keys["other"]["read"]}
    assert rows not in str(Laptop(tmp_path, settings=elsewhere).ask("job", "list", "--limit", "1000"))


def test_a_key_may_be_typed_through_a_pipe(working: Server, tmp_path: Path) -> None:
    laptop = Laptop(tmp_path)
    key = tmp_path / "key"
    key.write_text(working.keys["other"]["submit"] + "\n")
    with key.open() as pipe:
        done = warm.run(("login", working.url), laptop.environment(), LONGEST, pipe.fileno())
    assert (done.returncode, "account other (Other Inc.)" in done.stdout) == (0, True), done.stderr
    assert working.keys["other"]["submit"] not in done.stdout + done.stderr
