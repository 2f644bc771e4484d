"""A pgbench, either the real one or the program under test, and how to call it.

In: a command. Out: the output and files of its runs. Must never: call one tool differently from the
other.
"""
import pathlib
import re
import shlex
import subprocess
import tempfile

from versuslib.server import end_with_parent

from . import cases

RUN_SECONDS = 120


class Tool:
    """A pgbench; each tool has that name in a separate folder, so that both are called alike."""

    def __init__(self, folder, command, env, is_reference=False):
        """`is_reference`: whether it is the real pgbench."""
        self.is_reference = is_reference
        self.folder = folder
        self.env = env
        folder.mkdir()
        self.program = folder / "pgbench"
        # The program's name stays `.../pgbench`, as it is called. A command of several words, such as
        # `prony pgbench`, prints its own name.
        self.keeps_name = len(command) == 1
        name = '-a "$0" ' if self.keeps_name else ""
        self.program.write_text(f'#!/bin/bash\nexec {name}{shlex.join(command)} "$@"\n')
        self.program.chmod(0o755)

    def run(self, case, environment, database, scripts=cases.SCRIPTS):
        """One run in a folder with the files of `scripts`: unchanged outputs, status and log files."""
        with tempfile.TemporaryDirectory(dir=self.folder) as run_folder:
            for name, script in scripts.items():
                (pathlib.Path(run_folder) / name).write_text(script)
            env = {**environment, **self.env, "PGDATABASE": database}
            try:
                process = subprocess.run(
                    [self.program, *case.arguments],
                    cwd=run_folder,
                    env=env,
                    input=case.stdin,
                    capture_output=True,
                    text=True,
                    errors="replace",
                    timeout=RUN_SECONDS,
                    preexec_fn=end_with_parent(9),
                )
                status, out, err = process.returncode, process.stdout, process.stderr
            except subprocess.TimeoutExpired:
                status, out, err = "none: it ran too long", "", ""
            logs = {}
            for path in sorted(pathlib.Path(run_folder).iterdir()):
                if path.name not in scripts:
                    logs[path.name] = path.read_text(errors="replace")
        folder = str(self.folder)
        if not self.keeps_name:
            err = re.sub(r"^pgbench: (?=unrecognized|invalid option|option )", f"{folder}/pgbench: ", err, flags=re.M)
        return {"status": status, "stdout": out, "stderr": err, "logs": logs, "folder": folder}
