"""Fixtures for every test."""

import gc
import os
import shutil
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from aiayn.system.torch_environment import set_torch_environment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

pytest_plugins = ["record_fixtures", "toy_language"]

# As the command line does; here before any test module loads torch.
set_torch_environment()
# Sums depend on the number of threads, and several workers with all threads would wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

MEMORY = Path("/dev/shm")
"""Where Linux keeps files in memory."""

ROOM = 4 * 2**30
"""Bytes that have to be free there: far more than the tests under way take."""


def are_files_kept_in(folder: Path) -> bool:
    """Whether there is room, and programs may be started from there, as tests of what is installed do."""
    if not os.access(folder, os.W_OK):
        return False
    told = os.statvfs(folder)
    return told.f_bavail * told.f_frsize >= ROOM and not told.f_flag & os.ST_NOEXEC


# Whatever matters is synced when it is written, 40 times in a tiny run: 10 to 20 ms each on a disk, none in memory.
if not {"PYTEST_DEBUG_TEMPROOT", "TMPDIR"} & os.environ.keys() and are_files_kept_in(MEMORY):
    os.environ["PYTEST_DEBUG_TEMPROOT"] = str(MEMORY)

# The same everywhere: new examples in each run, also under CI=true, where Hypothesis has settings of its own. How long
# an example takes says more about the machine than about the code.
# `make test PYTEST_ARGS=--hypothesis-profile=thorough` draws more.
for profile, examples in (("quick", 40), ("thorough", 100)):
    settings.register_profile(
        profile,
        settings.get_profile("default"),
        max_examples=examples,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
        print_blob=True,
    )
settings.load_profile("quick")

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
"""The names under which Chromium is looked for on PATH."""


def chromium() -> str:
    """The program. Where there is none the test skips; under AIAYN_REQUIRE_BROWSER=1 it fails."""
    for name in CHROMIUM:
        if found := shutil.which(name):
            return found
    reason = f"no browser on PATH: {', '.join(CHROMIUM)}"
    if os.environ.get("AIAYN_REQUIRE_BROWSER") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


def pytest_addoption(parser: pytest.Parser) -> None:
    """An option for a second environment, in which what is not found with one set of parameters is rarely found."""
    parser.addoption("--first-of-each", action="store_true", help="run each test with its first parameters alone")


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> "Iterator[None]":
    """Whatever takes the fixture `browser` carries its marker, for `-m browser`."""
    for item in items:
        if isinstance(item, pytest.Function) and "browser" in item.fixturenames:
            item.add_marker("browser")
    yield  # others choose by markers
    if config.getoption("first_of_each"):
        first = {item.nodeid.partition("[")[0]: item for item in reversed(items)}
        chosen = {item.nodeid for item in first.values()}
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in chosen])
        items[:] = [item for item in items if item.nodeid in chosen]


def pytest_collection_finish() -> None:
    """Collect garbage more rarely, and not among what was imported, which lives to the end: 5% of the time, not 13%."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 10, 10)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Before the fixtures of a test are made, so that none is made in vain."""
    if item.get_closest_marker("browser"):
        chromium()


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    """A headless Chromium for the tests of a file.

    Not for the session: Playwright leaves an event loop running in this thread, in which whoever comes later could run
    none of their own.
    """
    sandbox = [] if os.geteuid() else ["--no-sandbox"]  # Chromium has none for root
    from playwright.sync_api import sync_playwright  # by browser tests alone

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium(), headless=True, args=sandbox)
        yield started
        started.close()


@pytest.fixture(scope="session", autouse=True)
def _listen_to_signals() -> None:
    """What a shell's background job ignores, the commands under test must not: they would inherit it.

    A handler that does nothing keeps this process alive all the same; a new program starts with the default instead.
    """
    for number in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


@pytest.fixture(scope="session")
def recorded() -> Path:
    """The folder of recorded results; a test that needs their data skips in an sdist, which has their pages alone."""
    root = Path(__file__).parents[1]
    if (root / "PKG-INFO").exists():
        pytest.skip("an sdist has no recorded data")
    return root / "docs" / "results"


@pytest.fixture(scope="session")
def aiayn_data() -> Path:
    """The folder of real text named by AIAYN_DATA; a test that needs it skips where the variable is not set.

    Under AIAYN_REQUIRE_DATA=1 (continuous integration) a missing folder fails instead.
    """
    value = os.environ.get("AIAYN_DATA", "")
    if value and Path(value).is_dir():
        return Path(value)
    reason = f"AIAYN_DATA={value} is not a folder" if value else "AIAYN_DATA is not set"
    if os.environ.get("AIAYN_REQUIRE_DATA") == "1":
        pytest.fail(reason)
    pytest.skip(reason)
