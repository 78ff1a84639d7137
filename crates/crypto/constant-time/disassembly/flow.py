"""Where the values come from that decide on a kernel's branches and addresses.

Every register and every place of the frame has a value of two parts:

- `sources`: the bytes of memory that it was computed from, each ('vector' or
  'general', place, offset, length), by the kind of register they were loaded into;
- `places`: what it may point into, written as the way there from the arguments:
  `rdi[8]` is what lies 8 bytes behind the first argument.

Values are followed along all paths of one function until nothing changes. An
offset that differs between paths is None; what a callee returns is a place of its
own, and what it wrote into the frame is a vector's where a vector reads it. Behind
a function without a `ret`, such as one that panics, no path goes on. Of an
offset that is not known, `floor` says where the object begins; an array in the frame
is judged by its first element, since all are of one type.
"""

from collections import namedtuple

Value = namedtuple("Value", "sources places offset floor", defaults=(None,))
Source = namedtuple("Source", "kind place offset bytes")
Event = namedtuple("Event", "kind sources instruction")

NOTHING = frozenset()
PUBLIC = Value(NOTHING, NOTHING, None)

# Beyond these, places are one place and the way to it is cut short.
MOST_PLACES = 8
DEEPEST = 5

# Bytes that an access at an offset unknown to us may reach beyond the one known.
REACH = 512

# Bytes that a callee is taken to write where an argument points to.
CERTAIN = 256

# Bytes of the frame that are told apart.
CELL = 4

# Instructions whose first operand is only written, among those without a `v`.
WRITE_ONLY = {
    "mov", "movabs", "movzx", "movsx", "movsxd", "lea", "popcnt", "lzcnt", "tzcnt", "bsf",
    "bsr", "rorx", "shlx", "shrx", "sarx", "andn", "bextr", "bzhi", "pext", "pdep", "blsr",
    "blsi", "blsmsk", "movaps", "movups", "movdqa", "movdqu", "movbe", "movd", "movq", "pop",
}

# Vector instructions whose first operand is read, too.
ACCUMULATE = ("vpternlog", "vpermi2", "vpermt2", "vpmadd52", "vfm", "vfnm", "vpdp", "vpshldv",
              "vpshrdv")

# Only their flags matter.
COMPARE = {"cmp", "test", "bt", "vptest", "vtestps", "vtestpd", "vucomiss", "vucomisd",
           "vcomiss", "vcomisd", "ucomiss", "ucomisd", "ptest"}
COMPARE_MASKS = ("kortest", "ktest")

# The vector instructions that set flags besides those.
STRING_COMPARE = ("pcmpestr", "pcmpistr")

IGNORED = {"nop", "nopw", "nopl", "endbr64", "vzeroupper", "vzeroall", "ud2", "int3", "ret",
           "cld", "pause", "lfence", "sfence", "mfence", "leave", "hlt", "xchg", "data16"}

DIVISIONS = {"div", "idiv"}

# Registers that a callee may change, by the System V ABI.
VOLATILE = ["rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11"]
ARGUMENTS = ["rdi", "rsi", "rdx", "rcx", "r8", "r9"]


def join(a, b):
    if a is b or a == b:
        return a
    offset = a.offset if a.offset == b.offset else None
    floor = None
    if offset is None:
        floor = start(b) if start(a) is None else start(a)
        if None not in (a.offset, b.offset):
            floor = min(a.offset, b.offset)
    return Value(a.sources | b.sources, capped(a.places | b.places), offset, floor)


def start(value):
    """Where the object begins that a pointer points into."""
    return value.floor if value.offset is None else value.offset


def capped(places):
    return places if len(places) <= MOST_PLACES else frozenset(["many"])


def within(place, offset):
    """The place that a pointer at `offset` of `place` leads to."""
    if place.count("[") >= DEEPEST:
        return "deep"
    return f"{place}[{'*' if offset is None else offset}]"


def is_frame(place):
    return place.startswith("frame")


class State:
    def __init__(self, registers, frame):
        self.registers, self.frame = registers, frame
        # Of registers whose lowest byte was written last: the value that the register
        # got, and that of the byte.
        self.lowest = {}

    def copy(self):
        copy = State(dict(self.registers), dict(self.frame))
        copy.lowest = dict(self.lowest)
        return copy

    def get(self, register):
        return self.registers.get(register, PUBLIC)

    def get_lowest(self, register):
        whole = self.get(register)
        written, byte = self.lowest.get(register, (None, None))
        return byte if written is whole else whole

    def join(self, other):
        """Takes in another path; says whether anything changed."""
        changed = False
        lowest = {register: (self.get_lowest(register), other.get_lowest(register))
                  for register in self.lowest | other.lowest if register in self.registers}
        for mine, theirs in ((self.registers, other.registers), (self.frame, other.frame)):
            for key, value in theirs.items():
                old = mine.get(key)
                if old is value:
                    continue
                joined = value if old is None else join(old, value)
                if old != joined:
                    mine[key], changed = joined, True
        for register, (mine, theirs) in lowest.items():
            joined = join(mine, theirs)
            self.lowest[register] = self.registers[register], joined
            changed |= joined != mine
        return changed


class Flow:
    """The data flow of one function."""

    def __init__(self, function, image):
        self.function, self.image = function, image
        self.events = []
        # What vectors load and store outside of the frame.
        self.vector_accesses = set()
        # Calls that are followed as if they returned: see `find_hidden`.
        self.returning = set()
        self.recording = False
        self.run()

    # Control flow

    def run(self):
        entry = State({register: Value(NOTHING, frozenset([register]), 0)
                       for register in ARGUMENTS}, {})
        entry.registers["rsp"] = Value(NOTHING, frozenset(["frame"]), 0)
        for number in range(8):
            source = Source("vector", "argument", number, 64)
            entry.registers[f"v{number}"] = Value(frozenset([source]), NOTHING, None)
        code = self.function.instructions
        positions = {instruction.address: at for at, instruction in enumerate(code)}
        # The state in front of each instruction that a path was found to.
        starts = self.starts(positions)
        states = {0: entry}
        # In the order of addresses, so that a loop settles before what is behind it.
        waiting = {0}
        while waiting or self.find_hidden(states, waiting):
            at = min(waiting)
            waiting.remove(at)
            state = states[at].copy()
            while True:
                self.step(code[at], state)
                successors = self.successors(at, state, positions)
                if successors == [at + 1] and at + 1 not in starts:
                    at += 1
                    continue
                break
            for successor in successors:
                starts.add(successor)
                if successor not in states:
                    states[successor] = state.copy()
                elif not states[successor].join(state):
                    continue
                waiting.add(successor)
        self.recording = True
        for at, state in states.items():
            state = state.copy()
            for at in self.block(at, states):
                self.step(code[at], state)
        reached = self.reached(states)
        self.unreached = [instruction for at, instruction in enumerate(code)
                          if at not in reached and instruction.name not in IGNORED]

    def block(self, at, states):
        """The instructions from one on that only its state leads to."""
        while True:
            yield at
            at += 1
            if self.ends_path(at - 1) or at in states or at == len(self.function.instructions):
                break

    def reached(self, states):
        return {at for start in states for at in self.block(start, states)}

    def find_hidden(self, states, waiting):
        """What lies behind a call that does not return, and that no path leads to:
        landing pads, and code of a compiler that did not know. It is followed as if
        the call returned, so that nothing is passed over."""
        reached = self.reached(states)
        for at in reached:
            if self.is_last_call(at) and at + 1 not in reached \
                    and at + 1 < len(self.function.instructions):
                self.returning.add(at)
                waiting.add(max(start for start in states if start <= at))
        return bool(waiting)

    def starts(self, positions):
        """Where a block begins, but for what jump tables lead to."""
        found = set()
        for at, instruction in enumerate(self.function.instructions):
            if instruction.name[0] == "j":
                found.add(at + 1)
                if instruction.target in positions:
                    found.add(positions[instruction.target])
        return found

    def successors(self, at, state, positions):
        instruction = self.function.instructions[at]
        found = []
        if instruction.target in positions and instruction.name[0] == "j":
            found.append(positions[instruction.target])
        elif instruction.name == "jmp" and instruction.target is None:
            for place in self.read(instruction.operands[0], state).places:
                if place.startswith("data "):
                    table = self.image.jump_table(int(place[5:], 16), positions)
                    found += [positions[target] for target in table]
        if not self.ends_path(at) and at + 1 < len(self.function.instructions):
            found.append(at + 1)
        return found

    def ends_path(self, at):
        return self.function.instructions[at].ends_path() or self.is_last_call(at)

    def is_last_call(self, at):
        """Whether what is called never returns, as far as we do not say otherwise."""
        instruction = self.function.instructions[at]
        return instruction.name == "call" and at not in self.returning \
            and not self.image.returns(instruction)

    # Data flow

    def step(self, instruction, state):
        name, operands = instruction.name, instruction.operands
        self.into_vector = bool(operands) and operands[0].is_vector()
        for operand in operands:
            if operand.memory and name not in ("lea", "nop", "nopw", "nopl") \
                    and not name.startswith("prefetch"):
                sources = self.address(operand.memory, state)[2]
                kind = "gather" if operand.memory.is_vector_indexed() else "address"
                self.note(kind, sources, instruction)
                if operand.mask:
                    self.note("mask", state.get(operand.mask).sources, instruction)
        if name[0] == "j":
            if instruction.is_conditional():
                flags = "rcx" if name in ("jrcxz", "jecxz") else "flags"
                self.note("branch", state.get(flags).sources, instruction)
            elif operands:
                self.note("jump", self.read(operands[0], state).sources, instruction)
            return
        if name == "call":
            self.call(instruction, state)
        elif name in DIVISIONS:
            value = join(self.read(operands[0], state),
                         join(state.get("rax"), state.get("rdx")))
            self.note("divide", value.sources, instruction)
            for register in ("rax", "rdx"):
                state.registers[register] = Value(value.sources, NOTHING, None)
        elif name == "push":
            rsp = state.get("rsp")
            if rsp.offset is not None:
                state.registers["rsp"] = rsp._replace(offset=rsp.offset - 8)
                self.write_frame(state, state.get("rsp"), 8, self.read(operands[0], state))
        elif name == "pop":
            rsp = state.get("rsp")
            state.registers[operands[0].register] = self.read_frame(state, rsp, 8, False)
            if rsp.offset is not None:
                state.registers["rsp"] = rsp._replace(offset=rsp.offset + 8)
        elif name in ("stos", "movs", "cmps", "scas"):
            for register in ("rcx", "rsi", "rdi"):
                self.note("address", state.get(register).sources, instruction)
        elif name in ("cqo", "cdq"):
            state.registers["rdx"] = Value(state.get("rax").sources, NOTHING, None)
        elif name in ("mul", "imul") and len(operands) == 1:
            value = join(self.read(operands[0], state), state.get("rax"))
            for register in ("rax", "rdx", "flags"):
                state.registers[register] = Value(value.sources, NOTHING, None)
        elif name == "xchg" and [o.register for o in operands] == ["rbx", "rbx"]:
            self.publish(state)
        elif name == "xchg" and len(operands) == 2 and not any(o.memory for o in operands):
            a, b = (operand.register for operand in operands)
            state.registers[a], state.registers[b] = state.get(b), state.get(a)
        elif name in COMPARE or name.startswith(COMPARE_MASKS):
            state.registers["flags"] = self.sum(operands, state)
        elif name not in IGNORED and not name.startswith("prefetch") and operands:
            self.compute(instruction, state)

    def compute(self, instruction, state):
        name, operands = instruction.name, instruction.operands
        first, rest = operands[0], operands[1:]
        is_move = name in ("mov", "movabs") or (name.startswith(("vmov", "kmov", "movap", "movup",
                                                                 "movdq")) and len(operands) == 2)
        if name == "lea":
            places, offset, sources = self.address(rest[0].memory, state)
            if rest[0].memory.is_constant:
                places = frozenset([f"data {instruction.referred or 0:x}"])
            floor = self.floor(rest[0].memory, state) if offset is None else None
            value = Value(sources, places, offset, floor)
        elif is_move and not first.mask:
            value = self.read(rest[0], state)
        elif clears(name, operands):
            value = PUBLIC
        elif name in ("add", "sub") and rest and constant(rest[0]) is not None:
            by = constant(rest[0]) * (1 if name == "add" else -1)
            value = moved(self.read(first, state), by)
        elif name == "and" and first.register == "rsp":
            # From here on offsets count from an aligned address.
            value = Value(NOTHING, frozenset(["frame aligned"]), 0)
        else:
            is_read = not (name in WRITE_ONLY or name.startswith("set")
                           or name[0] in "vk" and not name.startswith(ACCUMULATE)
                           or name == "imul" and len(operands) == 3)
            if first.mask and not first.is_zeroed:
                is_read = True
            value = self.sum(operands if is_read else rest, state)
            for operand in operands:
                if operand.mask:
                    value = join(value, Value(state.get(operand.mask).sources, NOTHING, None))
            if name.startswith("set") or name in ("adc", "sbb") or name.startswith("cmov"):
                value = join(value, Value(state.get("flags").sources, NOTHING, None))
            pointers = [state.get(o.register) for o in operands if o.register] \
                if name == "add" else []
            floors = [start(p) for p in pointers if any(map(is_frame, p.places))]
            value = value._replace(offset=None, floor=floors[0] if floors else None)
        is_vector = any(o.register and o.register.startswith("v") for o in operands)
        sets_flags = not is_vector or name.startswith(STRING_COMPARE)
        if sets_flags and not is_move and name != "lea" and name[0] not in "vk" \
                and not name.startswith(("cmov", "set", "movzx", "movs")):
            state.registers["flags"] = Value(value.sources, NOTHING, None)
        if first.is_part:
            # The rest of the register stays as it was.
            whole = join(state.get(first.register), value)
            if first.is_lowest:
                state.lowest[first.register] = whole, value
            value = whole
        self.write(first, value, state)

    def sum(self, operands, state):
        value = PUBLIC
        for position, operand in enumerate(operands):
            part = self.read(operand, state)
            value = part if position == 0 else Value(
                value.sources | part.sources, capped(value.places | part.places), None)
        return value

    def call(self, instruction, state):
        for operand in instruction.operands:
            self.note("jump", self.read(operand, state).sources, instruction)
        # What the callee may write: the frame from where an argument points on.
        for register in ARGUMENTS:
            value = state.get(register)
            begin = start(value)
            if begin is not None and any(map(is_frame, value.places)):
                for place, at in ((p, a) for p in value.places if is_frame(p)
                                  for a in cells_of(begin, REACH)):
                    if (place, at) in state.frame or at * CELL < begin + CERTAIN:
                        cell = state.frame.get((place, at), PUBLIC)
                        written = Source("callee", place, at * CELL, CELL)
                        if written not in cell.sources:
                            state.frame[place, at] = cell._replace(
                                sources=cell.sources | {written})
        place = frozenset([f"result of {instruction.address:x}"])
        for register in VOLATILE:
            state.registers[register] = Value(NOTHING, place, 0)
        for number in range(32):
            state.registers[f"v{number}"] = PUBLIC
        state.registers["flags"] = PUBLIC

    def publish(self, state):
        """A request of memcheck's: the program declares a byte of the frame public, such
        as the verdict on a tag. `rax` leads to the request, whose second word leads to it.
        Of the cell that it lies in, the other bytes are taken to be public too. Requests
        that declare bytes secret are not told apart: kernels make none."""
        request = state.get("rax")
        if request.offset is None or not any(map(is_frame, request.places)):
            return
        byte = self.read_frame(state, moved(request, 8), 8, False)
        for place in filter(is_frame, byte.places):
            if byte.offset is not None and len(byte.places) == 1:
                state.frame[place, byte.offset // CELL] = PUBLIC

    # Registers and memory

    def address(self, memory, state):
        """What an operand points into, at which offset, and what decided on that."""
        if memory.is_constant:
            return frozenset(["data"]), None, NOTHING
        sources, places, offset = NOTHING, NOTHING, None
        for register in memory.registers():
            value = state.get(register)
            sources |= value.sources
            if register == memory.index and memory.scale > 1:
                continue
            places |= value.places
            offset = value.offset
        if len(memory.registers()) == 1 and memory.base and offset is not None:
            return places, offset + memory.offset, sources
        return capped(places), None, sources

    def floor(self, memory, state):
        """Where the object in the frame begins that an operand is of."""
        for register in memory.registers():
            value = state.get(register)
            if any(map(is_frame, value.places)) and start(value) is not None:
                return start(value) + memory.offset
        return None

    def read(self, operand, state):
        if operand.register:
            return (state.get_lowest if operand.is_lowest else state.get)(operand.register)
        if operand.memory:
            return self.load(operand, state)
        return PUBLIC

    def load(self, operand, state):
        memory = operand.memory
        places, offset, _ = self.address(memory, state)
        is_vector = memory.bytes > 8 or self.into_vector
        if places and all(place.startswith("data") for place in places):
            return PUBLIC
        frames = [place for place in places if is_frame(place)]
        if frames:
            pointer = Value(NOTHING, frozenset(frames[:1]), offset)
            return self.read_frame(state, pointer, memory.bytes, is_vector,
                                   self.floor(memory, state))
        kind = "vector" if is_vector else "general"
        sources = frozenset(Source(kind, place, offset, memory.bytes) for place in places)
        if is_vector and self.recording:
            self.vector_accesses |= sources
        return Value(sources, frozenset(within(place, offset) for place in places), 0)

    def read_frame(self, state, pointer, length, is_vector, floor=None):
        (place, *_) = pointer.places
        if pointer.offset is None:
            cells = array(state.frame, place, floor)
        else:
            keys = [(place, cell) for cell in cells_of(pointer.offset, length)]
            cells = [state.frame[key] for key in keys if key in state.frame]
            if is_vector and len(cells) < len(keys):
                source = Source("vector", place, pointer.offset, length)
                cells.append(Value(frozenset([source]), NOTHING, None))
        value = PUBLIC
        for position, cell in enumerate(cells):
            value = cell if position == 0 else join(value, cell)
        return value._replace(sources=frozenset(
            source._replace(kind="vector") if source.kind == "callee" else source
            for source in value.sources if source.kind != "callee" or is_vector))

    def write(self, operand, value, state):
        if operand.register:
            state.registers[operand.register] = value
        elif operand.memory:
            memory = operand.memory
            places, offset, _ = self.address(memory, state)
            frames = [place for place in places if is_frame(place)]
            if frames:
                if offset is None:
                    floor = self.floor(memory, state)
                    if floor is not None:
                        key = (frames[0], floor // CELL)
                        state.frame[key] = join(state.frame.get(key, value), value)
                else:
                    if operand.mask:
                        value = join(value, self.read_frame(
                            state, Value(NOTHING, frozenset(frames), offset), memory.bytes, False))
                    self.write_frame(state, Value(NOTHING, frozenset(frames[:1]), offset),
                                     memory.bytes, value)
            elif memory.bytes > 8 and self.recording:
                self.vector_accesses |= {
                    Source("vector", place, offset, memory.bytes) for place in places}

    def write_frame(self, state, pointer, length, value):
        (place, *_) = pointer.places
        if length != 8:
            value = Value(value.sources, NOTHING, None) if length > 8 else value
        for cell in cells_of(pointer.offset, length):
            key = (place, cell)
            if length < CELL and key in state.frame:
                value = join(value, state.frame[key])
            state.frame[key] = value

    def note(self, kind, sources, instruction):
        if self.recording:
            self.events.append(Event(kind, sources, instruction))


def array(frame, place, floor):
    """What is in the frame from `floor` on that is as secret as its beginning."""
    if floor is None:
        return [value for (where, _), value in frame.items() if where == place]
    near = [frame.get((place, cell)) for cell in cells_of(floor, REACH)]
    if near[0] is None:
        return [value for value in near if value]
    end = next((at for at, value in enumerate(near)
                if value is None or is_secret(value) != is_secret(near[0])), len(near))
    return near[:end]


def is_secret(value):
    return any(source.kind == "vector" for source in value.sources)


def moved(value, by):
    return value._replace(
        offset=None if value.offset is None else value.offset + by,
        floor=None if value.floor is None else value.floor + by)


def cells_of(offset, length):
    return range(offset // CELL, (offset + length - 1) // CELL + 1)


def constant(operand):
    try:
        value = int(operand.text, 0)
    except ValueError:
        return None
    return value - ((value >> 63) << 64)


def clears(name, operands):
    """Whether the result is the same whatever the operands are."""
    if name.startswith("vpternlog") and operands[-1].text in ("0xff", "0x0"):
        return True
    exclusive_or = ("xor", "sub", "pxor", "xorps", "vpxor", "vxorp", "vpsub", "kxor")
    sources = operands if len(operands) == 2 else operands[1:]
    return name.startswith(exclusive_or) and len(sources) == 2 and not sources[0].memory \
        and sources[0].text == sources[1].text and not any(o.mask for o in operands)
