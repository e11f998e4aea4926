"""The code, precision and packages that made the runs of a report: any of them may change a result."""

import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from aiayn.evaluation.bleu import doubt
from aiayn.runs.provenance import Origin
from aiayn.runs.record import Record, SplitScores

MOST_RUNS = 4
"""The most runs of a version that a remark names; for more it states their number."""


@dataclass(frozen=True)
class CodeContent:
    """One version of code, precision and packages, and the runs that it made."""

    commit: str | None
    """Commit of the checkout; None outside one."""
    dirty: bool | None
    """Whether there were uncommitted changes, untracked files included."""
    patch: str | None
    """The digest of these changes; None if there are none, or they cannot be read."""
    packages: Mapping[str, str]
    """Versions, by name, of the packages that can change a result."""
    precision: str | None
    """Precision in Lightning's notation."""
    tf32: bool | None
    """Whether products in single precision were TensorFloat-32."""
    version: str | None
    """Version of the installed package; None in a checkout."""
    earlier: tuple[Origin, ...]
    """The origins of earlier attempts of these runs."""
    runs: tuple[Path, ...]
    """Directories of the runs that this code made."""


@dataclass(frozen=True)
class CodeVersion:
    """One version of code, precision and packages, and the runs that it made."""

    origins: tuple[Origin, ...]
    """The origins of all attempts of each run, without repetitions; the last attempt's comes last."""
    packages: tuple[tuple[str, str], ...]
    """Names and versions of the packages that can change a result."""
    runs: tuple[Path, ...]
    names: tuple[str, ...]
    """Names of these runs below the folder of runs."""
    rows: tuple[str, ...]
    """Row of each of these runs: the experiment, with the run's changes to it."""

    @property
    def text(self) -> str:
        """The code, as in "commit 0123456789ab with uncommitted changes 9876543210fe, begun by ba9876543210"."""
        *earlier, last = _last_apart([origin.code.text for origin in self.origins])
        begun = ", ".join(text.removeprefix("commit ") for text in earlier)
        return f"{last}, begun by {begun}" if begun else last

    @property
    def precision(self) -> str:
        """The precision, as in "32-true with TF32, begun in bf16-mixed"; empty if no attempt has trained."""
        *earlier, last = _last_apart([origin.precision_text for origin in self.origins if origin.precision] or [""])
        return f"{last}, begun in {', '.join(earlier)}" if earlier else last

    @property
    def content(self) -> "CodeContent":
        """The version in a document for programs."""
        *earlier, last = self.origins
        facts = {**vars(last), "packages": dict(self.packages)}
        return CodeContent(**facts, earlier=tuple(earlier), runs=self.runs)


def _last_apart(texts: Sequence[str]) -> list[str]:
    """Texts without repetitions, the last one at the end."""
    return [*dict.fromkeys(text for text in texts if text != texts[-1]), texts[-1]]


def code_versions(runs: Iterable[tuple[Path, Record]]) -> tuple[CodeVersion, ...]:
    """The versions that made some runs, given with their folders; that of the most runs first."""
    found: defaultdict[tuple[tuple[Origin, ...], tuple[tuple[str, str], ...]], dict[Path, Record]] = defaultdict(dict)
    for path, record in runs:
        # Only packages that can change a result are compared, not all installed ones.
        *earlier, last = (dataclasses.replace(origin, packages=None) for origin in (*record.earlier, record.origin))
        origins = (*dict.fromkeys(origin for origin in earlier if origin != last), last)
        found[origins, tuple(sorted(record.versions.items()))][path] = record
    versions = (
        CodeVersion(
            *version,
            tuple(made),
            tuple(record.name for record in made.values()),
            tuple(record.title for record in made.values()),
        )
        for version, made in found.items()
    )
    return tuple(sorted(versions, key=lambda version: -len(version.runs)))


def version_remarks(versions: Sequence[CodeVersion]) -> Iterator[str]:
    """A line on the code; and one on the precision and one on the packages where the runs differ in them."""
    several = {
        "code": ("versions", [version.text for version in versions]),
        "precision": ("precisions", [version.precision for version in versions]),
        "packages": ("versions", _differing_packages(versions)),
    }
    for name, (plural, facts) in several.items():
        by_fact = _by_fact(versions, facts)
        if len(by_fact) > 1:
            yield f"{name}: the runs are of {len(by_fact)} {plural}, whose results may differ: {_listed(by_fact)}"
        else:
            yield from (f"{name}: {fact}" for fact in by_fact if name == "code" or ", begun in " in fact)


def _by_fact(versions: Sequence[CodeVersion], facts: Sequence[str]) -> dict[str, list[CodeVersion]]:
    """The versions by one of their facts; unknown facts, which are empty, are left out."""
    found: defaultdict[str, list[CodeVersion]] = defaultdict(list)
    for version, fact in zip(versions, facts, strict=True):
        if fact:
            found[fact].append(version)
    return found


def _differing_packages(versions: Sequence[CodeVersion]) -> list[str]:
    """For each version, its packages that differ from others', as in "torch 2.13.0"; empty if unknown."""
    known = [dict(version.packages) for version in versions]
    names = dict.fromkeys(name for packages in known for name in packages)
    differing = [name for name in names if len({packages.get(name) for packages in known if packages}) > 1]
    return [", ".join(f"{name} {packages[name]}" for name in differing if name in packages) for packages in known]


def _listed(by_fact: Mapping[str, Sequence[CodeVersion]]) -> str:
    """The runs of each fact, and the rows whose seeds have several."""
    parts: list[str] = []
    facts_of_row: defaultdict[str, set[str]] = defaultdict(set)
    for fact, versions in by_fact.items():
        names = [name for version in versions for name in version.names]
        parts.append(f"{fact}: {f'{len(names)} runs' if len(names) > MOST_RUNS else ', '.join(names)}")
        for row in (row for version in versions for row in version.rows):
            facts_of_row[row].add(fact)
    mixed = [row for row, facts in facts_of_row.items() if len(facts) > 1]
    return "; ".join([*parts, *([f"seeds of one row are of several: {', '.join(mixed)}"] if mixed else [])])


def scoring_remarks(scored: Iterable[tuple[str, Record, SplitScores]]) -> Iterator[str]:
    """A line for each score that another version of the code made than the run's, and for each BLEU that is in doubt.

    Given are name, record and scores.
    """
    for name, record, scores in scored:
        if remark := doubt(scores.bleu, scores.chrf):
            yield f"{name}: {remark}"
        if scores.commit is not None and scores.code != record.origin.code:
            yield f"code: {scores.hypotheses} of {name} was scored by {scores.code.text}"
