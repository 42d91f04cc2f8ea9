"""Names and numbers that tell whose node it is, replaced by others that keep the shape.

The same word always becomes the same replacement, so that what belongs together still does.
"""

from __future__ import annotations

import getpass
import platform
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

HOST, USER = "gpu-node-01", "user"
NOT_NAMES = {"root", "user", "nobody", "localhost", "localhost.localdomain", "node", "host", "", HOST}
FIRST_ID = 0x5A5A_0000_0000_0000
"""Identities of GPUs are 64-bit numbers; the replacements count up from here."""

_UUID = re.compile(r"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b")
_HOME = re.compile(r"(?<![\w.-])/(home|Users)/[^/\s:;,\"']+")
_ADDRESS = re.compile(r"(?<![\w.])(?!127\.)(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?![\w.])")
_LONG_HEX = re.compile(r"\b[0-9a-f]{32,}\b")
_KFD_ID = re.compile(r"^(?:unique_id|hive_id) ([0-9]{6,20})$", re.MULTILINE)
_HEX_ID = re.compile(r"(?:\b(?:0x|GPU-)|\b(?=[0-9]*[a-fA-F]))([0-9a-fA-F]{16})\b")
_SERIAL = re.compile(r"(\"(?:asic_serial|uuid|serial\w*)\"\s*:\s*\")[^\"]*")


def own_names() -> tuple[list[str], list[str]]:
    """(host names, user names) of this machine and user."""
    node = platform.node()
    try:
        user = getpass.getuser()
    except (OSError, KeyError, ImportError):
        user = ""
    return [node, node.partition(".")[0]], [user]


@dataclass(slots=True)
class Redactor:
    """Replaces names of hosts and users, identities of devices, addresses and long random words."""

    hosts: Iterable[str] = ()
    users: Iterable[str] = ()
    seen: dict[tuple[str, str], str] = field(default_factory=dict)
    _words: list[tuple[re.Pattern[str], str]] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        for words, new in ((self.hosts, HOST), (self.users, USER)):
            for word in sorted({w for w in words if w.lower() not in NOT_NAMES and len(w) > 2}, key=len, reverse=True):
                self._words.append((re.compile(rf"(?<![A-Za-z0-9_.-]){re.escape(word)}(?![A-Za-z0-9_-])"), new))

    def text(self, text: str) -> str:
        """`text` with all of it replaced."""
        text = _UUID.sub(self._by("uuid", lambda n: f"00000000-0000-0000-0000-{n:012d}"), text)
        text = _HOME.sub(rf"/\1/{USER}", text)
        text = _KFD_ID.sub(lambda m: m[0].replace(m[1], self._identity(int(m[1]), "{}")), text)
        text = _HEX_ID.sub(self._hex_identity, text)
        text = _LONG_HEX.sub(lambda m: "0" * len(m[0]), text)
        text = _SERIAL.sub(lambda m: f"{m[1]}0", text)
        for pattern, new in self._words:
            text = pattern.sub(new, text)
        return text

    def addresses(self, text: str) -> str:
        """`text` with IPv4 addresses replaced; only for text whose numbers with four parts are no versions."""
        return _ADDRESS.sub(self._by("address", lambda n: f"192.0.2.{n % 254 + 1}"), text)

    def _by(self, kind: str, new: Callable[[int], str]) -> Callable[[re.Match[str]], str]:
        def replacement(match: re.Match[str]) -> str:
            number = sum(key[0] == kind for key in self.seen)
            return self.seen.setdefault((kind, match[0].lower()), new(number))

        return replacement

    def _identity(self, number: int, form: str) -> str:
        known = sum(key[0] == "identity" for key in self.seen)
        new = self.seen.setdefault(("identity", str(number)), str(FIRST_ID + known)) if number else "0"
        return form.format(int(new))

    def _hex_identity(self, match: re.Match[str]) -> str:
        """An identity of a GPU in hexadecimal becomes what its decimal form became; other words stay."""
        return match[0].replace(match[1], self._identity(int(match[1], 16), "{:016x}"))
