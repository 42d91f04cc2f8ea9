"""A node as files: recorded, redacted, and read again elsewhere."""
