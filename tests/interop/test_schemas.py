"""The JSON Schemas of docs/schemas accept and refuse what weir does.

Files of examples and documentation are valid. So are documents here that together have every
key; each is changed in one place at a time, and schema and program judge the outcome alike. What
takes several keys to judge, only the program refuses.
"""

import copy
import json
import pathlib
import re
import sys
import tempfile
import tomllib

import peers
from peers import check

DOCS = peers.ROOT / "docs"
HEX = "17c29ba23bb9d221730bf93a1f25f8228cabaf51"
# A value of each type of TOML, none of which is a name that weir knows.
STRANGE = (True, 7, -1, 1.5, "zzz", "", [], [True], [7], ["zzz"], {}, {"zzz": 7})
# What the program says of a value that no other key could make valid.
SAYS_MALFORMED = re.compile(r"invalid type|invalid value|unknown (key|value)|is missing$")
# Inside their limits, these depend on other keys.
DEPENDENT = {"measure.change.keys_one_in", "measure.change.counters", "sa.hard_lifetime.bytes"}
DEPENDENT |= {"sa.hard_lifetime.packets"}
# Keys that a document cannot have, or not beside others.
LEFT_OUT = {"sa.key_fd", "sa.integrity_key_fd"}


def configuration(folder):
    """A configuration with several directions; it has every key but those of the short form."""
    addresses, ports = ["198.18.1.0/24", "!198.18.1.7"], [22, "1000-2000"]
    rule = {"name": "some", "action": "deny", "source": addresses, "destination": "any"}
    rule |= {"protocol": ["tcp", 17], "source_port": ports, "destination_port": 23, "interface": "a0"}
    change = {"model": "ma:2", "difference": "absolute", "threshold": 0.5, "keys_from": "same"}
    change |= {"keys_one_in": 2, "keys_max": 1000, "counters": 32768}
    measure = {"key": "source/24", "value": "packets", "interval": 10, "top": 5, "epsilon": 0.001}
    measure |= {"delta": 0.02, "seed": 7, "exact": True, "change": change, "alarms": "alarms.jsonl"}
    measure |= {"json_lines": "lines.jsonl", "prometheus": "m.prom", "parquet": "t.parquet"}
    inspect = {"rules": [str(peers.EXAMPLES / "example.rules")], "allow_empty": True}
    inspect["classification"] = str(peers.ROOT / "crates/inspect/src/rule/classification.config")
    inspect |= {"set": {"HOME_NET": "any"}, "alerts": "alerts.jsonl", "prometheus": "i.prom"}
    port = {"name": "lan", "kind": "pcap", "side": "plain", "read": str(peers.EXAMPLES / "traffic.pcapng")}
    return {
        "port": [port, {"name": "wan", "kind": "pcap", "side": "cipher", "write": "wan.pcapng"}],
        "pipeline": {"outbound": {"from": "lan", "to": "wan", "stages": ["filter", "inspect", "measure", "protect"]}},
        "filter": {"default": "allow", "rule": [rule]},
        "inspect": inspect,
        "measure": measure,
        "ipsec": {"sa": str(peers.EXAMPLES / "gateway-sa.toml"), "state": str(folder), "repeatable_insecure": True},
        "report": {"json": "report.json"},
    }


def live_configuration(_):
    """Live ports, and what inspection of live packets may say."""
    lan = {"name": "lan", "kind": "interface", "side": "plain", "interface": "a0", "promiscuous": False}
    wan = {"name": "wan", "kind": "udp", "side": "cipher", "address": "192.0.2.1:4500"}
    inspect = {"rules": [str(peers.EXAMPLES / "example.rules")], "inline": True, "checksums": "ignore", "vlans": "ignore", "flows": 1000, "stream_mib": 64, "gap_mib": 2}
    inspect |= {"anomalies_per_second": 10, "host-os": [{"hosts": ["198.18.1.0/24"], "os": "windows"}]}
    return {
        "port": [lan, wan],
        "pipeline": {"outbound": {"from": "lan", "to": "wan", "stages": ["inspect"]}},
        "inspect": inspect,
    }


FABRIC_FILE = """
[[partition]]
name = "storage"
partition_key = 0x8001
secret = "00112233445566778899aabbccddeeff"

[[queue_pair]]
name = "disk"
partition = "storage"
transport = "rc"
local = { address = "192.0.2.1", queue_pair = 17 }
remote = { address = "192.0.2.2", queue_pair = 18 }
session_random = "0f0e0d0c0b0a09080706050403020100"
"""


def fabric_configuration(folder):
    """Packets of RDMA between captures, filtered and protected."""
    file = folder / "fabric.toml"
    file.write_text(FABRIC_FILE)
    file.chmod(0o600)
    fabric = {"file": str(file), "state": str(folder), "alarms": "alarms.jsonl", "first_epoch": 1}
    ports = [{"name": "input", "partition_keys": [0x8001, 1]}]
    return {
        "input": {"pcap": [str(peers.EXAMPLES / "traffic.pcapng")]},
        "pipeline": {"stages": ["fabric-filter", "fabric-protect"]},
        "output": {"pcap": "out.pcapng"},
        "fabric": fabric | {"repeatable_insecure": True},
        "fabric-filter": {"scheme": "ingress", "quiet_seconds": 2.5, "port": ports},
    }


def short_configuration(_):
    """The form for one direction."""
    return {
        "input": {"pcap": [str(peers.EXAMPLES / "traffic.pcapng")]},
        "pipeline": {"stages": "measure"},
        "output": {"pcap": "out.pcapng"},
        "measure": {},
    }


def sa_file(folder):
    """An SA file with every key."""
    for name, text in (("a.key", HEX), ("a.mac", "ab" * 32)):
        (folder / name).write_text(text)
        (folder / name).chmod(0o600)
    tunnel = {"source": "198.18.0.1", "destination": "198.18.0.2", "ttl": 9, "dscp": 4, "df": "set", "flow_label": 5}
    one = {"name": "one", "spi": 0x1001, "direction": "outbound", "suite": "aes-128-gcm-16", "key": HEX}
    one |= {"mode": "tunnel", "tunnel": tunnel, "esn": True, "window": 128, "expected_sequence": 9}
    one |= {"nat_t": {"source_port": 4500, "destination_port": 4501}, "decrement_ttl": True, "mtu": 1400}
    one |= {"soft_lifetime": {"bytes": 1000, "packets": 10}, "hard_lifetime": {"bytes": 10**6, "packets": 10**3}}
    two = {"name": "two", "spi": 0x1002, "direction": "inbound", "suite": "aes-128-ctr+hmac-sha2-256-128"}
    two |= {"key_file": "a.key", "integrity_key_file": "a.mac", "mode": "transport", "replay_state": "forget"}
    three = two | {"name": "three", "spi": 0x1003, "integrity_key": "cd" * 32, "nat_t": True}
    del three["integrity_key_file"]
    policy = {"source": ["198.18.1.0/24", "fd00::/16"], "destination": "198.18.2.1", "protocol": [6, "udp"]}
    policy |= {"source_port": 1024, "destination_port": ["22", 53], "direction": "outbound"}
    return {
        "default": "bypass",
        "inbound_policy": True,
        "allow": ["arp", "0x88b5", 0x88CC],
        "insecure_example": True,
        "allow_legacy": True,
        "legacy_encrypt": False,
        "allow_private_use": True,
        "sa": [one, two, three],
        "policy": [policy | {"action": "protect", "sa": ["one"]}, {"action": "protect", "sa": "two", "protocol": "tcp"}],
    }


def toml(value):
    """A value as TOML has it within a line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {toml(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)


class Judges:
    """A schema, and weir; each says what is wrong with a document, or nothing."""

    def __init__(self, name, folder):
        try:
            import jsonschema
        except ImportError as missing:
            raise peers.Skip(f"jsonschema cannot be used: {missing}") from None
        self.name, self.folder = name, folder
        self.schema = json.loads((DOCS / "schemas" / f"{name}.schema.json").read_text())
        jsonschema.Draft7Validator.check_schema(self.schema)
        self.validator = jsonschema.Draft7Validator(self.schema, format_checker=jsonschema.FormatChecker())
        part = {key: value for key, value in self.schema.items() if key != "required"}
        self.validator_of_parts = jsonschema.Draft7Validator(part, format_checker=jsonschema.FormatChecker())

    def by_schema(self, document, validator=None):
        errors = (validator or self.validator).iter_errors(document)
        return "; ".join(f"{error.json_path}: {error.message[:200]}" for error in errors)

    def by_program(self, document):
        return self.text_by_program("".join(f"{json.dumps(key)} = {toml(value)}\n" for key, value in document.items()))

    def text_by_program(self, text):
        path = self.folder / "document.toml"
        path.write_text(text)
        path.chmod(0o600)
        if self.name == "sa-file":
            config = short_configuration(None) | {"ipsec": {"sa": path.name}, "pipeline": {"stages": ["protect"]}}
            path = self.folder / "around.toml"
            path.write_text("".join(f"{key} = {toml(value)}\n" for key, value in config.items()))
        status, said = peers.weir("check", path, "--quiet")
        check(status in (0, 2), f"weir check exits {status}: {said}")
        errors = [line for line in said.splitlines() if not line.startswith("warning")]
        return "\n".join(errors) if status else ""


def places(schema, value, path=()):
    """(path, key path, schema) of a value and of all values in it."""
    yield path, ".".join(key for key in path if isinstance(key, str)), schema
    for one in schema.get("anyOf", [schema]):
        if isinstance(value, dict) and "properties" in one:
            for key, inner in value.items():
                sub = one["properties"].get(key) or one["additionalProperties"]
                yield from places(sub, inner, (*path, key))
        if isinstance(value, list) and "items" in one:
            for index, inner in enumerate(value):
                yield from places(one["items"], inner, (*path, index))


def tables(schema, path=""):
    """The paths of all keys that a schema knows."""
    for one in schema.get("anyOf", [schema]):
        for key, inner in one.get("properties", {}).items():
            yield f"{path}{key}"
            yield from tables(inner, f"{path}{key}.")
        if isinstance(one.get("additionalProperties"), dict):
            yield from tables(one["additionalProperties"], f"{path}NAME.")
        if "items" in one:
            yield from tables(one["items"], path)


def changed(document, path, change):
    """A copy of a document in which `change` was applied to what holds the value at `path`."""
    document = copy.deepcopy(document)
    holder = document
    for key in path[:-1]:
        holder = holder[key]
    change(holder, path[-1])
    return document


def put(value):
    def change(holder, key):
        holder[key] = value

    return change


def numbers(schema):
    """((number, whether it is within the limits), ...) for each limit."""
    for one in schema.get("anyOf", [schema]):
        if "integer" in one.get("type", ()):
            for keyword, step in (("minimum", -1), ("maximum", 1)):
                if keyword in one:
                    yield from ((one[keyword], True), (one[keyword] + step, False))
        elif one.get("type") == "number" and "exclusiveMinimum" in one:
            yield from ((one["exclusiveMinimum"], False), (one.get("maximum", 1), True))
            if "maximum" in one:
                yield one["maximum"] + 0.001, False


def test_changes(name, make):
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        judges = Judges(name, folder)
        document = make(folder)
        for verdict in (judges.by_schema(document), judges.by_program(document)):
            check(not verdict, f"the whole document is refused: {verdict}")
        cases = 0
        for path, keys, schema in places(judges.schema, document):
            table = next((one for one in schema.get("anyOf", [schema]) if "properties" in one), None)
            holder = document
            for key in path:
                holder = holder[key]
            if table and isinstance(holder, dict):
                extra = changed({"": document}, ("", *path, "zzz"), put(7))[""]
                refused_by_both(judges, extra, f"{keys}: an unknown key")
                for key in table.get("required", ()):
                    less = changed(document, (*path, key), lambda holder, key: holder.pop(key))
                    refused_by_both(judges, less, f"{keys}: without {key}")
                    cases += 1
            if not path:
                continue
            for value in STRANGE:
                # The program also reads the values of a table from a list without their names.
                if table and isinstance(value, list):
                    continue
                judged_alike(judges, changed(document, path, put(value)), f"{keys} = {toml(value)}")
            for number, is_within in numbers(schema):
                other = changed(document, path, put(number))
                if is_within:
                    verdict = judges.by_schema(other)
                    if keys not in DEPENDENT:
                        verdict = verdict or judges.by_program(other)
                    check(not verdict, f"{keys} = {number}: {verdict}")
                else:
                    refused_by_both(judges, other, f"{keys} = {number}")
            cases += 1
        check(cases > 5, f"{cases} cases")


def refused_by_both(judges, document, what):
    check(judges.by_schema(document), f"the schema accepts {what}")
    check(judges.by_program(document), f"weir accepts {what}")


def judged_alike(judges, document, what):
    by_schema, by_program = judges.by_schema(document), judges.by_program(document)
    check(by_program or not by_schema, f"only the schema refuses {what}: {by_schema}")
    is_malformed = SAYS_MALFORMED.search(by_program)
    check(by_schema or not is_malformed, f"only weir refuses {what}: {by_program}")


CONFIGURATIONS = (configuration, live_configuration, fabric_configuration, short_configuration)


def test_documents_have_every_key():
    for name, makers in (("configuration", CONFIGURATIONS), ("sa-file", (sa_file,))):
        with tempfile.TemporaryDirectory() as made:
            folder = pathlib.Path(made)
            judges = Judges(name, folder)
            known = set(tables(judges.schema))
            tried = set()
            for make in makers:
                for _, keys, _ in places(judges.schema, make(folder)):
                    tried.add(re.sub(r"^pipeline\.outbound", "pipeline.NAME", keys))
            check(known - tried == LEFT_OUT & known, f"not tried: {sorted(known - tried)}")


def files():
    """(place, text) of every TOML file of the examples and the documentation, also parts."""
    for path in sorted(peers.EXAMPLES.glob("*.toml")):
        yield path, path.read_text()
    for path in [peers.ROOT / "README.md", *sorted(DOCS.rglob("*.md")), peers.EXAMPLES / "README.md"]:
        text = path.read_text()
        for block in re.findall(r"^```toml\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
            yield path, block
        for block in re.findall(r"^cat > \S+\.toml <<'?END'?\n(.*?)^END$", text, re.DOTALL | re.MULTILINE):
            yield path, block


def test_files_of_examples_and_documentation():
    with tempfile.TemporaryDirectory() as made:
        names = [path.name.removesuffix(".schema.json") for path in sorted((DOCS / "schemas").iterdir())]
        judges = [Judges(name, pathlib.Path(made)) for name in names]
        checked = set()
        for path, text in files():
            document = tomllib.loads(text)
            # The file that has all these keys; each has some of its own.
            fitting = [judge for judge in judges if set(document) <= set(judge.schema["properties"])]
            place = path.relative_to(peers.ROOT)
            check(fitting, f"{place}: no file has all of {sorted(document)}")
            one = fitting[0]
            validator = one.validator if "pipeline" in document else one.validator_of_parts
            verdict = one.by_schema(document, validator)
            check(not verdict, f"{place}: {verdict}")
            checked.add((one.name, place))
        check(len(checked) >= 8, f"only {len(checked)} files were found")
        missing = set(names) - {name for name, _ in checked}
        check(not missing, f"no example of {sorted(missing)}")


def test_seeds_of_the_fuzz_target():
    accepted = 0
    with tempfile.TemporaryDirectory() as made:
        judges = Judges("sa-file", pathlib.Path(made))
        for path in sorted((peers.ROOT / "fuzz" / "corpus" / "sa_file").iterdir()):
            try:
                text = path.read_text()
                document = tomllib.loads(text)
            except ValueError:
                continue
            if judges.text_by_program(text):
                continue
            verdict = judges.by_schema(document)
            check(not verdict, f"only the schema refuses {path.name}: {verdict}")
            accepted += 1
    check(accepted > 0, "weir accepts none of the seeds")


if __name__ == "__main__":
    sys.exit(
        peers.run(
            [
                ("examples and documentation are valid", test_files_of_examples_and_documentation),
                ("documents have every key", test_documents_have_every_key),
                ("configuration, changed", lambda: test_changes("configuration", configuration)),
                ("short configuration, changed", lambda: test_changes("configuration", short_configuration)),
                ("configuration of a fabric, changed", lambda: test_changes("configuration", fabric_configuration)),
                ("SA file, changed", lambda: test_changes("sa-file", sa_file)),
                ("seeds of the fuzz target", test_seeds_of_the_fuzz_target),
            ]
        )
    )
