"""What `envdoctor trace` costs a program: nanoseconds a question, and milliseconds a start.

python benchmarks/trace_overhead.py [COMMAND...]     a start of this command too, python -c "import torch" say
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from envdoctor.node.trace.build import find_compiler, shim_library
from envdoctor.node.trace.launch import environment_for
from envdoctor.node.trace.records import NamePattern, create

LOOP = """
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int main(int argc, char **argv) {
  struct timespec a, b; volatile char *keep; int times = 3000000;
  for (int name = 1; name < argc; name++) {
    getenv(argv[name]);
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (int i = 0; i < times; i++) keep = getenv(argv[name]);
    clock_gettime(CLOCK_MONOTONIC, &b);
    printf("%.1f ", ((b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec)) / times);
  }
  return 0;
}
"""
NAMES = ("PATH", "UNSET_AND_UNWATCHED", "NCCL_DEBUG", "NCCL_UNSET")
ENVIRONMENT = {"PATH": os.environ["PATH"], **{f"FILLER_{i}": "x" * 20 for i in range(40)}, "NCCL_DEBUG": "INFO"}


def best_start(command: list[str], environment: dict[str, str], repeats: int) -> float:
    """Milliseconds of the fastest of some runs."""
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
        times.append(time.perf_counter() - begin)
    return min(times) * 1000


def main() -> None:
    """Print a table, without and with the shim."""
    folder = Path(tempfile.mkdtemp())
    try:
        source, loop = folder / "loop.c", folder / "loop"
        source.write_text(LOOP)
        subprocess.run([find_compiler() or "cc", "-O1", "-o", str(loop), str(source)], check=True)
        create(folder / "records", [NamePattern("NCCL_", prefix=True), NamePattern("OMP_", prefix=True)])
        traced = environment_for(ENVIRONMENT, shim_library(folder), folder / "records")
        print(f"{'':30}{'plain':>10}{'traced':>10}")
        plain, watched = (
            subprocess.run([str(loop), *NAMES], env=env, capture_output=True, text=True, check=True).stdout.split()
            for env in (ENVIRONMENT, traced)
        )
        for name, before, after in zip(NAMES, plain, watched, strict=True):
            print(f"{name:<30}{before:>7} ns{after:>7} ns")
        commands = [(["true"], 300), ([sys.executable, "-c", "pass"], 40)]
        for command, repeats in [*commands, *([(sys.argv[1:], 5)] if sys.argv[1:] else [])]:
            before_ms, after_ms = best_start(command, ENVIRONMENT, repeats), best_start(command, traced, repeats)
            print(f"{' '.join(map(os.path.basename, command)):<30.30}{before_ms:>7.2f} ms{after_ms:>7.2f} ms")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
