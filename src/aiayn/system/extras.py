"""The packages of extras, which not every installation has."""

import importlib.util

from aiayn.errors import UserError


def require(package: str, *, extra: str, setting: str) -> None:
    """Refuse a setting or a command that needs a package; UserError names the extra that installs it."""
    if importlib.util.find_spec(package.replace("-", "_")) is None:
        raise UserError(f"{setting}: {package} is not installed; pip install -e '.[{extra}]' in the checkout")
