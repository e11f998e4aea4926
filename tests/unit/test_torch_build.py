"""`make` takes torch in the build for this machine; tried on wheels of a few bytes, in an environment of its own."""

import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow


def write_wheel(folder: Path, version: str) -> Path:
    """A torch that has a version and nothing else."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"torch-{version}-py3-none-any.whl"
    told = f"torch-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(f"{told}/METADATA", f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n")
        wheel.writestr(f"{told}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nTag: py3-none-any\n")
        wheel.writestr(f"{told}/RECORD", "")
    return path


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """That of an environment with pip alone."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=True)
    return folder / "bin" / "python"


@pytest.fixture
def pip(python: Path, tmp_path: Path) -> "Pip":
    return Pip(python, tmp_path)


class Pip:
    """pip with folders of wheels for an index."""

    def __init__(self, python: Path, folder: Path) -> None:
        self.python, self.folder = python, folder
        self.environment = {"PATH": "/usr/bin:/bin", "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": "/dev/null"}
        for told in self.metadata():
            shutil.rmtree(told)

    def metadata(self) -> list[Path]:
        """Where the environment has that of a torch."""
        return [*self.python.parents[1].glob("lib/python*/site-packages/torch-*.dist-info")]

    def offer(self, *versions: str) -> None:
        """Put wheels of torch into the folder that pip looks into."""
        offered = self.folder / "offered"
        self.environment["PIP_FIND_LINKS"] = str(offered)
        for version in versions:
            write_wheel(offered, version)

    def choose(self) -> str:
        """Run the choice as `make` does, and return what it says."""
        done = subprocess.run(
            [self.python, ROOT / ".ci" / "torch"], env=self.environment, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout) == (0, "")
        return done.stderr

    def installed(self) -> list[str]:
        """The version of torch in the environment, if there is one."""
        return [told.name.removeprefix("torch-").removesuffix(".dist-info") for told in self.metadata()]


needs_no_gpu = pytest.mark.skipif(
    sys.platform != "linux" or any(Path("/dev").glob("nvidia[0-9]*")),
    reason="only on Linux without a GPU there is a choice",
)


@needs_no_gpu
def test_the_newest_allowed_build_for_cpus_is_taken_and_kept(pip: Pip) -> None:
    pip.offer("2.12.0+cpu", "2.13.0+cpu", "2.13.0", "2.14.0+cpu", "2.15.0", "2.99.0+cpu", "2.7.0+cpu")
    (pip.folder / "constraints.txt").write_text("torch<2.14\n")
    pip.environment["PIP_CONSTRAINT"] = str(pip.folder / "constraints.txt")
    said = pip.choose()
    assert pip.installed() == ["2.13.0+cpu"]
    assert said.startswith("torch 2.13.0+cpu, since this machine has no GPU")
    del pip.environment["PIP_CONSTRAINT"]
    assert pip.choose() == ""
    assert pip.installed() == ["2.13.0+cpu"]


@needs_no_gpu
@pytest.mark.parametrize("versions", [["2.13.0", "2.99.0+cpu", "2.7.0+cpu"], []])
def test_without_such_a_build_the_size_is_said_and_the_rest_is_left_to_pip(pip: Pip, versions: list[str]) -> None:
    pip.offer(*versions)
    said = pip.choose()
    assert not pip.installed()
    assert said.count("\n") == 1
    assert "6 GB on disk" in said
    assert "TORCH_INDEX=" in said


def test_with_a_gpu_pip_chooses(pip: Pip) -> None:
    pip.offer("2.13.0+cpu", "2.15.0")
    smi = pip.folder / "nvidia-smi"
    smi.touch(0o755)
    pip.environment["PATH"] = f"{pip.folder}:/usr/bin:/bin"
    assert pip.choose() == ""
    assert not pip.installed()


def test_an_index_that_is_stated_is_the_one(pip: Pip) -> None:
    wheel = write_wheel(pip.folder / "index" / "torch", "2.14.0+cu130")
    (wheel.parent / "index.html").write_text(f'<a href="{wheel.name}">{wheel.name}</a>')
    del pip.environment["PIP_NO_INDEX"]
    pip.environment["TORCH_INDEX"] = (pip.folder / "index").as_uri()
    assert pip.choose() == ""
    assert pip.installed() == ["2.14.0+cu130"]
