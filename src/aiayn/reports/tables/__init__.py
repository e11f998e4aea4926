"""The paper's four tables, each with the user's runs beside it."""
