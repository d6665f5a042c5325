"""Hostile programs by the hundred: families of templates, filled with random parameters and disguised.

The harm that they attempt is aimed at a folder, a port and a variable of the test itself.
"""

from __future__ import annotations

import random
import string
import textwrap

FAMILIES: dict[str, tuple[str, ...]] = {
    "files": (
        "answer = open('$folder/secret.txt').read()",
        "with open('./made$n', 'w') as f:\n    f.write('x')",
        "from pathlib import Path\nanswer = Path('$folder/secret.txt').read_bytes()",
        "from pathlib import Path\nPath('$folder/made').mkdir()",
        "import os\nos.unlink('$folder/secret.txt')",
        "import io as m\nanswer = m.open('/proc/self/environ').read()",
        "answer = find_dish(name=open('../secret.txt'))",
    ),
    "network": (
        "import socket\nsocket.create_connection(('127.0.0.1', $port))",
        "from urllib.request import urlopen\nanswer = urlopen('http://localhost:$port/$n')",
        "import asyncio\nawait asyncio.open_connection('::1', $port)",
        "answer = ingredients(dish='http://127.0.0.1:$port/')",
    ),
    "processes": (
        "import os\nanswer = os.system('touch $folder/made')",
        "import subprocess\nanswer = subprocess.check_output('id', shell=True)",
        "import os\nwhile True: os.fork()",
        "import os\nos.kill(os.getpid(), 9)",
        "import os\nos._exit($n)",
        "import sys\nsys.exit($n)",
        "raise KeyboardInterrupt",
        "import ctypes\nctypes.string_at(0)",
        "answer = input()",
    ),
    "attributes": (
        "answer = [c for c in ().__class__.__base__.__subclasses__() if c.__name__ == 'Popen']",
        "answer = $thing.__class__.$dunder",
        "answer = getattr($thing, '__gl' + 'obals__')",
        "answer = '{0.$dunder}'.format($thing)",
        "setattr($thing, '$dunder', print)\nanswer = $thing.$dunder",
        "try:\n    1 / 0\nexcept Exception as error:\n    answer = error.__traceback__.tb_frame.f_back",
        "answer = (lambda: 0).__globals__['__builtins__']",
        "match $thing:\n    case object($dunder=x):\n        answer = x",
    ),
    "imports": (
        "import $module\nanswer = $module.modules",
        "from $module import *",
        "answer = __import__('$module').open",
        "answer = eval(compile('(lambda: 0)()', 'x', 'exec'))",
        "import sys\nsys.setrecursionlimit(10 ** 9)",
        "import pickle\npickle.loads(b\"cos\\nsystem\\n(S'id'\\ntR.\")",
        "import builtins\nbuiltins.len = lambda *a: $n",
    ),
    "surroundings": (
        "import os\nanswer = [os.getenv('$variable'), dict(os.environ)]",
        "import os\nos.environ['$variable'] = 'changed'",
        "import os\nos.chdir('$folder')",
        "from pathlib import Path\nanswer = str(Path.home()) + str(Path.cwd())",
        "import sys\nanswer = [sys.executable, sys.path, sys.argv]",
    ),
    "loops": (
        "while True: pass",
        "while $n:\n    try:\n        1 / 0\n    except ZeroDivisionError:\n        continue",
        "answer = sum(i for i in range(10 ** 1$n))",
        "import itertools\nanswer = sum(1 for p in itertools.product(range($n), repeat=99))",
        "x = [$n]\nfor y in x: x.append(y)",
        "class A:\n    def __eq__(self, o):\n        while True: pass\nanswer = A() == $n",
        "import time\nfor i in range($n): time.sleep(10 ** $n)",
    ),
    "recursion": (
        "def f(n): return f(n + $n)\nf(0)",
        "class A:\n    def __repr__(self): return repr(self)\nanswer = A()",
        "def f():\n    try:\n        return f()\n    except RecursionError:\n        return f()\nf()",
        "x = []\nfor i in range($n * 1000): x = [x]\nanswer = str(x)",
        "x = {}\nx['x'] = x\nanswer = [x, x]",
        "x = []\nx.append(x)\nfind_dish(name=x)",
        "x = (1,)\nfor i in range($n + 30): x = (x, x)\nfind_dish(name={x: 1})",
    ),
    "memory": (
        "answer = [0] * 10 ** 1$n",
        "x = []\nwhile True: x.append(list(x))",
        "x = [[]]\nfor i in range($n * 10): x = [x, x]\nanswer = repr(x)",
        "while True:\n    try:\n        x = [0] * 10 ** 1$n\n    except MemoryError:\n        pass",
        "import itertools\nanswer = list(itertools.permutations(range(1$n)))",
    ),
    "numbers": (
        "answer = 10 ** 10 ** $n",
        "answer = 1 << 10 ** 1$n",
        "answer = str(10 ** $n$n$n$n)",
        "s = '$letter'\nwhile True: s = s + s",
        "answer = ('$letter' * 10 ** 6).replace('$letter', 'b' * 10 ** 6)",
        "answer = f'{$n:>1000000000}'",
        "find_dish(name='o', limit=10 ** 10 ** $n)",
    ),
    "patterns": (
        "import re\nanswer = str(re.match('(a+)+b', 'a' * 1000))",
        "import re\nanswer = str(re.sub('', 'b' * 10 ** 5, 'a' * 10 ** 5))[:99]",
        "import re\nanswer = str(re.compile('(a{1000}){1000}'))",
        "import re\nanswer = str(re.match('(' * $n * 200 + ')' * $n * 200, 'a'))",
        "import re\nanswer = str(re.match(r'(?:(?:a*)*)*\\1', 'a' * $n))",
    ),
    "floods": (
        "while True: find_dish(name='o')",
        "while True:\n    try:\n        ingredients(dish='cake')\n    except Exception:\n        pass",
        "find_dish(name=[0] * 10 ** 6)",
        "find_dish(**{'a' * 10 ** 6: 1})",
        "class A:\n    def __str__(self): return 'o'\nfind_dish(name=A())\nanswer = $n",
        "import asyncio\nawait asyncio.gather(*[find_dish(name='o') for _ in range($n * 1000)])",
    ),
    "printing": (
        "while True: print('$letter' * 1000)",
        "while True: print('\\x1b[2J\\x07', end='')",
        "import sys\nwhile True: print('x', file=sys.stderr)",
        "while True:\n    try:\n        print('x' * 1000)\n    except BaseException:\n        pass",
    ),
    "renaming": (
        "def find_dish(name): return find_dish(name)\nanswer = find_dish('o$n')",
        "class answer:\n    def __repr__(self): return 'x' * 10 ** 9",
        "class A:\n    def __len__(self): return -1\n    def __iter__(self): return iter(int, 1)\nanswer = A()",
        "answer = range(10 ** 18)",
        "len = str = print = $n\nanswer = len('x')",
    ),
    "sources": (
        *(f"answer = {opening * 4000}1" for opening in ("(", "{1:", "f(", "not ", "lambda:", "*")),
        *(f"answer = x{piece * 4000}" for piece in (" + 1", ".x", "[0]")),
        "".join(f"{' ' * i}if 1:\n" for i in range(300)) + " " * 300 + "answer = 1",
        "answer = " + "9" * 5000,
        "answer = 'a\0b'",
        "\ufeffanswer = '\ud800'",
        "answer = 1\r\nanswer = 2\rx",
        f"def f({', '.join(f'a{i}' for i in range(3000))}): pass\nanswer = f()",
        "from __future__ import braces",
        f"@{'f(' * 200}{')' * 200}\ndef f(): pass",
    ),
}
CHOICES = {
    "letter": ("a", "\\0", "é", "\\u2028", "\\ud83d", "\U0001f600"),
    "thing": ("()", "''", "0", "[]", "{}", "None", "find_dish", "len", "type", "Exception('x')"),
    "dunder": ("__class__", "__globals__", "__code__", "__builtins__", "__self__", "__reduce__", "gi_frame"),
    "module": ("os", "sys", "builtins", "importlib", "inspect", "gc", "r_eval", "pydantic_monty", "secret"),
}
"""Values of the placeholders; `n` is a digit."""


def disguised(code: str, dice: random.Random) -> str:
    """A program as it is, or inside something that hides it, catches its errors or tries again and again."""
    inner = textwrap.indent(code, "    ")
    deeper = textwrap.indent(inner, "    ")
    return dice.choice(
        [
            code,
            f"find_dish(name='o')\n{code}",
            f"def main():\n{inner}\n    return 1\nanswer = main()",
            f"class Main:\n{inner}\nanswer = Main",
            f"try:\n{inner}\nexcept BaseException as error:\n    answer = str(error)",
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
