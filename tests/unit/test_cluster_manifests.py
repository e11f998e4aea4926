"""The files of docs/ray: their fields are those of KubeRay and SkyPilot, and the commands in them compose."""

import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from aiayn.config.compose import compose_command

FOLDER = Path(__file__).parents[2] / "docs/ray"

TEXT = {"type": "string", "minLength": 1}
TEXTS = {"type": "object", "additionalProperties": TEXT}
COUNT = {"type": "integer", "minimum": 0}


def fields(required: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    """The schema of an object with these fields alone."""
    return {
        "type": "object",
        "properties": required | (optional or {}),
        "required": list(required),
        "additionalProperties": False,
    }


def several(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": 1}


CONTAINER = fields(
    {
        "name": TEXT,
        "image": TEXT,
        "resources": fields({"requests": TEXTS, "limits": TEXTS}),
        "volumeMounts": several(fields({"name": TEXT, "mountPath": TEXT})),
    },
    {
        "workingDir": TEXT,
        "envFrom": several(fields({"secretRef": fields({"name": TEXT}, {"optional": {"type": "boolean"}})})),
    },
)
TEMPLATE = fields(
    {
        "spec": fields(
            {
                "containers": several(CONTAINER),
                "volumes": several(fields({"name": TEXT, "persistentVolumeClaim": fields({"claimName": TEXT})})),
            }
        )
    }
)
RAY_JOB = fields(
    {
        "apiVersion": {"const": "ray.io/v1"},
        "kind": {"const": "RayJob"},
        "metadata": fields({"name": TEXT}),
        "spec": fields(
            {
                "entrypoint": TEXT,
                "rayClusterSpec": fields(
                    {
                        "rayVersion": TEXT,
                        "headGroupSpec": fields({"rayStartParams": TEXTS, "template": TEMPLATE}),
                        "workerGroupSpecs": several(
                            fields(
                                {"groupName": TEXT, "rayStartParams": TEXTS, "template": TEMPLATE},
                                {"replicas": COUNT, "minReplicas": COUNT, "maxReplicas": COUNT},
                            )
                        ),
                    },
                    {"enableInTreeAutoscaling": {"type": "boolean"}},
                ),
            },
            {"shutdownAfterJobFinishes": {"type": "boolean"}, "backoffLimit": COUNT},
        ),
    }
)
"""The part of `ray.io/v1` RayJob that the manifest uses."""

SKY_TASK = fields(
    {
        "name": TEXT,
        "resources": fields({"accelerators": TEXT, "use_spot": {"const": True}, "job_recovery": TEXT}),
        "run": TEXT,
    },
    {
        "num_nodes": {"const": 1},
        "workdir": TEXT,
        "setup": TEXT,
        "file_mounts": {
            "type": "object",
            "additionalProperties": fields({"name": TEXT, "mode": {"enum": ["MOUNT", "COPY", "MOUNT_CACHED"]}}),
        },
    },
)
"""The part of SkyPilot's task that the file uses."""


def read(name: str) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((FOLDER / name).read_text(encoding="utf-8"))
    return content


@pytest.mark.parametrize(("name", "schema"), [("rayjob.yaml", RAY_JOB), ("skypilot.yaml", SKY_TASK)])
def test_fields_are_known(name: str, schema: dict[str, Any]) -> None:
    assert [error.message for error in Draft202012Validator(schema).iter_errors(read(name))] == []


def test_every_pod_mounts_the_volume_that_runs_and_cache_are_on() -> None:
    spec = read("rayjob.yaml")["spec"]["rayClusterSpec"]
    pods = [group["template"]["spec"] for group in (spec["headGroupSpec"], *spec["workerGroupSpecs"])]
    for pod in pods:
        (container,) = pod["containers"]
        assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}
        assert container["resources"]["requests"] == container["resources"]["limits"]
    (place,) = {mount["mountPath"] for pod in pods for mount in pod["containers"][0]["volumeMounts"]}
    words = shlex.split(read("rayjob.yaml")["spec"]["entrypoint"])
    assert {
        word.partition("=")[2].partition("/runs")[0].partition("/cache")[0] for word in words if "paths." in word
    } == {place}


def test_a_worker_has_room_for_a_row() -> None:
    group = read("rayjob.yaml")["spec"]["rayClusterSpec"]["workerGroupSpecs"][0]
    limits = group["template"]["spec"]["containers"][0]["resources"]["limits"]
    launcher = yaml.safe_load((FOLDER.parents[1] / "conf/hydra/ray_launcher.yaml").read_text(encoding="utf-8"))
    assert int(limits["nvidia.com/gpu"]) >= 1
    assert int(limits["cpu"]) >= launcher["cpus_per_task"]


@pytest.mark.parametrize(("name", "keys"), [("rayjob.yaml", ("spec", "entrypoint")), ("skypilot.yaml", ("run",))])
def test_the_command_composes(name: str, keys: tuple[str, ...]) -> None:
    text: Any = read(name)
    for key in keys:
        text = text[key]
    program, verb, *words = shlex.split(text)
    assert (program, verb) == ("aiayn", "train")
    composed = compose_command(verb, words)
    assert composed.identity.sweep == "table3"
    assert composed.trainer.accelerator == "gpu"
