"""What every implementation of a seam must keep, as classes of tests.

A test module derives from the class of a seam and provides the fixtures it names:

    class TestMyGate(GateContract):
        @pytest.fixture
        def gate(self) -> Gate: ...
"""

import pytest

# Plain asserts in a module that is not a test itself say nothing when they fail, unless pytest is told to rewrite them.
pytest.register_assert_rewrite(
    "tests.contracts.blobs",
    "tests.contracts.breakers",
    "tests.contracts.dispatch",
    "tests.contracts.gate",
    "tests.contracts.places",
)
