"""Array annotations that tell a shape, without making jaxtyping a requirement.

With jaxtyping installed (as it is in the tests) these are its own classes, so
``Int[Array, "rows 3"]`` is checked at run time wherever its import hook is on.
Without it the annotations stand for the array type alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["Bool", "Int"]

if TYPE_CHECKING:
    from jaxtyping import Bool, Int
else:
    try:
        from jaxtyping import Bool, Int
    except ImportError:

        class _AnyShape:
            """Stand-in that forgets the shape: ``Int[Array, "rows 3"]`` is ``Array``."""

            def __class_getitem__(cls, item: tuple[Any, str]) -> Any:
                return item[0]

        Bool = Int = _AnyShape
