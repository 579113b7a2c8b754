#!/usr/bin/env python3
"""Checks of the tree itself: layout, include directions, banned calls, file sizes, notices, shell scripts, white space.

test_tree.py ROOT [PROGRAM]: first plants one fault of each kind in a scratch tree and sees that it is found, then checks
ROOT. Prints one line per fault; exit 1 if there is any.
"""
import fnmatch
import os
import re
import shutil
import subprocess
import sys
import tempfile

TOP_LEVEL = {"engine", "gpu", "cpu", "offload", "kernels", "tools", "tests", "bench", "CMakeLists.txt", "README.md", "LICENSE"}

# What a folder may include, besides itself. engine/base is a folder of its own, below all others.
BELOW = {
    "engine/base": [],
    "kernels": ["engine/base"],
    "cpu": ["kernels", "engine/base"],
    "gpu": ["kernels", "engine/base"],
    "offload": ["cpu", "gpu", "kernels", "engine/base"],
    "engine": ["offload", "cpu", "gpu", "kernels", "engine/base"],
}
PROGRAMS = ["tools", "tests", "bench"]
for _program in PROGRAMS:
    BELOW[_program] = ["engine", "offload", "cpu", "gpu", "kernels", "engine/base"]
BELOW["tests"] = BELOW["tests"] + ["tools"]  # one way only: unit tests reach the parts a command is made of
LIBRARIES = [folder for folder in BELOW if folder not in PROGRAMS]

BANNED = {  # call: where it is allowed all the same
    name: ()
    for name in "strcpy strcat sprintf vsprintf gets strtok atoi atol atoll atof system popen alloca rand srand "
    "secure_getenv tmpnam mktemp cudaLaunchHostFunc".split()
}
BANNED["getenv"] = ("engine/base/option.c",)
BANNED_IN_LIBRARIES = {
    "exit": (),
    "_exit": (),
    "quick_exit": (),
    "abort": ("engine/base/check.c",),
    "printf": (),
    "puts": (),
    "putchar": (),
    "perror": (),
    "setenv": (),
    "putenv": (),
}

LINES_MAX = 500
DATA_TABLES = ["kernels/codebooks*.c", "kernels/codebooks*.h", "engine/unicode_table*.c", "engine/*_table_data.c"]

THIRD_PARTY = [  # files of these names carry others' work and need a row in tools/licenses/MANIFEST
    "kernels/codebooks*.c",
    "engine/unicode*table*",
    "tests/data/*tokenizer.json*",
    "tests/data/*qwen*chat-template*",
    "tests/data/*tokenizer*.gz",
    "tests/data/*vocab*",
    "tests/data/*merges*",
    "tests/data/*.jinja",
    "tests/data/like/*.json",
    "third_party/*",
]

SOURCE_FOLDERS = tuple(folder + "/" for folder in ("engine", "gpu", "cpu", "offload", "kernels", "tools", "tests", "bench"))


class Tree:
    """The files that belong to the project: what git knows or would add, or all files where there is no git."""

    def __init__(self, root):
        self.root = root
        try:
            out = subprocess.run(
                ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                capture_output=True, check=True).stdout.decode()
            top = subprocess.run(["git", "-C", root, "rev-parse", "--show-toplevel"], capture_output=True, check=True)
            if os.path.realpath(top.stdout.decode().strip()) != os.path.realpath(root):
                raise OSError("inside another repository")
            names = [n for n in out.split("\0") if n]
        except (OSError, subprocess.CalledProcessError):
            names = []
            for folder, folders, files in os.walk(root):
                at_top = os.path.samefile(folder, root)
                folders[:] = [f for f in folders if f != ".git" and f != "__pycache__"
                              and not (at_top and (f.startswith("build") or f == "bundle"))]
                names += [os.path.relpath(os.path.join(folder, f), root) for f in files]
        self.names = sorted(n for n in set(names) if os.path.isfile(os.path.join(root, n)))

    def read(self, name):
        with open(os.path.join(self.root, name), "rb") as f:
            return f.read()

    def text(self, name):
        return self.read(name).decode("utf-8", "replace")

    def sources(self):
        return [n for n in self.names if n.endswith((".c", ".h", ".cu", ".cuh"))]

    def shell_scripts(self):
        return [n for n in self.names if n.endswith(".sh") or self.read(n)[:64].startswith((b"#!/bin/sh", b"#!/bin/bash"))]


def matches(name, patterns):
    return any(fnmatch.fnmatch(name, p) for p in patterns)


def folder_of(name):
    return "engine/base" if name.startswith("engine/base/") else name.split("/", 1)[0]


def bare_code(text, keep_strings=False):
    """C text with comments, and unless kept string literals, blanked out; line numbers stay."""
    pattern = r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''

    def blank(m):
        if keep_strings and m.group()[0] in "\"'":
            return m.group()
        return re.sub(r"[^\n]", " ", m.group())

    return re.sub(pattern, blank, text, flags=re.S)


def check_top_level(tree):
    for name in sorted({n.split("/", 1)[0] for n in tree.names}):
        if name not in TOP_LEVEL and not name.startswith("."):
            yield f"{name}: not an entry of the top level"
    for name in tree.names:
        if name.endswith((".cpp", ".cc", ".cxx", ".hpp", ".rs", ".go")):
            yield f"{name}: host code is C17, kernels are .cu"


def check_includes(tree):
    known = set(tree.names)
    for name in tree.sources():
        here = folder_of(name)
        code = bare_code(tree.text(name), keep_strings=True)
        for i, line in enumerate(code.split("\n"), 1):
            m = re.match(r'\s*#\s*include\s*(["<])([^">]*)[">]', line)
            if not m:
                continue
            quote, path = m.groups()
            if quote == "<":
                if path.startswith(SOURCE_FOLDERS):
                    yield f'{name}:{i}: our own "{path}" is included with <>'
                continue
            if path not in known:
                yield f'{name}:{i}: include "{path}" is not written from the root'
                continue
            there = folder_of(path)
            if there != here and there not in BELOW.get(here, []):
                yield f"{name}:{i}: {here} may not include {there} ({path})"


def check_banned(tree):
    word = re.compile(r"(?<![\w.>])(%s)\s*\(" % "|".join(list(BANNED) + list(BANNED_IN_LIBRARIES)))
    for name in tree.sources():
        is_library = folder_of(name) in LIBRARIES
        for i, line in enumerate(bare_code(tree.text(name)).split("\n"), 1):
            for m in word.finditer(line):
                call = m.group(1)
                if call in BANNED and name not in BANNED[call]:
                    yield f"{name}:{i}: {call} is banned"
                elif is_library and call in BANNED_IN_LIBRARIES and name not in BANNED_IN_LIBRARIES[call]:
                    yield f"{name}:{i}: {call} is banned in libraries"
            if is_library and re.search(r"\bf(printf|puts|putc)\s*\(.*\b(stderr|stdout)\b", line):
                if name not in ("engine/base/log.c", "engine/base/check.c"):
                    yield f"{name}:{i}: libraries write through engine/base/log.h"


def check_length(tree):
    for name in tree.sources():
        n_lines = tree.read(name).count(b"\n")
        if n_lines > LINES_MAX and not matches(name, DATA_TABLES):
            yield f"{name}: {n_lines} lines; split it at {LINES_MAX} (data tables are listed in tests/tree/test_tree.py)"


def check_notices(tree):
    manifest = "tools/licenses/MANIFEST"
    if manifest not in tree.names:
        yield f"{manifest}: missing"
        return
    patterns, notices = [], set()
    for i, line in enumerate(tree.text(manifest).splitlines(), 1):
        fields = line.split("\t")
        if len(fields) != 3 or not all(f.strip() for f in fields):
            yield f"{manifest}:{i}: not path<TAB>licence file<TAB>source"
            continue
        path, notice, _ = fields
        patterns.append(path)
        notices.add(notice)
        if not any(fnmatch.fnmatch(n, path) for n in tree.names):
            yield f"{manifest}:{i}: there is no file {path}"
        if f"tools/licenses/{notice}" not in tree.names:
            yield f"{manifest}:{i}: there is no notice tools/licenses/{notice}"
    for name in tree.names:
        if matches(name, THIRD_PARTY) and not matches(name, patterns):
            yield f"{name}: third-party material without a row in {manifest}"
        if name.startswith("tools/licenses/") and name != manifest and os.path.basename(name) not in notices:
            yield f"{name}: no row of {manifest} uses this notice"


def check_white_space(tree):
    text_names = (".c", ".h", ".cu", ".cuh", ".sh", ".py", ".cmake", ".md", "CMakeLists.txt", ".yml")
    for name in tree.names:
        if not name.endswith(text_names) or name.startswith(("tests/data/", "tools/licenses/")):
            continue
        data = tree.read(name)
        if b"\r" in data:
            yield f"{name}: carriage return"
        if b"\t" in data:
            yield f"{name}:{data[:data.index(9)].count(10) + 1}: tab"
        if data and not data.endswith(b"\n"):
            yield f"{name}: no newline at the end"
        m = re.search(rb"[ ]+$", data, flags=re.M)
        if m and not name.endswith(".md"):
            yield f"{name}:{data[:m.start()].count(10) + 1}: blanks at the end of a line"


def check_leftovers(tree):
    """Unfinished marks, and paths of the machine the project was written on."""
    marks = re.compile(r"\b(%s)\b" % "|".join(["TO" + "DO", "FIX" + "ME", "X" + "XX", "HA" + "CK"]))
    machine = "/wo" + "rk/"
    for name in tree.names:
        if not name.endswith((".c", ".h", ".cu", ".cuh", ".sh", ".py", ".cmake", "CMakeLists.txt")):
            continue
        for i, line in enumerate(tree.text(name).split("\n"), 1):
            if marks.search(line) or machine in line:
                yield f"{name}:{i}: unfinished mark or path of one machine: {line.strip()[:80]}"


def check_shell(tree):
    scripts = tree.shell_scripts()
    if not shutil.which("shellcheck"):
        print("note: shellcheck is not installed, shell scripts are not checked")
        return
    if scripts:
        run = subprocess.run(["shellcheck", "-f", "gcc", "-x", *scripts], cwd=tree.root, capture_output=True, text=True)
        yield from run.stdout.splitlines()


CHECKS = [check_top_level, check_includes, check_banned, check_length, check_notices, check_white_space, check_leftovers,
          check_shell]

# ---- self-test: each fault alone in an otherwise clean tree ----

CLEAN = {
    "engine/base/status.h": "int status;\n",
    "engine/base/log.c": "void f(void) { fprintf(stderr, \"x\"); }\n",
    "engine/base/option.c": '#include "engine/base/status.h"\nchar *f(void) { return getenv("A"); }\n',
    "kernels/codebooks.c": "int c;\n" * 600,
    "kernels/format.h": '/* "cpu/pool.h", strcpy(a, b) */\n#include "engine/base/status.h"\n',
    "cpu/pool.h": '#include <stdio.h>\n#include "kernels/format.h"\n',
    "gpu/device.h": '#include "kernels/format.h"\n',
    "offload/plan.h": '#include "cpu/pool.h"\n#include "gpu/device.h"\n',
    "engine/gguf.h": '#include "offload/plan.h"\nint my_exit(int x); const char *s = "exit(1)";\n',
    "tools/main.c": '#include "engine/gguf.h"\nint main(void) { exit(0); }\n',
    "tests/unit/test_a.c": '#include "kernels/format.h"\n',
    "tools/a.sh": "#!/bin/sh\necho a\n",
    "tools/licenses/MANIFEST": "kernels/codebooks.c\tggml.txt\tgguf from PyPI\n",
    "tools/licenses/ggml.txt": "MIT\n",
    "README.md": "text\n",
    ".hidden": "x\n",
}
PLANTED = [  # check, file, its text (None: delete it)
    (check_top_level, "docs/a.md", "x\n"),
    (check_top_level, "Makefile", "x\n"),
    (check_top_level, "engine/a.cpp", "x\n"),
    (check_includes, "engine/base/a.c", '#include "kernels/format.h"\n'),
    (check_includes, "kernels/a.c", '#include "cpu/pool.h"\n'),
    (check_includes, "kernels/a.cu", '#include "engine/gguf.h"\n'),
    (check_includes, "cpu/a.c", '#  include "gpu/device.h"\n'),
    (check_includes, "gpu/a.c", '#include "cpu/pool.h"\n'),
    (check_includes, "offload/a.c", '#include "engine/gguf.h"\n'),
    (check_includes, "tests/unit/test_b.c", '#include "bench/main.h"\n'),
    (check_includes, "tools/b.c", '#include "tests/unit/test_a.c"\n'),
    (check_includes, "bench/b.c", '#include "tools/main.c"\n'),
    (check_includes, "engine/a.c", '#include "gguf.h"\n'),
    (check_includes, "engine/a.c", '#include "../engine/gguf.h"\n'),
    (check_includes, "engine/a.c", "#include <engine/gguf.h>\n"),
    (check_notices, "tools/licenses/MANIFEST", None),
    (check_notices, "tools/licenses/MANIFEST", "kernels/codebooks.c ggml.txt gguf\n"),
    (check_notices, "tools/licenses/ggml.txt", None),
    (check_notices, "tools/licenses/other.txt", "MIT\n"),
    (check_notices, "kernels/codebooks.c", None),
    (check_notices, "kernels/codebooks_iq.c", "int x;\n"),
    (check_notices, "tests/data/tokenizer/qwen_tokenizer.json.gz", "x"),
    (check_notices, "tests/data/chat/qwen.jinja", "x"),
    (check_length, "engine/a.c", "int x;\n" * 501),
    (check_white_space, "engine/a.c", "int x;\r\n"),
    (check_white_space, "engine/a.c", "\tint x;\n"),
    (check_white_space, "engine/a.c", "int x; \n"),
    (check_white_space, "tools/a.sh", "echo a"),
    (check_leftovers, "engine/a.c", "/* TO" + "DO later */\n"),
    (check_leftovers, "tools/a.sh", "cd /wo" + "rk/main\n"),
]
PLANTED += [(check_banned, "tools/a.c", f"void f(void) {{ {call}(x); }}\n") for call in BANNED]
PLANTED += [(check_banned, "engine/a.c", f"void f(void) {{ {call}(1); }}\n") for call in BANNED_IN_LIBRARIES]
PLANTED += [(check_banned, "cpu/a.c", 'void f(void) { fprintf(stderr, "x"); }\n')]
if shutil.which("shellcheck"):
    PLANTED += [(check_shell, "tools/a.sh", "#!/bin/sh\necho $1\n"), (check_shell, ".ci/run", "#!/bin/sh\ncd $1\n")]


def plant(folder, files):
    for name, text in files.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", newline="") as f:
            f.write(text)


def self_test():
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        plant(folder, CLEAN)
        faults += [f"self-test: clean tree: {fault}" for check in CHECKS for fault in check(Tree(folder))]
    for check, name, text in PLANTED:
        with tempfile.TemporaryDirectory() as folder:
            plant(folder, {k: v for k, v in CLEAN.items() if k != name} | ({} if text is None else {name: text}))
            if not list(check(Tree(folder))):
                faults.append(f"self-test: {check.__name__} does not find {text!r:.60} in {name}")
    return faults


def main():
    faults = self_test()
    tree = Tree(sys.argv[1])
    for check in CHECKS:
        faults += list(check(tree))
    for fault in faults:
        print(fault)
    print(f"tree: {len(tree.names)} files, {len(PLANTED)} planted faults, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
