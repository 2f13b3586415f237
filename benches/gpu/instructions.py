#!/usr/bin/env python3
"""What a real GPU compiler makes of every kernel, without a card.

Mesa's RADV compiles for hardware that is not there. `examples/kernels.rs` writes the SPIR-V that
the executor would give it, and the driver says what it made of it.

    benches/gpu/instructions.py            holds the kernels against instructions.md: none may have
                                           grown by more than 10 %
    benches/gpu/instructions.py --renew    writes instructions.md again
    benches/gpu/instructions.py --print    prints the table only; --shaders FOLDER takes the shaders
                                           of a folder
    benches/gpu/instructions.py --checks   prints what each kernel would be without the checks of
                                           wgpu: clamped indices, bounded loops, robust buffers

Needs Python 3.9 or newer and Debian's mesa-vulkan-drivers, and nothing beyond.
"""

import argparse
import ctypes as C
import glob
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
TABLE = HERE / "instructions.md"
# As this Mesa names them. GFX1100 is Navi 31.
FAMILIES = {"navi21": "RDNA 2", "gfx1100": "RDNA 3"}
# Column of the table, and what the driver calls it. From the third on, growth is no fault of its
# own.
COLUMNS = {
    "instructions": "Instructions",
    "cycles": "Inverse Throughput",
    "VGPRs": "VGPRs",
    "SGPRs": "SGPRs",
    "spilled": ("Spilled SGPRs", "Spilled VGPRs"),
}
GROWTH = 1.1

HEAD = """# What a compiler makes of the kernels

Mesa's RADV compiled each kernel for cards that were not there:
{adapters}.
`benches/gpu/instructions.py --renew` wrote this page, and `.ci/run` holds the kernels against it:
none may have more than 1.1 times the instructions or cycles, or spill more.

The counts are static. A loop counts once, and a branch counts whether it is taken or not. Rows that
end in *inside* leave out what happens only near the border of a map, so they say what nearly all
cells run. Cycles are the compiler's estimate of inverse throughput. `settle` is compiled for the
usual brush (radius above 1 to 3: 2 taps to each side), and once for all others.
"""


# What is here of vulkan.h: structures begin with a type and a pointer to more.
COMPUTE = 0x20
UNIFORM_DYNAMIC, STORAGE = 8, 7


def structure(kind, *fields):
    """A Vulkan structure of type `kind`: a class with these fields."""
    names = [f"field{i}" for i in range(len(fields))]
    body = [("sType", C.c_uint32), ("pNext", C.c_void_p), *zip(names, fields)]
    made = type("Structure", (C.Structure,), {"_fields_": body})
    return lambda *values, more=None: made(kind, more, *values)


U32, PTR, TEXT, SIZE = C.c_uint32, C.c_void_p, C.c_char_p, C.c_size_t
Application = structure(0, TEXT, U32, TEXT, U32, U32)
Instance = structure(1, U32, PTR, U32, PTR, U32, PTR)
Queue = structure(2, U32, U32, U32, PTR)
Device = structure(3, U32, U32, PTR, U32, PTR, U32, PTR, PTR)
Module = structure(16, U32, SIZE, PTR)
PipelineLayout = structure(30, U32, U32, PTR, U32, PTR)
SetLayout = structure(32, U32, U32, PTR)
MemoryModel = structure(1000211000, U32, U32, U32)


class Stage(C.Structure):
    _fields_ = [
        ("sType", U32),
        ("pNext", PTR),
        ("flags", U32),
        ("stage", U32),
        ("module", PTR),
        ("entry", TEXT),
        ("special", PTR),
    ]


class Compute(C.Structure):
    _fields_ = [
        ("sType", U32),
        ("pNext", PTR),
        ("flags", U32),
        ("stage", Stage),
        ("layout", PTR),
        ("base", PTR),
        ("index", C.c_int32),
    ]


class Binding(C.Structure):
    _fields_ = [("binding", U32), ("kind", U32), ("count", U32), ("stages", U32), ("samplers", PTR)]


def compile_all():
    """Compiles the kernels that standard input lists. The driver writes its statistics to standard
    error, after the names."""
    vulkan = C.CDLL("libvulkan.so.1")

    def make(function, parent, info):
        made = PTR()
        before = [parent] if parent else []
        result = getattr(vulkan, function)(*before, C.byref(info), None, C.byref(made))
        if result != 0:
            sys.exit(f"{function}: {result}")
        return made

    application = Application(None, 0, None, 0, 3 << 12 | 1 << 22)
    instance = make(
        "vkCreateInstance", None, Instance(0, C.addressof(application), 0, None, 0, None)
    )
    count, adapter = U32(1), PTR()
    vulkan.vkEnumeratePhysicalDevices(instance, C.byref(count), C.byref(adapter))
    if not adapter:
        sys.exit("the driver has no such family")
    properties = C.create_string_buffer(4096)
    vulkan.vkGetPhysicalDeviceProperties(adapter, properties)
    version = int.from_bytes(properties.raw[4:8], "little")
    mesa = f"Mesa {version >> 22}.{version >> 12 & 0x3FF}.{version & 0xFFF}"
    print(
        "ADAPTER",
        properties.raw[20:].split(b"\0")[0].decode() + ", " + mesa,
        file=sys.stderr,
        flush=True,
    )
    weight = C.c_float(1)
    queue = Queue(0, 0, 1, C.addressof(weight))
    # Buffers with checked bounds, the first of the features, as wgpu has them.
    robust = "buffers" not in os.environ.get("THALWEG_WITHOUT", "")
    features, memory = (U32 * 55)(int(robust)), MemoryModel(1, 0, 0)
    info = Device(
        0, 1, C.addressof(queue), 0, None, 0, None, C.addressof(features), more=C.addressof(memory)
    )
    device = make("vkCreateDevice", adapter, info)
    for line in sys.stdin:
        path, entry, bound, name = line.rstrip("\n").split("\t")
        bindings = (Binding * len(bound))(
            *(
                Binding(i, UNIFORM_DYNAMIC if kind == "u" else STORAGE, 1, COMPUTE, None)
                for i, kind in enumerate(bound)
            )
        )
        layout = make(
            "vkCreateDescriptorSetLayout", device, SetLayout(0, len(bound), C.addressof(bindings))
        )
        layout = make(
            "vkCreatePipelineLayout", device, PipelineLayout(0, 1, C.addressof(layout), 0, None)
        )
        words = Path(path).read_bytes()
        module = make("vkCreateShaderModule", device, Module(0, len(words), C.cast(words, PTR)))
        print("KERNEL", name, file=sys.stderr, flush=True)
        info = Compute(
            29, None, 0, Stage(18, None, 0, COMPUTE, module, entry.encode(), None), layout, None, -1
        )
        pipeline = PTR()
        result = vulkan.vkCreateComputePipelines(
            device, None, 1, C.byref(info), None, C.byref(pipeline)
        )
        if result != 0:
            sys.exit(f"{name}: vkCreateComputePipelines: {result}")
    print("END", file=sys.stderr, flush=True)


def compiled(family, kernels):
    """The name of the adapter, and the driver's statistics of each kernel. `kernels` is what
    examples/kernels.rs prints."""
    icd = sorted(glob.glob("/usr/share/vulkan/icd.d/radeon_icd*.json"))
    if not icd:
        sys.exit("no RADV here, so NOTHING WAS CHECKED: install mesa-vulkan-drivers (Debian)")
    env = os.environ | {
        "RADV_FORCE_FAMILY": family,
        "RADV_DEBUG": "shaderstats",
        "VK_DRIVER_FILES": icd[0],
        "VK_ICD_FILENAMES": icd[0],
        # A kernel from the cache has no statistics.
        "MESA_SHADER_CACHE_DISABLE": "true",
        "NODEVICE_SELECT": "1",
    }
    command = [sys.executable, __file__, "--compile"]
    done = subprocess.run(
        command,
        input=kernels,
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    if done.returncode != 0 or "\nEND" not in done.stderr:
        sys.exit(f"RADV for {family}, exit status {done.returncode}: {done.stderr[-2000:]}")
    adapter = re.search(r"^ADAPTER (.*)$", done.stderr, re.M)[1]
    found = {}
    for part in re.split(r"^KERNEL ", done.stderr, flags=re.M)[1:]:
        name = part.splitlines()[0]
        said = {
            key.strip(): int(value)
            for key, value in re.findall(r"^([A-Z][A-Za-z ]+): (\d+)$", part, re.M)
        }
        missing = [
            n
            for names in COLUMNS.values()
            for n in ([names] if isinstance(names, str) else names)
            if n not in said
        ]
        if missing:
            sys.exit(
                f"{adapter}: the driver does not say {', '.join(missing)} of {name}:\n{part[:1000]}"
            )
        found[name] = [
            said[n] if isinstance(n, str) else sum(said[m] for m in n) for n in COLUMNS.values()
        ]
    return adapter, found


CHECKS = {
    "as it is": "",
    "no clamps": "index",
    "no bounds of loops": "loops",
    "no robust buffers": "buffers",
    "none": "index loops buffers",
}


def checks(build):
    """A table of instructions, and of cycles, with each check left out, on the first family."""
    family = next(iter(FAMILIES))
    found = {}
    for name, without in CHECKS.items():
        os.environ["THALWEG_WITHOUT"] = without
        found[name] = build(family)[1]
    lines = [
        f"| kernel, {FAMILIES[family]}: instructions (cycles) | {' | '.join(CHECKS)} |",
        "|---|" + "--:|" * len(CHECKS),
    ]
    for kernel in found["as it is"]:
        lines.append(
            f"| {kernel} | "
            + " | ".join(f"{rows[kernel][0]} ({rows[kernel][1]})" for rows in found.values())
            + " |"
        )
    sums = [[sum(row[at] for row in rows.values()) for at in (0, 1)] for rows in found.values()]
    return "\n".join([*lines, "| all | " + " | ".join(f"{a} ({b})" for a, b in sums) + " |"])


def table(families):
    adapters = " and ".join(
        f"{FAMILIES[family]} as {adapter}" for family, (adapter, _) in families.items()
    )
    lines = [HEAD.format(adapters=adapters)]
    for family, (_, kernels) in families.items():
        lines += [
            f"## {family}",
            "",
            f"| kernel | {' | '.join(COLUMNS)} |",
            "|---|" + "--:|" * len(COLUMNS),
        ]
        lines += [f"| {name} | {' | '.join(map(str, row))} |" for name, row in kernels.items()]
        lines.append("")
    return "\n".join(lines)


def checked_in():
    """The adapters' line and the numbers of the page: {family: {kernel: row}}."""
    text = TABLE.read_text()
    families, family = {}, None
    for line in text.splitlines():
        if line.startswith("## "):
            family = families.setdefault(line[3:], {})
        elif family is not None and line.startswith("| ") and not line.startswith("| kernel"):
            name, *row = [cell.strip() for cell in line.strip("|").split("|")]
            family[name] = list(map(int, row))
    return text, families


def faults(old, new):
    """What is worse than on the page, in words."""
    found = []
    for family, (_, kernels) in new.items():
        known = old.get(family, {})
        found += [
            f"{family} {name}: the page has it, and there is no such kernel"
            for name in known.keys() - kernels.keys()
        ]
        for name, row in kernels.items():
            if name not in known:
                found.append(f"{family} {name}: a kernel that the page does not have")
                continue
            names = list(COLUMNS)
            for column in ["instructions", "cycles"]:
                at = names.index(column)
                if row[at] > known[name][at] * GROWTH:
                    found.append(
                        f"{family} {name}: {row[at]} {column}, and {known[name][at]} on the page"
                    )
            at = names.index("spilled")
            if row[at] > known[name][at]:
                found.append(
                    f"{family} {name}: {row[at]} registers spilled, and {known[name][at]} on the page"
                )
    return found


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--renew", action="store_true")
    parser.add_argument("--print", action="store_true", dest="show")
    parser.add_argument("--checks", action="store_true")
    parser.add_argument("--shaders", metavar="FOLDER")
    parser.add_argument(
        "--program", help="examples/kernels where it is built; cargo builds it otherwise"
    )
    parser.add_argument("--compile", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.compile:
        compile_all()
        return
    if args.shaders and not args.show:
        parser.error("--shaders: allowed with --print")
    program = args.program
    if not program:
        subprocess.run(["cargo", "build", "--quiet", "--example", "kernels"], check=True, cwd=HERE)
        program = (
            Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent.parent / "target"))
            / "debug/examples/kernels"
        )

    def build(family):
        with tempfile.TemporaryDirectory() as out:
            command = [str(program), out] + ([args.shaders] if args.shaders else [])
            return compiled(
                family,
                subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout,
            )

    if args.checks:
        print(checks(build))
        return
    new = {family: build(family) for family in FAMILIES}
    if args.show:
        print(table(new))
        return
    if args.renew:
        TABLE.write_text(table(new))
        print(f"{TABLE}: {sum(len(kernels) for _, kernels in new.values())} rows")
        return
    text, old = checked_in()
    others = [adapter for adapter, _ in new.values() if adapter not in text]
    if others:
        print(
            f"NOTHING WAS CHECKED: {TABLE.name} is of another driver than {', '.join(others)}; --print shows the numbers here"
        )
        return
    found = faults(old, new)
    if found:
        sys.exit(
            "\n".join(
                [
                    *found,
                    "If that is meant, say why in the commit and run benches/gpu/instructions.py --renew",
                ]
            )
        )
    print(f"{sum(len(kernels) for _, kernels in new.values())} rows are within {TABLE.name}")


main()
