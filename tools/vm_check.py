"""Run a command of this project on another kernel, in a small virtual machine.

    apt-get install qemu-system-x86 busybox-static cpio kmod
    apt-get download linux-image-6.1.0-51-amd64        (or any other of Debian's)
    python tools/vm_check.py linux-image-*.deb -- python tools/security_table.py

The virtual machine has this machine's root file system, read-only, over 9p; /tmp, /run
and /dev/shm are separate and empty. Control groups (version 2) are set up as by systemd:
the command runs in a group whose parent delegates `memory` and `pids`. With `--user` an
ordinary user runs the command and owns the parent group, as below `user@1000.service`.
Without KVM (`--accelerator kvm`) the machine is ten times slower.

The exit code is the command's, or 125 if the machine did not run it.
"""

from __future__ import annotations

import argparse
import gzip
import lzma
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NEEDED = ("qemu-system-x86_64", "busybox", "cpio", "depmod", "modprobe", "dpkg")
MODULES = ("virtio_pci", "9pnet_virtio", "9p")
STATUS = "vm_check: exit status "

INIT = """\
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
while read module; do insmod /modules/$module; done < /modules/order
mount -t 9p -o ro,trans=virtio,version=9p2000.L,cache=loose,msize=524288 host /new || poweroff -f
for folder in tmp run; do mount -t tmpfs -o mode=1777 tmpfs /new/$folder; done
mount --move /dev /new/dev; mount --move /proc /new/proc; mount --move /sys /new/sys
mkdir -p /new/dev/shm; mount -t tmpfs -o mode=1777 tmpfs /new/dev/shm
ifconfig lo 127.0.0.1 up
cp /guest /new/run/guest
exec switch_root /new /bin/sh /run/guest
"""

GUEST = """\
groups=/sys/fs/cgroup
mount -t cgroup2 -o nsdelegate cgroup2 $groups
for folder in $groups $groups/user.slice; do
    mkdir -p $folder; echo "+memory +pids" > $folder/cgroup.subtree_control
done
mkdir $groups/user.slice/judge.scope /tmp/home
if [ {user} = 1000 ]; then
    chown 1000:1000 /tmp/home $groups/user.slice $groups/user.slice/cgroup.*
    chown -R 1000:1000 $groups/user.slice/judge.scope
fi
echo $$ > $groups/user.slice/judge.scope/cgroup.procs
cd {root}
setpriv --reuid {user} --regid {user} --clear-groups --inh-caps=-all \
    env HOME=/tmp/home PATH={path} PYTHONPATH={root} PYTHONDONTWRITEBYTECODE=1 {command}
echo "{status}$?"
echo o > /proc/sysrq-trigger; sleep 60
"""


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("package", type=Path, help="a kernel's .deb file")
    parser.add_argument("--user", action="store_true", help="run as an ordinary user, not as root")
    parser.add_argument("--append", default="", help="for the kernel, such as lsm=yama")
    parser.add_argument("--memory", default="3G")
    parser.add_argument("--accelerator", default="tcg", choices=("tcg", "kvm"))
    parser.add_argument("command", nargs="+", help="after --; programs are looked for as here")
    return parser.parse_args()


def modules(folder: Path, version: str) -> Iterator[Path]:
    """Yield the files of the modules for the root file system, in the order of loading."""
    subprocess.run(["depmod", "-b", folder, version], check=True)
    for name in MODULES:
        command = ["modprobe", "-S", version, "-d", str(folder), "--show-depends", name]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        for line in output.splitlines():
            kind, _, rest = line.partition(" ")
            if kind == "insmod":  # "builtin" else
                yield Path(rest.strip())


def initial_files(folder: Path, version: str, guest: str) -> bytes:
    """Return the initial RAM file system."""
    tree = folder / "initial"
    for name in ("bin", "dev", "proc", "sys", "new", "modules"):
        (tree / name).mkdir(parents=True)
    shutil.copy(shutil.which("busybox") or "", tree / "bin" / "busybox")
    order = []
    for file in dict.fromkeys(modules(folder, version)):
        read = lzma.open if file.suffix == ".xz" else open
        with read(file, "rb") as packed:
            (tree / "modules" / file.stem).write_bytes(packed.read())
        order.append(f"{file.stem}\n")
    (tree / "modules" / "order").write_text("".join(order))
    (tree / "guest").write_text(guest)
    (tree / "init").write_text(INIT)
    (tree / "init").chmod(0o755)
    names = "\n".join(str(path.relative_to(tree)) for path in tree.rglob("*"))
    command = ["cpio", "-o", "-H", "newc", "--quiet", "-R", "0:0"]
    archive = subprocess.run(command, cwd=tree, input=names.encode(), stdout=-1, check=True).stdout
    return gzip.compress(archive, 1)


def main() -> int:
    """Build the machine, run it, and print its output."""
    asked = arguments()
    missing = [name for name in NEEDED if shutil.which(name) is None]
    if missing:
        sys.exit(f"missing: {', '.join(missing)}; see the top of {Path(__file__).name}")
    if ROOT.is_relative_to("/tmp"):
        sys.exit(f"the virtual machine's /tmp would hide {ROOT}: move it")
    guest = GUEST.format(
        user=1000 if asked.user else 0,
        root=shlex.quote(str(ROOT)),
        path=shlex.quote(os.environ["PATH"]),
        command=shlex.join(asked.command),
        status=STATUS,
    )
    with tempfile.TemporaryDirectory(prefix="vm-check-") as name:
        folder = Path(name)
        subprocess.run(["dpkg", "-x", asked.package, folder], check=True)
        (kernel,) = (folder / "boot").glob("vmlinuz-*")
        version = kernel.name.removeprefix("vmlinuz-")
        (folder / "initrd").write_bytes(initial_files(folder, version, guest))
        share = "local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap"
        command = (
            *("qemu-system-x86_64", "-accel", asked.accelerator, "-cpu", "max", "-smp", "2"),
            *("-m", asked.memory, "-nodefaults", "-no-user-config", "-display", "none"),
            *("-serial", "stdio", "-no-reboot", "-virtfs", share),
            *("-kernel", kernel, "-initrd", folder / "initrd"),
            *("-append", f"console=ttyS0 panic=-1 quiet loglevel=1 {asked.append}"),
        )
        status = 125
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=-1, text=True) as machine:
            assert machine.stdout is not None
            for line in machine.stdout:
                if line.startswith(STATUS):
                    status = int(line.removeprefix(STATUS))
                else:
                    print(line, end="", flush=True)
        return status


if __name__ == "__main__":
    sys.exit(main())
