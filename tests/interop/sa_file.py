"""Writes weir's file of security associations and policies."""

import os
import pathlib

from associations import PRIVATE


def toml(associations):
    """A policy for each association; what no policy names passes."""
    lines = ['default = "bypass"']
    if any(sa.suite.startswith("3des") for sa in associations):
        lines += ["allow_legacy = true", "legacy_encrypt = true"]
    if any(sa.suite in PRIVATE for sa in associations):
        lines.append("allow_private_use = true")
    for sa in associations:
        lines += [
            "",
            "[[sa]]",
            f'name = "{sa.suite}"',
            f"spi = {sa.spi:#x}",
            f'suite = "{sa.suite}"',
            f'mode = "{sa.mode}"',
            f"esn = {str(sa.esn).lower()}",
            f"nat_t = {str(sa.nat_t).lower()}",
        ]
        if sa.first != 1:
            lines.append(f"expected_sequence = {sa.first}")
        if sa.mode == "tunnel":
            source, destination = sa.gateways
            lines.append(f'tunnel = {{ source = "{source}", destination = "{destination}" }}')
        if sa.key:
            lines.append(f'key = "{(sa.key + sa.salt).hex()}"')
        if sa.integrity_key:
            lines.append(f'integrity_key = "{sa.integrity_key.hex()}"')
        lines += [
            "",
            "[[policy]]",
            f'destination = "{sa.network}"',
            'action = "protect"',
            f'sa = "{sa.suite}"',
        ]
    return "\n".join(lines) + "\n"


def write(directory, associations):
    path = pathlib.Path(directory) / "sa.toml"
    path.write_text(toml(associations))
    os.chmod(path, 0o600)
    return path
