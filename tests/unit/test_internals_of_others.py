"""What other libraries do not document is as our code reads it, and in the files that docs/architecture.md lists.

If a test fails after an update of a library: read its change log; use a public way if it has one by now; else adapt the
file of ours that the message names, and what docs/architecture.md says of it; or lower the bound in pyproject.toml.
"""

import ast
import importlib
import inspect
import os
import pickle
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import timedelta
from http import HTTPStatus
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
import wandb
from pytorch_lightning import Callback, LightningModule, Trainer
from pytorch_lightning.demos.boring_classes import BoringModel
from pytorch_lightning.loggers import WandbLogger
from torch.nn import functional
from wandb_server import KEY, RecordingServer, wandb_server

from aiayn.system.torch_internals import is_shortage, keep_graphs_whole, lost_peer, one_dnn, refused_class
from aiayn.tracking import wandb_internals
from aiayn.training import lightning_internals

ROOT = Path(__file__).parents[2]

WORKSPACES = "extensions/page/workspaces_internals.py"

SOURCES = "config/sources.py"

NAMED_TUPLES = {"_asdict", "_fields", "_replace"}  # documented by Python, and so is os._exit

UNDOCUMENTED = (
    "ctranslate2.specs.common_spec",
    "datasets.packaged_modules.cache",
    "rich.cells",
    "sacrebleu.utils",
    "submitit.core",
    "torch.distributed.launcher",
    "torch.multiprocessing.reductions",
    "wandb.sdk",
)
"""Modules that their libraries do not document, though no part of their names begins with an underscore."""

SIGNATURES = {
    "datasets.packaged_modules.cache.cache:Cache": ("data/corpora/hub_data_set.py", None),
    "hydra._internal.core_plugins.file_config_source:FileConfigSource.is_config": (SOURCES, ["self", "config_path"]),
    "hydra._internal.core_plugins.file_config_source:FileConfigSource.is_group": (SOURCES, ["self", "config_path"]),
    "hydra._internal.core_plugins.file_config_source:FileConfigSource.list": (
        SOURCES,
        ["self", "config_path", "results_filter"],
    ),
    "hydra._internal.core_plugins.file_config_source:FileConfigSource.load_config": (SOURCES, ["self", "config_path"]),
    "hydra._internal.core_plugins.structured_config_source:StructuredConfigSource.load_config": (
        SOURCES,
        ["self", "config_path"],
    ),
    "hydra._internal.sources_registry:SourcesRegistry.register": (SOURCES, ["self", "type_"]),
    "pytorch_lightning.loops.training_epoch_loop:_TrainingEpochLoop._broadcast_sigterm_tensor": (
        "training/lightning_internals.py",
        ["self"],
    ),
    "pytorch_lightning.loops.evaluation_loop:_EvaluationLoop.run": ("training/lightning_internals.py", ["self"]),
    "submitit.core.utils:FailedJobError": ("extensions/cluster/slurm.py", None),
    "submitit.core.utils:FailedSubmissionError": ("extensions/cluster/slurm.py", None),
    "torch.distributed.launcher.api:elastic_launch": ("launch/group.py", ["config", "entrypoint"]),
    "wandb.sdk.lib.wbauth:read_netrc_auth": ("tracking/wandb_internals.py", ["host"]),
    "wandb.sdk.wandb_setup:singleton": ("tracking/wandb_internals.py", []),
    "wandb_workspaces._graphql:execute_graphql": (WORKSPACES, ["api", "query", "variables"]),
    "wandb_workspaces.reports.v2:Report._to_model": (WORKSPACES, ["self"]),
    "wandb_workspaces.workspaces:Workspace._to_model": (WORKSPACES, ["self"]),
}
"""The file of ours that uses a part, and the part's arguments; None: a class that is only recognised."""


def listed() -> dict[str, list[str]]:
    """The rows of the list in docs/architecture.md by file: library, part, reason and test."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").partition("## Private parts of others")[2]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]
    return {file.strip("`"): [library, part, why, test] for library, part, file, why, test in rows[2:]}


def private_uses(path: Path) -> Iterator[str]:
    """The private names of others in a module: imported, or read from anything but `self`."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        modules = []
        if isinstance(node, ast.Import):
            modules = [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = [f"{node.module}.{each.name}" for each in node.names]
        elif isinstance(node, ast.Attribute) and node.attr[0] == "_" and node.attr[-1] != "_":
            of_own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            if not of_own and node.attr not in NAMED_TUPLES and ast.unparse(node) != "os._exit":
                yield ast.unparse(node)
        for module in modules:
            if module != "__future__" and (module.startswith(UNDOCUMENTED) or "._" in module.replace(".__", "")):
                yield module


def test_the_list_names_every_file_with_a_private_part_of_another_library() -> None:
    source = ROOT / "src"
    found = {
        path.relative_to(source / "aiayn" if path.is_relative_to(source / "aiayn") else source).as_posix(): uses
        for path in source.rglob("*.py")
        if (uses := [*private_uses(path)])
    }
    unlisted = {path: uses for path, uses in found.items() if path not in listed()}
    assert not unlisted, "use a public way, or the file of that library, and add it to docs/architecture.md"


def test_what_the_list_states_is_there() -> None:
    for file, (_, parts, _, test) in listed().items():
        source = (ROOT / "src" / "aiayn" / file).read_text(encoding="utf-8")
        for part in re.findall("`([^`]+)`", parts):
            assert re.split(r"[ .]", part)[-1] in source, f"{file} does without {part}: take it out of the list"
        assert (ROOT / test.strip("`")).is_file(), test
    assert {file for file, _ in SIGNATURES.values()} <= listed().keys()


def advice(library: str, file: str) -> str:
    return f"{library} {version(library)} is not what src/aiayn/{file} was written for; see the head of this test"


@pytest.mark.parametrize("part", SIGNATURES)
def test_a_private_part_has_the_name_and_the_arguments_that_are_used(part: str) -> None:
    file, arguments = SIGNATURES[part]
    module, _, path = part.partition(":")
    library = module.partition(".")[0]
    pytest.importorskip(library, reason="an extra that is not installed")
    try:
        found: Any = importlib.import_module(module)
        for name in path.split("."):
            found = getattr(found, name)
    except (ImportError, AttributeError):
        pytest.fail(advice(library, file))
    if arguments is not None:
        assert [*inspect.signature(found).parameters][: len(arguments)] == arguments, advice(library, file)


class Validates(Callback):
    """Validates before the first step."""

    batches = 0

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        lightning_internals.validate_in_training(trainer)
        assert trainer.training
        assert self.batches == 3

    def on_validation_batch_end(self, *_: Any) -> None:
        self.batches += 1


@pytest.mark.filterwarnings("ignore")  # Lightning's own
def test_lightning_counts_as_its_checkpoints_are_read(tmp_path: Path) -> None:
    said = advice("pytorch_lightning", "training/lightning_internals.py")
    trainer = Trainer(
        accelerator="cpu",
        max_steps=2,
        accumulate_grad_batches=3,
        limit_val_batches=3,
        num_sanity_val_steps=0,
        val_check_interval=6,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[Validates()],
    )
    lightning_internals.stop_broadcasts(trainer)
    assert "_broadcast_sigterm_tensor" in type(trainer.fit_loop.epoch_loop).advance.__code__.co_names, said
    trainer.fit(BoringModel())
    trainer.save_checkpoint(tmp_path / "last.ckpt")
    checkpoint = torch.load(tmp_path / "last.ckpt", weights_only=True)
    assert checkpoint.keys() >= {*lightning_internals.TRAINING_STATE}, said
    assert lightning_internals.optimizer_steps(checkpoint) == checkpoint["global_step"] == 2, said
    before = checkpoint["loops"]["fit_loop"]["epoch_loop.batch_progress"]
    assert before["total"]["ready"] == before["current"]["ready"] == 6, said
    lightning_internals.set_batches(checkpoint, 4)
    assert {*before["total"].values(), *before["current"].values()} == {4}, said


def test_torch_has_the_products_and_the_setting_that_are_used() -> None:
    said = advice("torch", "system/torch_internals.py")
    products = one_dnn()
    if torch.backends.cpu.get_cpu_capability() == "AVX512":  # else models/matmul.py takes torch's own
        assert products is not None, said
    if products is not None:
        states, weight, bias = torch.randn(64, 16), torch.randn(32, 16), torch.randn(32)
        for form in (weight, products.reordered(weight)):
            result = products.linear(states, form, bias, "none", [], "")
            torch.testing.assert_close(result, functional.linear(states, weight, bias), rtol=1e-4, atol=1e-4)
    settings: Any = importlib.import_module("torch._dynamo.config")
    assert hasattr(settings, "optimize_ddp"), said
    before = settings.optimize_ddp
    keep_graphs_whole()
    assert settings.optimize_ddp is False
    settings.optimize_ddp = before


def test_torch_reports_what_is_recognised_by_its_text(tmp_path: Path) -> None:
    said = advice("torch", "system/torch_internals.py")
    with pytest.raises(RuntimeError) as shortage:
        torch.empty(2**50)
    assert is_shortage(shortage.value), said
    assert lost_peer(shortage.value) is None
    torch.save({"of": inspect.Signature()}, tmp_path / "foreign.pt")
    with pytest.raises(pickle.UnpicklingError) as refusal:
        torch.load(tmp_path / "foreign.pt", weights_only=True)
    assert refused_class(refusal.value) == "inspect.Signature", said


@pytest.mark.parametrize("hangs", [False, True])
def test_gloo_reports_a_lost_rank_by_the_text_that_is_recognised(tmp_path: Path, hangs: bool) -> None:
    found: list[RuntimeError] = []
    done = threading.Event()
    parts: Any = dist  # not all are exported to type checkers

    def join(rank: int) -> None:
        store = parts.FileStore(str(tmp_path / "store"), 2)
        group = parts.ProcessGroupGloo(store, rank, 2, timedelta(seconds=1))
        if rank:
            done.wait(5 if hangs else 0.1)
            return
        try:
            group.allreduce([torch.ones(1)]).wait()
        except RuntimeError as error:
            found.append(error)
        done.set()

    threads = [threading.Thread(target=join, args=(rank,)) for rank in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    text = lost_peer(found[0])
    assert text is not None, advice("torch", "system/torch_internals.py")
    assert text.startswith("Timed out" if hangs else "Connection closed by peer")


def test_workspaces_are_saved_in_the_place_and_with_the_content_that_is_shown() -> None:
    pytest.importorskip("wandb_workspaces", reason="the extra aiayn[dashboard] is not installed")
    from wandb_workspaces import workspaces

    from aiayn.extensions.page.workspaces_internals import content_of, replace_saved

    workspace = workspaces.Workspace(entity="mine", project="aiayn", name="Table 3", sections=[])
    assert {"_internal_id", "_internal_name"} <= vars(workspace).keys(), advice("wandb_workspaces", WORKSPACES)
    replace_saved(workspace, {"id": "an id", "name": "a name"})
    content = content_of(workspace)
    assert (content["id"], content["name"]) == ("an id", "a name"), advice("wandb_workspaces", WORKSPACES)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[RecordingServer]:
    """A stand-in for W&B's server, at which the client is logged in."""
    with wandb_server() as started:
        for name in [name for name in os.environ if name.startswith("WANDB_")]:
            monkeypatch.delenv(name)
        for name, value in {"BASE_URL": started.url, "API_KEY": KEY, "SILENT": "true"}.items():
            monkeypatch.setenv(f"WANDB_{name}", value)
        wandb.teardown()
        yield started
        wandb.teardown()


def test_wandbs_settings_and_keys_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = advice("wandb", "tracking/wandb_internals.py")
    (tmp_path / "netrc").write_text(f"machine w.example login user password {KEY}\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    monkeypatch.setenv("WANDB_BASE_URL", "https://w.example")
    wandb.teardown()
    settings = wandb_internals.client_settings()
    wandb.teardown()
    assert settings.base_url == "https://w.example", said
    assert wandb_internals.netrc_key(settings.base_url) == KEY, said
    assert "_HTTP_TIMEOUT" in wandb.Api.__init__.__code__.co_names, said
    variables = wandb_internals.patience(retries=1, timeout=5)
    fields = {name.removeprefix("WANDB_").lower() for name in variables}
    assert fields <= wandb.Settings.model_fields.keys(), said


def logged(folder: Path, mode: str) -> Path:
    """The folder of an attempt of W&B with two steps, logged as Lightning does."""
    logger = WandbLogger(project="aiayn", save_dir=folder, mode=mode)
    for step in (1, 2):
        logger.log_metrics({"loss": 1.0}, step)
    attempt = Path(logger.experiment.dir).parent
    logger.experiment.finish()
    return attempt


def synced(file: Path) -> wandb_internals.Answer:
    environment = os.environ | wandb_internals.patience(retries=0, timeout=5) | {"WANDB_SILENT": "false"}
    command = [sys.executable, "-m", "wandb", "sync", "--include-online", str(file)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    return wandb_internals.read_answer(done.stdout + done.stderr)


@pytest.mark.slow
def test_wandb_writes_and_says_what_is_read(server: RecordingServer, tmp_path: Path) -> None:
    said = advice("wandb", "tracking/wandb_internals.py")
    attempt = logged(tmp_path, "offline")
    (file,) = attempt.glob("run-*.wandb")
    kept = wandb_internals.read_kept(attempt)
    assert kept is not None, said
    assert kept.is_whole, said
    assert kept.values >= {(1, "loss"), (2, "loss")}, said
    server.refusal = HTTPStatus.UNAUTHORIZED
    refused = synced(file)
    assert refused.errors, said
    assert refused.url is None, said
    server.refusal = None
    file.write_bytes(file.read_bytes()[:-20])
    kept = wandb_internals.read_kept(attempt)
    assert kept is not None, said
    assert not kept.is_whole, said
    torn = synced(file)
    assert (torn.is_torn, torn.errors) == (True, []), said
    assert torn.url is not None, said
    assert torn.url.startswith(f"{server.url}/"), said
    assert not wandb_internals.mark_of(file).exists(), said
    (other,) = logged(tmp_path, "offline").glob("run-*.wandb")
    assert not synced(other).is_torn
    assert wandb_internals.mark_of(other).exists(), said


@pytest.mark.slow
def test_wandb_logs_what_the_server_has_refused_for_good(server: RecordingServer, tmp_path: Path) -> None:
    said = advice("wandb", "tracking/wandb_internals.py")
    assert not wandb_internals.has_refused(logged(tmp_path, "online")), said
    server.fails_from, server.failure = "file_stream", HTTPStatus.NOT_FOUND
    assert wandb_internals.has_refused(logged(tmp_path, "online")), said
