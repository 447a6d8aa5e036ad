"""Questions of the command line when it is logged in to this server: the same as those to its own data folder.

They belong to one version of the program and serve the command line of that version. Other programs
use the endpoints of the stable API, whose answers do not change.
"""

from functools import cache
from inspect import Parameter, signature
from typing import Annotated, Any, get_type_hints

from fastapi import APIRouter, Depends
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from starlette.responses import Response

from gossamer.api.answers import JsonAnswer
from gossamer.api.caller import Access, Caller
from gossamer.api.codes import LADDER, declared
from gossamer.api.guarded import Guarded
from gossamer.api.parts import GivenParts
from gossamer.errors import UserError
from gossamer.model.account import Right
from gossamer.model.fields import Strict
from gossamer.questions.table import QUESTIONS
from gossamer.questions.view import Asker, View
from gossamer.questions.wire import pack

router = APIRouter(prefix="/v1/questions", tags=["command line"], route_class=Guarded)


_CODES = (
    *(
        "question.unknown",
        "auth.operator",
        "job.not_found",
        "job.ambiguous",
        "job.bad_id",
        "job.recipe",
        "job.unusable",
    ),
    *("results.deleted", "results.hidden", "results.domain", "results.keyword", "results.no_client", "results.recipe"),
    *("results.verdict", "export.column", "export.filter", "export.format", "export.since", "export.type"),
    *("dead_letters.ambiguous", "dead_letters.archived", "dead_letters.bad_id", "dead_letters.not_found"),
    *(
        "explain.url",
        "history.site",
        "pages.site",
        "summary.recipe",
        "usage",
        "key.not_found",
        "job.domain",
        "job.probed",
        "account.name",
        *LADDER,
    ),
    *("webhook.not_found", "webhook.no_delivery", "webhook.bad_id", "webhook.bad_message", "webhook.ambiguous"),
    "webhook.no_secret",
    *("webhook.url", "webhook.address", "webhook.event", "webhook.too_many", "webhook.overlap", "webhook.off"),
)


class Asked(Strict):
    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"example": {"question": "listing", "given": {"limit": 20}}}
    )

    question: str = Field(max_length=40, description="Its name.")
    given: dict[str, Any] = Field(default_factory=dict, description="What it is about, by name.")


@router.post("", responses=declared(*_CODES), summary="What the command line asks")
async def ask(body: Asked, parts: GivenParts, caller: Annotated[Caller, Depends(Access(Right.READ))]) -> Response:
    """Each is answered with what the account may see. Those about the whole server are the operator's, who has an admin
    key of the account `default`.
    """
    function = QUESTIONS.get(body.question)
    if function is None:
        raise UserError(
            "question.unknown",
            f"There is no question {body.question!r} here.",
            hint="Use the program of the same version.",
        )
    try:
        read = _shape(body.question).model_validate(body.given)
    except ValidationError as error:
        found = [{**one, "loc": ("body", "given", *one["loc"])} for one in error.errors(include_url=False)]
        raise RequestValidationError(found) from None
    view = View(parts.app, Asker(caller.account, caller.right))
    return JsonAnswer(pack(await function(view, **{name: getattr(read, name) for name in type(read).model_fields})))


@cache
def _shape(question: str) -> type[BaseModel]:
    """Return the model of a question's parameters, made from the signature of its function."""
    function = QUESTIONS[question]
    hints = get_type_hints(function, include_extras=True)
    _, *given = signature(function).parameters.values()
    fields = {one.name: (hints[one.name], ... if one.default is Parameter.empty else one.default) for one in given}
    made: type[BaseModel] = create_model(
        question,
        __base__=Strict,
        **fields,  # type: ignore[call-overload]
    )
    return made
