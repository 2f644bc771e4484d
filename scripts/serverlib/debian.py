"""Programs of database servers that only a different suite of Debian has.

In: a suite and a package. Out: the package and its dependencies, unpacked in a folder and run by the
loader in that folder; apt verifies the downloads. Must never: change the packages of this machine.
"""
import os
import pathlib
import shutil
import subprocess

from serverlib.archives import cache_folder
from versuslib.server import ScriptError

SOURCES = "/etc/apt/sources.list.d/debian.sources"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
TIMEOUT_S = 300


class Package:
    """The newest version in a suite; a suite keeps no older versions."""

    def __init__(self, suite, name):
        self.suite = suite
        self.package = name

    def unpack(self, into):
        """Unpacks the package and its dependencies into `into`."""
        if not (shutil.which("apt-get") and shutil.which("dpkg-deb") and pathlib.Path(KEYRING).exists()):
            raise ScriptError("this machine has no apt-get with Debian's keys")
        state = cache_folder() / f"debian-{self.suite}"
        if not state.exists():
            print(f"servers: downloading {self.package} of {self.suite} and what it needs", flush=True)
        options = self._isolated_options(state)
        self._apt(options, "update", "-qq")
        self._apt(options, "install", "-y", "-qq", "--download-only", self.package)
        # Keep only those files of earlier runs that the suite still has.
        self._apt(options, "autoclean", "-qq")
        for packed in sorted((state / "cache" / "archives").glob("*.deb")):
            # Perl is needed only by a script that is not run.
            if "perl" not in packed.name:
                subprocess.run(["dpkg-deb", "-x", packed, into], check=True, timeout=TIMEOUT_S)

    def _isolated_options(self, state):
        """Options that isolate apt from the packages of this machine."""
        for folder in ("lists/partial", "cache/archives/partial", "state"):
            (state / folder).mkdir(parents=True, exist_ok=True)
        (state / "status").write_text("")
        (state / "sources.list").write_text(f"deb [signed-by={KEYRING}] {mirror()} {self.suite} main\n")
        settings = {
            "Dir::Etc::sourcelist": state / "sources.list",
            "Dir::Etc::sourceparts": "-",
            "Dir::Etc::preferencesparts": "-",
            "Dir::Etc::preferences": "-",
            "Dir::State": state / "state",
            "Dir::State::lists": state / "lists",
            "Dir::State::status": state / "status",
            "Dir::Cache": state / "cache",
            "APT::Sandbox::User": "root",
            "Debug::NoLocking": "1",
            "Acquire::Languages": "none",
            "APT::Install-Recommends": "false",
        }
        return [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]

    def _apt(self, options, *words):
        env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"}
        command = ["apt-get", *options, *words]
        result = subprocess.run(command, capture_output=True, text=True, env=env, timeout=TIMEOUT_S)
        if result.returncode != 0:
            raise ScriptError(f"apt-get {words[0]} of {self.suite}: {result.stderr.strip()[-500:]}")
        return result.stdout


def mirror():
    """The package sources of this machine."""
    try:
        lines = pathlib.Path(SOURCES).read_text().splitlines()
    except OSError:
        raise ScriptError(f"this machine has no {SOURCES}") from None
    for line in lines:
        if line.startswith("URIs:"):
            return line.split()[1]
    raise ScriptError(f"{SOURCES} names no URI")
