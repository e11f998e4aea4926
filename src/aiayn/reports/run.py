"""One run as a page: command, configuration, cost and scores, all from its record."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from rich.console import Console

from aiayn.errors import UserError
from aiayn.reports.formats import markdown_table
from aiayn.reports.matrix import definitions
from aiayn.reports.numbers import hours
from aiayn.reports.row import duration, footer, millions, paper_cells, paper_row, row_table
from aiayn.runs.directory import RunDirectory
from aiayn.runs.record import Record, SplitScores, read_record
from aiayn.system import files


def report_run(directory: RunDirectory, output: Path | None) -> None:
    """Print a run's report; with an output, write it as Markdown with the record beside it as JSON.

    Args:
        directory: the run's folder.
        output: a Markdown file, or None for the terminal.

    Raises:
        UserError: the record cannot be read.
    """
    record = read_record(directory.record)
    if output is None:
        console = Console(highlight=False, markup=False, soft_wrap=True)
        if record.scores:
            console.print(row_table(record))
            console.print(footer(record))
        console.print(f"status: {_status(record)}")
        console.print(f"command: {record.command}")
        console.print(f"code: {_code(record)}")
        return
    beside = _beside(output)
    config = directory.config.read_text(encoding="utf-8").replace(f"{Path.cwd()}/", "")  # as one would type them here
    files.write_text(output, markdown(record, config))
    record.write(beside)
    print(output)  # noqa: T201


def _beside(output: Path) -> Path:
    """The path of the record, beside the page.

    Raises:
        UserError: the page itself would be there, or something that is no record is.
    """
    path = output.with_suffix(".json")
    if path == output:
        raise UserError(f"output={output}: the record goes there, beside the page; name the page otherwise, as in .md")
    if path.exists():
        try:
            read_record(path)
        except UserError:
            raise UserError(
                f"output={output}: {path}, where the record goes, is something else; choose another name"
            ) from None
    return path


def markdown(record: Record, config: str) -> str:
    """The whole page.

    Args:
        record: of the run.
        config: its frozen configuration, YAML.
    """
    sections = [
        f"# {record.experiment} at scale {record.scale}",
        "Written by `aiayn report run` from the run's record.",
        _scores(record),
        *_definitions(record),
        _table(facts(record)),
        f"## Command\n\n```\n{record.command}\n```",
        f"## Configuration\n\n```yaml\n{config.strip()}\n```",
    ]
    return "\n\n".join(sections) + "\n"


def _status(record: Record) -> str:
    """The status and the message, and whether the run is a trial."""
    status = record.status.value + (f" ({record.message})" if record.message else "")
    return status if record.trial is None else f"{status}; a trial and no result ({record.trial})"


def _scores(record: Record) -> str:
    if not record.scores:
        return f"No scores: {_status(record)}."
    first = next(iter(record.scores.values()))
    lines = [
        f"| | split | PPL | {' | '.join(first.shown)} | parameters | steps |",
        f"|---|---|---:|{'---:|' * len(first.shown)}---:|---:|",
    ]
    paper = paper_row(record.experiment)
    if paper is not None and first.bleu is not None and record.trial is None:
        ppl, bleu, parameters, steps = paper_cells(paper)
        lines.append(f"| paper (newstest2013) | dev | {ppl} | {bleu} | | {parameters} | {steps} |")
    for split, result in record.scores.items():
        lines.append(
            f"| this run ({record.data}) | {split} | {result.ppl:.2f} "
            + "".join(f"| {score.score:.2f} " for score in result.shown.values())
            + f"| {millions(record.parameters)} | {record.steps_done()} |"
        )
    lines += [
        "",
        f"Perplexity is per sub-word of this run's own vocabulary, and {first.quality_name} is of this run's own data: "
        "neither compares with the paper's number unless data and vocabulary are the paper's.",
        "",
        *(f"- {', '.join(names)}: `{signature}`" for signature, names in _by_signature(first).items()),
    ]
    return "\n".join(lines)


def _by_signature(result: SplitScores) -> dict[str, list[str]]:
    """The scores that are counted in the same way, together."""
    names: dict[str, list[str]] = {}
    for name, score in result.shown.items():
        names.setdefault(score.signature, []).append(name)
    return names


def _definitions(record: Record) -> Iterator[str]:
    """The other definitions of BLEU, where the record has them."""
    if any(result.matrix for result in record.scores.values()):
        yield markdown_table(definitions({split: result.by_definition for split, result in record.scores.items()}))


def facts(record: Record) -> dict[str, str]:
    """Facts and costs of a run, by name; empty text if unknown."""
    hardware, total = record.hardware, record.account.total
    threads = "thread" if hardware.get("threads") == 1 else "threads"
    gpus = f"; {', '.join(hardware['gpus'])}" if hardware.get("gpus") else ""
    return {
        "status": _status(record),
        "training time": duration(record.seconds),
        "tokens": f"{record.tokens:,} source and target tokens",
        "tokens/s": f"{record.tokens_per_second:,.0f}" if record.tokens_per_second else "",
        "FLOPs": f"{record.flops:.2e}" if record.flops else "",
        "evaluation time": duration(sum(result.seconds for result in record.scores.values())),
        "device-hours": hours(3600 * total.device_hours),
        "FLOPs as Table 2 has them": "" if total.paper_flops is None else f"{total.paper_flops:.2e}",
        "MFU": "" if total.mfu is None else f"{total.mfu:.1%}",
        "machine": f"{hardware.get('processor')}, {hardware.get('threads')} {threads}, "
        f"{hardware.get('memory_gib')} GiB{gpus}",
        "precision": record.precision or "",
        "seed": str(record.seed),
        "config hash": record.config_hash,
        "data fingerprint": record.data_fingerprint or "",
        "data": record.data_summary(),
        "commit": _code(record),
        "versions": ", ".join(f"{name} {version}" for name, version in record.versions.items()),
        "started, ended": f"{record.started}, {record.ended}",
    }


def _code(record: Record) -> str:
    """The commit in full, and those by which the run was begun."""
    changes = " (with uncommitted changes)" if record.dirty else ""
    earlier = f", begun by {', '.join(record.earlier_commits)}" if record.earlier_commits else ""
    return f"{record.commit}{changes}{earlier}" if record.commit else "not a checkout"


def _table(named: Mapping[str, str]) -> str:
    rows = "\n".join(f"| {name} | {value} |" for name, value in named.items())
    return f"| | |\n|---|---|\n{rows}"
