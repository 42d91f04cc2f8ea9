"""Where processes begin, by kind of file: each module makes the roots of one kind of its facts and scripts."""
