"""The files under `rules/`, loaded and checked: rules, variables, launchers, calls, levels, claims, targets."""
