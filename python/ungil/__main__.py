"""Runs the program that this package brings along: `python -m ungil`."""

import os
import subprocess
import sys
import sysconfig


def find_program():
    """The path of `ungil` where an installer puts programs: of this environment, of the user, or
    beside the package (`pip install --target`)."""
    name = "ungil" + (sysconfig.get_config_var("EXE") or "")
    package = os.path.dirname(os.path.abspath(__file__))
    folders = [
        sysconfig.get_path("scripts"),
        sysconfig.get_path("scripts", scheme=sysconfig.get_preferred_scheme("user")),
        os.path.join(os.path.dirname(package), "bin"),
    ]
    for folder in folders:
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            return path
    sys.exit(f"`{name}` is in none of: {', '.join(folders)}")


def main():
    command = [find_program(), *sys.argv[1:]]
    if os.name == "nt":
        # There `execv` would give the terminal back before the program has ended.
        sys.exit(subprocess.call(command))
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
