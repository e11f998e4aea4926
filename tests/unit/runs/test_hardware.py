import json
import os

import torch

from aiayn.runs.hardware import hardware


def test_the_machine_is_described_in_json() -> None:
    found = hardware()
    assert json.loads(json.dumps(found)) == found
    assert found["cores"] == os.cpu_count()
    assert found["threads"] == torch.get_num_threads()
    assert len(found["gpus"]) == torch.cuda.device_count()
    assert found["processor"]
    assert found["memory_gib"] > 0
