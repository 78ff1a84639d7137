"""How Suricata and `weir inspect` are asked the same thing."""

import os
import pathlib
import shutil

SITE = ["HOME_NET=any", "EXTERNAL_NET=any", "AIM_SERVERS=any"]
# What weir knows by itself, and suricata.yaml does not; and one flow for two directions with
# different VLAN tags.
MORE_FOR_SURICATA = [
    "vars.address-groups.FTP_SERVERS=any",
    "vars.address-groups.SSH_SERVERS=any",
    "vars.address-groups.SIP_SERVERS=any",
    "vars.port-groups.SIP_PORTS=[5060,5061]",
    "vlan.use-for-tracking=false",
]


def program():
    """Suricata: what SURICATA names, or else what is installed; None where nothing is."""
    return os.environ.get("SURICATA") or shutil.which("suricata")


def configuration():
    """Its configuration: what SURICATA_YAML names, or else the usual one."""
    return pathlib.Path(os.environ.get("SURICATA_YAML", "/etc/suricata/suricata.yaml"))


def suricata(rules, folder):
    """The command line without an input: one thread, rules joined in a file of the folder, logs
    to the folder `log` in it, checksums not looked at."""
    together = folder / "all.rules"
    together.write_bytes(b"\n".join(path.read_bytes() for path in rules))
    command = [program(), "-c", configuration(), "-S", together, "-l", folder / "log"]
    command += ["-k", "none", "--runmode", "single"]
    for setting in [f"vars.address-groups.{variable}" for variable in SITE] + MORE_FOR_SURICATA:
        command += ["--set", setting]
    return [str(word) for word in command]


def variables_for_weir():
    """The options that set the same variables."""
    return [word for variable in SITE for word in ("--set", variable)]
