"""The paper as data: its tables cell by cell, and their typed readers."""
