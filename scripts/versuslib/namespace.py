"""A network namespace for clients, joined to this machine's by a veth pair that delays packets.

In: root's rights, the programs ip and tc. Out: the addresses of both ends. Must never: change another interface, or
outlive this process: the kernel removes the namespace and the pair with the process that holds them, which it ends
when this process ends, however that happens.
"""
import contextlib
import ctypes
import os
import shutil
import signal
import subprocess

from .server import ScriptError, end_with_parent

CLONE_NEWNET = 0x40000000
# Added to each packet that a client sends.
DELAY = "100us"
DELAY_TEXT = "100 µs"


def call(name, *arguments):
    """Calls a function of libc that returns 0 or sets errno."""
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def enter_network_namespace(pid):
    """Runs in a child before exec: enters the network namespace of a process."""

    def in_child():
        descriptor = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        call("setns", descriptor, CLONE_NEWNET)
        os.close(descriptor)

    return in_child


class Namespace:
    """A namespace for one `with` block. If it cannot be created, `error` says why."""

    def __init__(self):
        self.error = None
        #: How packets travel, for the titles of cases.
        self.link = ""
        #: A process in the namespace.
        self.pid = None
        self._holder = None
        # Addresses that are reserved for benchmarks (RFC 2544), four for each process.
        number = 4 * (os.getpid() % (1 << 14))
        self.server_address, self.client_address = (f"198.18.{(number + host) // 256}.{(number + host) % 256}" for host in (1, 2))
        self.server_interface, self.client_interface = (f"prony{os.getpid()}{end}" for end in "sc")

    def __enter__(self):
        try:
            self._create()
        except (ScriptError, OSError, subprocess.SubprocessError) as error:
            self._remove()
            self.error = f"no network namespace: {error}"
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(self, *_):
        self._remove()

    def _create(self):
        if os.geteuid() != 0:
            raise ScriptError("needs root")
        for program in ("ip", "tc"):
            if not shutil.which(program):
                raise ScriptError(f"{program} is not installed: apt install iproute2")
        in_child = end_with_parent(signal.SIGKILL, lambda: call("unshare", CLONE_NEWNET))
        # Ctrl-C must not end it before the clients.
        self._holder = subprocess.Popen(["sleep", "infinity"], preexec_fn=in_child, start_new_session=True)
        self.pid = self._holder.pid
        self._run("ip", "link", "add", self.server_interface, "type", "veth", "peer", "name", self.client_interface, "netns", self.pid)
        ends = ((self.server_interface, self.server_address, False), (self.client_interface, self.client_address, True))
        for interface, address, is_inside in ends:
            self._run("ip", "address", "add", f"{address}/30", "dev", interface, is_inside=is_inside)
            self._run("ip", "link", "set", interface, "up", is_inside=is_inside)
        try:
            self._run("tc", "qdisc", "add", "dev", self.client_interface, "root", "netem", "delay", DELAY, is_inside=True)
            self.link = f"veth, each request {DELAY_TEXT} later (netem)"
        except ScriptError:
            self.link = "veth, no delay added: this kernel has no netem"

    def _run(self, *words, is_inside=False):
        """Runs a program, in the namespace or in this process's."""
        enter = enter_network_namespace(self.pid) if is_inside else None
        result = subprocess.run([str(word) for word in words], capture_output=True, text=True, preexec_fn=enter)
        if result.returncode != 0:
            raise ScriptError(f"{' '.join(map(str, words))}: {result.stderr.strip()}")

    def _remove(self):
        if self._holder is None:
            return
        # Removing an end removes the pair. The kernel would do it too, some time after the holder's end.
        with contextlib.suppress(ScriptError, OSError):
            self._run("ip", "link", "delete", self.server_interface)
        self._holder.kill()
        self._holder.wait()
        self._holder = None
