"""Results of functions, kept for a process."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def cached_by_repr(function: Callable[P, T]) -> Callable[P, T]:
    """As `functools.cache`, for arguments that cannot be hashed: equal ones are those that print equally."""
    results: dict[str, T] = {}

    @wraps(function)
    def cached(*args: P.args, **kwargs: P.kwargs) -> T:
        key = repr((args, kwargs))
        if key not in results:
            results[key] = function(*args, **kwargs)
        return results[key]

    return cached
