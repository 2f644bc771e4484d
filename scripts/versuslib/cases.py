"""What is measured, and what is wanted of it.

In: nothing. Out: the list of cases. Must never: decide how they are measured.
"""
import dataclasses
import os
from typing import Optional


@dataclasses.dataclass(frozen=True)
class Case:
    """One comparison under load: one client thread, prepared statements."""

    id: str
    title: str
    workload: str
    clients: int
    network: str
    io: Optional[str]
    most_cpu: Optional[float]
    least_tps: Optional[float]
    cpus: Optional[frozenset] = None


@dataclasses.dataclass(frozen=True)
class Load:
    """One comparison of loading."""

    id: str
    title: str
    jobs: int
    least_speed: Optional[float]
    most_cpu: Optional[float]


# Any one will do; the first that this process may use.
ONE_CPU = frozenset({min(os.sched_getaffinity(0))})

RUNS = [
    Case("unix64", "select-only, unix socket, 64 clients, ring", "select-only", 64, "unix", "ring", 0.55, 1.15),
    Case("unix256", "select-only, unix socket, 256 clients, ring", "select-only", 256, "unix", "ring", 0.55, 1.3),
    Case("tcp64", "select-only, TCP, 64 clients, ring", "select-only", 64, "tcp", "ring", 0.65, 1.25),
    Case("unix8", "select-only, unix socket, 8 clients, ring", "select-only", 8, "unix", "ring", 0.80, 1.05),
    Case("one-cpu", "select-only, unix socket, 1 client, client and server on one CPU", "select-only", 1, "unix", None, 0.90, 1.05, ONE_CPU),
    Case("unix64-epoll", "select-only, unix socket, 64 clients, epoll", "select-only", 64, "unix", "epoll", 0.92, 1.05),
    Case("unix256-epoll", "select-only, unix socket, 256 clients, epoll", "select-only", 256, "unix", "epoll", 0.92, 1.05),
    Case("tpcb64", "tpcb-like, unix socket, 64 clients", "tpcb", 64, "unix", None, 0.62, 1.2),
]

LOADS = [
    Load("load", "load, --jobs 1", 1, 1.1, 0.5),
    Load("load-jobs2", "load, --jobs 2", 2, 1.1, 0.5),
]

MEMORY = "memory"
MEMORY_MOST_BYTES = 150_000_000

GROUPS = {
    "runs": [case.id for case in RUNS],
    "loads": [case.id for case in LOADS],
}

ALL = [*GROUPS["loads"], *GROUPS["runs"], MEMORY]


def choose(text):
    """The identifiers that a comma-separated list names; `all`, `runs` and `loads` stand for many."""
    chosen = []
    for word in filter(None, (word.strip() for word in text.split(","))):
        names = ALL if word == "all" else GROUPS.get(word, [word])
        for name in names:
            if name not in ALL:
                raise ValueError(f"no case {name!r}; there are: all, runs, loads, {', '.join(ALL)}")
            if name not in chosen:
                chosen.append(name)
    return chosen
