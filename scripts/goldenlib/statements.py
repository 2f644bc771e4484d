"""The statements of a run, from the server's log.

In: a server that logs with SETTINGS. Out: every difference. Must never: classify a
session as a client's by its statements.

The server logs each Parse, Bind and Execute message with statement and parameters, in the order in
which it handles them. These are compared:
 1. Sessions whose application_name is pgbench, except set-up sessions. Each is the list of its
    statements, including errors, and of the messages that it sent. Sessions are sorted by this list,
    because clients are alike; sessions without statements are left out. A statement that is added,
    missing, changed or moved within a session is a difference.
 2. The statements of the set-up (count of branches, partitions, vacuum, truncate), from any session:
    the same statements in the same order, all before the first statement of a client. Rule 3 applies
    to all other statements of a set-up session.
 3. All other sessions, and the remaining statements of set-up sessions. They may exist, because Prony
    reads the state of the server, but may only read, and of the tables of the load only count the history's rows
    before and after it. pgbench has none.
The exit status is compared too. The log shows only Parse, Bind and Execute; a relay records every message (wire.py).
"""
import ast
import re
import time

SETTINGS = {
    "log_statement": "all",
    # Only this setting logs Parse and Bind.
    "log_min_duration_statement": "0",
    "log_line_prefix": "<%c|%a|%d> ",
    "log_connections": "on",
    "log_disconnections": "on",
    "log_min_messages": "warning",
}
CLIENT = "pgbench"
WAIT_SECONDS = 60

ENTRY = re.compile(r"<([0-9a-f]+\.[0-9a-f]+)\|([^|>]*)\|([^>]*)> (.*)", re.S)
BEGIN = "LOG:  connection authorized:"
END = "LOG:  disconnection:"

# A failing client disconnects before it has read everything; the server does not always notice this.
IGNORED_MESSAGES = re.compile(
    r"LOG:  (connection |disconnection|could not (send|receive) data (to|from) client)|FATAL:  connection to client lost"
)
SETUP_STATEMENTS = re.compile(
    r"LOG:  statement: (select count\(\*\) from pgbench_branches|.*\bpartstrat\b.*"
    r"|vacuum pgbench_\w+|vacuum analyze pgbench_\w+|truncate pgbench_history)\s*$",
    re.S,
)
READS = re.compile(r"LOG:  (?:statement|execute [^:]*): *(select|show|set|with|begin|start transaction|commit|rollback)\b", re.I)
COUNT_OF_HISTORY = re.compile(r"LOG:  statement: select count\(\*\) from pgbench_history\s*")
WRITES = re.compile(
    r"\b(insert|update|delete|truncate|vacuum|analyze|checkpoint|copy|nextval|setval|lock|create|drop|alter)\b"
    r"|_reset\(|pg_terminate_backend|pg_cancel_backend|\b(from|join)\s+(\w+\.)?(pgbench|golden)_",
    re.I,
)


class ServerLog:
    """The server's log of one run in one database."""

    def __init__(self, path, database):
        self.path = path
        self.database = database
        self.offset = path.stat().st_size

    def entries(self):
        """(session, application, message) of the run; waits until all its sessions have ended."""
        deadline = time.monotonic() + WAIT_SECONDS
        while True:
            found = list(self._read())
            started = {session for session, _, message in found if message.startswith(BEGIN)}
            ended = {session for session, _, message in found if message.startswith(END)}
            if started <= ended:
                return found
            if time.monotonic() > deadline:
                return found + [("none", CLIENT, f"(sessions that did not end: {len(started - ended)})")]
            time.sleep(0.02)

    def _read(self):
        with open(self.path, "rb") as file:
            file.seek(self.offset)
            text = file.read().decode("utf-8", "replace")
        # A message's further lines begin with a tabulator.
        for part in re.split(r"\n(?!\t)", text):
            found = ENTRY.fullmatch(part)
            if found and found.group(3) == self.database:
                yield found.group(1), found.group(2), found.group(4).replace("\n\t", "\n").rstrip("\n")


def message_shape(message):
    """A message without times and processes; None if nothing remains."""
    if IGNORED_MESSAGES.match(message):
        return None
    message = re.sub(r"^LOG:  duration: [\d.]+ ms(  )?", "LOG:  ", message)
    message = re.sub(r"\b([Pp]rocess|PID) \d+", r"\1 N", message)
    return None if message == "LOG:  " else message


class ServerStatements:
    """The statements of a run, by session."""

    def __init__(self, entries):
        sessions, self.setup, self.forbidden = {}, [], []
        self.first_client = None
        for session, application, message in entries:
            shape = message_shape(message)
            if shape is not None:
                sessions.setdefault(session, []).append((application, shape))
        setup_sessions = {
            session for session, found in sessions.items() if any(SETUP_STATEMENTS.match(shape) for _, shape in found)
        }
        self._collect_setup(entries, setup_sessions)
        self.clients = sorted(
            [shape for _, shape in found]
            for session, found in sessions.items()
            if session not in setup_sessions and found[0][0] == CLIENT
        )
        for session, found in sessions.items():
            if session in setup_sessions or found[0][0] != CLIENT:
                self._check_other_session(found)

    def _collect_setup(self, entries, setup_sessions):
        """The set-up's statements, with the position of the first statement of a client."""
        client_started = False
        for session, application, message in entries:
            shape = message_shape(message)
            if shape is None:
                continue
            if session in setup_sessions and SETUP_STATEMENTS.match(shape):
                self.setup.append(shape + ("  (after a client's first statement)" if client_started else ""))
            elif application == CLIENT and session not in setup_sessions:
                client_started = True

    def _check_other_session(self, found):
        """Records statements that only a client's session may run."""
        for application, shape in found:
            if SETUP_STATEMENTS.match(shape) or re.match(r"LOG:  (parse|bind) ", shape):
                continue
            if re.match(r"(DETAIL|STATEMENT|HINT|CONTEXT):", shape):
                continue
            if (not READS.match(shape) or WRITES.search(shape)) and not COUNT_OF_HISTORY.fullmatch(shape):
                self.forbidden.append(f"{application}: {shape}")

    def parts(self):
        """The parts that are compared, by name."""
        clients = "\n".join(line for found in self.clients for line in ["-- a session", *found])
        return {
            "sessions of clients": f"{len(self.clients)} sessions",
            "statements of clients": clients,
            "statements of the set-up": "\n".join(self.setup),
            "what other sessions may not run": "\n".join(self.forbidden),
        }


def messages(sessions):
    """The messages that are compared: those that clients sent through a relay, as in rule 1."""
    clients = [
        session.messages
        for session in sessions
        if session.parameters.get("application_name") == CLIENT
        and any(message != TERMINATE for message in session.messages)
        and not any(SETUP_STATEMENTS.match("LOG:  statement: " + quoted(message)) for message in session.messages)
    ]
    return {"messages of clients": "\n".join(line for found in sorted(clients) for line in ["-- a session", *found])}


TERMINATE = "X ''"


def quoted(message):
    """The statement of a Query message; empty for others."""
    return ast.literal_eval(message[2:]).rstrip("\0") if message.startswith("Q ") else ""
