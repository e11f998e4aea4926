"""The run directory: layout, lock, record, evaluations, and the ledger of all runs."""
