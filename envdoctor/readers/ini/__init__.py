"""INI files and systemd units."""
