"""Captures, and weir at work on them."""

import peers
import sa_file


def capture(path, frames):
    from scapy.utils import wrpcap

    wrpcap(str(path), frames)
    return path


def frames_of(path):
    from scapy.utils import rdpcap

    return list(rdpcap(str(path))) if path.exists() else []


def protect(directory, sas, frames, options=("--repeatable-insecure",)):
    """weir seals: the frames that it writes."""
    plain = capture(directory / "plain.pcap", frames)
    sealed = directory / "sealed.pcap"
    sa = sa_file.write(directory, sas)
    status, error = peers.weir("protect", plain, sealed, "--sa", sa, "--quiet", *options)
    peers.check(status == 0, f"weir protect exits {status}: {error}")
    return frames_of(sealed)


def unprotect(directory, sas, frames, options=()):
    """weir opens: its exit status and the frames that it writes."""
    sealed = capture(directory / "sealed.pcap", frames)
    opened = directory / "opened.pcap"
    sa = sa_file.write(directory, sas)
    status, error = peers.weir("unprotect", sealed, opened, "--sa", sa, "--quiet", *options)
    peers.check(status in (0, 1), f"weir unprotect exits {status}: {error}")
    # Without a packet that verifies there is no file.
    return status, frames_of(opened) if opened.exists() else []
