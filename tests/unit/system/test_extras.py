"""A package that is not installed is named with its extra."""

import sys
from typing import Any

import pytest

from aiayn.errors import UserError
from aiayn.system.extras import require


def test_an_absent_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    absent: Any = None
    monkeypatch.setitem(sys.modules, "some_package", absent)
    with pytest.raises(UserError) as refusal:
        require("some-package", extra="some", setting="format=x")
    assert str(refusal.value) == "format=x: some-package is not installed; pip install -e '.[some]' in the checkout"


def test_an_installed_package_passes() -> None:
    require("pytest", extra="dev", setting="format=x")
