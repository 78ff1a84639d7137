"""Branches and addresses of AVX-512 and SHA kernels depend on nothing secret.

    python3 crates/crypto/constant-time/disassembly EXECUTABLE...

Valgrind does not know their instructions, so they are judged by their machine code. In
them, what is secret lives in vectors: keys, texts, hash states, powers of hash keys.
General registers hold where packets lie and how long they are. `flow.py` follows data
through every function of a kernel. Branches, addresses, masks of accesses, divisions
and indirect jumps may depend on arguments, on constants, on bytes of memory that
`reviewed.txt` lists with a reason, and on what the program tells memcheck is public: the
verdict on a tag. Reported is

- what depends on memory that is not listed, or on what a vector has loaded, or on
  bytes that are listed and that the function also loads or stores as a vector;
- a gather or scatter, whatever its index;
- code that no path was found to, and a file of kernels that no code was seen of, so
  that nothing is passed over in silence.

Leaks that were planted in the checker must be found.
"""

import os
import re
import sys
from collections import namedtuple

from flow import Flow
from machine_code import Image

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = os.path.normpath(os.path.join(HERE, "../../src"))

# What valgrind does not know, by the names of modules.
KERNELS = re.compile("avx512|sha_ni")

# Functions of the checker that leak, and what each must be reported as.
PLANTED = {
    "look_up": "vector",
    "look_up_by_way_of_the_frame": "vector",
    "look_up_beside_a_panic": "vector",
    "branch_on_mask": "vector",
    "branch_on_byte": "both",
    "branch_on_word": "general",
    "gather": "gather",
}

Finding = namedtuple("Finding", "function kind names instruction")


class Reviewed:
    """An entry of `reviewed.txt`."""

    def __init__(self, line):
        self.function, self.kind, self.source, self.reason = (
            part.strip() for part in line.split("|"))
        self.is_used = False

    def covers(self, finding):
        is_covered = (finding.function.startswith(self.function) and finding.kind == self.kind
                      and self.source in ("*", *finding.names))
        self.is_used |= is_covered
        return is_covered


def is_ours(name):
    return "weir_crypto" in name or "weir_constant_time" in name


def is_kernel(function):
    return bool(KERNELS.search(function.name)) or function.has("zmm")


def short(name):
    """Without the crate, and `Type::method` for `<Type>::method`, whose parameters do not count."""
    if name.startswith("<"):
        name = re.sub(r"(<[^<>]*>)?>::", lambda match: "<_>::" if match[1] else "::", name[1:], count=1)
    return re.sub(r"^weir_\w+::", "", name)


def overlap(a, b):
    return a.place == b.place and (
        a.offset is None or b.offset is None
        or a.offset < b.offset + b.bytes and b.offset < a.offset + a.bytes)


def names(source):
    """How an entry may call bytes of memory, from loose to exact: `rsi`, `rsi+256`,
    `64 bytes at rsi`, `64 bytes at rsi+256`. Of offsets on the way there, and in the
    frame, the compiler decides."""
    place = re.sub(r"\[[^\]]*\]", "[]", source.place.split()[0])
    exact = place if source.offset is None or place == "frame" else f"{place}{source.offset:+}"
    return [place, exact, f"{source.bytes} bytes at {place}", f"{source.bytes} bytes at {exact}"]


def findings(function, flow):
    """What is to be looked up in the list."""
    name = short(function.name)
    for event in flow.events:
        if event.kind == "gather":
            yield Finding(name, "gather", ["any index"], event.instruction)
            continue
        for source in event.sources:
            yield Finding(name, source.kind, names(source), event.instruction)
            if source.kind == "general" and any(
                    overlap(source, access) for access in flow.vector_accesses):
                yield Finding(name, "both", names(source), event.instruction)
    for instruction in flow.unreached:
        yield Finding(name, "unreached", ["no path"], instruction)


def files_without_code(kernels):
    """Source files of kernels that none of the code is from."""
    seen = {file.split("/crates/crypto/src/")[-1] for kernel in kernels for file in kernel.files}
    for folder, _, names in os.walk(SOURCES):
        for name in names:
            file = os.path.relpath(os.path.join(folder, name), SOURCES)
            if "/simd/" in file and KERNELS.search(file) and file not in seen:
                yield file


def check(executable, reviewed):
    """Prints what is wrong with the kernels of an executable; whether nothing is."""
    image = Image(executable)
    kernels, planted, wrong = [], {}, {}
    instructions = decisions = 0
    for function in image.functions.values():
        if not (is_ours(function.name) and is_kernel(function)):
            continue
        flow = Flow(function, image)
        unlisted = [finding for finding in findings(function, flow)
                    if not any([entry.covers(finding) for entry in reviewed])]
        if "weir_constant_time" in function.name:
            leak = re.search(r"::avx512::(\w+)", function.name)[1]
            planted.setdefault(leak, set()).update(finding.kind for finding in unlisted)
            continue
        kernels.append(function)
        instructions += len(function.instructions)
        decisions += len(flow.events)
        for finding in unlisted:
            wrong.setdefault((finding.function, finding.kind, finding.names[-1]), finding)
    print(f"{executable}: {len(kernels)} functions of AVX-512 and SHA kernels,"
          f" {instructions} instructions, {decisions} of which branch or touch memory")
    for (function, kind, source), finding in sorted(wrong.items()):
        print(f"  not listed: {function} | {kind} | {source} |"
              f" {finding.instruction.address:x}: {finding.instruction.text[:60]}")
    passed = not wrong
    for file in files_without_code(kernels):
        if not any([entry.covers(Finding(file, "file", ["no code"], None)) for entry in reviewed]):
            print(f"  {file}: no code of this file was seen")
            passed = False
    if planted:
        for leak, kind in PLANTED.items():
            is_found = kind in planted.get(leak, ())
            print(f"planted: {leak}: {'reported' if is_found else 'NOT reported'}")
            passed &= is_found
    return passed


def main():
    with open(os.path.join(HERE, "reviewed.txt"), encoding="utf-8") as file:
        lines = [line for line in file if line.strip() and not line.startswith("#")]
    reviewed = [Reviewed(line) for line in lines]
    results = [check(executable, reviewed) for executable in sys.argv[1:]]
    for entry in reviewed:
        if not entry.is_used:
            print(f"not needed any more: {entry.function} | {entry.kind} | {entry.source}")
    sys.exit(0 if results and all(results) else 1)


main()
