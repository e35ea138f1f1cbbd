#!/usr/bin/env python3
"""Stress test of `{{ module }}`, made by `ungil stress`.

Calls functions of the module from several threads at once, each function in processes of its own, and
reports crashes, hangs, wrong results and lost references. Run it before and after a change: what
failed before has to pass afterwards.

Build the extension with a free-threaded Python, best a debug build of it, and run this with the same:

    python3.13t -m pip install .
    python3.13t {{ file }}                  # what has findings
    python3.13t {{ file }} --only NAME      # one function or finding; --list has the names
    python3.13t {{ file }} --all            # every function

Each function is called with arguments that are made up here, in an empty folder. Functions that must
not be called so, because they end processes or delete something, go into SKIP below.

Results:

    passed      as many threads as asked for made the same call at the same time, and other threads
                changed the arguments meanwhile: nothing below happened. A race may still be there.
    crash       the process died: memory was used after it was freed, or a check of Python failed
    hang        a step did not end: a deadlock, most likely
    differs     the threads together got other results than one thread gets from as many calls
    error       SystemError: a function returned NULL without an exception, or a result with one
    references  more, or fewer, references are left than with one thread: a leak, or one that is
                released twice
    not run     nothing is known of it; the line says why, and what to fill in

The second table has the worst result of the functions that reach a finding. It need not be because of
this finding: what else these functions do may fail as well.

Exit status: 0 all that ran has passed, 1 something failed, 2 nothing ran.

What stands between `# >>>` and `# <<<` is yours: it stays when `ungil stress` writes this file again.
"""

import argparse
import collections
import faulthandler
import gc
import importlib
import itertools
import json
import operator
import os
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time

MODULE = {{ quoted_module }}
FILL_IN = object()  # stands where something has to be filled in

{% for region in regions %}
{% for line in region.about %}
# {{ line }}
{% endfor %}
# >>> {{ region.name }} [{{ region.mark }}]
{{ region.body }}
# <<<


{% endfor %}
{% if args_of %}
{% for name, function in args_of %}
ARGS.setdefault({{ name }}, {{ function }})
{% endfor %}


{% endif %}
# ---- What is called ----

# The findings of `ungil check` by their ids, with the functions that reach them.
FINDINGS = {
{% for id, row in findings %}
    {{ id }}: {{ row }},
{% endfor %}
}

# Each function: how it is called with the module `m`, an object `self` of the type `on`, and `args`,
# whose kinds are those of KINDS below. `args` is None where they have to be filled in.
SCENARIOS = {
{% for scenario in scenarios %}
    {{ scenario.name }}: dict(
        call=lambda m, self, args: {{ scenario.call }},
        on={{ scenario.on }}, args={{ scenario.args }}, required={{ scenario.required }}, place={{ scenario.place }},
    ),
{% endfor %}
}


{{ runtime }}
{% if pytest %}

def pytest_generate_tests(metafunc):
    if "name" in metafunc.fixturenames:
        metafunc.parametrize("name", chosen(options_of([])))


def test_stress(name):
    test_with(name)

{% endif %}

if __name__ == "__main__":
    sys.exit(main())
