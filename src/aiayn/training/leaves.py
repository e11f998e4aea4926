"""Make the third-party objects that the configuration names by `_target_`."""

import re
from collections.abc import Mapping
from typing import Any

from hydra.errors import InstantiationException
from hydra.utils import instantiate

from aiayn.config.errors import UserError


def make(node: Mapping[str, Any], *, key: str, **arguments: Any) -> Any:
    """Import and call what `_target_` names.

    Args:
        node: `_target_` and arguments; an argument with a `_target_` of its own is made first.
        key: the configuration key to blame.
        arguments: more arguments, not to be instantiated themselves.

    Raises:
        UserError: there is no such target, or it refuses its arguments.
    """
    own = {
        name: make(value, key=f"{key}.{name}") if isinstance(value, Mapping) and "_target_" in value else value
        for name, value in node.items()
    }
    try:
        # Not recursive: deeper down, as in a whole configuration, a _target_ may be no object to make.
        return instantiate({**own, **arguments}, _recursive_=False, _convert_="all")
    except InstantiationException as error:
        text = re.sub(r",? ?set env var HYDRA_FULL_ERROR=1 to see chained exception\.?|full_key: .*", "", str(error))
        raise UserError(f"{key}: {' '.join(text.split())}") from error
