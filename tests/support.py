"""What several tests share."""

import contextlib
from collections.abc import Iterator

import pytest


@contextlib.contextmanager
def raises(error: type[Exception], first_line: str) -> Iterator[None]:
    """The block must raise ``error`` with exactly this first line."""
    with pytest.raises(error) as caught:
        yield
    assert str(caught.value).splitlines()[0] == first_line
