"""Findings and node reports as text, JSON, HTML and the formats of other tools."""
