"""Names that are not where a user looks for them: what PyTorch has and polyad has not, and modules that have moved."""
