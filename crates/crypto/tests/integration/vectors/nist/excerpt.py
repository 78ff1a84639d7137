#!/usr/bin/env python3
"""Cuts the excerpts of this folder out of NIST's validation vectors.

    excerpt.py DIRECTORY

DIRECTORY holds the unpacked archives named in README.md, at any depth. Records
are copied as they are; headings and the settings in brackets stay with the
records below them. What is kept of which file stands in `rules` and, in words,
in README.md.
"""

import pathlib
import sys


def records(path):
    """Yields (settings, record), lists of lines."""
    settings, record = [], []
    is_heading = False
    for line in path.read_text().replace("\r", "").split("\n") + [""]:
        if line.startswith("["):
            # Bracketed lines in a row belong together and end those before.
            settings = [*settings, line.strip()] if is_heading else [line.strip()]
            is_heading = True
        elif line.strip() and not line.startswith("#"):
            record.append(line.rstrip())
            is_heading = False
        elif record:
            yield settings, record
            record = []


def field(record, name):
    for line in record:
        key, _, value = line.partition("=")
        if key.strip() == name:
            return value.strip()
    raise KeyError(f"no {name} in {record}")


def every(step, first=0):
    return lambda seen, settings, record: seen % step == first


def head(count):
    return lambda seen, settings, record: seen < count


def all_records(seen, settings, record):
    return True


def gcm(seen, settings, record):
    wanted = {"[IVlen = 96]", "[Taglen = 128]"} <= set(settings)
    return wanted and int(field(record, "Count")) % 3 == 0


def hmac(seen, settings, record):
    key_bytes = {
        "[L=20]": {10, 70, 80},
        "[L=32]": {70, 74},
        "[L=48]": {130, 145},
        "[L=64]": {139, 142},
    }.get(settings[-1], set())
    return int(field(record, "Klen")) in key_bytes and int(field(record, "Count")) % 3 == 0


def monte_carlo(count):
    # The seed of the hashes' chains is a record of its own, without a count.
    def rule(seen, settings, record):
        try:
            number = field(record, "COUNT")
        except KeyError:
            return True
        return int(number) < count

    return rule


def rules():
    for bits in (128, 192, 256):
        yield f"gcmEncryptExtIV{bits}.rsp", gcm
        yield f"gcmDecrypt{bits}.rsp", gcm
        for name in ("GFSbox", "KeySbox", "MMT"):
            yield f"CBC{name}{bits}.rsp", all_records
        for name in ("VarKey", "VarTxt"):
            # Every fourth position of the walking bit, the last one among them.
            yield f"CBC{name}{bits}.rsp", every(4, 3)
        yield f"CBCMCT{bits}.rsp", monte_carlo(10)
    yield "TCBCMMT3.rsp", all_records
    for name in ("1", "224", "256", "384", "512"):
        yield f"SHA{name}ShortMsg.rsp", all_records
        yield f"SHA{name}LongMsg.rsp", every(21)
        yield f"SHA{name}Monte.rsp", monte_carlo(10)
    yield "HMAC.rsp", hmac


def main():
    source = pathlib.Path(sys.argv[1])
    here = pathlib.Path(__file__).parent
    for name, rule in rules():
        found = sorted(source.rglob(name))
        paths = [p for p in found if "bit" not in p.parent.name] or found
        if not paths:
            sys.exit(f"{name} is not below {source}")
        lines, last_settings, kept = [], None, 0
        for seen, (settings, record) in enumerate(records(paths[0])):
            if not rule(seen, settings, record):
                continue
            if settings != last_settings:
                lines += [*settings, ""]
                last_settings = settings
            lines += [*record, ""]
            kept += 1
        (here / name).write_text("\n".join(lines))
        print(f"{name}: {kept} records")


if __name__ == "__main__":
    main()
