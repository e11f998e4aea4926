"""Layouts and speed: other ways to compute what `models` states; each is tested against the plain computation."""
