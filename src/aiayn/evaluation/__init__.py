"""Scores of translations: BLEU and chrF, perplexity, and the per-sentence statistics behind them."""
