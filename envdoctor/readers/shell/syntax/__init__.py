"""The text of a script before it is walked: parsed, repaired, templates masked, words taken apart."""
