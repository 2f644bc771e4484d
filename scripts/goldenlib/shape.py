"""The shape of an output: its text without the numbers.

In: text. Out: its shape. Must never: hide a word, a blank or the order of lines that contain words.
"""
import re

# A number in a column, whose width with the blanks before it is part of the format; then any other number.
NUMBERS = re.compile(
    r"(?P<column> {2,}\d+(?:\.\d+)?(?= ))"
    r"|(?<![A-Za-z_.\d])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"
    r"|\d+(?:\.\d+)?"
)


def line_shape(line):
    """One line without its numbers."""

    def placeholder(match):
        column = match.group("column")
        return f"<column of {len(column)}>" if column else "N"

    return NUMBERS.sub(placeholder, line)


def text_shape(text, folder):
    """An output without numbers and the tool's own folder, equal consecutive lines merged.

    The number of progress lines and of repeated errors depends on time.
    """
    shapes = []
    for line in text.replace(folder, "DIR").split("\n"):
        shape = line_shape(line)
        if not shapes or shapes[-1] != shape or not shape:
            shapes.append(shape)
    return "\n".join(shapes)


def log_shape(text):
    """A log file: the kinds of lines in it, in alphabetical order."""
    kinds = {line_shape(line) for line in text.splitlines()}
    incomplete = [] if text == "" or text.endswith("\n") else ["(the last line has no end)"]
    return "\n".join(sorted(kinds) + incomplete)
