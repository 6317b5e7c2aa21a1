"""Commands and options as --help tells them: what else is made of the same tables is held against this."""
import re

from support.server import tidings


def commands():
    listed = tidings("--help").stdout
    return re.findall(r"^  (\S+)  +\S", listed, re.M)


def options(command):
    """flag -> what stands for its value, "" if it takes none."""
    told = tidings(command, "--help").stdout
    return dict(re.findall(r"^  (--\S+)(?: (\S+))?   +\S", told, re.M))


def every_option():
    return [(command, flag, value) for command in commands() for flag, value in options(command).items()]
