"""What several tests share."""

import contextlib
import dataclasses
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest


@contextlib.contextmanager
def raises(error: type[Exception], first_line: str) -> Iterator[None]:
    """The block must raise ``error`` with exactly this first line."""
    with pytest.raises(error) as caught:
        yield
    assert str(caught.value).splitlines()[0] == first_line


def shown_signature(function: Callable[..., Any]) -> str:
    """The signature as `inspect` shows it, without annotations."""
    signature = inspect.signature(function)
    bare = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    shown = str(signature.replace(parameters=bare, return_annotation=signature.empty))
    return shown.replace(repr(dataclasses.MISSING), "MISSING")
