"""PCI Access Control Services: with request redirection on, peers talk through the root complex (slow, may hang)."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator

from envdoctor.node.probes.base import Absent, NodeView

DEVICES = "/sys/bus/pci/devices"
BRIDGE_CLASS = "0x0604"
CONFIG_BYTES = 4096
EXTENDED = 0x100
ACS = 0x000D
REQUEST_REDIRECT = 0x0004
"""Bit of the ACS control register. PCI Express Base Specification, Access Control Services."""


def capabilities(config: bytes) -> Iterator[tuple[int, int]]:
    """(id, offset) of the extended capabilities; nothing where a reader without rights got only 64 bytes."""
    offset, seen = EXTENDED, set[int]()
    while EXTENDED <= offset <= len(config) - 8 and offset not in seen:
        seen.add(offset)
        (head,) = struct.unpack_from("<I", config, offset)
        if head in (0, 0xFFFFFFFF):
            return
        yield head & 0xFFFF, offset
        offset = head >> 20


def kept(config: bytes) -> bytes:
    """A configuration space to record: heads of the capabilities and the ACS registers, so no serial number."""
    copy = bytearray(len(config))
    for identity, offset in capabilities(config):
        length = 8 if identity == ACS else 4
        copy[offset : offset + length] = config[offset : offset + length]
    return bytes(copy)


def redirects(config: bytes) -> bool | None:
    """Whether a bridge redirects requests; None where it has no ACS or its configuration is not readable."""
    for identity, offset in capabilities(config):
        if identity == ACS:
            return bool(struct.unpack_from("<H", config, offset + 6)[0] & REQUEST_REDIRECT)
    return None


def parse_lspci(text: str) -> dict[str, bool]:
    """Bridge -> whether it redirects, from `lspci -vvv`; nothing for a reader without rights."""
    found, bridge = {}, ""
    for line in text.splitlines():
        if head := re.match(r"([0-9a-f:.]+) ", line):
            bridge = head[1]
        elif control := re.search(r"ACSCtl:.*\bReqRedir([+-])", line):
            found[bridge] = control[1] == "+"
    return found


def read_bridges(view: NodeView) -> dict[str, bool]:
    """Bridge -> whether it redirects, from the configuration space, which only root may read whole."""
    found = {}
    for folder in view.files.paths(DEVICES):
        if view.files.read_word(f"{folder}/class").startswith(BRIDGE_CLASS):
            answer = redirects(view.files.read_bytes(f"{folder}/config", CONFIG_BYTES) or b"")
            if answer is not None:
                found[folder.rpartition("/")[2]] = answer
    return found


def acs_probe(view: NodeView) -> None:
    """Whether any bridge redirects peer requests. Raises `Absent` where nothing can be told without root."""
    found, source = read_bridges(view), DEVICES
    if not found and not view.files.live:  # on the machine itself lspci reads the same files with the same rights
        result = view.run("lspci", "-vvv")
        found, source = parse_lspci(result.stdout if result.ok else ""), "lspci -vvv"
    if not found:
        view.facts.observe("host.acs_redirect", "unknown", DEVICES)
        raise Absent("no PCI bridge shows it; without root none does")
    view.facts.observe("host.acs_redirect", "on" if any(found.values()) else "off", source)
    for bridge in (bridge for bridge, on in found.items() if on):
        view.facts.observe("host.acs_bridge", bridge, source, detail=bridge)
