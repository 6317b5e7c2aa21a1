"""Reads what `strace -f -yy` has written: every call with where it begins and ends, in lines of the file."""
import re
from dataclasses import dataclass

LINE = re.compile(r"^(\d+) +(.*)$")
WHOLE = re.compile(r"^(\w+)\((.*)\) += (-?\d+)(?: .*)?$", re.DOTALL)
UNFINISHED = re.compile(r"^(\w+)\((.*) <unfinished \.\.\.>$", re.DOTALL)
RESUMED = re.compile(r"^<\.\.\. (\w+) resumed>(.*)\) += (-?\d+)(?: .*)?$", re.DOTALL)
TARGET = re.compile(r"^\d+<(.*?)>(?:,|$| )")


@dataclass
class Call:
    name: str
    target: str  # what the first argument's descriptor is: a path, a connection
    text: str  # the arguments as strace shows them
    result: int
    begin: int
    end: int


def made(name, text, result, begin, end):
    target = TARGET.match(text)
    return Call(name, target.group(1) if target else "", text, int(result), begin, end)


def read_calls(lines):
    """In the order in which they ended."""
    begun = {}
    calls = []
    for number, line in enumerate(lines):
        found = LINE.match(line)
        if not found:
            continue
        thread, rest = found.groups()
        if match := UNFINISHED.match(rest):
            begun[thread] = (*match.groups(), number)
        elif match := RESUMED.match(rest):
            name, rest_of_text, result = match.groups()
            if thread in begun and begun[thread][0] == name:
                _, text, begin = begun.pop(thread)
                calls.append(made(name, text + rest_of_text, result, begin, number))
        elif match := WHOLE.match(rest):
            calls.append(made(*match.groups(), number, number))
    return calls
