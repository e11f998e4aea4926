"""Fixtures for every test."""

import os
import signal
from pathlib import Path

import pytest
from hypothesis import Phase, settings

from aiayn.launch.torch_environment import set_torch_environment

# As the command line does; here before any test module loads torch.
set_torch_environment()

# How long an example takes says more about the machine than about the code. Continuous integration tries the same
# examples each time, and reports the one that fails instead of spending an hour on a smaller one.
SEARCHING = (Phase.explicit, Phase.generate, Phase.target)
settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, database=None, phases=SEARCHING)
settings.load_profile("ci" if os.environ.get("CI") else "here")


@pytest.fixture(scope="session", autouse=True)
def _listen_to_signals() -> None:
    """What a shell's background job ignores, the commands under test must not: they would inherit it.

    A handler that does nothing keeps this process alive all the same; a new program starts with the default instead.
    """
    for number in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


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
