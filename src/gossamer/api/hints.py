"""HTTP variants of hints for errors shared with the command line: a command does not help a client of the API.

The command-line hint is sent next to it, in `command_hint`, for clients that show problems on a
command line.
"""

import re
from collections.abc import Mapping

from gossamer.errors import UserError
from gossamer.exports.formats import FORMATS

_HINTS: Mapping[str, str] = {
    "budget.spent": 'POST /v1/jobs/ID/resume with a higher limit, like {"LIMIT": 5000}, or take what there is '
    "with POST /v1/jobs/ID/exports.",
    "budget.too_low": "Give a higher limit, or take what there is with POST /v1/jobs/ID/exports.",
    "export.format": f"Name one or more of {', '.join(FORMATS)} in `format`.",
    "export.since": "Name one in `since_job`.",
    "job.key_taken": "Look at that job with GET /v1/jobs/ID, or send another Idempotency-Key.",
    "job.mode_not_configured": "Use the mode free-only, or ask whoever runs the server for a provider.",
    "job.name": "Give it one in `name`.",
    "job.params": "See GET /v1/recipes for what the recipe takes.",
    "job.state": "GET /v1/jobs/ID shows its state. POST /v1/jobs/ID/resume goes on with a paused job, .../pause and "
    ".../cancel stop one that runs, and .../retry-failed tries again what failed in one that is over.",
    "job.submit_key": "Send something like Idempotency-Key: nightly-2026-01-18.",
    "results.no_client": "Submit it again with `client_domain` in its params.",
    "webhook.no_delivery": "See GET /v1/webhooks/ID/deliveries.",
    "webhook.not_found": "See GET /v1/webhooks.",
    "webhook.off": "Switch it on with PATCH /v1/webhooks/ID and `enabled`.",
    "webhook.too_many": "Remove one that is not needed any more: GET /v1/webhooks.",
}


_OPTION = re.compile(r"--([a-z][a-z-]*)")


def over_http(error: UserError) -> str:
    """The error's own hint, unless that is something to type."""
    if "gossamer " not in error.hint and "--" not in error.hint:
        return error.hint
    option = _OPTION.search(error.hint)
    limit = option[1].replace("-", "_") if option else "max_credits"
    return _HINTS.get(error.code, "").replace("LIMIT", limit) or as_field(error.hint)


def as_field(sentence: str) -> str:
    """Replace command-line options such as `--max-pages` by the names of the request's fields."""
    return _OPTION.sub(lambda option: f"`{option[1].replace('-', '_')}`", sentence)
