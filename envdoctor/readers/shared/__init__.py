"""What several languages need: gathering facts, masks of templates, text inside text, words of commands."""
