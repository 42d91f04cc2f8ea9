"""Text to facts: one package or module a language. Readers know no rules, open no file and never raise."""
