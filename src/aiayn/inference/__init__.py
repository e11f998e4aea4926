"""A finished run put to use: load, translate, score, parse, evaluate, tune, average, export."""
