"""Machine code of an executable, as objdump prints it: functions, instructions, operands."""

import functools
import re
import struct
import subprocess

# Names of one register, in widths from 8 to 1 byte.
GENERAL = {}
for letter in "abcd":
    for name in (f"r{letter}x", f"e{letter}x", f"{letter}x", f"{letter}l", f"{letter}h"):
        GENERAL[name] = f"r{letter}x"
for word in ("si", "di", "bp", "sp"):
    for name in (f"r{word}", f"e{word}", word, f"{word}l"):
        GENERAL[name] = f"r{word}"
for number in range(8, 16):
    for suffix in ("", "d", "w", "b"):
        GENERAL[f"r{number}{suffix}"] = f"r{number}"

VECTOR = re.compile(r"([xyz])mm(\d+)")
MEMORY = re.compile(r"(?:(\w+) (?:PTR|BCST) )?(?:[cdefgs]s:)?\[([^\]]*)\]")
BYTES = {
    "BYTE": 1, "WORD": 2, "DWORD": 4, "QWORD": 8, "XMMWORD": 16, "YMMWORD": 32, "ZMMWORD": 64,
}
# What ELF calls a section of relocations, and one whose pointer is a place of the executable.
RELOCATIONS = 4
RELATIVE = 8

PREFIXES = {"rep", "repz", "repnz", "lock", "notrack", "bnd", "data16", "cs", "ds", "es"}


class Memory:
    """An operand in memory: `base + index * scale + offset`."""

    def __init__(self, text, keyword):
        self.bytes = BYTES.get(keyword, 8)
        self.base = self.index = None
        self.scale, self.offset = 1, 0
        self.is_constant = text.startswith("rip")
        for sign, term in re.findall(r"([+-]?)([^+-]+)", text):
            if term.startswith("0x") or term.isdigit():
                value = int(term, 0)
                value -= (value >> 63) << 64
                self.offset += -value if sign == "-" else value
            elif "*" in term:
                register, scale = term.split("*")
                self.index, self.scale = canonical(register), int(scale)
            elif self.base is None:
                self.base = canonical(term)
            else:
                self.index = canonical(term)
        if self.index in ("riz", "eiz"):
            self.index = None

    def registers(self):
        return [r for r in (self.base, self.index) if r and r != "rip"]

    def is_vector_indexed(self):
        return bool(self.index and self.index.startswith("v"))


class Operand:
    """A register, a place in memory, or neither; and the mask that governs it."""

    def __init__(self, text):
        self.text = text
        mask = re.search(r"\{k(\d)\}", text)
        self.mask = f"k{mask[1]}" if mask else None
        self.is_zeroed = "{z}" in text
        bare = re.sub(r"\{[^}]*\}", "", text).strip()
        place = MEMORY.search(bare)
        self.memory = Memory(place[2], place[1]) if place else None
        self.register = None if self.memory else canonical(bare)
        self.is_part = bool(re.fullmatch(r"[abcd][lhx]|[sd]il?|[sb]pl?|r\d+[bw]", bare))
        self.is_lowest = self.is_part and bare[-1] in "lb"

    def is_vector(self):
        return bool(self.register and self.register[0] == "v")

    def is_mask(self):
        return bool(self.register and re.fullmatch(r"k\d", self.register))


class Instruction:
    def __init__(self, address, text):
        self.address, self.text = address, text.strip()
        referred = re.search(r"# ([0-9a-f]+)", text)
        self.referred = int(referred[1], 16) if referred else None
        words = text.split("#")[0].split(None, 1)
        while len(words) == 2 and words[0] in PREFIXES:
            words = words[1].split(None, 1)
        self.name = words[0] if words else "nop"
        rest = words[1].strip() if len(words) == 2 else ""
        self.target = None
        self.operands = []
        if self.name == "call" or self.name[0] == "j":
            target = re.match(r"([0-9a-f]+)(?: <|$)", rest)
            if target:
                self.target = int(target[1], 16)
                return
        pieces = re.split(r",(?![^\[]*\])", rest) if rest else []
        self.operands = [Operand(piece) for piece in pieces]

    def is_conditional(self):
        return self.name[0] == "j" and self.name != "jmp"

    def ends_path(self):
        return self.name in ("jmp", "ret", "ud2", "hlt", "int3")


class Function:
    def __init__(self, address, name):
        self.address, self.name = address, name
        self.rows = []
        # Paths of the source files that its code is from, inlined code included.
        self.files = set()

    def has(self, text):
        return any(text in row for _, row in self.rows)

    @functools.cached_property
    def returns(self):
        """Whether it may: it has a `ret`, or a jump to what is not of it."""
        addresses = {int(address, 16) for address, _ in self.rows}
        return any(instruction.name == "ret"
                   or instruction.name[0] == "j" and instruction.target not in addresses
                   for instruction in self.instructions)

    @functools.cached_property
    def instructions(self):
        return [Instruction(int(address, 16), row) for address, row in self.rows]


def canonical(name):
    """One name for all widths of a register; None for what is none."""
    vector = VECTOR.fullmatch(name)
    if vector:
        return f"v{vector[2]}"
    if re.fullmatch(r"k\d", name):
        return name
    return GENERAL.get(name)


def functions(executable):
    """The functions of an executable."""
    listing = subprocess.run(
        ["objdump", "-d", "-l", "-C", "-M", "intel", "--no-show-raw-insn", executable],
        check=True, capture_output=True, text=True,
    ).stdout
    found = []
    for line in listing.splitlines():
        header = re.fullmatch(r"([0-9a-f]+) <(.*)>:", line)
        row = re.match(r"\s*([0-9a-f]+):\s+(.*)", line)
        file = re.match(r"(/.*\.rs):\d+", line)
        if header:
            found.append(Function(int(header[1], 16), header[2]))
        elif row and found:
            found[-1].rows.append((row[1], row[2]))
        elif file and found:
            found[-1].files.add(file[1])
    return found


class Image:
    """An ELF executable: its functions, and its bytes, for jump tables."""

    def __init__(self, executable):
        self.functions = {function.address: function for function in functions(executable)}
        with open(executable, "rb") as file:
            self.bytes = file.read()
        (table,) = struct.unpack_from("<Q", self.bytes, 32)
        entry_bytes, entries = struct.unpack_from("<HH", self.bytes, 54)
        self.segments = []
        for entry in range(entries):
            kind, _, offset, address, _, length = struct.unpack_from(
                "<IIQQQQ", self.bytes, table + entry * entry_bytes)
            if kind == 1:
                self.segments.append((address, offset, length))

        self.pointers = self.relocated()

    def relocated(self):
        """The pointers that the loader writes: where they are, and where they lead."""
        (table,) = struct.unpack_from("<Q", self.bytes, 40)
        entry_bytes, entries = struct.unpack_from("<HH", self.bytes, 58)
        found = {}
        for entry in range(entries):
            _, kind, _, _, offset, length = struct.unpack_from(
                "<IIQQQQ", self.bytes, table + entry * entry_bytes)
            if kind == RELOCATIONS:
                for at, kind, leads_to in struct.iter_unpack(
                        "<QQq", self.bytes[offset:offset + length]):
                    if kind == RELATIVE:
                        found[at] = leads_to
        return found

    def returns(self, call):
        """Whether what is called may return, as far as is known of it."""
        callee = self.functions.get(call.target or self.pointers.get(call.referred))
        return callee is None or callee.returns

    def jump_table(self, at, targets):
        """Where the table at that address leads: as long as it names instructions."""
        found = []
        for address, offset, length in self.segments:
            place = at
            while address <= place and place + 4 <= address + length:
                (distance,) = struct.unpack_from("<i", self.bytes, offset + place - address)
                if at + distance not in targets:
                    break
                found.append(at + distance)
                place += 4
        return found
