"""One run as a page: scores, facts, command and configuration, all from its record."""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from aiayn.errors import UserError
from aiayn.evaluation.bleu import doubt
from aiayn.reports.formats import console, markdown_table, print_line, print_text
from aiayn.reports.grid import Grid
from aiayn.reports.matrix import definitions
from aiayn.reports.numbers import duration, hours, millions
from aiayn.reports.row import compared_row, footer, paper_cells, print_record, print_table, row_table
from aiayn.reports.run_facts import machine_text
from aiayn.runs.directory import RunDirectory
from aiayn.runs.provenance import Code
from aiayn.runs.record import Record, read_record
from aiayn.system import files
from aiayn.system.output_format import Format, output_format


def report_run(directory: RunDirectory, output: Path | None) -> None:
    """Print a run's report, or write it as Markdown with the record beside it as JSON.

    Raises:
        UserError: the record cannot be read, or the output would replace another file.
    """
    record = read_record(directory.record)
    if output is None and output_format() is Format.json:
        print_record(record, directory.path)
        return
    if output is None:
        terminal = console()
        if record.scores:
            print_table(row_table(record), terminal)
            print_text(footer(record), terminal)
        print_text(f"status: {_status(record)}", terminal)
        print_line(f"command: {record.command}", terminal)
        print_text(f"code: {_code(record)}", terminal)
        return
    copy = _path_of_record(output)
    config = directory.config.read_text(encoding="utf-8").replace(f"{Path.cwd()}/", "")  # relative, as typed here
    files.write_text(output, markdown(record, config))
    record.write(copy)
    print(output)  # noqa: T201


def _path_of_record(output: Path) -> Path:
    path = output.with_suffix(".json")
    if files.exists(path):
        try:
            read_record(path)
        except UserError:
            raise UserError(
                f"output={output}: {path}, where the record goes, is something else; choose another name"
            ) from None
    return path


def markdown(record: Record, config: str) -> str:
    """The whole page; `config` is the run's frozen configuration, YAML."""
    known = tuple((name, value) for name, value in facts(record).items())
    sections = [
        f"# {record.experiment} at scale {record.scale}",
        "Written by `aiayn report run` from the run's record.",
        *(_scores(record) if record.scores else [f"No scores: {_status(record)}."]),
        markdown_table(Grid("Record", ("<", "<"), (known,))),
        f"## Command\n\n```\n{record.command}\n```",
        f"## Configuration\n\n```yaml\n{config.strip()}\n```",
    ]
    return "\n\n".join(sections) + "\n"


def _scores(record: Record) -> Iterator[str]:
    """The scores beside the paper's, their signatures, and other definitions of BLEU if the record has them."""
    first = next(iter(record.scores.values()))
    lines = []
    if (paper := compared_row(record)) is not None:
        ppl, bleu, parameters, steps = paper_cells(paper)
        others = [""] * (len(first.shown) - 1)
        lines.append(("paper (newstest2013)", "dev", ppl, bleu, *others, parameters, steps))
    for split, result in record.scores.items():
        scores = (f"{result.ppl:.2f}", *(f"{score.score:.2f}" for score in result.shown.values()))
        lines.append((f"this run ({record.data})", split, *scores, millions(record.parameters), record.steps_done()))
    yield markdown_table(Grid("Scores", ("<", "<split", "PPL", *first.shown, "parameters", "steps"), (tuple(lines),)))
    yield (
        f"Perplexity is per sub-word of this run's own vocabulary, and {first.quality_name} is of this run's own data: "
        "neither compares with the paper's number unless data and vocabulary are the paper's."
    )
    names: defaultdict[str, list[str]] = defaultdict(list)
    for name, score in first.shown.items():
        names[score.signature].append(name)
    yield "\n".join(f"- {', '.join(alike)}: `{signature}`" for signature, alike in names.items())
    doubts = (doubt(result.bleu, result.chrf) for result in record.scores.values())
    limits = (f"{split}: {remark}" for split, each in record.scores.items() if (remark := each.limit_remark))
    yield from dict.fromkeys([*filter(None, doubts), *limits])
    if any(result.matrix for result in record.scores.values()):
        yield markdown_table(definitions({split: result.by_definition for split, result in record.scores.items()}))


def facts(record: Record) -> dict[str, str]:
    """Facts and costs of a run, by name; empty text if unknown."""
    total = record.account.total
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
        "machine": machine_text(record),
        "precision": _precision(record),
        "seed": str(record.seed),
        "config hash": record.config_hash,
        "data fingerprint": record.data_fingerprint or "",
        "data": record.data_summary(),
        "commit": _code(record),
        "versions": ", ".join(f"{name} {version}" for name, version in record.versions.items()),
        "all packages": f"packages-{record.packages}.txt in the run directory" if record.packages else "",
        "started, ended": ", ".join(filter(None, (record.started, record.ended))),
    }


def _status(record: Record) -> str:
    """The status and the message, and whether the run is a trial."""
    status = record.status.value + (f" ({record.message})" if record.message else "")
    return status if record.trial is None else f"{status}; a trial and no result ({record.trial})"


def _code(record: Record) -> str:
    """The commit in full, its uncommitted changes, and the versions by which the run was begun."""
    last = record.origin.code
    earlier = ", ".join(dict.fromkeys(_in_full(each.code) for each in record.earlier if each.code != last))
    return f"{_in_full(last)}{f', begun by {earlier}' if earlier else ''}"


def _in_full(code: Code) -> str:
    if code.commit is None:
        return "not a checkout"
    patch = f": source-{code.patch}.patch" if code.patch else ""
    return f"{code.commit}{f' (with uncommitted changes{patch})' if code.dirty else ''}"


def _precision(record: Record) -> str:
    """The precision of training, and those in which the run was begun."""
    last = record.origin.precision_text
    earlier = ", ".join(dict.fromkeys(each.precision_text for each in record.earlier if each.precision_text != last))
    return f"{last}{f', begun in {earlier}' if earlier else ''}"
