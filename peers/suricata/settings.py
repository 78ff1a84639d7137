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
]

# Suricata's parsers other than those that Weir has too: HTTP, DNS and TLS.
OTHER_PARSERS = (
    "bittorrent-dht dcerpc dhcp dnp3 enip ftp http2 ike imap krb5 modbus mqtt nfs ntp pgsql quic"
    " rdp rfb sip smb smtp snmp ssh telnet tftp"
).split()

# The usual configuration, with alerts as the only output.
ALERTS_ONLY = """%YAML 1.1
---
include: {}
stats:
  enabled: no
outputs:
  - eve-log:
      enabled: yes
      filetype: regular
      filename: eve.json
      types:
        - alert
"""


def program():
    """Suricata: what SURICATA names, or else what is installed; None where nothing is."""
    return os.environ.get("SURICATA") or shutil.which("suricata")


def configuration():
    """Its configuration: what SURICATA_YAML names, or else the usual one."""
    return pathlib.Path(os.environ.get("SURICATA_YAML", "/etc/suricata/suricata.yaml"))


def suricata(rules, folder, alerts_only=False, checksums="none"):
    """The command line without an input: one thread, rules joined in a file of the folder, logs
    to the folder `log` in it, checksums verified only where `checksums` is "all". With
    `alerts_only`, Suricata does the same work as Weir: the parsers of HTTP, DNS and TLS, and alerts
    as its only output."""
    together = folder / "all.rules"
    together.write_bytes(b"\n".join(path.read_bytes() for path in rules))
    usual = configuration()
    if alerts_only:
        usual = folder / "alerts-only.yaml"
        usual.write_text(ALERTS_ONLY.format(configuration().resolve()))
    command = [program(), "-c", usual, "-S", together, "-l", folder / "log"]
    command += ["-k", checksums, "--runmode", "single"]
    for setting in [f"vars.address-groups.{variable}" for variable in SITE] + MORE_FOR_SURICATA:
        command += ["--set", setting]
    if alerts_only:
        for parser in OTHER_PARSERS:
            command += ["--set", f"app-layer.protocols.{parser}.enabled=no"]
    return [str(word) for word in command]


def variables_for_weir():
    """The options that set the same variables."""
    return [word for variable in SITE for word in ("--set", variable)]
