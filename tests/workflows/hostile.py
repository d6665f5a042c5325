"""Hostile programs by the thousand: families of templates, filled with random parameters and disguised.

The harm that they attempt is aimed at a folder, a port and a variable of the test itself.
"""

from __future__ import annotations

# ruff: noqa: E501  a program is easier to read on one line
import random
import string
import textwrap

FILES = (
    "answer = open('$folder/secret.txt').read()",
    "with open('secret.txt', 'r+') as f:\n    answer = f.read()",
    "with open('./made$n', 'w') as f:\n    f.write('x')",
    "from pathlib import Path\nanswer = Path('$folder/secret.txt').read_bytes()",
    "from pathlib import Path\nPath('$folder/made').mkdir()",
    "from pathlib import Path\nanswer = [str(p) for p in Path('$folder').iterdir()]",
    "import os\nanswer = os.listdir('$folder')",
    "import os\nf = os.open('secret.txt', 0)\nanswer = os.read(f, $n)",
    "import os\nos.unlink('$folder/secret.txt')",
    "import os\nos.symlink('secret.txt', 'made')",
    "import io as m\nanswer = m.open('/proc/self/environ').read()",
    "import shutil\nshutil.copy('secret.txt', 'made')",
    "import sqlite3",
    "answer = find_dish(name=open('../secret.txt'))",
)
NETWORK = (
    "import socket\nsocket.create_connection(('127.0.0.1', $port))",
    "import socket\ns = socket.socket()\ns.bind(('', 2$n))\ns.listen()",
    "from urllib.request import urlopen\nanswer = urlopen('http://localhost:$port/$n')",
    "import http.client\nhttp.client.HTTPConnection('127.0.0.1', $port).request('GET', '/')",
    "import aiohttp as web\nanswer = web.get('http://127.0.0.1:$port/')",
    "import asyncio\nawait asyncio.open_connection('::1', $port)",
    "import webbrowser\nwebbrowser.open('http://127.0.0.1:$port/')",
    "answer = ingredients(dish='http://127.0.0.1:$port/')",
)
PROCESSES = (
    "import os\nanswer = os.system('touch $folder/made')",
    "import os\nanswer = os.popen('env').read()",
    "import subprocess\nanswer = subprocess.check_output('id', shell=True)",
    "import os\nwhile True: os.fork()",
    "import os\nos.execv('/bin/sh', ['sh', '-c', 'echo x > made'])",
    "import os\nos.kill(os.getpid(), 9)",
    "import os\nos._exit($n)",
    "import sys\nsys.exit($n)",
    "exit()",
    "raise SystemExit",
    "raise KeyboardInterrupt",
    "import multiprocessing",
    "import ctypes\nctypes.string_at(0)",
    "import asyncio\nawait asyncio.create_subprocess_shell('id')",
    "breakpoint()",
    "answer = input()",
)
ATTRIBUTES = (
    "answer = ().__class__.__bases__[0].__subclasses__()",
    "answer = [c for c in ().__class__.__base__.__subclasses__() if c.__name__ == 'Popen']",
    "answer = $thing.$dunder",
    "answer = $thing.__class__.$dunder",
    "answer = $thing.$dunder['open']",
    "answer = getattr($thing, '__gl' + 'obals__')",
    "answer = getattr($thing, ''.join(reversed('__ssalc__')))",
    "answer = '{0.$dunder}'.format($thing)",
    "answer = vars($thing).$dunder",
    "setattr($thing, '$dunder', print)\nanswer = $thing.$dunder",
    "class A:\n    def __init__(self): self.x = $thing\nanswer = A().$dunder",
    "try:\n    1 / 0\nexcept Exception as error:\n    answer = error.__traceback__.tb_frame.f_back",
    "def g():\n    yield 1\nanswer = g().gi_frame.f_back.f_globals",
    "answer = (lambda: 0).__globals__['__builtins__']",
    "answer = globals()['__builtins__']",
    "answer = type('A', (object,), {'$dunder': print})()",
    "match $thing:\n    case object($dunder=x):\n        answer = x",
)
IMPORTS = (
    "import $module\nanswer = $module.modules",
    "from $module import *",
    "answer = __import__('$module').open",
    "import importlib\nanswer = importlib.import_module('$module')",
    "answer = eval('import $module')",
    "exec('answer = 1', {}, {})",
    "answer = eval(compile('(lambda: 0)()', 'x', 'exec'))",
    "import sys\nanswer = sys._getframe()",
    "import sys\nsys.setrecursionlimit(10 ** 9)",
    "import pickle\npickle.loads(b\"cos\\nsystem\\n(S'id'\\ntR.\")",
    "answer = __builtins__['open']",
    "import builtins\nbuiltins.len = lambda *a: $n",
)
SURROUNDINGS = (
    "import os\nanswer = os.environ['$variable']",
    "import os\nanswer = os.getenv('$variable')",
    "import os\nanswer = dict(os.environ)",
    "import os\nos.environ['$variable'] = 'changed'",
    "import os\nanswer = os.getcwd()",
    "import os\nos.chdir('$folder')",
    "import getpass as m\nanswer = m.getuser()",
    "from pathlib import Path\nanswer = str(Path.home()) + str(Path.cwd())",
    "import os.path\nanswer = os.path.expanduser('~')",
    "import sys\nanswer = [sys.executable, sys.path, sys.argv]",
    "answer = [__name__, __file__]",
)
LOOPS = (
    "while True: pass",
    "x = $n\nwhile True: x = (x * 31) % 1000003",
    "while $n:\n    try:\n        1 / 0\n    except ZeroDivisionError:\n        continue",
    "answer = sum(i for i in range(10 ** 1$n))",
    "def f():\n    while True: yield 1\nanswer = sum(f())",
    "import itertools\nanswer = sum(1 for p in itertools.product(range($n), repeat=99))",
    "x = [$n]\nfor y in x: x.append(y)",
    "answer = $n in iter(int, 1)",
    "def f(n): return 1 if n < 2 else f(n - 1) + f(n - 2)\nanswer = f(90)",
    "class A:\n    def __eq__(self, o):\n        while True: pass\nanswer = A() == $n",
    "import time\nfor i in range($n): time.sleep(10 ** $n)",
    "import asyncio\nawait asyncio.sleep(10 ** $n)",
)
RECURSION = (
    "def f(n): return f(n + $n)\nf(0)",
    "def f(): return g()\ndef g(): return f()\nf()",
    "class A:\n    def __init__(self): self.x = A()\nA()",
    "class A:\n    def __getattr__(self, name): return getattr(self, name)\nA().x",
    "class A:\n    def __repr__(self): return repr(self)\nanswer = A()",
    "class A:\n    def __eq__(self, o): return self == o\nanswer = A() == A()",
    "class A:\n    def __hash__(self): return hash(self)\nanswer = {A(): 1}",
    "def f():\n    try:\n        return f()\n    except RecursionError:\n        return f()\nf()",
    "def f():\n    yield from f()\nanswer = list(f())",
    "import json\nanswer = json.loads('[' * $n * 1000)",
    "x = []\nfor i in range($n * 1000): x = [x]\nanswer = str(x)",
    "x = {}\nx['x'] = x\nanswer = [x, x]",
    "x = []\nx.append(x)\nfind_dish(name=x)",
    "x = (1,)\nfor i in range($n + 30): x = (x, x)\nanswer = {x: 1}",
    "x = (1,)\nfor i in range($n + 30): x = (x, x)\nfind_dish(name={x: 1})",
    "x = [1]\nfor i in range($n + 30): x = [x, x]\nclass A:\n    pass\nanswer = A()\nanswer.x = x",
)
MEMORY = (
    "answer = [0] * 10 ** 1$n",
    "answer = sorted(range(10 ** 1$n))",
    "answer = bytes(10 ** 1$n)",
    "x = []\nwhile True: x.append('a' * $n)",
    "x = []\nwhile True: x.append(list(x))",
    "x = {}\ni = 0\nwhile True:\n    x[i] = 'a' * 100\n    i += 1",
    "x = [1]\nwhile True: x += x",
    "answer = [[0] * 10 ** 5 for _ in range(10 ** 1$n)]",
    "x = [[]]\nfor i in range($n * 10): x = [x, x]\nanswer = repr(x)",
    "while True:\n    try:\n        x = [0] * 10 ** 1$n\n    except MemoryError:\n        pass",
    "import itertools\nanswer = list(itertools.permutations(range(1$n)))",
    "def f():\n    x = [0] * 10 ** 5\n    return f() + x\nf()",
    "x = list(range(10 ** 5))\nx.sort(key=lambda y: [0] * 10 ** 1$n)",
)
NUMBERS = (
    "answer = 10 ** 10 ** $n",
    "answer = 7$n ** 7$n ** 7$n",
    "answer = 1 << 10 ** 1$n",
    "answer = pow($n + 2, 10 ** $n, 10 ** 10 ** 5)",
    "x = $n + 2\nwhile True: x **= x",
    "r = 1\nfor i in range(1, 10 ** 9): r *= i\nanswer = r",
    "answer = str(10 ** $n$n$n$n)",
    "answer = int('9' * 10 ** 7)",
    "import math\nanswer = math.factorial(10 ** 1$n)",
    "answer = float('nan')",
    "answer = 10 ** 400 / 3",
    "answer = f'{$n:>1000000000}'",
    "answer = '%1000000000d' % $n",
    "find_dish(name='o', limit=10 ** 10 ** $n)",
    "import decimal\ndecimal.getcontext().prec = 10 ** 9\nanswer = decimal.Decimal(1) / 3",
)
TEXTS = (
    "answer = '$letter' * 10 ** 1$n",
    "s = '$letter'\nwhile True: s = s + s",
    "answer = '$letter'.center(10 ** 1$n)",
    "answer = ('$letter' * 10 ** 6).replace('$letter', 'b' * 10 ** 6)",
    "answer = ','.join(str(i) for i in range(10 ** 1$n))",
    "answer = ('$letter' * 10 ** 6).join(['b'] * 10 ** 6)",
    "answer = ('\\t' * 10 ** 6).expandtabs(10 ** 6)",
    "answer = ('a,' * 10 ** 6).split(',') * 10 ** 6",
    "answer = ('$letter' * 10 ** 6).encode() * 10 ** 6",
)
PATTERNS = tuple(
    f"import re\nanswer = str({body})[:99]"
    for body in (
        "re.match('(a+)+b', 'a' * 1000)",
        "re.match('(.*)*(.*)*(.*)*!', 'a' * $n * 10)",
        "re.sub('(a*)*', 'b' * 1000, 'a' * 10000)",
        "re.sub('', 'b' * 10 ** 5, 'a' * 10 ** 5)",
        "re.compile('(a{1000}){1000}')",
        "re.findall('(?=(a+))', 'a' * $n * 1000)",
        "re.match('(' * $n * 200 + ')' * $n * 200, 'a')",
        "re.match('(?:a?){9$n}a{9$n}', 'a' * 9$n)",
        "re.fullmatch(r'(\\w+\\s?)*', 'aaaa ' * $n + '!')",
        "re.match(r'(?:(?:a*)*)*\\1', 'a' * $n)",
        "re.match('[' + 'a' * 10 ** 6 + ']', 'a')",
        "re.match('a{0,10000000}', 'a' * $n)",
    )
)
FLOODS = (
    "while True: find_dish(name='o')",
    "while True:\n    try:\n        ingredients(dish='cake')\n    except Exception:\n        pass",
    "answer = [find_dish(nmae='o') for _ in range($n * 1000)]",
    "def f():\n    find_dish(name='o')\n    return f()\nf()",
    "answer = sorted(range($n * 1000), key=lambda i: ingredients('pizza'))",
    "find_dish(name=[0] * 10 ** 6)",
    "find_dish(**{'a' * 10 ** 6: 1})",
    "find_dish(*range(10 ** 6))",
    "find_dish(name={'a': {'b': [find_dish, $n]}})",
    "class A:\n    def __str__(self): return 'o'\nfind_dish(name=A())\nanswer = $n",
    "find_dish(name='o\\x00\\n../; drop table %s {0}')",
    "import asyncio\nawait asyncio.gather(*[find_dish(name='o') for _ in range($n * 1000)])",
)
PRINTING = (
    "while True: print('$letter' * 1000)",
    "while True: print('\\x1b[2J\\x07', end='')",
    "for i in range(10 ** 9): print(i, find_dish, sep=' ')",
    "print('a' * 10 ** 1$n)",
    "print(*['\\n'] * 10 ** 8)",
    "def f():\n    print(list(range(999)))\n    f()\nf()",
    "import sys\nwhile True: sys.stdout.write('x' * 1000)",
    "import sys\nwhile True: print('x', file=sys.stderr)",
    "print('x', file=open('made', 'w'))",
    "while True:\n    try:\n        print('x' * 1000)\n    except BaseException:\n        pass",
)
RENAMING = (
    "find_dish = lambda **k: $n\nanswer = find_dish(name='o')",
    "def find_dish(name): return find_dish(name)\nanswer = find_dish('o$n')",
    "del find_dish\nanswer = find_dish(name='o$n')",
    "class find_dish:\n    def __init__(self, name): self.name = name\nanswer = find_dish('$n')",
    "def answer(): return $n",
    "class answer:\n    def __repr__(self): return 'x' * 10 ** 9",
    "class A:\n    def __repr__(self):\n        while True: pass\nanswer = A()",
    "class A:\n    def __len__(self): return -1\n    def __iter__(self): return iter(int, 1)\nanswer = A()",
    "answer = find_dish",
    "answer = (i for i in iter(int, 1))",
    "answer = range(10 ** 18)",
    "answer = {1: $n, (1, 2): [], None: {}, 2.5: b'x'}",
    "answer = $n\ndel answer",
    "True = $n",
    "len = str = print = $n\nanswer = len('x')",
    "with find_dish(name='$n') as answer: pass",
)
SOURCES = (
    *(f"answer = {opening * 4000}1" for opening in ("(", "[", "{1:", "f(", "-", "not ", "lambda:", "x.", "*")),
    *(f"answer = x{piece * 4000}" for piece in (" + 1", ".x", "()", "[0]")),
    "".join(f"{' ' * i}if 1:\n" for i in range(300)) + " " * 300 + "answer = 1",
    "x = 1\n" * 4000 + "answer = x",
    "answer = " + "9" * 5000,
    "answer = 'a\0b'",
    "\ufeffanswer = 1",
    "answer = '\ud800'",
    "answer = 1\r\nanswer = 2\rx",
    f"answer = f'{'{' * 150}1{'}' * 150}'",
    f"def f({', '.join(f'a{i}' for i in range(3000))}): pass\nanswer = f()",
    "answer = '''$n",
    "while True: answer = (yield)",
    "from __future__ import braces",
    "# coding: utf-7\nanswer = 1",
    f"@{'f(' * 200}{')' * 200}\ndef f(): pass",
)
FAMILIES: dict[str, tuple[str, ...]] = {
    "files": FILES, "network": NETWORK, "processes": PROCESSES, "attributes": ATTRIBUTES, "imports": IMPORTS,
    "surroundings": SURROUNDINGS, "loops": LOOPS, "recursion": RECURSION, "memory": MEMORY, "numbers": NUMBERS,
    "texts": TEXTS, "patterns": PATTERNS, "floods": FLOODS, "printing": PRINTING, "renaming": RENAMING,
    "sources": SOURCES,
}  # fmt: skip
CHOICES = {
    "letter": ("a", "\\0", "é", "\\u2028", "\\ud83d", "\U0001f600"),
    "thing": ("()", "''", "0", "[]", "{}", "None", "find_dish", "len", "int", "type", "Exception('x')"),
    "dunder": (
        "__class__", "__mro__", "__subclasses__", "__globals__", "__code__", "__closure__", "__builtins__", "__dict__",
        "__self__", "__init__", "__getattribute__", "__reduce__", "gi_frame", "f_globals", "tb_frame", "__loader__",
    ),
    "module": ("os", "sys", "builtins", "importlib", "inspect", "gc", "pickle", "types", "r_eval", "pydantic_monty", "secret"),
}  # fmt: skip
"""Values of the placeholders; `n` is a digit."""


def disguised(code: str, dice: random.Random) -> str:
    """A program as it is, or inside something that hides it, catches its errors or tries again and again."""
    inner = textwrap.indent(code, "    ")
    deeper = textwrap.indent(inner, "    ")
    return dice.choice(
        [
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


def programs(family: str, count: int, **target: str) -> list[str]:
    """So many programs of a family, the same every time for the same target.

    Args:
        target: `folder` (which holds `secret.txt`), `port` and `variable` (of the environment).
    """
    dice = random.Random(f"hostile {family}")
    made = []
    for number in range(count):
        template = string.Template(FAMILIES[family][number % len(FAMILIES[family])])
        values = {name: dice.choice(values) for name, values in CHOICES.items()}
        made.append(disguised(template.safe_substitute(target, n=str(dice.randrange(1, 10)), **values), dice))
    return made
