"""What every answer of the server has to be, whatever was asked."""

from typing import Any

DIALECTS = ("/api/v1", "/firecrawl/")  # their errors are what programs written for somebody else expect
SHORTEST = 1_000  # milliseconds that these wait for a page


def assert_no_mistake(path: str, answer: Any, said: str) -> None:
    """It is no mistake of ours, and an error says what is wrong."""
    if path.startswith(DIALECTS):
        late = answer.status_code in (500, 504) and "did not come within" in answer.text
        assert answer.status_code < 500 or late, said
        if answer.status_code >= 400:
            # What cannot be read at all is refused before it is known in whose words.
            assert "json" in str(answer.headers["content-type"]), said
            told = answer.json()
            assert told.get("message") or told.get("error") or told.get("detail"), said
        return
    # A part of the program that is not there yet may say so.
    assert answer.status_code < 500 or answer.status_code == 501, said
    if answer.status_code >= 400:
        assert answer.headers["content-type"] in ("application/problem+json", ["application/problem+json"]), said
        assert answer.json()["code"], said
