"""`import aiayn` is cheap, and names every function of the Python API."""

import json
import subprocess
import sys
from pathlib import Path

import aiayn

IMPORTED = "import json, sys; before = {*sys.modules}; import aiayn; print(json.dumps(sorted({*sys.modules} - before)))"


def test_import_loads_nothing_else(tmp_path: Path) -> None:
    result = subprocess.run([sys.executable, "-c", IMPORTED], cwd=tmp_path, capture_output=True, text=True, check=True)
    loaded = {name for name in json.loads(result.stdout) if name.partition(".")[0] not in sys.stdlib_module_names}
    assert loaded == {"aiayn"}


def test_composing_and_planning_load_no_torch(tmp_path: Path) -> None:
    code = "import sys, aiayn; aiayn.compose(); aiayn.plan(['hardware=h100']); print('torch' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert result.stdout == "False\n"


def test_every_name_is_there_and_documented() -> None:
    assert {*aiayn.__all__} <= {*dir(aiayn)}
    for name in aiayn.__all__:
        assert getattr(aiayn, name).__doc__, name
        assert getattr(aiayn, name).__name__ == name


def test_no_name_is_that_of_a_package() -> None:
    """A package would replace the function when it is imported."""
    folder = Path(aiayn.__file__).parent
    packages = {path.stem for path in folder.iterdir() if path.suffix in ("", ".py")}
    assert not packages & {*aiayn.__all__}


def test_other_names_are_refused() -> None:
    assert not hasattr(aiayn, "trane")
