"""Parts of a Transformer that the paper does not have."""
