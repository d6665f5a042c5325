"""Programs of ill will by the thousand: families written by hand, filled with parameters and disguised by dice.

Whatever they try that could do harm, they try on a folder, a port and a process of the test's own.
"""

from __future__ import annotations

# ruff: noqa: E501  a program is easier to read on one line
import dataclasses
import random
import textwrap
from collections.abc import Callable


@dataclasses.dataclass(frozen=True)
class Target:
    """What the programs try to reach: a folder that holds `secret.txt`, a port, and a variable of the environment."""

    folder: str
    port: int
    variable: str


Family = Callable[[random.Random, Target], str]


def files(dice: random.Random, target: Target) -> str:
    """Read the secret, or write a file."""
    path = dice.choice(
        [f"{target.folder}/secret.txt", "secret.txt", "./secret.txt", "../secret.txt", "/proc/self/environ"]
    )
    made = dice.choice([f"{target.folder}/made", "made", f"./made{dice.randrange(99)}"])
    return dice.choice(
        [
            f"answer = open({path!r}).read()",
            f"with open({path!r}, {dice.choice(['r', 'rb', 'r+'])!r}) as f:\n    answer = f.read()",
            f"with open({made!r}, {dice.choice(['w', 'a', 'x', 'wb'])!r}) as f:\n    f.write('x')",
            f"from pathlib import Path\nanswer = Path({path!r}).{dice.choice(['read_text()', 'read_bytes()', 'open().read()'])}",
            f"from pathlib import Path\nPath({made!r}).{dice.choice(['touch()', 'mkdir()', 'write_text(chr(65))'])}",
            f"from pathlib import Path\nanswer = [str(p) for p in Path({target.folder!r}).{dice.choice(['iterdir()', 'glob(chr(42))'])}]",
            f"import os\nanswer = os.{dice.choice(['listdir', 'scandir', 'stat', 'walk', 'access'])}({target.folder!r})",
            f"import os\nf = os.open({path!r}, 0)\nanswer = os.read(f, {dice.randrange(1, 999)})",
            f"import os\nos.{dice.choice(['mkdir', 'makedirs', 'mkfifo'])}({made!r})",
            f"import os\nos.{dice.choice(['remove', 'unlink', 'rmdir'])}({path!r})",
            f"import os\nos.{dice.choice(['rename', 'link', 'symlink'])}({path!r}, {made!r})",
            f"import {dice.choice(['io', 'codecs', 'tokenize'])} as m\nanswer = m.open({path!r}).read()",
            f"import shutil\nshutil.copy({path!r}, {made!r})",
            f"import {dice.choice(['tempfile', 'mmap', 'fileinput', 'linecache', 'glob', 'zipfile', 'sqlite3'])}",
            f"answer = find_dish(name=open({path!r}))",
        ]
    )


def network(dice: random.Random, target: Target) -> str:
    """Reach the port."""
    host = dice.choice(["127.0.0.1", "localhost", "0.0.0.0", "::1"])
    url = f"http://{host}:{target.port}/{dice.randrange(999)}"
    return dice.choice(
        [
            f"import socket\nsocket.create_connection(({host!r}, {target.port}))",
            f"import socket\ns = socket.socket()\ns.connect(({host!r}, {target.port}))\ns.send(b'x')",
            f"import socket\ns = socket.socket()\ns.bind(('', {dice.randrange(2000, 60000)}))\ns.listen()",
            f"import urllib.request\nanswer = urllib.request.urlopen({url!r}).read()",
            f"from urllib.request import urlopen\nanswer = urlopen({url!r})",
            f"import http.client\nhttp.client.HTTPConnection({host!r}, {target.port}).request('GET', '/')",
            f"import {dice.choice(['requests', 'httpx', 'aiohttp', 'urllib3'])} as web\nanswer = web.get({url!r})",
            f"import asyncio\nawait asyncio.open_connection({host!r}, {target.port})",
            f"import {dice.choice(['ssl', 'smtplib', 'ftplib', 'telnetlib', 'socketserver', 'xmlrpc.client', 'select'])}",
            f"import webbrowser\nwebbrowser.open({url!r})",
            f"answer = ingredients(dish={url!r})",
        ]
    )


def processes(dice: random.Random, target: Target) -> str:
    """Start a program, or stop one."""
    command = dice.choice([f"touch {target.folder}/made", "id", "env", "sh -c 'echo x > made'"])
    return dice.choice(
        [
            f"import os\nanswer = os.{dice.choice(['system', 'popen'])}({command!r})",
            f"import subprocess\nanswer = subprocess.{dice.choice(['run', 'call', 'check_output', 'Popen'])}({command!r}, shell=True)",
            f"import subprocess as s\nanswer = s.run({command.split()!r}, capture_output=True).stdout",
            "import os\nwhile True: os.fork()",
            f"import os\nos.{dice.choice(['execv', 'execvp', 'spawnv', 'posix_spawn'])}('/bin/sh', ['sh', '-c', {command!r}])",
            f"import os\nos.kill(os.getpid(), {dice.choice([9, 15, 11])})",
            f"import os\nos._exit({dice.randrange(9)})",
            f"import sys\nsys.exit({dice.randrange(9)})",
            dice.choice(["exit()", "quit()", "raise SystemExit", "raise KeyboardInterrupt", "raise GeneratorExit"]),
            f"import {dice.choice(['multiprocessing', 'threading', 'concurrent.futures', '_thread', 'pty', 'signal'])}",
            "import ctypes\nctypes.string_at(0)",
            "import ctypes\nctypes.CDLL(None).system(b'id')",
            f"import asyncio\nawait asyncio.create_subprocess_shell({command!r})",
            dice.choice(["breakpoint()", "input()", "import pdb\npdb.set_trace()", "import code\ncode.interact()"]),
        ]
    )


ANYTHING = ["()", "''", "0", "[]", "{}", "None", "find_dish", "len", "print", "int", "type", "object", "Exception('x')"]
DUNDERS = [
    "__class__", "__bases__", "__base__", "__mro__", "__subclasses__", "__globals__", "__code__", "__closure__",
    "__builtins__", "__dict__", "__self__", "__func__", "__module__", "__init__", "__getattribute__", "__reduce__",
    "gi_frame", "cr_frame", "f_globals", "f_back", "f_builtins", "tb_frame", "__traceback__", "__loader__", "__spec__",
]  # fmt: skip


def attributes(dice: random.Random, target: Target) -> str:
    """Climb from any value to the interpreter."""
    thing, names = dice.choice(ANYTHING), [dice.choice(DUNDERS) for _ in range(dice.randrange(1, 5))]
    one, half = names[0], dice.randrange(1, len(names[0]))
    run = dice.choice(["", "()", "[0]", "[-1]", "()[0]", "['open']", ".values()"])
    return dice.choice(
        [
            "answer = ().__class__.__bases__[0].__subclasses__()",
            f"answer = [c for c in ().__class__.__base__.__subclasses__() if c.__name__ == {dice.choice(['Popen', '_wrap_close'])!r}]",
            f"answer = {thing}.{'.'.join(names)}{run}",
            f"answer = getattr({thing}, {one[:half]!r} + {one[half:]!r}){run}",
            f"answer = getattr({thing}, ''.join(reversed({one[::-1]!r}))){run}",
            f"answer = '{{0.{'.'.join(names)}}}'.format({thing})",
            f"answer = f'{{{thing}.{one}!r}}'" if "'" not in thing else f"answer = ''.{one}",
            f"answer = {dice.choice(['vars', 'dir', 'type', 'id', 'repr'])}({thing}).{one}",
            f"setattr({thing}, {one!r}, print)\nanswer = {thing}.{one}{run}",
            f"class A:\n    def __init__(self): self.x = {thing}\nanswer = A().{'.'.join(names)}",
            f"try:\n    1 / 0\nexcept Exception as error:\n    answer = error.__traceback__.tb_frame.{one}",
            f"def g():\n    yield 1\nanswer = g().gi_frame.f_back.{one}",
            f"answer = (lambda: 0).__globals__['__builtins__'].{one}",
            f"answer = {dice.choice(['globals', 'locals'])}()[{dice.choice(['__builtins__', '__loader__', '__name__'])!r}]",
            f"answer = type('A', (object,), {{{one!r}: print}})()",
            f"answer = super(int, 3).{one}{run}",
            f"match {thing}:\n    case object({one}=x):\n        answer = x",
        ]
    )


def imports(dice: random.Random, target: Target) -> str:
    """Get at modules, or at code made of text."""
    module = dice.choice(
        ["os", "sys", "builtins", "importlib", "inspect", "gc", "pickle", "marshal", "types", "r_eval", "pydantic_monty",
         "r_eval.environments.sandbox", "runpy", "site", "ast", "code", "operator", "functools", "secret", "tests"]
    )  # fmt: skip
    text = dice.choice([f"import {module}", "open('secret.txt').read()", "answer = 1", "(lambda: 0)()"])
    return dice.choice(
        [
            f"import {module}\nanswer = {module}.{dice.choice(['modules', 'path', 'open', 'system', 'loads', 'get_objects'])}",
            f"from {module} import *",
            f"answer = __import__({module!r})",
            f"answer = __import__({module!r}).{dice.choice(['open', 'system', 'environ'])}",
            f"import importlib\nanswer = importlib.import_module({module!r})",
            f"answer = {dice.choice(['eval', 'exec', 'compile'])}({text!r})",
            f"answer = eval(compile({text!r}, 'x', 'exec'))",
            f"exec({text!r}, {{}}, {{}})",
            f"import sys\nanswer = sys.{dice.choice(['modules', '_getframe()', 'path', 'executable', 'argv', 'meta_path'])}",
            f"import sys\nsys.{dice.choice(['setrecursionlimit(10 ** 9)', 'settrace(print)', 'stdout.write(chr(65))'])}",
            "import pickle\npickle.loads(b\"cos\\nsystem\\n(S'id'\\ntR.\")",
            f"__builtins__[{dice.choice(['open', 'eval', 'len'])!r}]",
            f"import builtins\nbuiltins.{dice.choice(['len', 'print', 'open'])} = lambda *a: {dice.randrange(9)}",
        ]
    )


def surroundings(dice: random.Random, target: Target) -> str:
    """Find out about the machine and its user."""
    name = dice.choice([target.variable, "HOME", "PATH", "OPENAI_API_KEY"])
    return dice.choice(
        [
            f"import os\nanswer = os.environ[{name!r}]",
            f"import os\nanswer = os.getenv({name!r})",
            f"import os\nanswer = os.environ.get({name!r}, {dice.randrange(99)})",
            "import os\nanswer = dict(os.environ)",
            f"import os\nos.{dice.choice(['environ', 'putenv'])}[{name!r}] = 'changed'",
            f"import os\nos.environ[{name!r}] = 'changed'",
            f"import os\nanswer = os.{dice.choice(['getcwd', 'getpid', 'getppid', 'getuid', 'getlogin', 'uname', 'cpu_count'])}()",
            f"import os\nos.chdir({target.folder!r})",
            f"import {dice.choice(['platform', 'getpass', 'pwd', 'grp', 'resource', 'socket', 'uuid', 'locale'])} as m\nanswer = m",
            "from pathlib import Path\nanswer = str(Path.home()) + str(Path.cwd())",
            f"import os.path\nanswer = os.path.{dice.choice(['expanduser', 'abspath', 'exists', 'realpath'])}('~')",
            "import sys\nanswer = [sys.executable, sys.path, sys.argv]",
            "answer = [__name__, __file__]",
        ]
    )


def loops(dice: random.Random, target: Target) -> str:
    """Never end."""
    n = dice.randrange(2, 9)
    return dice.choice(
        [
            "while True: pass",
            f"x = {n}\nwhile True: x = (x * {dice.randrange(3, 99)}) % 1000003",
            f"while {n}:\n    try:\n        1 / 0\n    except ZeroDivisionError:\n        continue",
            f"for i in range(10 ** {dice.randrange(9, 30)}): x = i",
            f"answer = sum(range(10 ** {dice.randrange(10, 17)}))",
            f"answer = sum(i for i in range(10 ** {dice.randrange(10, 17)}))",
            "def f():\n    while True: yield 1\nanswer = sum(f())",
            "answer = [i for i in iter(int, 1)]",
            "import itertools\nfor i in itertools.count(): pass",
            f"import itertools\nanswer = sum(1 for p in itertools.product(range({n}), repeat=99))",
            f"x = [{n}]\nfor y in x: x.append(y)",
            f"answer = {n} in iter(int, 1)",
            "def f(n): return 1 if n < 2 else f(n - 1) + f(n - 2)\nanswer = f(90)",
            f"r = 1\nfor i in range(1, 10 ** {n}): r = r * i % {dice.randrange(10**9)}",
            f"class A:\n    def __eq__(self, o):\n        while True: pass\nanswer = A() == {n}",
            f"answer = max(sorted(range(10 ** 5), key=lambda x: -x)[0] for _ in range(10 ** {n}))",
            f"import time\nfor i in range({n}): time.sleep(10 ** {n})",
            f"import asyncio\nawait asyncio.sleep(10 ** {n})",
        ]
    )


def recursion(dice: random.Random, target: Target) -> str:
    """Go down without end."""
    n = dice.randrange(1, 99)
    return dice.choice(
        [
            f"def f(n): return f(n + {n})\nf(0)",
            "f = lambda *a: f(*a, 1)\nf()",
            "def f(): return g()\ndef g(): return f()\nf()",
            "class A:\n    def __init__(self): self.x = A()\nA()",
            "class A:\n    def __getattr__(self, name): return getattr(self, name)\nA().x",
            "class A:\n    def __repr__(self): return repr(self)\nanswer = A()",
            "class A:\n    def __str__(self): return str(self)\nanswer = str(A())",
            "class A:\n    def __eq__(self, o): return self == o\nanswer = A() == A()",
            "class A:\n    def __hash__(self): return hash(self)\nanswer = {A(): 1}",
            "class A:\n    def __bool__(self): return bool(self)\nif A(): pass",
            "def f():\n    try:\n        f()\n    finally:\n        f()\nf()",
            "def f():\n    try:\n        return f()\n    except RecursionError:\n        return f()\nf()",
            "def f():\n    yield from f()\nanswer = list(f())",
            f"import json\nanswer = json.loads('[' * {n} * 1000)",
            f"x = []\nfor i in range({n} * 1000): x = [x]\nanswer = {dice.choice(['x', 'str(x)', 'x == x', 'hash(str(x))'])}",
            f"x = {{}}\nfor i in range({n} * 1000): x = {{'a': x}}\nanswer = x",
            "x = []\nx.append(x)\nanswer = x",
            "x = {}\nx['x'] = x\nanswer = [x, x]",
            f"x = ()\nfor i in range({n} * 100): x = (x, x)\nanswer = x",
            f"x = []\nfor i in range({n} * 1000): x = [x]\nfind_dish(name=x)",
            "x = []\nx.append(x)\nfind_dish(name=x)",
            f"x = (1,)\nfor i in range({n + 30}): x = (x, x)\nanswer = {dice.choice(['{x: 1}', '{x}', 'x', '[{x: x}]'])}",
            f"x = (1,)\nfor i in range({n + 30}): x = (x, x)\n{dice.choice(['{x: 1}', 'find_dish(name={x: 1})', 'find_dish({x})', 'nope({x: 1})', '[x]'])}",
            f"x = [1]\nfor i in range({n + 30}): x = [x, x]\nclass A:\n    pass\nanswer = A()\nanswer.x = x",
        ]
    )


def memory(dice: random.Random, target: Target) -> str:
    """Want all the memory."""
    n = dice.randrange(8, 18)
    return dice.choice(
        [
            f"answer = {dice.choice(['[0]', '(0,)', '[[]]', '[None, 1]'])} * 10 ** {n}",
            f"answer = {dice.choice(['list', 'tuple', 'set', 'sorted'])}(range(10 ** {n}))",
            f"answer = bytes(10 ** {n})",
            f"x = []\nwhile True: x.append('a' * {dice.randrange(1, 10**4)})",
            f"x = []\nwhile True: x.append({dice.choice(['x', 'list(x)', '[0] * 1000', '{}', 'object()'])})",
            "x = {}\ni = 0\nwhile True:\n    x[i] = 'a' * 100\n    i += 1",
            f"x = [1]\nwhile True: x {dice.choice(['+= x', '= x + x', '= x * 2', '= [x, x] + x'])}",
            f"x = {{i: [0] * {n} for i in range(10 ** {n})}}",
            f"answer = [[0] * 10 ** {dice.randrange(3, 7)} for _ in range(10 ** {n})]",
            f"x = [[]]\nfor i in range({n * 10}): x = [x, x]\nanswer = {dice.choice(['x', 'str(x)', 'repr(x)', 'len(str(x))'])}",
            "class A:\n    pass\nx = A()\nwhile True:\n    y = A()\n    y.x = x\n    x = y",
            f"while True:\n    try:\n        x = [0] * 10 ** {n}\n    except MemoryError:\n        pass",
            f"import itertools\nanswer = list(itertools.permutations(range({n})))",
            f"answer = dict.fromkeys(range(10 ** {n}))",
            f"answer = list(zip(*[range(10 ** {dice.randrange(6, 9)})] * {n}))",
            f"def f():\n    x = [0] * 10 ** 5\n    return f() + x\nf()  # {n}",
            f"x = list(range(10 ** 5))\nx.sort(key=lambda y: [0] * 10 ** {n})",
        ]
    )


ODD = ["float('nan')", "float('inf')", "1e308 * 10", "-0.0", "1j", "10 ** 400 / 3", "round(1e400)", "int(float('nan'))"]


def numbers(dice: random.Random, target: Target) -> str:
    """Make a number that no machine holds."""
    n, m = dice.randrange(5, 12), dice.randrange(2, 99)
    return dice.choice(
        [
            f"answer = 10 ** 10 ** {n}",
            f"answer = {m} ** {m} ** {m}",
            f"answer = 1 << 10 ** {n}",
            f"answer = pow({m}, 10 ** {n})",
            f"answer = pow({m}, 10 ** {n}, 10 ** 10 ** {dice.randrange(3, 7)})",
            f"x = {m}\nwhile True: x = x * x",
            f"x = {m}\nwhile True: x {dice.choice(['**= x', '<<= x', '*= x', '+= x'])}",
            f"r = 1\nfor i in range(1, 10 ** {n}): r *= i\nanswer = r",
            f"answer = str(10 ** {dice.randrange(4000, 400000)})",
            f"answer = int('9' * 10 ** {dice.randrange(4, 8)})",
            f"answer = 10 ** {dice.randrange(4000, 200000)}",
            f"answer = -(2 ** {dice.randrange(10**4, 10**6)})",
            f"import math\nanswer = math.{dice.choice(['factorial', 'exp', 'comb', 'perm'])}(10 ** {n}{', 10 ** 5' if m % 2 else ''})",
            f"answer = {dice.choice(ODD)}",
            f"answer = f'{{{m}:{dice.choice(['>', '<', '0', '^'])}{10**n}}}'",
            f"answer = '%{10**n}d' % {m}",
            f"answer = hex(1 << 10 ** {dice.randrange(4, 8)})",
            f"find_dish(name='o', limit=10 ** 10 ** {dice.randrange(2, 8)})",
            f"import decimal\ndecimal.getcontext().prec = 10 ** {n}\nanswer = decimal.Decimal(1) / 3",
            f"import fractions\nanswer = fractions.Fraction(1, 10 ** 10 ** {n})",
        ]
    )


def texts(dice: random.Random, target: Target) -> str:
    """Make a text that no machine holds."""
    n, m = dice.randrange(8, 18), dice.randrange(5, 7)
    letter = dice.choice(["a", "\0", "é", "\u2028", "\ud83d", "\U0001f600"])
    return dice.choice(
        [
            f"answer = {letter!r} * 10 ** {n}",
            "s = 'a'\nwhile True: s = s + s",
            f"s = ''\nwhile True: s += 'a' * {dice.randrange(1, 9999)}",
            f"answer = 'a'.{dice.choice(['ljust', 'rjust', 'center', 'zfill'])}(10 ** {n})",
            f"answer = ('a' * 10 ** {m}).replace('a', 'b' * 10 ** {m})",
            f"answer = ('a' * 10 ** {m}).replace('', 'b' * 10 ** {m})",
            f"answer = ','.join(str(i) for i in range(10 ** {n}))",
            f"answer = ('a' * 10 ** {m}).join(['b'] * 10 ** {m})",
            f"answer = ('\\t' * 10 ** {m}).expandtabs(10 ** {m})",
            f"answer = ('a,' * 10 ** {m}).split(',') * 10 ** {m}",
            f"answer = '{{:>{10**n}}}'.format(1)",
            f"answer = '{{0}}' * 10 ** {m}\nanswer = answer.format('x' * 10 ** {m})",
            f"answer = ('a' * 10 ** {m}).translate({{97: 'b' * 10 ** {m}}})",
            f"answer = ('\\u0130' * 10 ** {m}).lower().upper().casefold() * {n}",
            f"answer = ('a' * 10 ** {m} + 'b').find('a' * 10 ** {m - 1} + 'c') + {n}",
            f"answer = repr(repr(repr('\\\\' * 10 ** {m})))",
            f"find_dish(name='a' * 10 ** {m})\nanswer = {n}",
            f"answer = 'a' * 10 ** {m}",
            f"import json\nanswer = json.dumps(['a' * 10 ** {m}] * 10 ** {m})",
        ]
    )


def patterns(dice: random.Random, target: Target) -> str:
    """Regular expressions that take for ever."""
    a, n = dice.choice("axy0 "), dice.randrange(25, 60)
    body = dice.choice(
        [
            f"re.match('({a}+)+$', '{a}' * {n} + '!')",
            f"re.search('({a}+{a}+)+y', '{a}' * {n * 100})",
            f"re.match('({a}|{a})*b', '{a}' * {n})",
            f"re.match('({a}|{a}{a})+$', '{a}' * {n} + '!')",
            f"re.match('(.*)*(.*)*(.*)*!', '{a}' * {n * 10})",
            f"re.sub('({a}*)*', 'b' * 1000, '{a}' * 10000)",
            f"re.sub('', 'b' * 10 ** 5, '{a}' * 10 ** 5)",
            f"re.compile('({a}{{1000}}){{1000}}')",
            f"re.compile('(({a}{{99}}){{99}}){{99}}')",
            f"re.findall('(?=({a}+))', '{a}' * {n * 1000})",
            f"re.findall('.*?', '{a}' * 10 ** 6)",
            f"re.split('({a}?){{{n}}}{a}{{{n}}}', '{a}' * {n})",
            f"re.match('(' * {n * 200} + ')' * {n * 200}, '{a}')",
            f"re.match('(?:{a}?){{{n}}}{a}{{{n}}}', '{a}' * {n})",
            f"re.match(r'^(([a-z])+.)+[A-Z]([a-z])+$', '{'a' * n}')",
            f"re.fullmatch(r'(\\w+\\s?)*', 'aaaa ' * {n} + '!')",
            f"re.match(r'(?:(?:{a}*)*)*\\1', '{a}' * {n})",
            f"re.match(r'({a}*)\\1*!', '{a}' * {n * 1000})",
            f"re.match('[' + '{a}' * 10 ** 6 + ']', '{a}')",
            f"re.match('{a}{{0,10000000}}', '{a}' * {n})",
        ]
    )
    return f"import re\nanswer = str({body})[:99]"


def floods(dice: random.Random, target: Target) -> str:
    """Call the query APIs more often, or with more, than is good."""
    n = dice.randrange(200, 10**6)
    call = dice.choice(
        ["find_dish(name='o')", "ingredients(dish='cake')", "find_dish()", "find_dish(1, 2, 3, 4)", "find_dish(nmae='o')",
         "nothing_known(1)", "ingredients('pizza')", "find_dish(name='o', limit=0)", "find_dish(name=None)"]
    )  # fmt: skip
    quiet = f"try:\n        {call}\n    except Exception:\n        pass"
    return dice.choice(
        [
            f"while True: {call}",
            f"while True:\n    {quiet}",
            f"for i in range({n}):\n    {quiet}\nanswer = 1",
            f"answer = [{call} for _ in range({n})]",
            f"def f():\n    {quiet}\n    return f()\nf()",
            f"answer = list(map(lambda i: {call}, range({n})))",
            f"answer = sorted(range({n}), key=lambda i: {call})",
            f"find_dish(name=[0] * {n})",
            f"find_dish(name='o', limit={'9' * dice.randrange(10, 3000)})",
            f"find_dish(**{{'a' * {n}: 1}})",
            f"find_dish(*range({n}))",
            f"find_dish(name={{'a': {{'b': [find_dish, {n}]}}}})",
            f"find_dish(name=find_dish)\nanswer = {n}",
            f"class A:\n    def __str__(self): return 'o'\nfind_dish(name=A())\nanswer = {n}",
            f"find_dish(name='o\\x00\\n{dice.choice(['../', '; drop table', '%s', '{0}', '$HOME'])}')",
            f"import asyncio\nawait asyncio.gather(*[{call} for _ in range({n})])",
        ]
    )


def printing(dice: random.Random, target: Target) -> str:
    """Print without end."""
    what = dice.choice(
        [f"'a' * {dice.randrange(1, 10**5)}", "1", "'\\x1b[2J\\x07'", "find_dish", "'\\n'", "list(range(999))"]
    )
    return dice.choice(
        [
            f"while True: print({what})",
            f"while True: print({what}, end='')",
            f"for i in range(10 ** 9): print(i, {what}, sep=' ')",
            f"print({what})\nprint('a' * 10 ** {dice.randrange(5, 12)})",
            f"print(*[{what}] * 10 ** {dice.randrange(5, 9)})",
            f"def f():\n    print({what})\n    f()\nf()",
            f"[print({what}) for _ in iter(int, 1)]",
            f"import sys\nwhile True: sys.stdout.write(str({what}))",
            f"import sys\nwhile True: print({what}, file=sys.stderr)",
            f"print({what}, file=open('made', 'w'))",
            f"while True:\n    try:\n        print({what})\n    except BaseException:\n        pass",
            f"import logging\nwhile True: logging.error({what})",
        ]
    )


def renaming(dice: random.Random, target: Target) -> str:
    """Take the names of the APIs and of the answer for something else."""
    n = dice.randrange(99)
    return dice.choice(
        [
            f"find_dish = lambda **k: {n}\nanswer = find_dish(name='o')",
            f"def find_dish(name): return find_dish(name)\nanswer = find_dish('o{n}')",
            f"find_dish = ingredients = {n}\nanswer = find_dish(name='o')",
            f"del find_dish\nanswer = find_dish(name='o{n}')",
            "import find_dish",
            f"class find_dish:\n    def __init__(self, name): self.name = name\nanswer = find_dish('{n}')",
            f"def answer(): return {n}",
            f"class answer:\n    def __repr__(self): return 'x' * 10 ** 9  # {n}",
            f"class A:\n    def __repr__(self):\n        while True: pass\nanswer = A()  # {n}",
            f"class A:\n    def __len__(self): return -{n}\n    def __iter__(self): return iter(int, 1)\nanswer = A()",
            "answer = find_dish",
            f"answer = lambda: {n}",
            f"answer = (i for i in iter(int, {n}))",
            f"answer = iter(int, {n})",
            f"answer = {dice.choice(['type', 'int', 'Exception', 'NotImplemented', '...', 'print', 'range(10 ** 18)'])}",
            f"answer = ValueError({n})",
            f"answer = {{1: {n}, (1, 2): [], None: {{}}, 2.5: b'x'}}",
            f"answer = {n}\ndel answer",
            f"def f():\n    global answer\n    answer = {n}\nf()\nraise ValueError(answer)",
            f"answer = [answer for answer in range({n})]",
            f"True = {n}",
            f"len = str = print = {n}\nanswer = len('x')",
            f"import re as find_dish\nanswer = find_dish.sub('a', 'b', 'a{n}')",
            f"for answer in iter(int, {n + 1}): pass",
            f"with find_dish(name='{n}') as answer: pass",
            f"globals()['find_dish'] = {n}\nanswer = find_dish(name='o')",
        ]
    )


def sources(dice: random.Random, target: Target) -> str:
    """Text that is hard to read as a program."""
    n = dice.randrange(100, 5000)
    bracket = dice.choice(["(", "[", "{1:", "f(", "-", "not ", "lambda:", "x.", "~", "{", "x[", "*", "'' if x else "])
    return dice.choice(
        [
            f"answer = {bracket * n}1",
            f"answer = {'(' * n}1{')' * n}",
            f"answer = {'[' * n}1{']' * n}",
            f"answer = 1{' + 1' * n}",
            f"answer = x{'.x' * n}",
            f"answer = x{'()' * n}",
            f"answer = x{'[0]' * n}",
            "".join(f"{' ' * i}if 1:\n" for i in range(min(n, 300))) + " " * min(n, 300) + "answer = 1",
            "".join(f"{' ' * i}def f():\n" for i in range(min(n, 300))) + " " * min(n, 300) + "pass",
            "x = 1\n" * n + "answer = x",
            f"answer = '{'a' * n * 20}'",
            f"answer = {'9' * n}",
            f"{'a' * n} = 1\nanswer = {'a' * n}",
            "answer = 'a\0b'",
            "\ufeffanswer = 1",
            "answer = '\ud800'",
            "answer = 1\r\nanswer = 2\rx",
            f"answer = f'{'{' * (n % 200)}1{'}' * (n % 200)}'",
            f"answer = {', '.join(['x'] * n)} = 1",
            f"def f({', '.join(f'a{i}' for i in range(n))}): pass\nanswer = f()",
            f"answer = '''{n}",
            f"answer = (\\\n{n}",
            "while True: answer = (yield)",
            f"from __future__ import {dice.choice(['annotations', 'braces', 'barry_as_FLUFL'])}",
            f"# coding: {dice.choice(['utf-7', 'rot13', 'nothing'])}\nanswer = 1",
            f"answer = 1;{';' * (n % 3)}{'pass;' * n}",
            f"@{'f(' * (n % 300)}{')' * (n % 300)}\ndef f(): pass",
        ]
    )


FAMILIES: dict[str, Family] = {
    family.__name__: family
    for family in (
        files, network, processes, attributes, imports, surroundings, loops, recursion,
        memory, numbers, texts, patterns, floods, printing, renaming, sources,
    )
}  # fmt: skip


def disguised(code: str, dice: random.Random) -> str:
    """A program as it is, or inside something that hides it, catches its errors or tries again and again."""
    inner = textwrap.indent(code, "    ")
    deeper = textwrap.indent(inner, "    ")
    return dice.choice(
        [
            code,
            code,
            code,
            f"find_dish(name='o')\n{code}",
            f"def main():\n{inner}\n    return 1\nanswer = main()",
            f"class Main:\n{inner}\nanswer = Main",
            f"try:\n{inner}\nexcept BaseException as error:\n    answer = str(error)",
            f"try:\n{inner}\nfinally:\n    answer = 1",
            f"for attempt in range(3):\n    try:\n{deeper}\n    except BaseException:\n        pass\nanswer = attempt",
        ]
    )


def programs(family: str, count: int, target: Target) -> list[str]:
    """So many programs of a family, the same every time for the same target."""
    dice = random.Random(f"hostile {family}")
    return [disguised(FAMILIES[family](dice, target), dice) for _ in range(count)]
