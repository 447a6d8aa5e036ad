"""From a row to an endpoint: for who asks for one, and for who tells all of them."""

from typing import Any

from sqlalchemy import Row

from gossamer.model.webhook import Endpoint, EndpointState, EventType


def endpoint_of(row: Row[Any]) -> Endpoint:
    return Endpoint(
        id=row.id,
        account=row.account,
        url=row.url,
        events=frozenset(map(EventType, row.events)),
        state=EndpointState(row.state),
        reason=row.reason,
        created_at=row.created_at,
        failing_since=row.failing_since,
        failures=row.failures,
        not_before=row.not_before,
    )
