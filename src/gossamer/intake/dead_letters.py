"""Looking after visits that were given up."""

from uuid import UUID

from gossamer.db.database import Database
from gossamer.errors import UserError
from gossamer.intake.typed_id import WRITTEN_IN, NotAnId, Several, find_id
from gossamer.model.ids import short
from gossamer.store import dead_letters
from gossamer.store.dead_letters import DeadLetter

_LIST = "'gossamer system dead-letters list'"


async def find_letter(database: Database, text: str) -> DeadLetter:
    """The dead letter a person means by what they typed."""
    letter: DeadLetter | None = None
    match await find_id(database, text, dead_letters.matching):
        case NotAnId():
            raise UserError(
                "dead_letters.bad_id",
                f"{text!r} is not the id of a dead letter.",
                hint=f"Give {WRITTEN_IN} {_LIST}.",
            )
        case Several(some):
            raise UserError(
                "dead_letters.ambiguous",
                f"{text!r} fits more than one dead letter: {some}.",
                hint="Give more characters.",
            )
        case UUID() as identifier:
            letter = await database.read(dead_letters.get, identifier)
    if letter is None:
        raise UserError(
            "dead_letters.not_found",
            f"There is no dead letter {text!r} here; it may have been retried or dropped.",
            hint=f"See {_LIST} for the ones there are.",
        )
    return letter


async def retry(database: Database, letter: DeadLetter) -> None:
    """The visit is walked again, from where its rows are."""
    if not await database.write(dead_letters.retry, letter.id):
        raise _gone(letter)


async def drop(database: Database, letter: DeadLetter) -> None:
    """Nobody wants to see it any more; its site stays failed."""
    if not await database.write(dead_letters.drop, letter.id):
        raise _gone(letter)


def _gone(letter: DeadLetter) -> UserError:
    return UserError(
        "dead_letters.not_found",
        f"Dead letter {short(letter.id)} was retried or dropped just now.",
        hint=f"See {_LIST} for the ones there are.",
    )
