"""A closed standard stream changes no exit code: its output is dropped, and no later file takes its descriptor."""

import os
import subprocess
import sys

import pytest
from commands import AIAYN

CLOSED = {"stdout": ">&-", "stderr": "2>&-", "all": "<&- >&- 2>&-"}
TRANSLATES = "from aiayn.system.streams import *; from aiayn.inference.text_stream import *; open_closed_streams()"


def _run(closed: str, *words: str) -> subprocess.CompletedProcess[str]:
    script = f'exec "$@" {CLOSED[closed]}'
    return subprocess.run(["sh", "-c", script, "sh", *words], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("words", "code"), [(["--version"], 0), (["train", "--help"], 0), (["trian"], 2)])
@pytest.mark.parametrize("closed", CLOSED)
def test_the_exit_code_is_that_of_open_streams(closed: str, words: list[str], code: int) -> None:
    ended = _run(closed, *AIAYN, *words)
    assert ended.returncode == code
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("closed", CLOSED)
def test_files_and_child_processes_do_not_get_the_descriptor(closed: str) -> None:
    script = (
        "import subprocess, sys\nfrom aiayn.system.streams import open_closed_streams\nopen_closed_streams()\n"
        "with open(sys.argv[1]) as file:\n    assert file.fileno() > 2\n"
        "print('x'); print('x', file=sys.stderr)\n"
        "sys.exit(subprocess.call([sys.executable, '-c', 'import os; [os.fstat(each) for each in range(3)]']))"
    )
    assert _run(closed, sys.executable, "-c", script, __file__).returncode == 0


def test_text_for_a_closed_output_is_refused() -> None:
    ended = _run("stdout", sys.executable, "-c", f"{TRANSLATES}; write_lines(['x'])")
    assert ended.stderr.endswith("RunFailedError: standard output is closed; give it a place, as in > out.txt\n")


@pytest.mark.parametrize("locale", ["C", "C.UTF-8", "en_US.ISO-8859-1"])
def test_standard_output_shows_any_text(locale: str) -> None:
    script = r"from aiayn.system.streams import *; allow_any_path(); print('a\ud800\udce9\u2212')"
    environment = {"LC_ALL": locale, "PATH": os.defpath}
    shown = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, check=True).stdout
    assert shown.decode() in (f"a\\ud800\\udce9{minus}\n" for minus in ("−", "\\u2212"))
