"""The script that goes into the page is the one that was meant."""

import base64
import gzip
import hashlib
import re
from pathlib import Path

import pytest

from aiayn.errors import UserError
from aiayn.reports.page.bundle import plotly_bundle


def test_the_whole_bundle_is_that_of_the_package() -> None:
    bundle = plotly_bundle(None)
    script = gzip.decompress(base64.b64decode(bundle.packed))
    assert b"plotly.js" in script[:200]
    assert bundle.hash == f"'sha256-{base64.b64encode(hashlib.sha256(script).digest()).decode()}'"


@pytest.mark.parametrize("content", [None, b"\xff\xfe", b"console.log(1)"])
def test_what_is_no_bundle_is_refused(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "bundle.js"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UserError, match=re.escape(f"plotly_bundle={path}: ")):
        plotly_bundle(path)
