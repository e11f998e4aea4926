"""Classes of the user's own: found by name, told apart by their files, refused in one line."""

from abc import ABC, abstractmethod
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiayn.errors import RunFailedError, UserError
from aiayn.system.plugins import create, failures_named, is_plugin, source_digest

IDENTIFIERS = st.from_regex(r"[A-Za-z_][A-Za-z_0-9]*", fullmatch=True)


class Base(ABC):
    """What the classes of these tests derive from."""

    @abstractmethod
    def value(self) -> int:
        """A number."""


CODE = """
from test_plugins import Base
from aiayn.errors import UserError

class Mine(Base):
    def __init__(self, *, given, own=1):
        self.given, self.own = given, own
    def value(self):
        return self.given + self.own

class Abstract(Base):
    pass

class Stranger:
    pass

class Raising(Mine):
    def __init__(self, *, given, own=1):
        raise ZeroDivisionError("no\\nparts")

class Complaining(Mine):
    def __init__(self, *, given, own=1):
        raise UserError(f"given={given}: odd")

class Ending(BaseException):
    def __str__(self):
        return 5

class Ended(Mine):
    def __init__(self, *, given, own=1):
        raise Ending

class Odd(Mine):
    def value(self):
        raise {"ending": Ending, "closed": GeneratorExit, "broken": OSError}[self.own]

class Unsigned(Mine):
    __signature__ = 5

class Nowhere(Mine):
    __module__ = "no_such_module"

number = 3
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """On sys.path; each test has modules of its own names, which stay imported in this process."""
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def made(name: str, **own: object) -> Base:
    return create(name, key="model.part", base=Base, given={"given": 2}, own=own)  # type: ignore[type-abstract]


@given(st.lists(IDENTIFIERS, min_size=1), IDENTIFIERS)
def test_a_module_and_a_class_are_a_name(modules: list[str], kind: str) -> None:
    assert is_plugin(f"{'.'.join(modules)}:{kind}")


@given(IDENTIFIERS)
def test_a_choice_is_no_name_of_a_class(choice: str) -> None:
    assert not any(
        map(is_plugin, (choice, f"{choice}:", f":{choice}", f"a:{choice} ", f"a:{choice}:b", f"a.b.{choice}"))
    )


def test_a_class_gets_what_every_one_is_given_and_its_own_arguments(folder: Path) -> None:
    (folder / "plugged_made.py").write_text(CODE)
    assert made("plugged_made:Mine").value() == 3
    assert made("plugged_made:Mine", own=5).value() == 7


@pytest.mark.parametrize(
    ("kind", "own", "complaint"),
    [
        ("Nobody", {}, "plugged_refused has no Nobody"),
        ("number", {}, "must be a subclass of test_plugins.Base"),
        ("Stranger", {}, "must be a subclass of test_plugins.Base"),
        ("Abstract", {}, "does not define value"),
        (
            "Mine",
            {"depth": 1},
            "got an unexpected keyword argument 'depth'; it takes given, own, and is given given, d",
        ),
        ("Mine", {"given": 1}, "it is given given in any case"),
        ("Raising", {}, "its constructor raised ZeroDivisionError: no parts"),
        ("Unsigned", {}, "its signature raised TypeError: "),
        ("Ended", {}, "its constructor raised Ending"),
    ],
)
def test_a_class_that_cannot_be_made_is_refused_in_one_line(
    folder: Path, kind: str, own: dict[str, object], complaint: str
) -> None:
    (folder / "plugged_refused.py").write_text(CODE)
    with pytest.raises(UserError) as caught:
        made(f"plugged_refused:{kind}", **own)
    assert str(caught.value).startswith(f"model.part=plugged_refused:{kind}: {complaint}")
    assert "\n" not in str(caught.value)


def test_a_complaint_of_the_class_is_passed_on_as_it_is(folder: Path) -> None:
    (folder / "plugged_complaint.py").write_text(CODE)
    with pytest.raises(UserError, match=r"^given=2: odd$"):
        made("plugged_complaint:Complaining")


@pytest.mark.parametrize(
    ("number", "code", "complaint"),
    [
        (0, "import no_such_package", "there is no module no_such_package; name its folder in PYTHONPATH"),
        (1, "from json import no_such_name", "importing plugged_broken_1 raised ImportError: cannot import name"),
        (2, "def (:", "importing plugged_broken_2 raised SyntaxError: "),
        (3, "undefined", "importing plugged_broken_3 raised NameError: name 'undefined' is not defined"),
        (4, "import json; json.nothing", "importing plugged_broken_4 raised AttributeError: "),
        (5, "raise GeneratorExit", "importing plugged_broken_5 raised GeneratorExit"),
        (6, "def __getattr__(name): raise SystemExit(0)", "importing plugged_broken_6 raised SystemExit(0)"),
    ],
)
def test_a_module_that_cannot_be_imported_is_refused_in_one_line(
    folder: Path, number: int, code: str, complaint: str
) -> None:
    name = f"plugged_broken_{number}"
    (folder / f"{name}.py").write_text(f"{code}\n")
    with pytest.raises(UserError) as caught:
        made(f"{name}:Mine")
    assert str(caught.value).startswith(f"model.part={name}:Mine: {complaint}")
    assert "\n" not in str(caught.value)


@given(first=st.binary(), second=st.binary())
def test_the_digest_is_of_the_files_content(
    tmp_path_factory: pytest.TempPathFactory, first: bytes, second: bytes
) -> None:
    folder = tmp_path_factory.mktemp("digests")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        digests = []
        for content in (first, second):
            (folder / "plugged_digest.py").write_bytes(content)
            digests.append(source_digest("plugged_digest:Mine"))
    assert all(digest is not None and len(digest) == 16 for digest in digests)
    assert (digests[0] == digests[1]) == (first == second)


def test_the_digest_runs_no_module(folder: Path) -> None:
    (folder / "plugged_unrun.py").write_text("raise SystemExit\n")
    assert source_digest("plugged_unrun:Mine")


@pytest.mark.parametrize("name", ["plugged_nowhere:A", "plugged_no.where:A", "json.no.where:A", "a..b:A", "sys:A"])
def test_what_has_no_file_has_no_digest(name: str) -> None:
    assert source_digest(name) is None


def test_a_package_has_the_digest_of_its_module(folder: Path) -> None:
    package = folder / "plugged_package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "part.py").write_text(CODE)
    before = source_digest("plugged_package.part:Mine")
    assert before != source_digest("plugged_package:Mine")
    (package / "__init__.py").write_text("# changed\n")
    assert source_digest("plugged_package.part:Mine") == before
    assert made("plugged_package.part:Mine").value() == 3


@pytest.mark.parametrize(
    ("number", "code", "complaint"),
    [
        (0, "1 / 0", "importing its package raised ZeroDivisionError: division by zero"),
        (1, "import no_such_package", "there is no module no_such_package; "),
        (2, "from json import no_such_name", "importing its package raised ImportError: cannot import name"),
        (3, "raise GeneratorExit", "importing its package raised GeneratorExit"),
    ],
)
def test_a_package_that_cannot_be_imported_is_refused_in_one_line(
    folder: Path, number: int, code: str, complaint: str
) -> None:
    package = folder / f"plugged_unusable_{number}"
    package.mkdir()
    (package / "__init__.py").write_text(f"{code}\n")
    (package / "part.py").write_text(CODE)
    with pytest.raises(UserError) as caught:
        source_digest(f"{package.name}.part:Mine")
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_class_whose_module_cannot_be_found_is_made(folder: Path) -> None:
    (folder / "plugged_stray.py").write_text(CODE)
    assert made("plugged_stray:Nowhere").value() == 3


@pytest.mark.parametrize(("own", "text"), [("ending", "Ending"), ("closed", "GeneratorExit"), ("broken", "OSError")])
def test_whatever_a_class_raises_is_a_failure_that_names_it(folder: Path, own: str, text: str) -> None:
    (folder / "plugged_odd.py").write_text(CODE)
    with pytest.raises(RunFailedError) as caught, failures_named():
        made("plugged_odd:Odd", own=own).value()
    assert str(caught.value).startswith(f"model.part=plugged_odd:Odd: raised {text} (plugged_odd.py, line ")


def test_what_a_wrong_result_leads_to_is_a_failure_that_names_the_class(folder: Path) -> None:
    (folder / "plugged_result.py").write_text(CODE)
    with pytest.raises(RunFailedError) as caught, failures_named():
        _ = made("plugged_result:Mine", own=2).value() / 0
    named = "aiayn check tests model.part=plugged_result:Mine"
    assert str(caught.value) == f"ZeroDivisionError: division by zero; {named}"


@pytest.mark.parametrize(
    "error", [UserError("a"), KeyboardInterrupt(), BrokenPipeError(), FileNotFoundError(2, "", "")]
)
def test_mistakes_interrupts_and_files_are_not_a_classs_failures(folder: Path, error: BaseException) -> None:
    (folder / "plugged_passed.py").write_text(CODE)

    def command() -> None:
        with failures_named():
            made("plugged_passed:Mine")
            raise error

    with pytest.raises(type(error)):
        command()


def test_a_command_without_a_class_blames_none_of_the_command_before(folder: Path) -> None:
    (folder / "plugged_before.py").write_text(CODE)
    with failures_named():
        made("plugged_before:Mine")
    with pytest.raises(ZeroDivisionError), failures_named():
        _ = 1 / 0
