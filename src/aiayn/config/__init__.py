"""The schema of all of conf/, its resolvers, composing and freezing."""
