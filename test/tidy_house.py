# SPDX-License-Identifier: BSD-2-Clause
"""What holds for the house as a whole; part of test/tidy.

test/tidy-known holds what is not yet as it should be.  It may only get shorter: what is not in it
fails, and so does what is in it and is no longer so.  `test/tidy --shrink` takes the latter out and
lowers the numbers.  Its lines:

    circle ROOM -> ROOM            an include inside a circle of rooms
    symbol ARCHIVE STEM COUNT      external symbols STEM* without the prefix of their library
    long DOCUMENT COUNT            lines of more than 100 characters
    sentences COUNT                sentences of more than 25 words in documents
    twice SHARE                    functions, in 1/1000, whose name another file has too
    tests FUNCTION                 a function of the product that only tests call
    calls ROOM -> ROOM COUNT       functions called that way, in a circle of rooms
"""
import collections
import os
import re
import subprocess

KNOWN = 'test/tidy-known'
PRODUCT = ('lib/', 'libmpi/', 'libmmp/', 'libsuci/', 'driver/', 'app/', 'tools/')
LINE_MAX = 100
SENTENCE_MAX = 25

# The prefixes of an archive's external symbols, where they are not its name.
PREFIXES = {
    'spclient': 'sp_', 'doorclient': 'door_', 'spdconf': 'spd_', 'spdwire': 'spd_', 'spdpmix': 'spd_', 'spxagreed': 'spx_',
    'relayproto': 'relayproto_ relay_', 'gateway': 'gw_', 'mmpcore': 'mmp_', 'mmplanes': 'mmp_lanes_', 'mmpaway': 'mmp_away_', 'mpicore': 'lmpi_', 'mmp': 'mmp_ MP_', 'ocsdrv': 'ocsdrv_ ocs_driver_ ocs_names_', 'ocsnetconf': 'ocsdrv_ ocs_plugin', 'pgconf': 'pg_',
    'sucipath': 'suci_', 'sucudp': 'suci_', 'sucaead': 'seal_ suci_', 'tune': 'tune_ tuner_',
    'tunefile': 'tune_', 'lmpiknobs': 'lmpi_', 'lmpi_engine': 'lmpi_',
    'lmpi_surface': 'lmpi_ impl_ MPI_ PMPI_ MPIX_ PMPIX_ MPISP_ PMPISP_', 'datagram': 'datagram',  # the call itself has no more of a name
    'rddpdk': 'rd_ munmap',  # in front of libc's
}


# ---- rooms

def room_of(path):
    """The folder; of a header that it offers to others, to all or to some, that of its library."""
    return re.sub(r'/(include|internal)(/.*)?$', '', os.path.dirname(path))


def found_include(at, name, by_name):
    """The file of the tree that an include means: of several the one nearest to the includer."""
    here = os.path.normpath(os.path.join(os.path.dirname(at), name))
    fits = [f for f in by_name.get(os.path.basename(name), ())
            if f == here or f.endswith('/' + name.lstrip('./'))]
    return here if here in fits else max(
        fits, key=lambda f: len(os.path.commonprefix([f, at])), default=None)


def arrows_of(tree, read):
    """Of each room: the rooms it includes headers of."""
    sources = [f for f in tree if f.startswith(PRODUCT) and f.endswith(('.c', '.h'))]
    by_name = collections.defaultdict(list)
    for f in sources:
        by_name[os.path.basename(f)].append(f)
    arrows = collections.defaultdict(set)
    for f in sources:
        for name in re.findall(r'^\s*#\s*include\s*"([^"]+)"', read(f), flags=re.M):
            to = found_include(f, name, by_name)
            if to and room_of(to) != room_of(f):
                arrows[room_of(f)].add(room_of(to))
    return arrows


def reach(arrows, room):
    seen, todo = set(), [room]
    while todo:
        for to in arrows.get(todo.pop(), ()):
            if to not in seen:
                seen.add(to)
                todo.append(to)
    return seen


def circles(tree, read):
    arrows = arrows_of(tree, read)
    reached = {r: reach(arrows, r) for r in list(arrows)}
    return {f'circle {a} -> {b}': 1 for a in arrows for b in arrows[a]
            if a in reached.get(b, ())}


# ---- symbols

def symbols(root, archives):
    out = collections.Counter()
    for archive in archives:
        name = os.path.basename(archive)[3:-2]
        own = PREFIXES.get(name, 'rd_' if name.startswith('rd') else name + '_').split()
        p = subprocess.run(['nm', '-g', '--defined-only', os.path.join(root, archive)],
                           capture_output=True, text=True)
        names = {line.split()[2] for line in p.stdout.splitlines() if len(line.split()) == 3}
        for s in names:
            if not s.startswith(tuple(own)) and not s.startswith('__'):
                out[f'symbol {name} {s.split("_")[0]}'] += 1
    return out


# ---- names and words

def twice(tree, read, strip):
    """Functions whose name occurs in more than one file, in 1/1000 of all."""
    files = collections.defaultdict(set)
    for f in tree:
        if f.startswith(PRODUCT) and f.endswith('.c'):
            for name in re.findall(r'^(?!__)(\w+)\([^;{]*?\)\n\{', strip(read(f)), flags=re.M):
                files[name].add(f)
    files.pop('main', None)
    every = sum(len(v) for v in files.values())
    return 1000 * sum(len(v) for v in files.values() if len(v) > 1) // max(every, 1)


# ---- calls

# Definitions of functions; declarations of a header, and those that a source begins a line with.
DEFINED = re.compile(r'^(?!__)(\w+)\([^;{}]*?\)\s*\{', re.M)
DECLARED = re.compile(r'^[A-Za-z_][\w \t*]*?\**\b\w+\([^;{}]*\)[^;{}()]*(?:\(\([^;{}]*\)\))?\s*;', re.M)
DECLARED_HERE = re.compile(r'^(?:extern )?(?:const )?(?:struct |enum |unsigned )?\w+ \**\w+\([^;{}()]*\);', re.M)


def names_of(tree, read, strip):
    """Functions of the product that are external or of a header: the files that define each.  And
    of each file the names that it says elsewhere."""
    homes, said = collections.defaultdict(set), {}
    for f in tree:
        if not f.startswith(PRODUCT) or not f.endswith(('.c', '.h')):
            continue
        code = strip(read(f))
        for m in DEFINED.finditer(code):
            line = code[:m.start()].rstrip('\n').rsplit('\n', 1)[-1]
            if f.endswith('.h') or 'static' not in line:
                homes[m.group(1)].add(f)
        code = (DECLARED if f.endswith('.h') else DECLARED_HERE).sub('', DEFINED.sub('{', code))
        code = re.sub(r'\b(?:struct|enum) \w+', '', code)
        said[f] = set(re.findall(r'[A-Za-z_]\w*', code))
    return homes, said


def call_circles(homes, said, known):
    """Calls between rooms in a circle, and those that are known and would make one."""
    home = {n: room_of(*f) for n, f in homes.items()  # names that are nothing else's
            if len(f) == 1 and re.match(r'[a-z]+_', n) and not re.search(r'^tools/|\.h$', *f)}
    calls = collections.defaultdict(set)
    for f, names in said.items():
        for n in names & home.keys():
            if home[n] != room_of(f):
                calls[room_of(f), home[n]].add(n)
    known = {k for k in known if k.startswith('calls ')}
    arrows = collections.defaultdict(set)
    for a, b in calls:
        if f'calls {a} -> {b}' not in known:
            arrows[a].add(b)
    reached = {r: reach(arrows, r) for r in list(arrows)}
    return {f'calls {a} -> {b}': len(n) for (a, b), n in calls.items()
            if f'calls {a} -> {b}' in known or (b in arrows[a] and a in reached.get(b, ()))}


# Functions that no code of ours calls: surfaces that are for others, or generated code calls.
SURFACE = re.compile(r'P?MPI|PMPIX|impl_|mpi(sp|x)?_|f_|trace_|lmpi_coll_[A-Z]|lmpi_(null_argument|unsupported|narrow_\w+)$|main$')
# Those that only tests call, and why that is right.
FOR_TESTS = {
    r'\w+_check': 'invariants, for simulator and fuzzers',
    r'mmp_engine_(empty|counters)|light_controller_busy|relay_cluster_job': 'invariants at a run\'s end',
    r'sp_node_(joined|reigns)|sp_view_hash': 'invariants of views',
    r'(quorum|sp)_frame_read|quorum_journal_read': 'readers that fuzzers feed',
    r'pg_(lab|load|scenario)_parse': 'what a file says, without the file',
    r'lmpi_fail_forget|rd_eal_runtime_dir': 'a test begins anew in one process',
    r'relay_job_gateway|relayset_weight': 'a rule, which what follows it is held against',
    r'pg_player_counts|pg_sealed_is|spd_fences_waits': 'what a test waits for',
    r'relay_startup_footprint': 'the sum of two that relayd takes apart',
}


def tests_alone(homes, said, public):
    """Functions whose name nothing of the product says but its definition and declarations."""
    every, names = set().union(*said.values()), '|'.join(FOR_TESTS)
    return {f'tests {n}': 1 for n in homes if n not in every and not SURFACE.match(n) and
            not re.fullmatch(names, n) and not re.search(rf'\b{n}\(', public)}


def documents(tree):
    return [f for f in tree if f.endswith('.md') and (
        f.startswith('doc/') or f in ('README.md', 'CONTRIBUTING.md', 'SECURITY.md') or
        os.path.basename(f) == 'README.md')]


def prose(text):
    """Paragraphs and list items; neither tables nor code nor pictures."""
    text = re.sub(r'^```.*?^```', '', text, flags=re.S | re.M)
    out, now = [], []
    for line in text.split('\n') + ['']:
        ends = not line.strip() or re.match(r'\s*([*#|-]|\d+\.)', line) or line.startswith('    ')
        if ends and now:
            out.append(' '.join(now))
            now = []
        if line.strip() and not re.match(r'\s*[|#<]|    ', line):
            now.append(line.strip())
    return out


def long_sentences(text):
    n = 0
    for paragraph in prose(text):
        for s in re.split(r'(?<=[.:;!?])\s+(?=[A-Z`*\["(\d])', paragraph):
            n += len([w for w in s.split() if re.search(r'\w', w)]) > SENTENCE_MAX
    return n


def long_lines(text):
    fenced, n = False, 0
    for line in text.split('\n'):
        if line.startswith('```'):
            fenced = not fenced
        elif (len(line) > LINE_MAX and not fenced and not re.match(r'\s*\||    ', line) and
              ' ' in line[:LINE_MAX].strip()):
            n += 1
    return n


# ---- against what is known

def measure(tree, root, archives, read, strip, known):
    now = dict(circles(tree, read))
    now.update(symbols(root, archives))
    docs = documents(tree)
    for d in docs:
        n = long_lines(read(d))
        if n:
            now[f'long {d}'] = n
    now['sentences'] = sum(long_sentences(read(d)) for d in docs)
    now['twice'] = twice(tree, read, strip)
    public = ''.join(read(f) for f in tree if re.match(r'lib(mmp|suci)/include/', f))
    homes, said = names_of(tree, read, strip)
    now.update(tests_alone(homes, said, public))
    now.update(call_circles(homes, said, known))
    return now


HELP = {
    'circle': 'rooms include each other in a circle; fix: move what both need below them',
    'symbol': "external symbols without their library's prefix; fix: rename them, or make them static",
    'long': f'lines over {LINE_MAX} characters; fix: wrap them',
    'sentences': f'sentences over {SENTENCE_MAX} words in documents; fix: make two of one',
    'calls': 'rooms call each other in a circle; fix: a hook of the lower one, or move the function',
    'tests': 'only tests call it; fix: use it in the product, or delete it and look at what ships',
    'twice': '1/1000 of the functions share their name with one of another file; fix: name the thing',
}


def load(root):
    known = {}
    for line in open(os.path.join(root, KNOWN), encoding='utf-8'):
        words = line.split()
        if words and words[0] in ('circle', 'tests'):
            known[' '.join(words)] = 1
        elif words and words[0][0] != '#':
            known[' '.join(words[:-1])] = int(words[-1])
    return known


def store(root, known):
    path = os.path.join(root, KNOWN)
    head = [line for line in open(path, encoding='utf-8') if line.startswith('#')]
    with open(path, 'w', encoding='utf-8') as out:
        out.writelines(head)
        for k in sorted(known):
            out.write(f'{k}\n' if k.startswith(('circle', 'tests')) else f'{k} {known[k]}\n')


def check(tree, root, archives, read, strip, say, shrink):
    built = all(os.path.exists(os.path.join(root, a)) for a in archives)
    known = load(root)
    now = measure(tree, root, archives if built else [], read, strip, known)
    for k in sorted(set(now) | set(known)):
        kind, n, most = k.split()[0], now.get(k, 0), known.get(k, 0)
        if kind == 'symbol' and not built:
            continue
        if n > most:
            at = k.split()[1] if kind == 'long' else KNOWN
            say(at, 1, f'{k}: {n}, at most {most}: {HELP[kind]}')
        elif n < most and shrink:
            if n:
                known[k] = n
            else:
                del known[k]
        elif n < most and kind in ('circle', 'symbol', 'long', 'tests', 'calls'):
            say(KNOWN, 1, f'{k} {most}: only {n} are left; fix: test/tidy --shrink')
    if shrink:
        store(root, known)
    print(f'{now["twice"] / 10:.1f} % of the functions share their name with one of another file, '
          f'{now["sentences"]} sentences are long'
          + ('' if built else '; symbols not looked at: fix: make, then test/tidy'))
