"""What is installed from the wheel works as the checkout does, in a folder that has nothing to do with it.

The documents of the sdist are whole, and what an index shows of the README reads without other files.
"""

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from tiny import TINY

from aiayn import __version__
from site_pages import LINK

CHECKOUT = Path(__file__).parents[2]
CLEAN = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "AIAYN", "HYDRA"))}

PACKAGES = [path for path in sys.path if path.endswith("-packages")]

Run = Callable[..., str]

pytestmark = pytest.mark.slow


def build(source: Path, target: str, folder: Path) -> Path:
    """Build an sdist or a wheel with the backend that pyproject.toml names; nothing is fetched."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    subprocess.run(command, cwd=source, env=CLEAN, check=True, capture_output=True)
    (built,) = folder.glob("*.whl" if target == "wheel" else "*.tar.gz")
    return built


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(CHECKOUT, "wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(CHECKOUT, "sdist", tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def unpacked(sdist: Path) -> Path:
    """The tree of the sdist."""
    with tarfile.open(sdist) as archive:
        archive.extractall(sdist.parent, filter="data")
    return sdist.with_name(sdist.name.removesuffix(".tar.gz"))


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel, and everything else from the tests' environment."""
    folder = tmp_path_factory.mktemp("environment") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], env=CLEAN, check=True)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*pip, str(wheel)], env=CLEAN, check=True)
    (own,) = folder.glob("lib/python*/site-packages")
    # Folders named here are searched after the wheel's, and the .pth files in them, such as an editable install's, are
    # not read.
    (own / "dependencies.pth").write_text("".join(f"{path}\n" for path in PACKAGES))
    return folder


@pytest.fixture(scope="module")
def installed(environment: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A program of that environment, started in an empty folder; returns what it printed."""
    empty = tmp_path_factory.mktemp("empty")

    def run(program: str, *words: str) -> str:
        command = [str(environment / "bin" / program), *words]
        result = subprocess.run(command, cwd=empty, env=CLEAN, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr
        return result.stdout

    return run


def test_the_wheel_holds_the_code_and_every_value(wheel: Path) -> None:
    files = contents(wheel)
    places = {
        "src/aiayn": "aiayn",
        "src/hydra_plugins": "hydra_plugins",
        "conf": "aiayn/conf",
        "sweeps": "aiayn/sweeps",
    }
    for folder, inside in places.items():
        for path in (CHECKOUT / folder).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                assert files[f"{inside}/{path.relative_to(CHECKOUT / folder)}"] == path.read_bytes()
    assert {name.partition("/")[0] for name in files} == {"aiayn", "hydra_plugins", f"aiayn-{__version__}.dist-info"}


def test_the_sdist_holds_what_git_tracks_alone(sdist: Path) -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=CHECKOUT, capture_output=True, text=True, check=False).stdout
    if not listed:
        pytest.skip("no git here")
    with tarfile.open(sdist) as archive:
        places = {name.split("/")[1] for name in archive.getnames()}
    assert places == {line.partition("/")[0] for line in listed.splitlines()} | {"PKG-INFO"}


@pytest.mark.long
def test_a_wheel_made_from_the_sdist_is_the_same(wheel: Path, unpacked: Path, tmp_path: Path) -> None:
    assert contents(build(unpacked, "wheel", tmp_path)) == contents(wheel)


def test_links_of_documents_lead_to_files_of_the_sdist(unpacked: Path) -> None:
    documents = [path for pattern in ("*.md", "docs/**/*.md", "docs/**/*.ipynb") for path in unpacked.glob(pattern)]
    links = [(path, link) for path in documents for link in LINK.findall(path.read_text(encoding="utf-8"))]
    assert len(links) > 200
    assert [(path, link) for path, link in links if not (path.parent / link).exists()] == []


def test_the_sdist_has_no_recorded_data(sdist: Path, unpacked: Path) -> None:
    results = unpacked / "docs" / "results"
    assert {path.suffix for path in results.rglob("*") if path.is_file()} == {".json", ".md", ".svg"}
    assert sdist.stat().st_size < 3_000_000


def test_the_description_for_an_index_needs_no_other_file(wheel: Path, unpacked: Path) -> None:
    (metadata,) = (content.decode() for name, content in contents(wheel).items() if name.endswith("/METADATA"))
    _, _, description = metadata.partition("\n\n")
    assert LINK.findall(description) == []
    readme = (CHECKOUT / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"^#.*", description, re.MULTILINE) == re.findall(r"^#.*", readme, re.MULTILINE)
    named = re.findall(r"[\w/]+\.(?:md|cff)\b", description)
    assert {"docs/index.md", "SECURITY.md"} <= {*named}
    assert all((unpacked / name).is_file() for name in named)


def test_the_wheel_is_what_runs(installed: Run, environment: Path) -> None:
    found = installed(
        "python",
        "-c",
        "import aiayn, aiayn.config.store as s; print(aiayn.__file__, s.conf_directory(), s.sweeps_directory())",
    )
    for path in found.split():
        assert Path(path).is_relative_to(environment)


def test_it_says_what_it_is_and_what_it_does(installed: Run) -> None:
    assert installed("python", "-m", "aiayn", "--version") == f"aiayn {__version__}\n"
    assert "aiayn <verb>" in installed("aiayn", "--help")
    composed = yaml.safe_load(installed("aiayn", "train", "experiment=table3/big", "--cfg", "job", "--resolve"))
    assert composed["identity"]["experiment"] == "table3/big"


@pytest.mark.long
def test_reports_need_no_checkout(installed: Run) -> None:
    assert "Transformer (big)" in installed("aiayn", "report", "paper", "table=2")


@pytest.mark.long
def test_a_run_is_trained_and_shown(installed: Run) -> None:
    assert "this run" in installed("aiayn", "train", *TINY, "optimization.max_steps=2", "logger=none")


IMPORT = (
    "import sys, time; t = time.perf_counter(); import aiayn; print(time.perf_counter() - t, 'numpy' in sys.modules)"
)

NO_PANDAS = """
import sys
sys.modules["pandas"] = None  # importing it fails as where it is not installed
import aiayn
print(aiayn.compose(["scale=nano"]).identity.scale)
try:
    aiayn.list_runs("runs")
except aiayn.UserError as error:
    print(error)
"""

NOTEBOOK = """
import sys
from pathlib import Path
sys.path.append(sys.argv[1])
from notebooks import executed, stored, shown
path = Path(sys.argv[2])
assert shown(executed(path, Path.cwd())) == shown(stored(path))
"""


def test_importing_it_takes_a_moment(installed: Run) -> None:
    answers = [installed("python", "-c", IMPORT).split() for _ in range(3)]
    assert min(float(seconds) for seconds, _ in answers) < 0.1
    assert {has_numpy for _, has_numpy in answers} == {"False"}


def test_python_works_without_pandas(installed: Run) -> None:
    scale, complaint = installed("python", "-c", NO_PANDAS).splitlines()
    assert scale == "nano"
    assert complaint.startswith("aiayn.list_runs: pandas is not installed")


@pytest.mark.long
def test_a_notebook_runs(installed: Run) -> None:
    installed(
        "python", "-c", NOTEBOOK, str(CHECKOUT / "tests/support"), str(CHECKOUT / "docs/notebooks/attention.ipynb")
    )
