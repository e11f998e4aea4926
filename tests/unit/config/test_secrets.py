"""A key that looks like that of a secret is refused before any file is written, wherever it stands."""

from pathlib import Path
from typing import Any

import pytest
from commands import Say
from hypothesis import given
from hypothesis import strategies as st
from omegaconf import DictConfig, OmegaConf

from aiayn.config.compose import compose_with_hydra
from aiayn.config.secrets import check_composed, is_secret
from aiayn.config.store import COMMANDS, conf_directory

WORD = st.from_regex(r"[a-z]{1,8}", fullmatch=True)
SECRETS = st.sampled_from(
    [
        "api_key",
        "apiKey",
        "API-KEY",
        "APIKey",
        "token",
        "hub_token",
        "accessToken",
        "MY_TOKEN",
        "HFToken",
        "private_key",
        "privateKey",
        "secret_key",
        "secretKey",
        "access_key",
        "accessKey",
        "aws_secret_access_key",
        "AWSSecretAccessKey",
        "passphrase",
        "passWord",
        "passwd",
        "bearer",
        "wandb_key",
    ]
) | st.builds(
    "{}{}".format, st.sampled_from(["", "client_", "wandb"]), st.sampled_from(["secret", "Password", "AUTHORIZATION"])
)
PLAIN = st.sampled_from(
    [
        "tokenizer",
        "source_tokens",
        "target_tokens",
        "max_tokens_per_device",
        "seed",
        "author",
        "secretary",
        "key",
        "keys",
        "monitor",
        "sortKey",
    ]
)


@given(st.lists(WORD, max_size=3), SECRETS, st.lists(WORD, max_size=2))
def test_a_whole_segment_of_a_key_is_the_name_of_a_secret(before: list[str], name: str, after: list[str]) -> None:
    assert is_secret(".".join([*before, name, *after]))


@given(st.lists(PLAIN, min_size=1, max_size=4))
def test_other_keys_are_none(names: list[str]) -> None:
    assert not is_secret(".".join(names))


@pytest.mark.parametrize("verb", COMMANDS)
def test_no_command_has_such_a_key(verb: str) -> None:
    check_composed(compose_with_hydra(verb))


def test_no_file_of_the_configuration_has_such_a_key() -> None:
    files = list(conf_directory().rglob("*.yaml"))
    assert files
    for file in files:
        content = OmegaConf.load(file)
        assert isinstance(content, DictConfig)
        check_composed(content)


@pytest.mark.parametrize(
    ("words", "key", "instead"),
    [
        (["logger=none", "+logger.api_key=S3CRET"], "logger.api_key", "WANDB_API_KEY"),
        (["logger=none", "+logger.Api_Key=S3CRET"], "logger.Api_Key", "WANDB_API_KEY"),
        (["+logger.settings={api_key: S3CRET}"], "logger.settings.api_key", "WANDB_API_KEY"),
        (["+callbacks.mine={_target_: a.B, of: [{token: S3CRET}]}"], "callbacks.mine.of.token", "TOKEN"),
        (["-m", "seed=1,2", "+hydra.job.env_set.MY_TOKEN=S3CRET"], "hydra.job.env_set.MY_TOKEN", "MY_TOKEN before"),
        (["-m", "+logger={a: 1},{a: 1, auth_token: S3CRET}"], "logger.auth_token", "WANDB_API_KEY"),
        (["-m", "+data.token=S3CRET,S3CRET2"], "data.token", "HF_TOKEN"),
        (["--cfg", "job", "+logger.password=S3CRET"], "logger.password", "WANDB_API_KEY"),
        (["nonsense=1", "+logger.password=S3CRET"], "logger.password", "WANDB_API_KEY"),
        (["--config-dir", "own", "debug=mine"], "callbacks.hook.authorization", "AUTHORIZATION"),
        (["--config-dir", "own", "sweeps=mine"], r"hydra.sweeper.params.+logger.api_key", "variable"),
    ],
)
def test_it_is_refused_before_any_file_is_written(
    words: list[str], key: str, instead: str, aiayn: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files: dict[str, Any] = {"debug": {"callbacks": {"hook": {"_target_": "a.B", "authorization": "S3CRET"}}}}
    files["sweeps"] = {"hydra": {"mode": "MULTIRUN", "sweeper": {"params": {"+logger.api_key": "S3CRET,S3CRET2"}}}}
    for group, content in files.items():
        (tmp_path / "own" / group).mkdir(parents=True)
        text = f"# @package _global_\n{OmegaConf.to_yaml(OmegaConf.create(content))}"
        (tmp_path / "own" / group / "mine.yaml").write_text(text)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    before = sorted(tmp_path.rglob("*"))
    said = aiayn("train", *words)
    assert said.code == 2
    assert said.err.startswith(f"aiayn: {key}: looks like a secret")
    assert instead in said.err
    assert said.err.count("\n") == 1
    assert "S3CRET" not in said.err + said.out
    assert sorted(tmp_path.rglob("*")) == before
