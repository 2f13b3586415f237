"""Holds all packages that end up in a program or a module against a policy: their licences, that
they come from crates.io, and that none brings a library in C but those named here.

    python tests/licences.py            # fails with a list of those that do not fit
    python tests/licences.py --texts    # prints their notices, to be handed out with a program

Packages that only tests need are left out. Needs license-expression (tests/requirements.txt).
"""

import json
import subprocess
import sys
from pathlib import Path

try:
    from license_expression import AND, OR, get_spdx_licensing
except ModuleNotFoundError:
    sys.exit("licences of packages are read by license-expression: pip install license-expression")

# Permissive, and compatible with both licences of thalweg.
ALLOWED = {
    "0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause",
    "BSL-1.0", "CC0-1.0", "ISC", "MIT", "MIT-0", "Unicode-3.0", "Unlicense", "Zlib",
}  # fmt: skip
# Those of them that need not be handed on.
ASKS_NOTHING = {"0BSD", "CC0-1.0", "MIT-0", "Unlicense"}
# Packages with more terms: (licence, why that is no hindrance).
EXCEPTIONS = {
    "option-ext": ("MPL-2.0", "asks for its own sources alone, which are on crates.io unchanged"),
    "jpeg-encoder": ("IJG", "asks for an acknowledgement, which --texts prints"),
}
CRATES_IO = "registry+https://github.com/rust-lang/crates.io-index"
# Libraries that packages bring or link: (name, why). Others would need a compiler, or would not be
# there on another machine.
NATIVE = {
    "python": "the interpreter that loads the module",
    "pyo3-python": "the same, of the package above it",
    "rayon-core": "no library: two versions would have two pools of threads",
    "sqlite3": "brings its source; GeoPackages and the service's index",
    "wasm_bindgen": "no library: two versions do not fit one page",
    "wsqlite3": "SQLite for pages, of rusqlite; not built for any of ours",
}
NOTICES = ("LICENSE", "LICENCE", "COPYING", "NOTICE", "COPYRIGHT", "UNLICENSE")
ISC = """\
Copyright (c) the authors

Permission to use, copy, modify, and/or distribute this software for any purpose with or without
fee is hereby granted, provided that the above copyright notice and this permission notice appear
in all copies.

THE SOFTWARE IS PROVIDED "AS IS" AND THE AUTHOR DISCLAIMS ALL WARRANTIES WITH REGARD TO THIS
SOFTWARE INCLUDING ALL IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS. IN NO EVENT SHALL THE
AUTHOR BE LIABLE FOR ANY SPECIAL, DIRECT, INDIRECT, OR CONSEQUENTIAL DAMAGES OR ANY DAMAGES
WHATSOEVER RESULTING FROM LOSS OF USE, DATA OR PROFITS, WHETHER IN AN ACTION OF CONTRACT,
NEGLIGENCE OR OTHER TORTIOUS ACTION, ARISING OUT OF OR IN CONNECTION WITH THE USE OR PERFORMANCE OF
THIS SOFTWARE."""
ROOT = Path(__file__).parents[1]
# What a licence asks to be said.
SENTENCES = {
    "IJG": "This software is based in part on the work of the Independent JPEG Group.",
}
SPDX = get_spdx_licensing()


def packages():
    """Packages that are built into something that is handed out, with all features."""
    said = subprocess.run(
        ["cargo", "metadata", "--format-version", "1", "--all-features", "--locked"],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    metadata = json.loads(said.stdout)
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    wanted, left = set(), list(metadata["workspace_members"])
    while left:
        at = left.pop()
        if at in wanted:
            continue
        wanted.add(at)
        for dependency in nodes[at]["deps"]:
            # Null is a dependency of the program itself; others are of builds and tests.
            if any(kind["kind"] != "dev" for kind in dependency["dep_kinds"]):
                left.append(dependency["pkg"])
    found = [package for package in metadata["packages"] if package["id"] in wanted]
    return sorted(found, key=lambda package: (package["name"], package["version"]))


def expression(package):
    # A slash is the old way to write OR.
    return SPDX.parse(package["license"].replace("/", " OR "), validate=True)


def fits(terms, allowed):
    if isinstance(terms, AND):
        return all(fits(part, allowed) for part in terms.args)
    if isinstance(terms, OR):
        return any(fits(part, allowed) for part in terms.args)
    return str(terms) in allowed


def is_allowed(package):
    extra = {EXCEPTIONS[package["name"]][0]} if package["name"] in EXCEPTIONS else set()
    return bool(package["license"]) and fits(expression(package), ALLOWED | extra)


def notices(package):
    """The texts of a package; where it has none, the licence that it names."""
    folder = Path(package["manifest_path"]).parent
    files = [path for path in sorted(folder.iterdir()) if path.name.upper().startswith(NOTICES)]
    files += [path for path in files if path.is_dir() for path in sorted(path.iterdir())]
    texts = [
        path.read_text(encoding="utf-8", errors="replace").strip()
        for path in files
        if path.is_file()
    ]
    if not texts and not fits(expression(package), ASKS_NOTHING):
        texts = [stated(package)]
    asked = (text for licence, text in SENTENCES.items() if licence in package["license"])
    return [*texts, *asked]


def stated(package):
    """The text of a licence that a package names and does not hold."""
    texts = {
        "MIT": (ROOT / "LICENSE-MIT").read_text(encoding="utf-8").strip(),
        "Apache-2.0": (ROOT / "LICENSE-APACHE").read_text(encoding="utf-8").strip(),
        "ISC": ISC,
    }
    for licence, text in texts.items():
        if fits(expression(package), {licence}):
            whose = ", ".join(package["authors"]) or f"the authors of {package['name']}"
            lines = text.splitlines()
            of_ours = [line for line in lines if line.startswith("Copyright (c)")]
            return text.replace(of_ours[0], f"Copyright (c) {whose}") if of_ours else text
    raise SystemExit(f"{package['name']}: no text of {package['license']}; add it to {__file__}")


def print_texts(found):
    """Each text once, under the packages that have it."""
    users = {}
    for package in found:
        if package["source"] is None:
            continue
        name = f"{package['name']} {package['version']}, {package['license']}"
        print(f"{name}, {package['repository'] or 'https://crates.io/crates/' + package['name']}")
        for text in notices(package):
            # Lines are broken in one way or another.
            users.setdefault(" ".join(text.split()), (text, []))[1].append(package["name"])
    for text, names in users.values():
        print(f"\n{'-' * 80}\n{', '.join(dict.fromkeys(names))}\n\n{text}")


def main():
    found = packages()
    wrong = [package for package in found if not is_allowed(package)]
    for package in wrong:
        print(
            f"{package['name']} {package['version']}: {package['license']} is not among the "
            "licences that tests/licences.py allows",
            file=sys.stderr,
        )
    unused = EXCEPTIONS.keys() - {package["name"] for package in found}
    for name in sorted(unused):
        print(f"{name}: no package of this name is used; remove its exception", file=sys.stderr)
    elsewhere = [package for package in found if package["source"] not in (None, CRATES_IO)]
    for package in elsewhere:
        print(f"{package['name']} is from {package['source']}, not crates.io", file=sys.stderr)
    linked = {package["links"] for package in found} - {None}
    for name in sorted(linked ^ NATIVE.keys()):
        print(f"{name}: a native library that is new, or no longer linked", file=sys.stderr)
    if wrong or unused or elsewhere or linked != NATIVE.keys():
        return 1
    if "--texts" in sys.argv[1:]:
        print_texts(found)
    else:
        print(f"{len(found)} packages, all within the policy")
    return 0


if __name__ == "__main__":
    sys.exit(main())
