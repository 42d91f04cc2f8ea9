"""Names that nothing reads, and misspelt ones."""
