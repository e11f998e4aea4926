"""The notebooks of docs/: executed, and what they show.

`python tests/support/notebooks.py` (`make notebooks`) executes them and stores their outputs.
"""

import re
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

FOLDER = Path(__file__).parents[2] / "docs" / "notebooks"

NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))

SECONDS_A_CELL = 900

NUMBER = re.compile(r"\b[0-9a-f]{8,}\b|-?\d[\d.,:e+-]*|\bNaN\b|\binf\b")


def stored(path: Path) -> NotebookNode:
    """A notebook as it is in its file."""
    notebook: NotebookNode = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    return notebook


def executed(path: Path, folder: Path) -> NotebookNode:
    """A copy of a notebook, with the outputs of a run in a folder; an error of nbclient names a cell that fails."""
    notebook = stored(path)
    client = NotebookClient(
        notebook,
        timeout=SECONDS_A_CELL,
        iopub_timeout=60,  # a busy machine takes longer for a figure than the 4 s after which outputs are left out
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute()
    notebook.metadata = NotebookNode(  # type: ignore[no-untyped-call]
        kernelspec={"name": "python3", "display_name": "Python 3", "language": "python"},
        language_info={"name": "python"},
    )
    return notebook


def shown(notebook: NotebookNode) -> list[dict[str, str]]:
    """Of each cell of code, its outputs by kind, without numbers; of progress only that there is some."""
    cells = []
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        outputs: dict[str, str] = {}
        for output in cell.outputs:
            if output.output_type == "stream":
                outputs[output.name] = "" if output.name == "stderr" else _without_numbers(output.text)
            else:
                for kind, content in output.data.items():
                    outputs[kind] = "" if kind.startswith("image/") else _without_numbers(content)
        cells.append(outputs)
    return cells


def _without_numbers(text: str) -> str:
    return " ".join(NUMBER.sub("#", text).split())


def main() -> int:
    """Execute every notebook in an empty folder, and store it with its outputs."""
    for path in NOTEBOOKS:
        with tempfile.TemporaryDirectory() as folder:
            nbformat.write(executed(path, Path(folder)), path)  # type: ignore[no-untyped-call]
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
