"""Files in this data folder, served to holders of a signed link: no key, no listing, and an expiry time."""

from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query
from fastapi.responses import FileResponse, RedirectResponse
from starlette.responses import Response

from gossamer.api.caller import Keyless
from gossamer.api.codes import declared
from gossamer.api.guarded import Guarded
from gossamer.api.parts import GivenParts
from gossamer.blobs.folder import SERVED
from gossamer.blobs.seam import MAX_KEY
from gossamer.errors import UserError

router = APIRouter(tags=["results"], route_class=Guarded)


@router.get(
    f"{SERVED}{{key:path}}",
    responses={
        **declared("link.refused", "link.gone", "not_found", keyless=True),
        200: {"description": "The file.", "content": {"application/octet-stream": {}}},
        307: {"description": "Where it lies in object storage by now."},
    },
    dependencies=[Depends(Keyless("ip"))],
    response_class=Response,
    summary="Fetch a file by its link",
)
async def fetch(
    parts: GivenParts,
    key: Annotated[str, Path(max_length=MAX_KEY)],
    expires: Annotated[str, Query(max_length=12)] = "",
    signature: Annotated[str, Query(max_length=64)] = "",
) -> Response:
    """Download a file by the `link` of an export.

    It needs no key, and gives access to this one file until it expires.
    """
    export_store, now = parts.app.export_store(), parts.app.clock.now()
    # Read from the address and written anew: how somebody else has spelled it does not matter.
    if export_store.local.verify(f"{SERVED}{key}?expires={expires}&signature={signature}", now) is None:
        raise UserError(
            "link.refused",
            "This link is over, was changed, or was never one of ours.",
            hint="Ask for a new one where you have it from.",
        )
    path = export_store.local.path(key)
    if path.is_file():
        headers = {"X-Robots-Tag": "noindex"}
        return FileResponse(path, filename=path.name, media_type="application/octet-stream", headers=headers)
    if export_store.remote is not None:
        # It lay here because object storage was away.
        left = timedelta(seconds=max(1, int(expires) - int(now.timestamp())))
        return RedirectResponse(await export_store.remote.link(key, left), status_code=307)
    raise UserError("link.gone", "The file of this link was deleted.", hint="Have it made anew.")
