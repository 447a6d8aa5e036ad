"""Dead letters as people and scripts see them."""

from collections.abc import Iterator
from typing import Any

from rich.table import Table
from rich.text import Text

from gossamer.cli import tables, words
from gossamer.cli.home import Home
from gossamer.cli.session import say, say_json
from gossamer.model.ids import short
from gossamer.questions import system
from gossamer.store.dead_letters import DeadLetter

_LABEL = 12  # columns


async def show_list(home: Home, limit: int, *, as_json: bool) -> int:
    found = await home.ask(system.letters, limit)
    if as_json:
        say_json([letter_json(letter) for letter in found])
        return 0
    if not found:
        say("No dead letters: no visit had to be given up, or all of them were looked after.")
        return 0
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("ID", "Job", "Domain", "Deaths", "When", "Last error"):
        table.add_column(title, no_wrap=title != "Last error", overflow="fold")
    for letter in found:
        cells = (short(letter.id), short(letter.job_id), letter.host, str(letter.deaths))
        table.add_row(*cells, words.moment(letter.died_at)[:19], Text(letter.last_error))
    tables.show(table)
    say("Look at one with 'gossamer system dead-letters show ID'.")
    return 0


async def show_letter(home: Home, text: str, *, as_json: bool) -> int:
    letter = await home.ask(system.letter, text)
    if as_json:
        say_json(letter_json(letter))
        return 0
    for label, fact in _facts(letter):
        say(f"{label:<{_LABEL}}{fact}")
    return 0


async def retry_letter(home: Home, text: str, *, as_json: bool) -> int:
    revived = await home.ask(system.revive, text)
    letter, state = revived.letter, revived.job_state
    if as_json:
        say_json({**letter_json(letter), "job_state": state})
        return 0
    say(f"{letter.host} will be walked again, with three lives. Job {short(letter.job_id)} is {state}.")
    if not revived.is_worked:
        say(f"Nobody works here now. Go on with 'gossamer job resume {short(letter.job_id)}'.")
    return 0


async def drop_letter(home: Home, text: str, *, as_json: bool) -> int:
    letter = await home.ask(system.drop, text)
    if as_json:
        say_json(letter_json(letter))
    else:
        say(f"Dropped. {letter.host} stays failed in job {short(letter.job_id)}.")
    return 0


def letter_json(letter: DeadLetter) -> dict[str, Any]:
    return {
        "id": str(letter.id),
        "job": str(letter.job_id),
        "job_name": letter.job_name,
        "job_state": letter.job_state,
        "domain": letter.host,
        "lane": letter.lane,
        "deaths": letter.deaths,
        "last_error": letter.last_error,
        "died_at": words.stamp(letter.died_at),
        "pages": letter.pages,
    }


def _facts(letter: DeadLetter) -> Iterator[tuple[str, str]]:
    job, identifier = short(letter.job_id), short(letter.id)
    yield "Visit", f"{letter.id}, {letter.lane} lane"
    yield "Job", f"{letter.job_name} ({job}), {letter.job_state}"
    yield "Domain", letter.host
    yield "Given up", f"{words.moment(letter.died_at)}, after {letter.deaths} deaths without a page in between"
    yield "Last error", letter.last_error
    yield "Pages", f"{letter.pages:,} were open and failed with it"
    yield "History", f"gossamer job history {job} --site {letter.host}"
    yield "Retry", f"gossamer system dead-letters retry {identifier}"
    yield "Drop", f"gossamer system dead-letters drop {identifier}"
