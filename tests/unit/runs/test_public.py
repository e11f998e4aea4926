"""What is published of a run holds no absolute path, tracker, callback or secret."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiayn.errors import UserError
from aiayn.runs.public import check_public, public_command, public_config, public_record

NAMES = st.from_regex(r"[A-Za-z][A-Za-z0-9]{0,8}", fullmatch=True)
FOLDERS = st.lists(NAMES, min_size=1, max_size=3).map(lambda parts: "".join(f"/hidden{part}" for part in parts))
PATHS = st.builds("{}{}/{}".format, st.sampled_from(["", "file:", "file://", "~", ".."]), FOLDERS, NAMES)
TEXTS = st.builds(
    "{}{}{}".format,
    st.sampled_from(["", "x=", "[a,", "see ", "a:", "'"]),
    PATHS,
    st.sampled_from(["", ",b]", " b", "'"]),
)
SECRETS = st.sampled_from(["token", "api_key", "password", "hub_token", "client.secret", "Credentials"])
PLAIN = st.one_of(st.integers(), st.floats(allow_nan=False), st.booleans(), st.none(), NAMES)
OPEN = st.recursive(
    PLAIN | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES | TEXTS, inner, max_size=3),
    max_leaves=8,
)


@st.composite
def configurations(draw: st.DrawFn) -> dict[str, Any]:
    """With anything where a user may state anything."""
    arguments = draw(st.dictionaries(NAMES, OPEN, max_size=3)) | {draw(SECRETS): "s3cret-value"}
    return {
        "seed": 1,
        "init_from": draw(st.none() | PATHS),
        "data": {"train": {"source": draw(TEXTS | st.lists(PATHS, max_size=2))}, "source_tokens": 3},
        "model": {"attention_arguments": arguments},
        "trainer": {"max_time": None, "plugins": [{"_target_": "x", **arguments}], **arguments},
        "callbacks": {"mine": {"_target_": "x", "url": "https://hooks.example/s3cret-value"}},
        "logger": {"_target_": "x", "entity": "s3cret-value"},
        "paths": {"runs": draw(PATHS), "cache": draw(PATHS)},
    }


@given(configurations())
def test_a_published_configuration_is_without_folders_and_secrets(config: dict[str, Any]) -> None:
    public = public_config(config)
    text = json.dumps(public)
    assert "hidden" not in re.sub(r"hidden\w*(?=\")", "", text), "at most the last name of a path is left"
    assert "/hidden" not in text
    assert "s3cret" not in text
    assert public["seed"] == 1
    assert public["data"]["source_tokens"] == 3, "tokens are counts, unless the key is token"
    assert public_config(public) == public


@given(
    st.lists(st.tuples(st.sampled_from(["data.train.source", "init_from", "+model.attention_arguments.file"]), TEXTS))
)
def test_a_published_command_names_files_and_no_folders(words: list[tuple[str, str]]) -> None:
    hidden = [
        "paths.runs=/hidden/runs",
        "logger.entity=s3cret",
        "+callbacks.mine.url=s3cret",
        "--config-dir",
        "/hidden/conf",
    ]
    command = shlex.join(
        ["aiayn", "train", "seed=3", *(f"{key}={value}" for key, value in words), *hidden, "trainer.token=s3cret"]
    )
    public = public_command(command)
    assert "/hidden" not in public
    assert "s3cret" not in public
    assert shlex.split(public)[:3] == ["aiayn", "train", "seed=3"]
    assert [word.partition("=")[0] for word in shlex.split(public)[3:]] == [key for key, _ in words]
    assert public_command(public) == public


@given(st.dictionaries(NAMES, PLAIN))
def test_settings_without_anything_private_stay_as_they_are(settings: dict[str, Any]) -> None:
    record = {"command": "aiayn train 'data.filters={a: 1}' optimization.learning_rate_factor=1e-3", "scores": settings}
    assert public_record(record) == record


def test_addresses_lose_their_credentials_and_keep_their_paths() -> None:
    assert public_record({"command": "", "data": "https://me:pw@host/a/b"})["data"] == "https://host/a/b"


def test_a_secret_of_the_environment_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run.json").write_text('{"data": "0123456789abcdef"}')
    check_public(tmp_path, ("run.json",))
    monkeypatch.setenv("MY_API_KEY", "0123456789abcdef")
    with pytest.raises(UserError, match=r"run\.json: would contain the value of MY_API_KEY"):
        check_public(tmp_path, ("run.json",))


def test_an_address_is_no_path_of_a_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Containers of a cluster may have / as the home folder."""
    monkeypatch.setenv("HOME", "/home-of-ada")
    (tmp_path / "card").write_text("https://huggingface.co/ada/model")
    (tmp_path / "other").write_text("/home-of-ada/runs")
    with pytest.raises(UserError, match="other: would contain the path of your home folder"):
        check_public(tmp_path, ("card", "other"))
    monkeypatch.setenv("HOME", "/")
    check_public(tmp_path, ("card", "other"))


@pytest.mark.parametrize("text", ["token: 0123456789abcdef", "at /Users/ada/corpus"])
def test_a_text_like_a_secret_and_the_home_of_another_user_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.yaml").write_text(text)
    with pytest.raises(UserError, match=r"config\.yaml: would contain a "):
        check_public(tmp_path, ("config.yaml",))
