"""What there is, for the command line: listing.py TABLE writes JSON.

    python   version, and where its library, base prefix and modules are; "missing": why it cannot be opened as a library
    peers    of the table: target, variant, kind, idea, whether a graph holds it, and why it is absent
    packages {kind: {library: version}}
"""

import json
import os
import platform
import sys
import sysconfig

FOLDERS = [folder for folder in sys.path[1:] if folder]  # behind this script's own
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from ridge_peers.host import load_table  # noqa: E402
from ridge_peers.table import KINDS, versions  # noqa: E402


def library():
    """The path of libpython; None: this Python is one static program."""
    names = [sysconfig.get_config_var(name) for name in ("INSTSONAME", "LDLIBRARY")]
    folders = [sysconfig.get_config_var("LIBDIR"), os.path.join(sys.base_prefix, "lib")]
    multiarch = sysconfig.get_config_var("MULTIARCH")
    if multiarch:
        folders += [os.path.join(folder, multiarch) for folder in folders if folder]
    for folder in filter(None, folders):
        for name in filter(None, names):
            path = os.path.join(folder, name)
            if ".so" in name and os.path.exists(path):
                return path
    return None


def interpreter():
    path = library()
    return {
        "version": platform.python_version(),
        "program": sys.executable,
        "home": sys.base_prefix,
        "path": ":".join(FOLDERS),
        "library": path or "",
        "missing": "" if path else f"{sys.executable} has no shared library ({sysconfig.get_config_var('LDLIBRARY')})",
    }


def main():
    table = load_table(sys.argv[1])
    peers = [
        {
            "target": target, "variant": name, "kind": peer.kind, "idea": peer.idea, "graph": peer.graph,
            "absent": peer.absent(name),
        }
        for (target, name), peer in table.items()
    ]  # fmt: skip
    packages = {kind: versions([kind]) for kind in KINDS}
    json.dump({"python": interpreter(), "peers": peers, "packages": packages}, sys.stdout)


if __name__ == "__main__":
    main()
