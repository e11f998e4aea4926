"""The paper's tables beside a user's own."""
