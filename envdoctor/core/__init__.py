"""What everything is built of: facts, findings, places, source text, records, errors. Imports nothing else."""
