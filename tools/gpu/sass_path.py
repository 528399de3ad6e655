"""The machine code of a kernel, as nvdisasm prints it, and the cheapest way through its loop."""

from __future__ import annotations

import heapq
import re
from collections import Counter
from dataclasses import dataclass

__all__ = ["Instruction", "Kernel", "cheapest_path", "counted", "kernels"]

_SECTION = re.compile(r'\.section\s+\.text\.([^,\s"]+)')
_LABEL = re.compile(r"(\.L_x?_?\w+):")
_CODE = re.compile(r"/\*([0-9a-f]{4,})\*/\s+(?:@(!?U?P\w+)\s+)?([A-Z]\w*(?:\.\w+)*)\s*([^;]*);")
_TARGET = re.compile(r"`\((\.L\w+)\)")
_BITS = {"8": 8, "U8": 8, "S8": 8, "16": 16, "U16": 16, "S16": 16, "64": 64, "128": 128}

#: Opcodes by what executes them; every other one is an integer or logical instruction, 1 slot.
_MEMORY = {"LDG", "STG", "LDS", "STS", "LDL", "STL", "LD", "ST", "ATOMG", "RED", "LDSM"}
_CONSTANTS = {"LDC", "ULDC", "S2R", "S2UR", "CS2R", "LDCU"}
_CONTROL = {"BRA", "EXIT", "BSSY", "BSYNC", "NOP", "WARPSYNC", "BAR", "RET", "CALL", "BREAK",
            "YIELD", "DEPBAR", "BMOV", "MEMBAR", "KILL", "BRX", "JMP", "BPT"}  # fmt: skip
_MULTIPLIER = {"IMAD", "FMUL", "FADD", "FFMA", "HADD2", "HMUL2", "HFMA2", "FMUL2", "FFMA2"}
_CONVERSIONS = {"F2FP", "F2F", "F2I", "I2F", "I2FP", "F2IP", "I2IP"}
#: Slots of an instruction: 64 lanes a cycle are 1, 32 are 2, 16 are 4.
_SLOTS = {"SHFL": 2, "FLO": 4, "UFLO": 0, "POPC": 4, "MUFU": 4, "F2F": 4, "F2I": 4, "I2F": 4}


#: Where each reconvergence goes on; an instruction, these, and the loads and stores so far: of
#: numbers, of codes, and of scales.
Barriers = tuple[tuple[str, int], ...]
State = tuple[int, Barriers, int, int, int]


@dataclass(frozen=True, slots=True)
class Instruction:
    """An instruction: its address, opcode with suffixes, operands, and whether it has a guard."""

    address: int
    opcode: str
    operands: str
    guarded: bool

    @property
    def name(self) -> str:
        """The opcode without suffixes."""
        return self.opcode.partition(".")[0]

    @property
    def bits(self) -> int:
        """The bits that a memory instruction moves in a thread."""
        return next((_BITS[part] for part in self.opcode.split(".") if part in _BITS), 32)

    @property
    def kind(self) -> str:
        """`memory`, `constants`, `control`, `uniform`, `multiplier`, `conversion` or `alu`."""
        for kind, names in (
            ("memory", _MEMORY),
            ("constants", _CONSTANTS),
            ("control", _CONTROL),
            ("multiplier", _MULTIPLIER),
            ("conversion", _CONVERSIONS),
        ):
            if self.name in names:
                return kind
        return "uniform" if self.name.startswith("U") else "alu"

    @property
    def slots(self) -> int:
        """Slots of the integer pipe, of which a multiprocessor has 64 lanes a cycle."""
        return _SLOTS.get(self.name, 1) if self.kind in ("alu", "conversion") else 0


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel: its mangled name, its instructions, and the index that each label stands for."""

    name: str
    code: list[Instruction]
    labels: dict[str, int]


def kernels(text: str) -> list[Kernel]:
    """The kernels of what `nvdisasm -c` has printed."""
    found: list[Kernel] = []
    for line in text.splitlines():
        if section := _SECTION.search(line):
            found.append(Kernel(section[1], [], {}))
        elif found and (code := _CODE.search(line)):
            address, guard, opcode, operands = code.groups()
            found[-1].code.append(
                Instruction(int(address, 16), opcode, operands, guard not in (None, "PT", "UPT"))
            )
        elif found and (label := _LABEL.match(line.strip())):
            found[-1].labels[label[1]] = len(found[-1].code)
    return found


def _next(kernel: Kernel, at: int, barriers: Barriers) -> list[int]:
    """The instructions that may follow one: of a reconvergence the place that was named for it."""
    code = kernel.code[at]
    target = _TARGET.search(code.operands)
    after = [at + 1] if at + 1 < len(kernel.code) else []
    if code.name == "BRA" and target:
        conditional = code.guarded or bool(re.match(r"!?U?P[\dT]", code.operands))
        return ([*after] if conditional else []) + [kernel.labels[target[1]]]
    if code.name == "BSYNC":
        return [dict(barriers)[code.operands.strip()]]
    if code.name in ("EXIT", "RET", "KILL") and not code.guarded:
        return []
    return after


def cheapest_path(
    kernel: Kernel,
    loads: tuple[int, int],
    stores: tuple[int, int],
    scales: int = 0,
    *,
    whole: bool = False,
) -> list[Instruction]:
    """The cheapest turn of the kernel's loop that does all loads and stores, in slots.

    A warp does what any of its threads does: it stores scales, though every second thread has none.

    Args:
        kernel: the kernel.
        loads: how many global loads the turn has, and of how many bits each is.
        stores: the same of global stores.
        scales: how many bytes it stores.
        whole: from the kernel's beginning to its end, with one turn.

    Returns:
        The instructions of one turn, from the first one of the loop to the branch back.

    Raises:
        ValueError: no turn of a loop has so many such loads and stores.
    """
    backs = {
        kernel.labels[target[1]]
        for at, code in enumerate(kernel.code)
        if code.name == "BRA" and (target := _TARGET.search(code.operands))
        if kernel.labels[target[1]] <= at
    }
    heads = [0] if whole else sorted(backs)
    wanted = (loads, stores, scales)
    turns = [turn for head in heads if (turn := _turn(kernel, head, *wanted, whole=whole))]
    if not turns:
        raise ValueError(
            f"{kernel.name} must have a loop with {loads[0]} loads of {loads[1]} bits, {stores[0]} "
            f"stores of {stores[1]} and {scales} of a byte, it has none: correct what is expected "
            "of it"
        )
    return min(turns, key=_cost)


def _cost(path: list[Instruction]) -> tuple[int, int]:
    return sum(code.slots for code in path), len(path)


def _turn(
    kernel: Kernel,
    head: int,
    loads: tuple[int, int],
    stores: tuple[int, int],
    scales: int,
    *,
    whole: bool,
) -> list[Instruction] | None:
    """The cheapest way with so many loads and stores from an instruction back to it (Dijkstra).

    `whole`: not back to it, but to the end.
    """
    enclosing: Barriers = _named(kernel, range(head))
    start: State = (head, enclosing, 0, 0, 0)
    best: dict[State, tuple[int, int]] = {start: (0, 0)}
    before: dict[State, State] = {}
    queue: list[tuple[tuple[int, int], State]] = [((0, 0), start)]
    while queue:
        cost, state = heapq.heappop(queue)
        if cost > best[state]:
            continue
        at, barriers, loaded, stored, scaled = state
        code = kernel.code[at]
        if code.name == "LDG" and code.bits == loads[1]:
            loaded += 1
        if code.name == "STG" and code.bits == stores[1]:
            stored += 1
        if code.name == "STG" and code.bits == 8:
            scaled += 1
        if code.name == "BSSY":
            barriers = _with(barriers, kernel, code)
        if loaded > loads[0] or stored > stores[0] or scaled > scales:
            continue
        done = (loaded, stored, scaled) == (loads[0], stores[0], scales)
        if whole and done and code.name == "EXIT":
            return _walked(kernel, before, state)
        for follower in _next(kernel, at, barriers):
            to: State = (follower, barriers, loaded, stored, scaled)
            more = (cost[0] + code.slots, cost[1] + 1)
            if follower == head and done and not whole:
                return _walked(kernel, before, state)
            if (whole or follower > head) and (to not in best or more < best[to]):
                best[to] = more
                before[to] = state
                heapq.heappush(queue, (more, to))
    return None


def _walked(kernel: Kernel, before: dict[State, State], last: State) -> list[Instruction]:
    """The instructions up to a state."""
    path = [last]
    while path[-1] in before:
        path.append(before[path[-1]])
    return [kernel.code[step[0]] for step in reversed(path)]


def _with(barriers: Barriers, kernel: Kernel, code: Instruction) -> Barriers:
    """The barriers after a BSSY, which names where its BSYNC goes on."""
    register = code.operands.partition(",")[0].strip()
    target = _TARGET.search(code.operands)
    named = dict(barriers)
    if target:
        named[register] = kernel.labels[target[1]]
    return tuple(sorted(named.items()))


def _named(kernel: Kernel, span: range) -> Barriers:
    """The barriers that the code before a loop has named."""
    barriers: Barriers = ()
    for at in span:
        if kernel.code[at].name == "BSSY":
            barriers = _with(barriers, kernel, kernel.code[at])
    return barriers


def counted(path: list[Instruction], elements: int) -> dict[str, float]:
    """What a path costs an element, to three decimal places.

    `issued` are all instructions, `slots` those of the integer pipe, and then what other units do.
    """
    slots = sum(code.slots for code in path)
    kinds = Counter(code.kind for code in path)
    found = {
        "issued": len(path),
        "slots": slots,
        **{kind: kinds[kind] for kind in ("conversion", "multiplier")},
    }
    found |= {kind: kinds[kind] for kind in ("memory", "constants", "uniform")}
    each = {name: round(count / elements, 3) for name, count in found.items()}
    return each | {"branches": sum(code.name == "BRA" for code in path)}
