#!/usr/bin/env bash
# Tests scripts/parts-by-capture with artificial captures: an empty one, and one with two round trips of
# 200 and 400 µs, in which the server sends the last segment of the first reply twice.
#
#     scripts/tests/capture.sh
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
    echo "FAILED: $1" >&2
    exit 1
}

python3 - "$folder" <<'PYTHON'
import struct
import sys

folder = sys.argv[1]
PORT, CLIENT = 3306, 50000


def packet(at_us, source, target, sequence, payload):
    tcp = struct.pack(">HHIIHHHH", source, target, sequence & 0xFFFFFFFF, 0, 5 << 12, 0, 0, 0) + payload
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp), 0, 0, 64, 6, 0, b"\x7f\0\0\1", b"\x7f\0\0\1")
    frame = b"\0" * 12 + b"\x08\x00" + ip + tcp
    return struct.pack("<IIII", 0, at_us, len(frame), len(frame)) + frame


header = struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
execute, reply = b"\x01\0\0\0\x17", b"\x01\0\0\x01\0"
trips = b""
# The server's sequence numbers wrap around within the first reply.
sequence = 0xFFFFFFFD
for start_us, length_us in ((1000, 200), (2000, 400)):
    trips += packet(start_us, CLIENT, PORT, start_us, execute)
    trips += packet(start_us + length_us, PORT, CLIENT, sequence, reply)
    if start_us == 1000:
        trips += packet(start_us + 700, PORT, CLIENT, sequence, reply)
    sequence += len(reply)
with open(f"{folder}/parts.tsv", "w") as table:
    for name, packets in (("empty", b""), ("two", trips)):
        path = f"{folder}/{name}.pcap"
        with open(path, "wb") as file:
            file.write(header + packets)
        # Prony's mean is 10 % too long.
        fields = (path, PORT, name, 1, 1, 2, 0, 330000.0, 400000.0, 400000.0, 0, 5)
        table.write("\t".join(map(str, fields)) + "\n")
PYTHON

table=$("$here/parts-by-capture" "$folder")
grep -qF '| empty | 1 | 2 | 0 | – | – | – | – | – | – | 5 |' <<<"$table" || fail "a capture of nothing: $table"
grep -qF '| two | 1 | 2 | 2 | 300.0 | 1.1000 | 400.0 | 1.0000 | 400.0 | 1.0000 | 5 |' <<<"$table" ||
    fail "two round trips: $table"
"$here/parts-by-capture" --help | grep -q '^usage: parts-by-capture' || fail "no usage text"
echo "parts-by-capture: ok"
