"""Questions of a command line that is logged in to this server: the same as those to its own data folder.

They belong to one version of the program. Other programs use the other endpoints, whose answers do not change.
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from inspect import Parameter, signature
from typing import Annotated, Any, get_type_hints

from fastapi import APIRouter, Depends
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from starlette.responses import Response

from gossamer.api.caller import Caller, KeyAccess
from gossamer.api.dependencies import GivenParts
from gossamer.api.error_codes import LADDER, declared
from gossamer.api.guarded import Guarded
from gossamer.api.views import JsonAnswer
from gossamer.errors import UserError
from gossamer.model.account import Right
from gossamer.model.fields import Strict
from gossamer.questions import (
    files,
    found,
    history,
    jobs,
    keys,
    proofs,
    submitting,
    system,
    webhooks,
)
from gossamer.questions.view import Asker, View
from gossamer.questions.wire import pack

router = APIRouter(prefix="/v1/questions", tags=["command line"], route_class=Guarded)


QUESTIONS: Mapping[str, Callable[..., Awaitable[Any]]] = {
    question.__name__: question
    for question in (
        *(jobs.find, jobs.standing, jobs.ended, jobs.status, jobs.listing, jobs.running, jobs.again, jobs.domains),
        *(jobs.deleted_at, found.results, found.failures, found.spent, found.scraped),
        *(history.pages, history.history, history.explained),
        *(proofs.audited, proofs.politeness, proofs.summary, files.files, files.exportable),
        *(submitting.house_rules, submitting.foreseen, submitting.unmet),
        *(system.workers, system.shared_settings, system.forget_shared_settings, system.waiting, system.backlog),
        *(system.figures, system.alerts, system.letters, system.letter, system.ahead, system.revive, system.drop),
        *(system.tidy, system.spending, keys.keys, keys.make_key, keys.revoke_key),
        *(webhooks.hooks, webhooks.hook_log, webhooks.message, webhooks.add_hook, webhooks.rotate_hook),
        *(webhooks.switch_hook, webhooks.remove_hook, webhooks.test_hook),
        *(webhooks.replay_message, webhooks.replay_given_up, webhooks.send_messages),
    )
}

_CODES = (
    *("question.unknown", "auth.operator", "job.not_found", "job.ambiguous", "job.bad_id", "job.recipe"),
    *("job.unusable", "results.deleted", "results.hidden", "results.domain", "results.keyword"),
    *("results.no_client", "results.recipe", "results.verdict"),
    *("export.column", "export.filter", "export.format", "export.since", "export.type"),
    *("dead_letters.ambiguous", "dead_letters.archived", "dead_letters.bad_id", "dead_letters.not_found"),
    *("explain.url", "history.site", "pages.site", "summary.recipe", "usage", "key.not_found", "job.domain"),
    *("job.probed", "account.name", *LADDER),
    *("webhook.not_found", "webhook.no_delivery", "webhook.bad_id", "webhook.bad_message", "webhook.ambiguous"),
    *("webhook.no_secret", "webhook.url", "webhook.address", "webhook.event", "webhook.too_many"),
    *("webhook.overlap", "webhook.off"),
)


class QuestionBody(Strict):
    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"example": {"question": "listing", "given": {"limit": 20}}}
    )

    question: str = Field(max_length=40, description="Name of the question.")
    given: dict[str, Any] = Field(default_factory=dict, description="Arguments, by name.")


@router.post("", responses=declared(*_CODES), summary="Answer the command line")
async def ask(
    body: QuestionBody, parts: GivenParts, caller: Annotated[Caller, Depends(KeyAccess(Right.READ))]
) -> Response:
    """Answer a question with the data of the caller's account.

    Questions about the whole server take an admin key of the account `default`.
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
    made: type[BaseModel] = create_model(question, __base__=Strict, **fields)  # type: ignore[call-overload]
    return made
