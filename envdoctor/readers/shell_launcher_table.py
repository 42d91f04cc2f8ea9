"""The rows of the launcher table: adding a launcher is adding a row.

Sources: the manual pages of the programs; what the flags do was measured or read for the launchers of the catalogue.
"""

from __future__ import annotations

from envdoctor.readers.shell_launchers import Launcher, Option

SHELLS = ("bash", "sh", "zsh", "ksh", "dash", "ash")
TWO_VALUES = frozenset(("-mca", "--mca", "-gmca", "--gmca", "--prtemca", "--pmixmca", "-pmca", "--omca"))
"""Open MPI flags that take a parameter and its value."""
ENVIRONMENT_LIST = "mca_base_env_list"
"""The MCA parameter whose value is a list of variables, `;` between them."""
MODULE_LAUNCHERS = {
    "torch.distributed.run": "torchrun",
    "torch.distributed.launch": "torchrun",
    "torch.distributed.launcher": "torchrun",
    "deepspeed.launcher.runner": "deepspeed",
    "accelerate.commands.launch": "accelerate launch",
    "horovod.runner": "horovodrun",
}
"""`python -m MODULE` -> the launcher it is."""

LIKE = {"docker": "docker", "podman": "podman", "mpirun": "mpirun", "mpiexec": "mpiexec", "torchrun": "torchrun"}
"""Part of a name -> the program that a function or variable of such a name stands for (`$MPIRUN`, `run_docker`)."""

_MPI_PROGRAMS = """
    mpirun mpiexec orterun prterun prun oshrun mpirun_rsh mpiexec.hydra mpirun.hydra mpirun.openmpi mpiexec.openmpi
    mpirun.mpich mpiexec.mpich mpiexec.slurm mpirun.impi mpix"""
_MPI_VALUED = """
    -np -n --np --n -c -N -npernode --npernode -ppn -perhost --ppn -H -host --host -hosts --hosts -f -hostfile
    --hostfile -machinefile --machinefile -machine -wdir --wdir -wd --wd -path --path --prefix -prefix -bind-to
    --bind-to -map-by --map-by -rank-by --rank-by -rf --rankfile -am --am -app --app -output-filename
    --output-filename -iface -rmk -launcher -bootstrap -launcher-exec -bootstrap-exec --tune -tune -env-type -rr-size
    -gtool -outfile --output -output --stdin -stdin --timeout -timeout --personality --dvm-uri --pset --cpu-set
    --cpu-list -npersocket --npersocket -usize -errfile-pattern -outfile-pattern -profile -configfile -arch --display
    -report-uri --report-uri --launch-agent --with-ft -soft -r"""
_MPI_BARE = """
    --allow-run-as-root -allow-run-as-root --report-bindings -report-bindings --oversubscribe -oversubscribe
    --nooversubscribe --tag-output -tag-output --display-map -display-map --display-allocation -display-allocation
    --use-hwthread-cpus --debug-daemons --enable-recovery --quiet -verbose --verbose -prepend-rank"""
_SLURM_VALUED = """
    -n --ntasks -N --nodes -p --partition -A --account -J --job-name -t --time -o --output -e --error -i --input -w
    --nodelist -x --exclude -c --cpus-per-task -G --gpus -C --constraint -D --chdir -d --dependency -q --qos -m
    --distribution -r --relative -a --array -b --begin -L --licenses -M --clusters -B --extra-node-info -F --nodefile
    --gres --mem --mpi --jobid --ntasks-per-node --gpus-per-node --gpus-per-task --tasks-per-node --cpu-bind
    --gpu-bind --mem-per-cpu --mem-per-gpu --container-image --container-mounts --container-name --container-workdir
    --network --reservation --signal --het-group --mail-type --mail-user --open-mode --comment --hint
    --ntasks-per-gpu --cpus-per-gpu --threads-per-core --cores-per-socket --ntasks-per-socket --bcast --task-prolog
    --task-epilog --prolog --epilog --slurmd-debug --wait -W --mincpus --segment --switches"""
_SLURM_OPTIONS = (
    Option("--export", "list"),
    Option("--container-env", "names"),
    Option("--export-file --container-env-file", "env-file"),
    Option("--wrap", "script"),
)
_DOCKER = "docker podman nerdctl nvidia-docker docker-compose podman-hpc podman-compose"
_DOCKER_VALUED = """
    -v --volume -w --workdir -u --user -p --publish --name --gpus --shm-size --network --net --ipc --device --pid
    --uts --group-add --cap-add --cap-drop --security-opt --ulimit --entrypoint -h --hostname --mount --add-host -m
    --memory --memory-swap --cpus --cpuset-cpus --cpuset-mems --runtime --restart --label -l --log-driver --log-opt
    --platform --tmpfs --userns --volumes-from --dns --expose --cidfile --sysctl --pull --annotation
    --device-cgroup-rule --stop-signal --stop-timeout --link --ip --detach-keys -c --cpu-shares --pids-limit
    --oom-score-adj --cgroup-parent --pod --secret --rootfs --authfile -f --file --profile --project-name --index"""
_TORCHRUN_VALUED = """
    --nproc_per_node --nproc-per-node --nnodes --node_rank --node-rank --rdzv_backend --rdzv-backend --rdzv_endpoint
    --rdzv-endpoint --rdzv_id --rdzv-id --rdzv_conf --rdzv-conf --max_restarts --max-restarts --monitor_interval
    --monitor-interval --start_method --start-method --role --log_dir --log-dir --redirects -r --tee -t
    --local_ranks_filter --local-ranks-filter --master_addr --master-addr --master_port --master-port --local_addr
    --local-addr --logs_specs --logs-specs --numa_binding --numa-binding"""
_ACCELERATE_VALUED = """
    --config_file --num_processes --num_machines --machine_rank --main_process_ip --main_process_port
    --mixed_precision --dynamo_backend --gpu_ids --num_cpu_threads_per_process --deepspeed_config_file --zero_stage
    --deepspeed_multinode_launcher --deepspeed_hostfile --rdzv_backend --rdzv_conf --max_restarts --monitor_interval
    --role --log_dir --gradient_accumulation_steps --fsdp_sharding_strategy --deepspeed_exclusion_filter"""
_APPTAINER_VALUED = """
    -B --bind --pwd --cwd -H --home -W --workdir -S --scratch -o --overlay --mount --add-caps --drop-caps --network
    --network-args --apply-cgroups --security --app --dns --hostname --fusemount --pem-path -k --memory --cpus --shell
    --no-mount"""
_ENV = Option("-e --env", "assignment")
_ENV_FILE = Option("--env-file", "env-file")

_MPI = (
    Launcher(
        _MPI_PROGRAMS,
        options=(
            Option("-x --x", "assignment"),
            Option("-genv -env --genv --env", "pair"),
            Option("-genvlist -envlist --genvlist --envlist", "names"),
        ),
        valued=_MPI_VALUED,
        bare=_MPI_BARE,
        assigns=True,
        segments=True,
    ),
    Launcher("horovodrun", valued="""
        -np --num-proc -H --hosts -hostfile --hostfile -p --ssh-port --mpi-args --network-interface
        --network-interfaces --output-filename --config-file --gloo-timeout-seconds"""),
    Launcher("aprun", "", (Option("-e", "assignment"),), "-n -N -d -j -cc -S -L -m -b -a -r -B", segments=True),
    Launcher("jsrun lrun", "", (Option("-E --env", "assignment"),), """
        -n --nrs -a --tasks_per_rs -c --cpu_per_rs -g --gpu_per_rs -r --rs_per_host -d --launch_distribution -b --bind
        -p --np -l --latency_priority -M --smpiargs -o -e -N -T"""),
)  # fmt: skip
_SCHEDULERS = (
    Launcher("srun", "", _SLURM_OPTIONS, _SLURM_VALUED, segments=True),
    Launcher("salloc", "", _SLURM_OPTIONS, _SLURM_VALUED),
    Launcher("sbatch", "", _SLURM_OPTIONS, _SLURM_VALUED, inner="script"),
    Launcher("qsub", "", (Option("-v", "list"),), "-l -N -q -o -e -A -P -W -j -M -m -t -J -pe -a -S -d -w -p",
             inner="script"),
    Launcher("bsub", "", (Option("-env", "list"),), """
        -n -q -J -o -e -oo -eo -W -P -R -M -m -gpu -nnodes -alloc_flags -U -w -app -cwd -G -i"""),
    Launcher("flux", "run, submit, batch, alloc", (Option("--env", "assignment"), _ENV_FILE), """
        -n --ntasks -N --nodes -c --cores-per-task -g --gpus-per-task -t --time-limit -q --queue -o --setopt --output
        --error --cwd -B --bank --job-name"""),
    Launcher("runai", "submit, submit-dist, training submit, workspace submit",
             (Option("-e --environment --environment-variable", "assignment"),),
             "-i --image -g --gpu -p --project --name -v --pvc", inner="dashes"),
    Launcher("sky", "launch, exec, jobs launch, serve up", (Option("--env", "assignment"), _ENV_FILE), inner="none"),
)  # fmt: skip
_CONTAINERS = (
    Launcher(_DOCKER, "run, create", (_ENV, _ENV_FILE), _DOCKER_VALUED, operands=1, container=True),
    Launcher(_DOCKER, "exec", (_ENV, _ENV_FILE), "-u --user -w --workdir --detach-keys -f --file --index",
             operands=1, container=True),
    Launcher(_DOCKER + " buildah", "build, bud, buildx build, builder build, image build",
             (Option("--build-arg", "assignment", "argument"), Option("--env", "assignment")), inner="none"),
    Launcher("apptainer singularity", "exec, run, shell, instance start, instance run",
             (Option("--env", "list"), _ENV_FILE), _APPTAINER_VALUED, operands=1, container=True),
    Launcher("enroot", "start, exec", (_ENV,), "-m --mount -c --conf", operands=1, container=True),
    Launcher("kubectl oc", "set env", inner="none", assigns=True),
    Launcher("kubectl oc", "exec, run", (Option("--env", "assignment"),), """
        -n --namespace -c --container --image --context -l --labels --overrides --restart -f""",
             inner="dashes", container=True),
    Launcher("gcloud", options=(
        Option("--set-env-vars --update-env-vars --container-env --build-env-vars --set-build-env-vars", "list"),
        Option("--env-vars-file --container-env-file", "configuration"),
        Option("--command", "script")), inner="none"),
    Launcher("az", options=(Option("--environment-variables --env-vars --set-env-vars", "words"),), inner="none"),
)  # fmt: skip
_FRAMEWORKS = (
    Launcher("torchrun", valued=_TORCHRUN_VALUED, inner="python"),
    Launcher("deepspeed deepspeed.pt", valued="""
        --hostfile -H --include -i --exclude -e --num_nodes --num_gpus --master_port --master_addr --launcher
        --launcher_args --node_rank --save_pid --min_elastic_nodes --max_elastic_nodes --venv_script""",
             inner="python"),
    Launcher("accelerate", "launch", valued=_ACCELERATE_VALUED, inner="python"),
    Launcher("accelerate-launch", valued=_ACCELERATE_VALUED, inner="python"),
    Launcher("ray", "job submit", (Option("--runtime-env-json", "json"), Option("--runtime-env", "configuration")),
             "--address --working-dir --submission-id --job-id --entrypoint-num-cpus --entrypoint-num-gpus --headers"),
    Launcher("ray", "start, up, stop", inner="none"),
    Launcher("ray", "exec", operands=1, inner="shell"),
    Launcher("msrun composer colossalai fleetrun bpslaunch", inner="python"),
    Launcher("spark-submit", options=(Option("--conf", "assignment"),), inner="none"),
)  # fmt: skip
_REMOTE = (
    Launcher("ssh autossh", "", (Option("-o", "ssh"),), """
        -b -c -D -E -e -F -I -i -J -L -l -m -O -p -Q -R -S -W -w -B""", operands=1, inner="shell"),
    Launcher("pdsh", valued="-w -x -f -t -u -l -R -g -X -M", inner="shell"),
    Launcher("clush", valued="""
        -w -x -g -X -o -O -l -f -t -u --hostfile --options --fanout --user --outdir --errdir""", inner="shell"),
    Launcher("parallel", "", (Option("--env", "names"),), """
        -S --sshlogin -j --jobs -a --arg-file -n -N -L --joblog --workdir --wd --delay --colsep -I --timeout"""),
    Launcher("tmux", "new-session, new, new-window, neww, split-window, splitw, respawn-pane",
             (Option("-e", "assignment"),), "-s -n -t -c -x -y -F -l -p", inner="shell"),
    Launcher("tmux", "setenv, set-environment", (Option("-g", "pair"),), inner="none"),
    Launcher("systemd-run", "", (Option("-E --setenv", "assignment"),), """
        -p --property --unit --uid --gid --slice --working-directory -H -M"""),
    Launcher("systemctl", "set-environment", inner="none", assigns=True),
    Launcher("conda mamba micromamba", "env config vars set", inner="none", assigns=True),
    Launcher("sudo doas", "", (Option("--preserve-env", "names"),), """
        -u --user -g --group -h --host -p --prompt -C -r -t -T -D --chdir -R""", assigns=True),
    Launcher("su runuser", "", (Option("-c --command", "script"), Option("-w --whitelist-environment", "names")),
             "-s --shell -g -G", inner="none"),
)  # fmt: skip
_WRAPPERS = (
    Launcher("env", "", (Option("-u --unset", "unset"), Option("-S --split-string", "script")), "-C --chdir",
             assigns=True, launch=False),
    Launcher("time", valued="-f --format -o --output", assigns=True, launch=False),
    Launcher("timeout", valued="-s --signal -k --kill-after", operands=1, launch=False),
    Launcher("taskset chrt", valued="-c --cpu-list", operands=0, launch=False),
    Launcher("nohup setsid exec command builtin unbuffer catchsegv ddtrace-run", valued="-a", launch=False),
    Launcher("""
        nice ionice stdbuf numactl strace ltrace perf valgrind watch flock nsys ncu nvprof rocprof rocprofv2 rocprofv3
        rocprof-sys-run omnitrace-run gdb cuda-gdb likwid-pin chroot unshare script retry hpcrun dlprof scorep tau_exec
        vtune mprof py-spy cuda-memcheck compute-sanitizer xvfb-run tini dumb-init gosu su-exec sshpass""", valued="""
        -n --adjustment -c --class -o -i -e -m -N -C --cpunodebind --membind --physcpubind --interleave --preferred
        --output --trace -t -s --sample -f -d --log-level --tool --log-file --input -p --capture-range
        --capture-range-end --gpu-metrics-device --cuda-graph-trace --report-file -ex""", launch=False),
    Launcher("xargs", valued="""
        -I -n -P -L -d -a -s -E --max-args --max-procs --delimiter --arg-file --replace""", launch=False),
    Launcher("conda mamba micromamba", "run", valued="-n --name -p --prefix --cwd", launch=False),
    Launcher("uv poetry pipenv hatch pdm rye pixi", "run", (_ENV_FILE,), """
        --with --extra --group --python -p --project --directory --package -e --environment""", launch=False),
)  # fmt: skip
_TOOLS = (
    Launcher("rocm-smi amd-smi nvidia-smi cmake", inner="none"),
    Launcher("git", "clone", inner="none"),
)
"""Programs that start no ranks, but whose arguments say something about the node or the libraries on it."""

LAUNCHERS = (*_MPI, *_SCHEDULERS, *_CONTAINERS, *_FRAMEWORKS, *_REMOTE, *_WRAPPERS, *_TOOLS)
