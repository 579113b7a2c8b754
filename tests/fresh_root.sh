#!/bin/sh
# Runs the two README commands where a new user would: in a bare Debian 12 root (debootstrap, minbase) made from this
# machine's own apt sources, with nothing but git added and the tree cloned into it. Needs root, debootstrap and the
# network of this machine's apt; takes minutes, so it is not in CI: run it before a submission that touches set-up.
# Usage: sh tests/fresh_root.sh [KEEP_DIR]     (default: a temporary folder, removed at the end)
set -eu
tree=$(cd "$(dirname "$0")/.." && pwd)
[ "$(id -u)" = 0 ] || {
    echo "tests/fresh_root.sh needs root (debootstrap, chroot)" >&2
    exit 2
}
command -v debootstrap >/dev/null || {
    echo "debootstrap is missing: apt-get install -y debootstrap" >&2
    exit 2
}
if [ $# -gt 0 ]; then
    root=$1
    mkdir -p "$root"
else
    root=$(mktemp -d /var/tmp/convect-fresh-root.XXXXXX)
fi

unmount() {
    for dir in proc dev; do
        if mountpoint -q "$root/$dir"; then umount "$root/$dir"; fi
    done
}
finish() {
    unmount
    [ $# -gt 0 ] || return 0
    rm -rf --one-file-system "$root"
}
if [ $# -gt 0 ]; then trap unmount EXIT; else trap 'finish all' EXIT; fi

# The mirror of the Debian source that this machine uses: first URIs: line, or first deb line, of a bookworm source.
mirror=$(cat /etc/apt/sources.list.d/debian*.sources /etc/apt/sources.list.d/*.sources 2>/dev/null |
    sed -n 's/^URIs: *\([^ ]*debian[^ ]*\).*/\1/p' | head -1)
[ -n "$mirror" ] || mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null |
    sed -n 's/^deb  *\(\[[^]]*\]  *\)\{0,1\}\([^ ]*\)  *bookworm .*/\2/p' | head -1)
[ -n "$mirror" ] || {
    echo "no Debian mirror in this machine's apt sources" >&2
    exit 2
}
proxy=$(apt-config dump Acquire::http::Proxy | sed -n 's/^Acquire::http::Proxy "\(.*\)";/\1/p')

if [ ! -x "$root/bin/sh" ]; then
    echo "== debootstrap from $mirror" >&2
    http_proxy=$proxy debootstrap --variant=minbase bookworm "$root" "$mirror" >"$root.log" 2>&1 || {
        tail -40 "$root.log"
        exit 1
    }
    rm -f "$root.log"
fi
cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
# apt behaves as on this machine: its sources for Debian, its keys, its settings of fetching (not its hooks)
rm -f "$root/etc/apt/sources.list"
mkdir -p "$root/usr/share/keyrings" "$root/etc/apt/sources.list.d" "$root/etc/apt/apt.conf.d"
for list in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
    if grep -qs "$mirror" "$list"; then cp "$list" "$root/etc/apt/sources.list.d/"; fi
done
apt-config dump | grep -E '^Acquire::(http|https|Check|Retries|Max)' | grep -v '::$' >"$root/etc/apt/apt.conf.d/90machine" || true
mountpoint -q "$root/proc" || mount -t proc proc "$root/proc"
mountpoint -q "$root/dev" || mount --bind /dev "$root/dev"

in_root() {
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 TERM=dumb chroot "$root" "$@"
}

echo "== the bundle, where none of its libraries is installed" >&2
sh "$tree/tools/bundle.sh" "$root/root/bundle" >"$root/root/bundle.log"
in_root sh /root/bundle/run_tests.sh unit
in_root /root/bundle/bin/convect version >/dev/null

echo "== git, all that the README asks for" >&2
in_root sh -c 'apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends git' >/dev/null
rm -rf "$root/root/convect"
git clone -q --no-local "$tree" "$root/root/convect"

for command in 'sh tools/quickstart.sh' 'sh tools/check.sh'; do
    echo "== $command" >&2
    start=$(date +%s)
    in_root sh -c "cd /root/convect && $command" </dev/null
    echo "== $command: $(($(date +%s) - start)) s" >&2
done
echo "== without root, a missing package ends in one apt line" >&2
in_root sh -c 'apt-get purge -y -qq ninja-build && useradd -m user && mv /root/convect /home/user/ && chown -R user /home/user' \
    >/dev/null 2>&1
line=$(in_root su user -c 'cd ~/convect && sh tools/quickstart.sh') && exit 1
[ "$line" = "apt-get update && apt-get install -y --no-install-recommends ninja-build" ] || {
    echo "printed instead: $line" >&2
    exit 1
}
echo "fresh root: both commands work"
