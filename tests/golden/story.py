"""The commands of the documents' appendix on jobs that climb to a provider, a scrape, and the API over their rows."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from tests.api.town import town
from tests.golden.asked import answers
from tests.golden.normal import Normal
from tests.golden.takes import WIDTH, Stage, Take, transcript
from tests.stories.program import Terminal, Web, sample_web
from tests.stories.test_provider_places import scrapingbee

_WEB = ("--sites", "9", "--seed", "5", "--nasty", "0", "--guarded", "0.3")
_SIZES = ("--size-min", "3", "--size-max", "9", "--pages-per-site", "6")


def story(folder: Path) -> dict[str, str]:
    with ExitStack() as stack:
        web = stack.enter_context(sample_web(folder / "web", *_WEB, *_SIZES))
        provider = stack.enter_context(scrapingbee(f"*.test=127.0.0.1:{web.back}", delay=0))
        port = stack.enter_context(town())
        settings = {
            "GOSSAMER_CONNECT_TO": f"*.test=127.0.0.1:{web.port},*.town=127.0.0.1:{port}",
            "GOSSAMER_SCRAPINGBEE_KEY": "a-key",
            "GOSSAMER_SCRAPINGBEE_URL": provider,
            "GOSSAMER_DOMAIN_RATE": "50",
            "GOSSAMER_API_SECRET": "a-secret-of-thirty-two-characters",
            "COLUMNS": WIDTH,
        }
        terminal = Terminal(folder / "home", web, settings)
        normal = Normal({str(folder): "<folder>"})
        stage = Stage(terminal, normal)
        appendix = [*_steered(stage, web), *_finished(stage, web), *_scraped(stage)]
        return {
            "appendix.txt": transcript(appendix),
            "accounts.txt": transcript(_accounts(stage)),
            "api.txt": transcript(answers(folder / "home", settings, normal)),
        }


def _lists(web: Web) -> tuple[str, ...]:
    """As the appendix calls them; two domains stand there twice."""
    domains = web.domains.with_name("domains.csv")
    listed = web.domains.read_text(encoding="utf-8")
    domains.write_text(listed + "".join(listed.splitlines(keepends=True)[:2]), encoding="utf-8")
    return ("--domains", str(domains), "--keywords", str(web.keywords))


def _steered(stage: Stage, web: Web) -> Iterator[Take]:
    """A job that never gets far: started, paused, resumed and cancelled."""
    # In a home of its own, too slow to finish a domain before the next command is typed.
    home = stage.terminal.home.with_name("slow-home")
    slow = Terminal(home, web, {**stage.terminal.settings, "GOSSAMER_DOMAIN_RATE": "0.01"})
    patient = Stage(slow, stage.normal)
    yield _named(patient, "beta job", "job", "run", "--name", "Beta Inc Test", *_lists(web), "--no-auto-start")
    yield from patient.commands(
        "job status last",
        "job pause last",
        "job start last --detach --yes",
        "job pause last",
        "job status last",
        "job list",
        "job resume last --detach",
        "job cancel last",
        "job status last",
        "job start last",
    )
    yield patient.command("job", "rename", "last", "Beta Inc Test 2")
    yield from patient.commands("job delete last --yes", "job status last", "job list", "job list --include-archived")


def _named(stage: Stage, label: str, *arguments: str) -> Take:
    """A command that makes a job; the job's id has a name from then on."""
    done = stage.terminal.type(*arguments)
    stage.normal.job(stage.terminal.newest(), label)
    return stage.taken(arguments, done)


def _finished(stage: Stage, web: Web) -> Iterator[Take]:
    """The job of the appendix, to its end and its files."""
    asked = ("--mode", "hybrid", "--max-credits", "5000", "--max-pages-per-domain", "6", "--yes")
    yield _named(stage, "acme job", "job", "run", "--name", "Acme Corp Q1 2025", *_lists(web), *asked)
    yield from stage.commands(
        "job status last",
        "job status last --json",
        "job list",
        "job list --include-archived",
        "job errors last",
        "job cost-report last",
        "job summary last",
        "job sites last --limit 3",
        "system workers",
        "system credits",
        "system credits --json",
        "system queue-status",
        "job export last --format csv",
        "job export last --format json",
        "job export last --format csv,json --wait",
    )
    until = time.monotonic() + 60
    while any(file["state"] != "done" for file in stage.terminal.ask("job", "exports", "last")):
        assert time.monotonic() < until, "the files were not made"
        time.sleep(0.2)
    yield from stage.commands("job export-status last", "job export-status last --json")
    yield stage.command("job", "estimate", *_lists(web)[:2])
    yield stage.command("job", "rerun", "last", "--no-auto-start", "--yes")
    yield stage.command("job", "retry-failed", "acme corp q1 2025")


def _scraped(stage: Stage) -> Iterator[Take]:
    pages = ("http://one.town/lamp", "http://one.town/gone", "http://one.town/private/x")
    yield stage.command("scrape", pages[0], "--plain", "--ladder", "direct")
    done = stage.terminal.type("scrape", *pages, "--format", "text,metadata", "--ladder", "direct", check=False)
    stage.normal.job(stage.terminal.newest(), "scrape job")
    yield stage.taken(("scrape", *pages, "--format", "text,metadata", "--ladder", "direct"), done)
    yield from stage.commands(
        "job status last",
        "job pages last",
        "job results last",
        "job export last --output -",
        "job export last --format xlsx --type prospects",
        "explain http://one.town/lamp",
    )


def _accounts(stage: Stage) -> list[Take]:
    """What an operator sets up: keys, accounts, webhooks, retention and a copy of the database."""
    copy = str(stage.terminal.home / "copy.db")
    return [
        stage.command("account", "create", "acme", "--name", "Acme Inc."),
        *stage.commands(
            "account set acme --running-jobs 3",
            "account list",
            "account list --json",
            "system keys create laptop --scope submit",
            "system keys list",
            "system keys list --json",
            "system keys revoke laptop",
            "webhook add http://hooks.town/story",
            "webhook list",
            "webhook add ftp://hooks.town/story",
            "system retention",
            "system dead-letters list",
            "db roles",
            f"db backup {copy}",
            f"db backup {copy} --json",
            "completion bash --help",
        ),
    ]
