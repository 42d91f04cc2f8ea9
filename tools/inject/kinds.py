"""The kinds of faults, each one function: a launch in, a planting out, or None where it would be no fault there."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from functools import partial
from typing import NamedTuple

from inject.chains import Chain, made_caller
from inject.edits import Edit, Planting, edited, lines_with, put
from inject.modules import PYTHON
from inject.names import ghost, one_node, value
from inject.places import Launch, Script
from inject.settings import POOL, Named, Setting, setting_for
from inject.shapes import SHAPES, Site

SUDO = "sudo "
IMAGE = "docker run --rm --gpus all --network host nvcr.io/nvidia/pytorch:24.07-py3 "
NOT_EXPORTED, NOT_FORWARDED, TOO_LATE, CONTRADICTORY = "ED301", "ED302", "ED303", "ED202"
_ALL_EXPORTED = re.compile(r"^\s*set\s+(-\w*a|-o\s+allexport)|SLURM_EXPORT_ENV|SBATCH_EXPORT", re.MULTILINE)
_ELSEWHERE = re.compile(r"(?<!\S)(--?hostfile|--?machinefile|-H|--?host)[ =](?!localhost|127\.)")
_BATCH = re.compile(r"^#(SBATCH|PBS|BSUB)\b", re.MULTILINE)
_STARTS = re.compile(r"(bash|sh|source|\.|eval|sbatch|srun|python[\d.]*|torchrun|deepspeed|mpirun)$|.*\.sh$|\./|\$")
INSIDE = {"torchrun", "accelerate", "deepspeed", "python"}
"""What is started within a container, and not from outside of it."""
FREE = {"srun", "torchrun", "python", "accelerate"}


class Place(NamedTuple):
    """Where a fault may be planted: a launch, and a call of its script where there is one."""

    repository: str
    named: Named
    script: Script
    launch: Launch
    chain: Chain | None = None


Kind = Callable[[Place, random.Random], Planting | None]
Fault = Callable[[Site, Setting], "tuple[list[Edit], list[Edit], str] | None"]


def unexported(site: Site, setting: Setting) -> tuple[list[Edit], list[Edit], str] | None:
    """The export before the launch is an assignment."""
    if _ALL_EXPORTED.search(site.script.text):
        return None
    if setting.own:
        length = len(re.match(r"export\s+", site.script.text[setting.statement :])[0])  # type: ignore[index]
        return [], [Edit(setting.statement, setting.statement + length, "")], NOT_EXPORTED
    return [_export(site, setting)], [_export(site, setting, word="")], NOT_EXPORTED


def sudo(site: Site, setting: Setting) -> tuple[list[Edit], list[Edit], str] | None:
    """`sudo` in front of the launch."""
    return _in_front(site, setting, SUDO)


def docker(site: Site, setting: Setting) -> tuple[list[Edit], list[Edit], str] | None:
    """`docker run IMAGE` in front of the launch."""
    if site.launch.launcher not in INSIDE:
        return None
    return _in_front(site, setting, IMAGE)


def export_none(site: Site, setting: Setting) -> tuple[list[Edit], list[Edit], str] | None:
    """`--export=NONE` at srun, or srun with it in front of the launch."""
    if site.launch.launcher not in FREE or _ALL_EXPORTED.search(site.script.text):
        return None
    if site.launch.launcher != "srun":
        return _in_front(site, setting, "srun --export=NONE ")
    if "--export" in site.launch.words:
        return None
    before = _given(site, setting)
    return before, [*before, put(site.launch.flags, " --export=NONE")], NOT_FORWARDED


def left_out(site: Site, setting: Setting) -> tuple[list[Edit], list[Edit], str] | None:
    """A name that is missing in `mpirun -x`, where other hosts take part and no batch system starts its daemons."""
    words = site.launch.words
    if not site.launch.launcher.startswith("mpi") or setting.own or not _ELSEWHERE.search(words):
        return None
    if re.search(r"-genv|-env\b|-ppn\b|-envall", words) or _BATCH.search(site.script.text):
        return None
    before = _given(site, setting)
    return [*before, put(site.launch.flags, f" -x {setting.name}")], before, NOT_FORWARDED


def genvlist(site: Site, setting: Setting) -> tuple[list[Edit], list[Edit], str] | None:
    """A name that is missing in `mpiexec -genvlist`."""
    words = site.launch.words
    if not site.launch.launcher.startswith("mpi") or setting.own or re.search(r"\s(-x|--?mca|--allow-run)\b", words):
        return None
    if not re.search(r"\s(-ppn|-genv|-hosts|-f|-env)\s", words):
        return None
    listed = " -genvlist PATH,LD_LIBRARY_PATH"
    before = _given(site, setting)
    return (
        [*before, put(site.launch.flags, f"{listed},{setting.name}")],
        [*before, put(site.launch.flags, listed)],
        NOT_FORWARDED,
    )


def too_late(site: Site, setting: Setting) -> tuple[list[Edit], list[Edit], str] | None:
    """The export stands behind the launch, and nothing that is started later reads it."""
    launch, script = site.launch, site.script
    if setting.own or any(place != "if" for place in launch.command.within):
        return None
    later = [command for command in script.commands if command.start > launch.end]
    if any(_STARTS.match(word.strip("\"'")) for command in later for word in command.texts()):
        return None
    line = f"\n{script.indent(launch.statement)}export {setting.name}={setting.value}"
    return [_export(site, setting)], [put(launch.end, line)], TOO_LATE


FAULTS: dict[str, Fault] = {
    "unexported": unexported,
    "sudo": sudo,
    "docker": docker,
    "export-none": export_none,
    "left-out": left_out,
    "genvlist": genvlist,
    "too-late": too_late,
}


def plain(fault: Fault, name: str, place: Place, chance: random.Random) -> Planting | None:
    """A fault at a launch as it stands in the script."""
    own = name not in ("left-out", "genvlist", "too-late")
    setting = setting_for(place.script, place.launch, place.named, chance, own=own)
    return _planted(name, place, Site(place.script, place.launch), setting, fault) if setting else None


def shaped(fault: Fault, shape: str, name: str, place: Place, chance: random.Random) -> Planting | None:
    """A fault at a launch that is written with one more step."""
    site = SHAPES[shape](place.script, place.launch)
    setting = setting_for(place.script, place.launch, place.named, chance, own=False)
    return _planted(name, place, site, setting, fault) if site and setting else None


def caller_export(chain: Chain, name: str) -> tuple[list[Edit], list[Edit], dict[str, str], tuple[str, ...]] | None:
    """What the caller exports for the script that it starts is only assigned."""
    if _ALL_EXPORTED.search(chain.caller.text):
        return None
    at, indent, value = chain.statement, chain.caller.indent(chain.statement), POOL[name][0]
    base, fault = f"{indent}export {name}={value}\n", f"{indent}{name}={value}\n"
    return [put(at, base)], [put(at, fault)], {}, (NOT_EXPORTED, NOT_FORWARDED)


def caller_sudo(chain: Chain, name: str) -> tuple[list[Edit], list[Edit], dict[str, str], tuple[str, ...]] | None:
    """`sudo` before the called script."""
    export = f"{chain.caller.indent(chain.statement)}export {name}={POOL[name][0]}\n"
    base = [put(chain.statement, export)]
    return base, [*base, put(chain.program, SUDO)], {}, (NOT_FORWARDED,)


def caller_prefix(chain: Chain, name: str) -> tuple[list[Edit], list[Edit], dict[str, str], tuple[str, ...]] | None:
    """`NAME=v bash callee.sh`, and the script that is called exports another value."""
    prefix = put(chain.program, f"{name}={POOL[name][0]} ")
    launch, callee = chain.launch, chain.callee
    export = put(launch.statement, f"{callee.indent(launch.statement)}export {name}={POOL[name][1]}\n")
    return [prefix], [prefix], {callee.path: edited(callee.text, [export])}, (CONTRADICTORY,)


def caller_none(chain: Chain, name: str) -> tuple[list[Edit], list[Edit], dict[str, str], tuple[str, ...]] | None:
    """`sbatch --export=NONE` for a script that the caller exports for."""
    if chain.starter != "sbatch" or _ALL_EXPORTED.search(chain.caller.text):
        return None
    export = f"{chain.caller.indent(chain.statement)}export {name}={POOL[name][0]}\n"
    base = [put(chain.statement, export)]
    return base, [*base, put(chain.flags, " --export=NONE")], {}, (NOT_FORWARDED,)


def container(chain: Chain, name: str) -> tuple[list[Edit], list[Edit], dict[str, str], tuple[str, ...]] | None:
    """A name that is missing in `docker run -e`, where the script is started in a container."""
    if chain.launch.launcher not in INSIDE or "$" in chain.caller.text[chain.program : chain.end].split()[1]:
        return None
    export = f"{chain.caller.indent(chain.statement)}export {name}={POOL[name][0]}\n"
    front = IMAGE.replace("--rm", '--rm -v "$PWD":/workspace -w /workspace')
    base = [put(chain.statement, export), put(chain.program, front.replace("--rm", f"--rm -e {name}"))]
    return base, [base[0], put(chain.program, front)], {}, (NOT_FORWARDED,)


ChainFault = Callable[[Chain, str], "tuple[list[Edit], list[Edit], dict[str, str], tuple[str, ...]] | None"]
CHAINS: dict[str, ChainFault] = {
    "caller-export": caller_export,
    "caller-sudo": caller_sudo,
    "caller-prefix": caller_prefix,
    "caller-none": caller_none,
    "caller-container": container,
}


def chained(fault: ChainFault, kind: str, made: bool, place: Place, chance: random.Random) -> Planting | None:
    """A fault between a script and the one that starts it."""
    chain = made_caller(place.script, place.launch) if made else place.chain
    free = place.named.unnamed()
    if chain is None or not free:
        return None
    name = chance.choice(free)
    found = fault(chain, name)
    if found is None:
        return None
    before, after, others, rules = found
    caller = chain.caller.path
    base = {chain.callee.path: chain.callee.text, caller: edited(chain.caller.text, before)}
    files = {chain.callee.path: chain.callee.text, **others, caller: edited(chain.caller.text, after)}
    shape = "made caller" if made else chain.starter
    places = (*lines_with(files, name), _lines(caller, chain.caller, after, chain.program, chain.end))
    return Planting(kind, shape, place.repository, *places[0][:2], name, rules, base, files, places)


def ci_step(place: Place, chance: random.Random) -> Planting | None:
    """A step of a workflow assigns for the script that it runs, and does not export."""
    return _in_file(place, chance, "ci-step", (NOT_EXPORTED,), WORKFLOW, ("export {name}={value}", "{name}={value}"))


def image_run(place: Place, chance: random.Random) -> Planting | None:
    """`RUN export` in an image whose command is the script, in the place of `ENV`."""
    rules = (NOT_EXPORTED, NOT_FORWARDED, TOO_LATE)
    return _in_file(place, chance, "image-run", rules, IMAGE_FILE, ("ENV {name}={value}", "RUN export {name}={value}"))


SettingFault = Callable[[str, Named, Script, Launch, random.Random], Planting | None]
SETTINGS: dict[str, SettingFault] = {"ghost": ghost, "value": value, "one-node": one_node}


def at_launch(fault: SettingFault, place: Place, chance: random.Random) -> Planting | None:
    """A fault in a setting itself, in a script that starts ranks."""
    return fault(place.repository, place.named, place.script, place.launch, chance)


WORKFLOW = (
    ".github/workflows/launch-training.yml",
    "name: training\non: [push]\njobs:\n  train:\n    runs-on: [self-hosted, gpu]\n    steps:\n"
    "      - uses: actions/checkout@v4\n      - name: train\n        run: |\n"
    "          {line}\n          bash {script}\n",
)
IMAGE_FILE = (
    "Dockerfile.launch-training",
    'FROM nvcr.io/nvidia/pytorch:24.07-py3\nWORKDIR /workspace\nCOPY . /workspace\n{line}\nCMD ["bash", "{script}"]\n',
)


def _in_file(
    place: Place,
    chance: random.Random,
    kind: str,
    rules: tuple[str, ...],
    made: tuple[str, str],
    lines: tuple[str, str],
) -> Planting | None:
    """A fault in a made file that starts the script."""
    free = place.named.unnamed()
    if not free or "#SBATCH" in place.script.text:
        return None
    name = chance.choice(free)
    path, text = made
    base, fault = (
        {path: text.format(line=line.format(name=name, value=POOL[name][0]), script=place.script.path)}
        for line in lines
    )
    script = {place.script.path: place.script.text}
    places = (*lines_with(fault, name), (path, 1, 99))
    return Planting(
        kind, "made file", place.repository, path, places[0][1], name, rules, base | script, fault | script, places
    )


def kinds() -> dict[str, Kind]:
    """Every kind by its name."""
    found: dict[str, Kind] = {name: partial(plain, fault, name) for name, fault in FAULTS.items()}
    for shape in SHAPES:
        for name in ("unexported", "sudo") if shape == "called" else ("unexported", "sudo", "docker", "export-none"):
            found[f"{name}/{shape}"] = partial(shaped, FAULTS[name], shape, f"{name}/{shape}")
    for name, chain_fault in CHAINS.items():
        found[name] = partial(chained, chain_fault, name, False)
        found[f"{name}/made"] = partial(chained, chain_fault, f"{name}/made", True)
    for name, in_setting in SETTINGS.items():
        found[name] = partial(at_launch, in_setting)
    return found | {"ci-step": ci_step, "image-run": image_run}


def _export(site: Site, setting: Setting, word: str = "export ") -> Edit:
    at = setting.top if 0 <= setting.top < site.launch.statement and not site.files else site.launch.statement
    return put(at, f"{site.script.indent(at)}{word}{setting.name}={setting.value}\n")


def _given(site: Site, setting: Setting) -> list[Edit]:
    """The export that the copy gets where the script has none."""
    return [] if setting.own else [_export(site, setting)]


def _in_front(site: Site, setting: Setting, program: str) -> tuple[list[Edit], list[Edit], str] | None:
    before = _given(site, setting)
    return before, [*before, put(site.launch.program, program)], NOT_FORWARDED


def _planted(kind: str, place: Place, site: Site, setting: Setting, fault: Fault) -> Planting | None:
    found = fault(site, setting)
    if found is None:
        return None
    before, after, rule = found
    path, text = site.script.path, site.script.text
    base = {**site.files, path: edited(text, before)}
    files = {**site.files, path: edited(text, after)}
    places = (
        *lines_with(files, setting.name),
        _lines(path, site.script, after, site.launch.command.start, site.launch.end),
    )
    rules = (rule, NOT_FORWARDED) if rule == NOT_EXPORTED and site.files else (rule,)
    shape = f"{site.launch.launcher} {site.launch.shape} {'own' if setting.own else 'given'}"
    line = places[0][1]
    return Planting(kind, shape, place.repository, path, line, setting.name, rules, base, files, places, setting.own)


def _lines(path: str, script: Script, edits: Iterable[Edit], start: int, end: int) -> tuple[str, int, int]:
    """The lines of a stretch of a script after some edits."""
    added = sum(edit.new.count("\n") for edit in edits if edit.start <= start)
    return path, script.line(start) + added, script.line(end) + added


def asked(wanted: str, number: int) -> dict[str, int]:
    """How many faults of each kind a list such as `unexported:80,sudo*` asks for; the last word that fits holds."""
    found: dict[str, int] = {}
    every = [*kinds(), *PYTHON]
    for word in [word for word in wanted.split(",") if word] or ["*"]:
        pattern, _, most = word.partition(":")
        fitting = [name for name in every if fnmatchcase(name, pattern)]
        if not fitting:
            raise ValueError(f"no kind is called {pattern}")
        found |= dict.fromkeys(fitting, int(most or number))
    return found
