# ---- What follows is the same in every script: nothing here needs to be changed. ----

MISFIT = (TypeError, ValueError, AttributeError, OverflowError, NotImplementedError)
NEVER = "SystemError"
FAILURES = ("crash", "hang", "differs", "error", "references")


class NotKnown(Exception):
    """Something has to be filled in."""


# ---- Values for arguments ----

ITEMS = {
    "str": lambda n: "item %d" % n,
    "float": lambda n: n + 0.5,
    "int": lambda n: 1000 + n,
    "list": lambda n: ["item %d" % n],
    "pair": lambda n: ("item %d" % n, n + 0.5),
    "bytes": lambda n: b"item %d" % n,
    "object": lambda n: object(),
    "dict": lambda n: {"key 1": n + 0.5},
}


class Value:
    """Makes a value, and changes it while other threads use it."""

    def __init__(self, make, change=None):
        self.make = make
        self.change = change


def constants(*values):
    return [Value(lambda m, value=value: value) for value in values]


def list_of(item):
    fresh = ITEMS[item]
    return Value(
        lambda m: [fresh(n) for n in range(20)],
        lambda value, n: change_list(value, n, fresh),
    )


def change_list(value, n, fresh):
    step = n % 8
    if step == 6:
        value.clear()
    elif step == 7 or not value:
        value.extend([fresh(n + at) for at in range(20)])
    elif step == 5:
        value.pop()
    else:
        for at in range(min(len(value), 20)):
            value[at] = fresh(n + at)


def dict_of(item):
    fresh = ITEMS[item]
    keys = ["key %d" % n for n in range(20)]
    return Value(
        lambda m: {key: fresh(n) for n, key in enumerate(keys)},
        lambda value, n: change_dict(value, n, keys, fresh),
    )


def change_dict(value, n, keys, fresh):
    step = n % 8
    if step == 6:
        value.clear()
    elif step == 5:
        value.pop(keys[0], None)
    else:
        for at, key in enumerate(keys):
            value[key] = fresh(n + at)


def set_of(item):
    fresh = ITEMS[item]

    def change(value, n):
        if n % 8 == 7:
            value.clear()
        for at in range(20):
            value.add(fresh(n + at))
        value.pop()

    return Value(lambda m: {fresh(n) for n in range(20)}, change)


def change_bytes(value, n):
    try:
        if n % 2:
            value.extend(b"more bytes" * 100)
        else:
            del value[10:]
    except BufferError:
        value[0] = n % 256


def call_back(*args, **named):
    return args[0] if args else 1.5


BYTEARRAY = Value(lambda m: bytearray(b"key 1" * 20), change_bytes)
LISTS = [list_of(item) for item in ITEMS]
DICTS = [dict_of(item) for item in ("float", "str", "list", "dict", "object")]
TEXTS = constants("key 1", "a", "1", "utf-8", "2024-01-31T12:00:00", "")
TUPLES = constants(("a", "b"), ("a", 1.5), (1, 2), (1, 2, 3), ())
BYTES = constants(b"key 1" * 20, b"a", b"")
INTS = constants(1, 0, 2, 10, 100)
CALLS = constants(call_back, len, lambda *args, **named: 1)
KINDS = {
    "list": LISTS,
    "dict": DICTS,
    "set": [set_of("str"), set_of("int")] + constants(frozenset("ab")),
    "tuple": TUPLES,
    "sequence": LISTS + TUPLES,
    "iterable": LISTS + TUPLES + TEXTS[:1],
    "str": TEXTS,
    "bytes": BYTES,
    "bytearray": [BYTEARRAY],
    "buffer": BYTES + [BYTEARRAY],
    "int": INTS,
    "float": constants(1.5, 0.0),
    "bool": constants(True, False),
    "byte": constants(b"a"),
    "char": constants("a"),
    "callable": CALLS,
    "type": constants(int, list),
    "any": LISTS[:1] + DICTS[:1] + TEXTS[:1] + CALLS[:1] + INTS[:1] + constants(1.5) + BYTES[:1]
    + TUPLES[:3] + LISTS[1:] + [set_of("str"), BYTEARRAY]
    + constants(None, Ellipsis, int),
}


def values_of(kind):
    """The values that may be given for what is said of an argument."""
    if isinstance(kind, list):
        parts = [values_of(part)[0] for part in kind]
        return [Value(lambda m: tuple([part.make(m) for part in parts]))]
    if kind.startswith("object:"):
        return [Value(lambda m: make(m, kind[7:]))]
    if kind == "any":
        own = [name[5:] for name in globals() if name.startswith("make_")]
        return KINDS[kind] + [Value(lambda m, name=name: make(m, name)) for name in own]
    return KINDS[kind]


def choices(kinds, required):
    """Which of the values to try, as indices, the likely ones first."""
    for count in dict.fromkeys((len(kinds), required)):
        ranges = [range(len(values_of(kind))) for kind in kinds[:count]]
        some = itertools.islice(itertools.product(*ranges), 5000)
        for choice in sorted(some, key=lambda it: (sum(it), max(it, default=0)))[:80]:
            yield choice


MADE_WITH = {}
NEXT_MADE = {}  # how many of the arguments that a type takes are passed over
MAKING = threading.local()


def make(m, name):
    around = getattr(MAKING, "names", ())
    if name in around:
        raise NotKnown("making `%s` needs one" % name)
    MAKING.names = around + (name,)
    try:
        made = globals()["make_" + name](m)
    finally:
        MAKING.names = around
    if made is FILL_IN:
        raise NotKnown("fill in `make %s`" % name)
    return made


def from_call(m, name, *callers):
    """An object of a type that only functions of the module make: what one of these returns."""
    if name in MADE_WITH:
        return call_for(m, *MADE_WITH[name])
    for caller in callers:
        scenario = SCENARIOS[caller]
        if caller in SKIP or scenario["args"] is None:
            continue
        for choice in itertools.islice(choices(scenario["args"], scenario["required"]), 20):
            try:
                made = call_for(m, caller, choice)
            except Exception:
                continue
            if type(made).__name__ == name:
                MADE_WITH[name] = (caller, choice)
                return made
    return FILL_IN


def call_for(m, caller, choice):
    world = World(m, caller, choice)
    # The call itself would go on to use up the iterator.
    return iter(world.on) if caller.endswith(".tp_iter") else world.call(m, world.on, world.args)


def find(m, name):
    """The type of this name, also if the module does not hand it out."""
    if isinstance(getattr(m, name, None), type):
        return getattr(m, name)
    open_types = [object]
    seen = set()
    while open_types:
        kind = open_types.pop()
        for below in type.__subclasses__(kind):
            if below not in seen:
                seen.add(below)
                open_types.append(below)
                if below.__name__ == name:
                    return below
    raise NotKnown("the type `%s` was not found: fill in `make %s`" % (name, name))


def new(m, name, *kinds, **options):
    """Calls the type with the first arguments of these kinds that it takes."""
    kind = find(m, name)
    if name in MADE_WITH:
        return kind(*[values_of(k)[at].make(m) for k, at in zip(kinds, MADE_WITH[name])])
    error, skipped = None, NEXT_MADE.get(name, 0)
    for choice in choices(list(kinds), options.get("required", len(kinds))):
        try:
            made = kind(*[values_of(k)[at].make(m) for k, at in zip(kinds, choice)])
        except Exception as found:
            error = error or found
            continue
        if skipped:
            skipped -= 1
            continue
        MADE_WITH[name] = choice
        return made
    raise NotKnown("calling `%s` raises %s: fill in `make %s`" % (name, in_words(error), name))


def in_words(error):
    return ("%s: %s" % (type(error).__name__, error)).rstrip(": ")


# ---- One scenario ----


class World:
    """What the threads share: an object, and arguments."""

    def __init__(self, m, name, choice):
        scenario = SCENARIOS[name]
        self.m = m
        self.call = scenario["call"]
        self.on = make(m, scenario["on"]) if scenario["on"] else None
        if name.endswith("()"):
            make(m, name[:-2])  # now it is known with which arguments
        self.changes = []
        if choice is None:
            self.args = given(m, name)
            self.changes = [change for change in map(change_of, self.args) if change]
        else:
            self.args = []
            for kind, at in zip(scenario["args"], choice):
                value = values_of(kind)[at]
                self.args.append(value.make(m))
                if value.change:
                    self.changes.append((value.change, self.args[-1]))

    def run(self):
        try:
            return outcome(self.call(self.m, self.on, self.args))
        except Exception as error:
            return "raises " + type(error).__name__

    def change(self, n):
        for change, value in self.changes:
            try:
                change(value, n)
            except (IndexError, KeyError, BufferError):
                pass  # another thread was quicker

    def state(self):
        """What can be seen of the shared object and of the module's arguments afterwards."""
        found = {}
        if self.on is not None:
            for name, kind in vars(type(self.on)).items():
                if type(kind).__name__ in ("getset_descriptor", "member_descriptor"):
                    found[name] = seen(lambda: getattr(self.on, name))
            found["len"] = seen(lambda: len(self.on))
        return found


def seen(look):
    try:
        return outcome(look())
    except Exception as error:
        return type(error).__name__


def given(m, name):
    """The arguments that were filled in."""
    args = ARGS[name](m) if name in ARGS else FILL_IN
    if args is FILL_IN:
        raise NotKnown("fill in `arguments of %s`" % name)
    return list(args)


def change_of(value):
    """How to change an argument that was filled in."""
    if type(value) is list and value:
        make = copier(value[0])
        return (lambda it, n: change_list(it, n, make), value)
    if type(value) is dict and value:
        keys, make = list(value), copier(next(iter(value.values())))
        return (lambda it, n: change_dict(it, n, keys, make), value)
    if type(value) is bytearray:
        return (change_bytes, value)
    return None


def copier(value):
    """Makes objects of the same type as a value, each time new ones where that is possible."""
    for item in ITEMS.values():
        if type(item(0)) is type(value):
            return item
    return lambda n: value


def outcome(value, depth=3):
    """The value as text that is the same in each run."""
    kind = type(value)
    if value is None or kind in (bool, int, float, str, bytes):
        text = repr(value)
        return text if len(text) < 200 else "%s... (%d)" % (text[:100], len(text))
    if depth and kind in (list, tuple):
        parts = [outcome(part, depth - 1) for part in list(value)[:50]]
        return "%s of %d: %s" % (kind.__name__, len(value), ", ".join(parts))
    if depth and kind is dict:
        parts = sorted(outcome(part, depth - 1) for part in list(value.items())[:50])
        return "dict of %d: %s" % (len(value), ", ".join(parts))
    return kind.__name__


def repeat(world, count, until):
    results = collections.Counter()
    done = 0
    while done < count:
        results[world.run()] += 1
        done += 1
        if until and not done % 16 and time.monotonic() > until:
            break
    return results, done


def in_threads(works):
    """Runs all of `works` at once; the first exception of one is raised."""
    barrier = threading.Barrier(len(works))
    results = [None] * len(works)
    errors = []

    def run(at, work):
        try:
            barrier.wait()
            results[at] = work()
        except BaseException as error:
            errors.append(error)

    threads = [
        threading.Thread(target=run, args=(at, work), daemon=True)
        for at, work in enumerate(works)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results


def together(world, threads, rounds, until=None):
    works = [lambda: repeat(world, rounds, until)] * threads
    total = collections.Counter()
    for results, _ in in_threads(works):
        total.update(results)
    return total


FIRST_CALLS = 2
MOST_WORLDS = 200


def meet(worlds, threads):
    """First calls on new objects, at which all threads arrive at once: what is made at the first use."""
    barrier = threading.Barrier(threads)

    def work():
        results = collections.Counter()
        for world in worlds:
            barrier.wait()
            for _ in range(FIRST_CALLS):
                results[world.run()] += 1
        return results

    return sum(in_threads([work] * threads), collections.Counter())


def worlds_for(m, job):
    return [World(m, job["name"], job["choice"]) for _ in range(job["worlds"])]


def growth(run):
    """By how much the number of references grows with each of three runs; None without a debug build."""
    count = getattr(sys, "gettotalrefcount", None)
    if count is None:
        return None
    run()
    grown = []
    for _ in range(3):
        gc.collect()
        before = count()
        run()
        gc.collect()
        grown.append(count() - before)
    return grown


BATCH = 200


def child_look(m, job):
    enabled = getattr(sys, "_is_gil_enabled", lambda: True)()
    return {"gil": enabled, "file": getattr(m, "__file__", "")}


def child_probe(m, job):
    """Finds arguments with which the function works."""
    name = job["name"]
    scenario = SCENARIOS[name]
    if scenario["args"] is None or name in ARGS:
        world = World(m, name, None)
        try:
            world.call(m, world.on, world.args)
        except MISFIT as found:
            raise NotKnown("the arguments that were filled in raise %s" % in_words(found)) from None
        except Exception:
            pass  # an error of another kind is what the function does with them
        return {"choice": None}
    passable, error, on = None, None, scenario["on"]
    for at, (made, choice) in enumerate(ways(scenario)):
        if at < job["first"]:
            continue
        with open(job["answer"] + ".at", "w") as file:
            file.write(str(at))
        set_made(on, made)
        try:
            world = World(m, name, choice)
        except NotKnown:
            if passable or error:
                break
            raise
        try:
            world.call(m, world.on, world.args)
        except MISFIT as found:
            error = error or in_words(found)
        except Exception:
            passable = passable or {"choice": choice, "made": made}
        else:
            return {"choice": choice, "made": made}
    if passable:
        return passable
    what = "better ones into ARGS" + (", or a better object into `make %s`" % on if on else "")
    raise NotKnown("all arguments tried raise %s: put %s" % (error, what))


def ways(scenario):
    """Objects that are made in other ways, each with all arguments."""
    for made in range(6 if scenario["on"] else 1):
        for choice in choices(scenario["args"], scenario["required"]):
            yield made, choice


def set_made(on, made):
    if on and NEXT_MADE.get(on, 0) != made:
        NEXT_MADE[on] = made
        MADE_WITH.pop(on, None)


def child_alone(m, job):
    """As many calls as the threads make, in one thread."""
    world = World(m, job["name"], job["choice"])
    until = None if job["exactly"] else time.monotonic() + job["seconds"]
    results, done = repeat(world, job["count"], until)
    state = world.state()
    first = collections.Counter()
    for each in worlds_for(m, job):
        first.update(repeat(each, FIRST_CALLS * job["threads"], None)[0])
    grown = growth(lambda: repeat(world, BATCH * job["threads"], None))
    return {"results": results, "count": done, "state": state, "first": first, "growth": grown}


def child_together(m, job):
    world = World(m, job["name"], job["choice"])
    results = together(world, job["threads"], job["count"] // job["threads"])
    state = world.state()
    first = meet(worlds_for(m, job), job["threads"])
    grown = growth(lambda: together(world, job["threads"], BATCH))
    return {"results": results, "state": state, "first": first, "growth": grown}


def child_changing(m, job):
    """The calls while other threads change the arguments, and call other methods of the object."""
    world = World(m, job["name"], job["choice"])
    partners = []
    for name, choice in job["partners"]:
        partner = World(m, name, choice)
        if SCENARIOS[job["name"]]["on"] == SCENARIOS[name]["on"]:
            partner.on = world.on
        partners.append(partner)
    done = threading.Event()
    until = None if job["exactly"] else time.monotonic() + job["seconds"]

    def change():
        n = 0
        while not done.is_set():
            world.change(n)
            for partner in partners:
                partner.run()
                partner.change(n)
            n += 1

    def call():
        try:
            return together(world, job["threads"], job["count"] // job["threads"], until)
        finally:
            done.set()

    works = [call]
    if world.changes or partners:
        works.append(change)
    return {"results": in_threads(works)[0], "changed": len(works) > 1}


def child(job):
    """What the process does that was started for one step."""
    answer = {}
    try:
        faulthandler.enable()
        m = import_module()
        if m is FILL_IN:
            raise NotKnown("fill in `import`")
        if "made" in job:
            set_made(SCENARIOS[job["name"]]["on"], job["made"])
        answer = globals()["child_" + job["step"]](m, job)
    except NotKnown as error:
        answer = {"not run": str(error)}
    except Exception as error:
        answer = {"not run": in_words(error)}
    with open(job["answer"], "w") as file:
        json.dump(answer, file)
        file.flush()
    # Objects that were damaged must not be able to hide what was found.
    os._exit(0)


# ---- All scenarios ----


class Failed(Exception):
    def __init__(self, kind, why, at=None):
        super().__init__(why)
        self.kind = kind
        self.at = at  # the number of the arguments that were tried last


def step(options, step, name="", **job):
    """Runs one step in a process of its own."""
    seconds, rounds = options.seconds, options.rounds
    with tempfile.TemporaryDirectory() as folder:
        job.update(step=step, name=name, threads=options.threads, seconds=seconds)
        job.update(exactly=bool(rounds) or "count" in job, answer=os.path.join(folder, "answer"))
        job.setdefault("count", options.threads * (rounds or 5000))
        job["worlds"] = min(rounds or MOST_WORLDS, MOST_WORLDS)
        command = [sys.executable]
        if FREE_THREADED and step != "look":
            command += ["-X", "gil=0"]
        command += [os.path.abspath(__file__), "--child", json.dumps(job)]
        paths = [os.path.abspath(path) for path in sys.path]
        environment = dict(os.environ, PYTHONPATH=os.pathsep.join(paths))
        try:
            ended = subprocess.run(
                command, cwd=folder, env=environment, timeout=options.timeout,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            )
        except subprocess.TimeoutExpired:
            raise Failed("hang", "did not end in %g seconds" % options.timeout) from None
        said = ended.stderr.decode(errors="replace")
        if ended.returncode or not os.path.exists(job["answer"]):
            if options.verbose:
                print(said, file=sys.stderr)
            raise Failed("crash", how_it_ended(ended.returncode, said), number_in(job["answer"]))
        with open(job["answer"]) as file:
            answer = json.load(file)
    if "not run" in answer:
        raise Failed("not run", answer["not run"])
    return answer


def number_in(answer):
    try:
        with open(answer + ".at") as file:
            return int(file.read())
    except (OSError, ValueError):
        return None  # none was begun, or the process died as it began the next


def how_it_ended(status, said):
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = "exit status %d" % status
    marks = ("Fatal Python error: ", "Assertion", "ERROR:", "free(", "malloc(", "double free")
    for line in said.splitlines():
        what = line.strip().replace("Fatal Python error: ", "")
        is_more = not what.endswith(("Segmentation fault", "Aborted"))
        if is_more and any(mark in line for mark in marks):
            return "%s: %s" % (name, what[:120])
    return name


MOST_CRASHES = 5


def probe(options, name):
    """The arguments for a function, and its result if it is not run."""
    if name in SKIP:
        return None, ("not run", "it is in SKIP")
    first, why = 0, ""
    for _ in range(MOST_CRASHES):
        try:
            return step(options, "probe", name, first=first), None
        except Failed as failed:
            why = why or str(failed)
            if failed.kind != "crash":
                break
            why = "%s with one thread already: no race is needed" % failed
            if failed.at is None:
                break
            # With other arguments it may work.
            first = failed.at + 1
    return None, ("not run", why)


def check(options, name, probed):
    """Runs all steps of one scenario; returns the kind of the result, and why."""
    way = {"choice": probed[name]["choice"], "made": probed[name].get("made", 0)}
    partners = [
        (other, found["choice"])
        for other, found in probed.items()
        if found and other != name and are_partners(name, other)
    ]
    try:
        when = None
        one = step(options, "alone", name, **way)
        count = max(one["count"] // options.threads, 1) * options.threads
        one = step(options, "alone", name, **way, count=count)
        two = step(options, "alone", name, **way, count=count)
        when = "with %d threads that make the same call" % options.threads
        many = step(options, "together", name, **way, count=count)
        compare(one, two, many)
        when = "while another thread changes what they use"
        changing = step(options, "changing", name, **way, partners=partners)
        refuse_never(changing)
    except Failed as failed:
        if when is None:
            return "not run", "%s with one thread already: no race is needed" % failed
        return failed.kind, "%s, %s" % (failed, when)
    compared = "" if is_settled(one, two) else " not"
    changed = "" if changing["changed"] else "; nothing to change"
    return "passed", "%d calls,%s compared with one thread%s" % (count, compared, changed)


def are_partners(a, b):
    """Whether calls of one may disturb the other: methods of one type, or one finding names both."""
    if b.endswith(".__init__") or b.endswith("()"):
        return False
    on = SCENARIOS[a]["on"]
    shared = any(a in it["functions"] and b in it["functions"] for it in FINDINGS.values())
    return shared or (on is not None and on == SCENARIOS[b]["on"])


def is_settled(one, two, what="results"):
    return one[what] == two[what]


def compare(one, two, many):
    """All threads make the same call, so in whatever order they do, the results have to be those of
    one thread that makes as many calls."""
    refuse_never(many)
    for what in ("results", "state", "first"):
        if is_settled(one, two, what) and many[what] != one[what]:
            raise Failed("differs", difference(one[what], many[what]))
    if many["growth"] and one["growth"]:
        for pick, sign in ((min, 1), (max, -1)):
            usual = max(sign * it for it in one["growth"] + two["growth"])
            more = min(sign * it for it in many["growth"]) - max(usual, 0)
            if more > 50:
                change = "grow" if sign > 0 else "shrink"
                text = "references %s by at least %d more with each run" % (change, more)
                raise Failed("references", text)


def refuse_never(answer):
    for result in answer["results"]:
        if NEVER in result:
            raise Failed("error", result)


def difference(one, many):
    for result in sorted(set(one) | set(many), key=str):
        if one.get(result) != many.get(result):
            a, b = one.get(result, 0), many.get(result, 0)
            return "%s: %s, with one thread %s" % (result[:60], b, a)
    return "other results"


def chosen(options):
    """The names of the scenarios to run."""
    if options.only:
        wanted = set(options.only)
        for name in sorted(wanted):
            if name in FINDINGS:
                wanted |= set(FINDINGS[name]["functions"])
        unknown = wanted - set(SCENARIOS) - set(FINDINGS)
        if unknown:
            sys.exit("no function or finding is called %s; see --list" % ", ".join(sorted(unknown)))
        return [name for name in SCENARIOS if name in wanted]
    if options.all or not FINDINGS:
        return list(SCENARIOS)
    named = {name for it in FINDINGS.values() for name in it["functions"]}
    return [name for name in SCENARIOS if name in named]


def print_table(head, rows):
    rows = [head] + rows
    widths = [max(len(row[at]) for row in rows) for at in range(len(head) - 1)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths)]
        print("  ".join(cells + [row[-1]]).rstrip())


def report_findings(results):
    """What became of each finding: the worst of the functions that reach it."""
    order = FAILURES + ("not run", "passed")
    rows = []
    for name, it in FINDINGS.items():
        of = [(order.index(results[f][0]), f) for f in it["functions"] if f in results]
        if not of and it["functions"]:
            continue
        kind, by = (order[min(of)[0]], min(of)[1]) if of else ("not run", "no function reaches it")
        rows.append((name, it["rule"], it["place"], it["state"], kind, by))
    if rows:
        print()
        print_table(("finding", "rule", "place", "state", "worst result", "of"), rows)


FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))


def options_of(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--seconds", type=float, default=1, metavar="N", help="length of a step at most [1]")
    add("--rounds", type=int, metavar="N", help="calls of each thread, instead of --seconds")
    add("--threads", type=int, default=4, metavar="N", help="threads that call [4]")
    add("--timeout", type=float, default=120, metavar="N", help="seconds until a step hangs [120]")
    add("--only", action="append", metavar="ID|FUNCTION", help="only this; may be repeated")
    add("--all", action="store_true", help="also functions without a finding")
    add("--list", action="store_true", help="print the functions and findings, and end")
    add("--anyway", action="store_true", help="go on although the GIL is on")
    add("--verbose", action="store_true", help="also print what crashing processes said")
    add("--child", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def look(options):
    """Whether a run can prove anything; the reason if not."""
    if not FREE_THREADED and not options.anyway:
        return (
            "this Python has the GIL, so the run proves nothing about races.\n"
            "Use a free-threaded build (python3.13t), or --anyway to find other crashes."
        )
    try:
        found = step(options, "look")
    except Failed as failed:
        return "the module cannot be imported: %s\nSee the part `import` of the script." % failed
    print("%s from %s" % (MODULE, found["file"]))
    print("Python %s" % sys.version.replace("\n", " "))
    if not FREE_THREADED:
        print("The GIL is on: a result says nothing about races.")
    elif found["gil"]:
        print("The module does not declare that it runs without the GIL; it is kept off here.")
    if not hasattr(sys, "gettotalrefcount"):
        print("References are not counted: that needs a debug build of Python.")
    print()
    return None


def main(arguments=None):
    options = options_of(arguments)
    if options.child:
        child(json.loads(options.child))
    # A module that was built in place is found from the folder of the user.
    sys.path.insert(0, os.getcwd())
    if options.list:
        rows = [(name, it["place"], ids_of(name)) for name, it in SCENARIOS.items()]
        print_table(("function", "place", "findings"), rows)
        return 0
    names = chosen(options)
    problem = look(options)
    if problem:
        print(problem, file=sys.stderr)
        return 2
    results, probed = {}, {}
    for name in names:
        probed[name], ended = probe(options, name)
        if ended:
            results[name] = ended
    width = max(map(len, names), default=0)
    for name in names:
        if name not in results:
            results[name] = check(options, name, probed)
        kind, why = results[name]
        print("%s  %-10s  %s" % (name.ljust(width), kind, why), flush=True)
    report_findings(results)
    return verdict(results)


def ids_of(name):
    return " ".join(id for id, it in FINDINGS.items() if name in it["functions"])


def verdict(results):
    kinds = [kind for kind, _ in results.values()]
    failed = sum(kind in FAILURES for kind in kinds)
    left = kinds.count("not run")
    passed = kinds.count("passed")
    print("\n%d passed, %d failed, %d not run" % (passed, failed, left))
    if failed:
        return 1
    if not passed:
        print("Nothing was run, so nothing is known.")
        return 2
    return 0


def test_with(name):
    """Runs one scenario, for pytest."""
    import pytest

    options = options_of([])
    if not FREE_THREADED:
        pytest.skip("the GIL is on")
    found, ended = probe(options, name)
    kind, why = ended or check(options, name, {name: found})
    if kind == "not run":
        pytest.skip(why)
    assert kind == "passed", "%s: %s" % (kind, why)


test_with.__test__ = False
