"""Code -> the record of its parameters; `Common` alone where it has none of its own."""

from __future__ import annotations

from collections.abc import Mapping

from envdoctor.knowledge.parameters import calls, delivery, levels, names, node, relations, seeds
from envdoctor.knowledge.parameters.forms import Common

RECORDS: Mapping[str, type] = {
    "names.verdicts": names.NameParameters,
    "names.options": Common,
    "values.grammar": Common,
    "python.seeds": seeds.Seeds,
    "python.missing_switches": calls.Switches,
    "python.options": calls.OptionParameters,
    "python.option_arguments": calls.OptionArguments,
    "python.option_builds": calls.OptionBuilds,
    "python.blind_tests": calls.BlindTests,
    "delivery.not_exported": Common,
    "delivery.not_forwarded": Common,
    "delivery.too_late": delivery.TooLate,
    "delivery.inconsistent": delivery.Inconsistent,
    "delivery.misread_commands": Common,
    "delivery.conf_files": Common,
    "relations.twice": Common,
    "relations.pairs": relations.Pairs,
    "relations.code": relations.CodeMeeting,
    "relations.arguments": relations.Arguments,
    "relations.idle": relations.CodeMeeting,
    "levels.missing_settings": levels.MissingSettings,
    "node.several_rocm": Common,
    "node.mixed_rocm": Common,
    "node.driver_pair": node.DriverPair,
    "node.gfx_override": node.GfxOverride,
    "node.library_differs": Common,
    "node.library_override": Common,
    "node.conf_file": Common,
    "node.debug_library": Common,
    "node.tuning_databases": Common,
    "node.no_gpu": Common,
    "node.partition_mode": node.PartitionMode,
    "node.unequal_gpus": node.UnequalGpus,
    "node.device_denied": node.DeviceDenied,
    "node.missing_gpu": node.MissingGpu,
    "node.gpu_health": node.GpuHealth,
    "node.busy_gpu": Common,
    "node.network_device": Common,
    "node.shared_gpu": Common,
    "node.clock_cap": Common,
    "node.missing_link": node.MissingLink,
    "node.nvls": node.Nvls,
    "node.small_limits": node.SmallLimits,
    "node.host_tuning": node.HostTuning,
    "node.precision_override": node.PrecisionOverride,
    "own": Common,
}
"""`own` is what envdoctor says about itself."""
