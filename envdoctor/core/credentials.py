"""Values that look like credentials, and words that a record of a node must not carry."""

from __future__ import annotations

import re

MASKED = "(masked)"

_SECRET_NAME = re.compile(
    r"(?:^|_)(?:TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|APIKEY|AUTH|COOKIE|SIGNATURE|PRIVATE"
    r"|(?:API|ACCESS|SECRET|SIGNING|ENCRYPTION|ACCOUNT)_?KEY)(?:_|$)"
)
_SECRET_VALUE = re.compile(
    r"""(?x)
    [a-z][a-z0-9+.-]*://[^/\s:@]*:[^/\s@]+@          # scheme://user:password@
    | \b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}           # OpenAI, Stripe and others
    | \bhf_[A-Za-z0-9]{16,}                          # Hugging Face
    | \bgh[opsur]_[A-Za-z0-9]{20,} | \bgithub_pat_\w{20,} | \bglpat-[\w-]{16,}
    | \b(?:AKIA|ASIA)[0-9A-Z]{16}\b                  # AWS
    | \bxox[abposr]-[A-Za-z0-9-]{10,}                # Slack
    | \bAIza[0-9A-Za-z_-]{30,}                       # Google
    | \beyJ[\w-]{8,}\.[\w-]{8,}\.                    # JSON web token
    | -----BEGIN[ ][A-Z ]*KEY
    | \b[Bb]earer\s+[\w.~+/-]{16,}
    | (?:password|passwd|secret|token|api_?key)\s*[=:]\s*\S{4,}
    | (?<![\w/+.-])(?=[A-Za-z+]*[0-9])(?=[0-9+]*[A-Za-z])[A-Za-z0-9+]{40,}={0,2}(?![\w/.-])   # long and random
    """,
    re.IGNORECASE,
)


def is_credential(name: str, value: str) -> bool:
    """Whether a variable's name or value looks like a password, key or token."""
    return bool(_SECRET_NAME.search(name.upper()) or _SECRET_VALUE.search(value))
