"""The rows of bench/run that go through many programs: those of bench/public, by processor time on one thread, and all."""
import statistics
from pathlib import Path

from peers import KILN, PEERS, ROOT, importable, python_with

PUBLIC = ROOT / "bench" / "public"
# Of bench/programs those that nothing but being called often compiles, or that compile some of their functions.
OTHERS = [ROOT / "bench" / "programs" / f"{name}.kiln" for name in ("host", "hot", "mlp", "sequences", "step", "transforms")]
# So many times as long as in the interpreter no program may take, and as for half the work.
WORST, MOST_GROWTH = 1.05, 2.2
# Row: which programs, none meaning all.
PROGRAMS = {
    "public": None,
    "growth": None,
    "fastmath": ["equation_of_state", "hdiff", "heat_3d", "vadv"],
    "modes": None,
}


def kiln(*options, **environment):
    return "kiln", [str(KILN), "--threads", "1", *options], environment


def python(ending, module):
    return f"{ending}.py", [python_with(module)], {}


# Row: its peers, each with file ending, command, and environment of its own.
ROWS = {
    "public": {
        "kiln": kiln(),
        "kiln --no-hot": kiln("--no-hot"),
        "kiln @jit": kiln(KILN_BENCH_MODE="jit"),
        "numpy": python("numpy", "numpy"),
        "torch.compile": python("torch", "torch"),
        "jax": python("jax", "jax"),
        "numba": python("numba", "numba"),
    },
    "growth": {
        "kiln": kiln(),
        "kiln, twice the work": kiln(KILN_BENCH_WORK="2"),
    },
    "fastmath": {
        "kiln": kiln(KILN_BENCH_MODE="fastmath"),
        "kiln @jit": kiln(KILN_BENCH_MODE="jit"),
    },
    "modes": {
        "kiln": kiln(),
        "kiln --no-hot": kiln("--no-hot"),
        "kiln @jit": kiln(KILN_BENCH_MODE="jit"),
    },
}
# Those whose best is compared with Kiln: Numba's loops are what the machine can do at all, as those of C.
RIVALS = ["numpy", "torch.compile", "jax"]


def is_there(peer):
    if peer == "numba":
        return importable("numba")
    return peer not in PEERS or PEERS[peer][2]()


def commands_of(row, only):
    """The processes of a row in the order in which they run: peer, command, environment of its own."""
    all_names = PROGRAMS[row] or sorted(path.stem for path in PUBLIC.glob("*.kiln") if path.stem != "harness")
    names = [name for name in all_names if only is None or name in only]
    public = [
        (peer, command + [str(PUBLIC / f"{name}.{ending}")], {"OMP_NUM_THREADS": "1"} | environment)
        for name in names
        for peer, (ending, command, environment) in ROWS[row].items()
        if (PUBLIC / f"{name}.{ending}").exists() and is_there(peer)
    ]
    others = OTHERS if row == "modes" and only is None else []
    # These compile what they compile by themselves: there is no other program with `@jit`.
    return public + [
        (peer, ROWS[row][peer][1] + [str(path)], {"OMP_NUM_THREADS": "1"})
        for path in others
        for peer in ("kiln", "kiln --no-hot")
    ]


def metric_of(row, metric, command):
    """Metrics of different programs may have one name."""
    path = Path(command[-1])
    return f"{path.stem}/{metric}" if row == "modes" and path in OTHERS else metric


def take_first_calls(rows):
    """Moves the first calls of programs, which compile, into a row of their own."""
    for row, name_of in {"public": "first_calls", "modes": "first_calls_of_modes"}.items():
        metrics = rows.get(row, {})
        first = {name: metrics.pop(name) for name in list(metrics) if name.endswith(":first")}
        if first:
            rows[name_of] = {name.removesuffix(":first"): times for name, times in first.items()}


def summary(metrics):
    """What the row `public` comes to, beside the best rival of each program that has one."""
    rivals = {name: [(times[peer], peer) for peer in RIVALS if peer in times] for name, times in metrics.items()}
    best = {name: min(there) for name, there in rivals.items() if there}
    if not best:
        return "no rival is installed"
    ratios = {name: best[name][0] / metrics[name]["kiln"] for name in best}
    least = min(ratios, key=ratios.get)
    mean = statistics.geometric_mean(ratios.values())
    return f"best of {', '.join(RIVALS)} / kiln: {mean:.2f}, least {ratios[least]:.2f} ({least}, {best[least][1]})"


def faults(rows):
    """Programs that take longer hot, or compiled at their first call, than in the interpreter, or that grow too fast."""
    slower = [
        f"{name}: {peer} took {times[peer] / times['kiln --no-hot']:.2f} times as long as kiln --no-hot"
        for row in ("public", "modes")
        for name, times in rows.get(row, {}).items()
        for peer in ("kiln", "kiln @jit")
        if peer in times and times[peer] > WORST * times["kiln --no-hot"]
    ]
    growing = [
        f"{name}: twice the work took {times['kiln, twice the work'] / times['kiln']:.2f} times as long"
        for name, times in rows.get("growth", {}).items()
        if times["kiln, twice the work"] > MOST_GROWTH * times["kiln"]
    ]
    return slower + growing
