"""What this folder adds."""

from aiayn.registry import Extension, Report

EXTENSION = Extension(
    reports={"table1": Report("aiayn.extensions.layers.table1:report_table1", ("seed",), writes=(".md", ".json"))},
    contents={"table1": "aiayn.extensions.layers.table1:Table1Content"},
)
