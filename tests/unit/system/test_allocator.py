"""Training gives the same weights with kept memory, bit for bit."""

import json
import subprocess
import sys

TRAIN = """
import json
import torch
from aiayn.system.allocator import keep_memory

def trained() -> list[float]:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 64))
    for _ in range(5):
        model.zero_grad()
        model(torch.randn(512, 64)).square().mean().backward()
        with torch.no_grad():  # by hand: to import torch.optim takes seconds
            for parameter in model.parameters():
                parameter -= 0.1 * parameter.grad
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()]).tolist()

before = trained()
kept = keep_memory()
print(json.dumps([kept, before == trained() == trained(), keep_memory()]))
"""


def test_training_is_the_same_with_kept_memory() -> None:
    # The setting cannot be taken back: in a process of its own, it is not left to the other tests.
    result = subprocess.run([sys.executable, "-c", TRAIN], capture_output=True, text=True, check=True)
    kept, same, again = json.loads(result.stdout)
    assert same
    assert type(kept) is bool
    assert again is kept
