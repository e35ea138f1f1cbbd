# Sourced by the scripts beside it: a cache of things to test against, kept outside the repository,
# and a private apt that fetches them without touching the machine's own package setup.

CACHE=${UNGIL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ungil}
mkdir -p "$CACHE"

say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }

die() {
    say "$*"
    exit 1
}

# cached DIR MAKE: runs the function MAKE with DIR as its argument unless DIR is already complete.
# Concurrent callers wait for the first one; a failed or killed run leaves nothing that counts.
cached() {
    local dir=$1 make=$2
    [[ -e $dir/.complete ]] && return
    exec 9>"$dir.lock"
    flock 9
    if [[ ! -e $dir/.complete ]]; then
        rm -rf "$dir"
        # A subshell with its own `set -e`: the status of a function tested by `||` would be that
        # of its last command only.
        if ! bash -euo pipefail -c "$(declare -f); $(declare -p CACHE); $make \"\$1\"" "$0" "$dir" >&2; then
            rm -rf "$dir"
            die "could not make $dir (the reason is above)"
        fi
        touch "$dir/.complete"
    fi
    exec 9>&-
}

# The URI of the Debian mirror that this machine itself uses.
debian_mirror() {
    local ID VERSION_CODENAME
    . /etc/os-release
    [[ $ID == debian ]] || die "fetches from Debian, and this is $ID"
    apt-get indextargets --no-release-info --format '$(RELEASE) $(REPO_URI)' |
        awk -v release="$VERSION_CODENAME" '$1 == release { uri = $2 } END { print uri; exit !uri }' ||
        die "found no mirror for $VERSION_CODENAME in the apt sources of this machine"
}

# private_apt SUITE KIND ARGS: apt-get on one SUITE (trixie, sid) and KIND (deb, deb-src) of Debian,
# with its own lists and caches; proxies and other transport settings are those of the machine.
private_apt() (
    local suite=$1 kind=$2 base=$CACHE/apt/$1-$2 mirror
    shift 2
    mirror=$(debian_mirror)
    mkdir -p "$base"/{state/lists/partial,cache/archives/partial}
    exec 8>"$base.lock"
    flock 8
    echo "$kind [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" \
        >"$base/sources.list"
    {
        apt-config dump | grep '^Acquire::'
        printf '%s "%s";\n' \
            Dir::Etc::Main /dev/null Dir::Etc::Parts /dev/null \
            Dir::Etc::SourceList "$base/sources.list" Dir::Etc::SourceParts /dev/null \
            Dir::State "$base/state" Dir::State::Status /dev/null Dir::Cache "$base/cache" \
            Acquire::Languages none APT::Sandbox::User root
    } >"$base/apt.conf"
    export APT_CONFIG=$base/apt.conf
    apt-get -q update
    apt-get -q "$@"
)

# need PACKAGE...: installs missing Debian packages when run as root, otherwise names them.
need() {
    local package missing=()
    command -v dpkg >/dev/null || return 0
    for package; do
        dpkg -s "$package" >/dev/null 2>&1 || missing+=("$package")
    done
    ((${#missing[@]})) || return 0
    if ((EUID)); then
        say "not installed, and only root may install: ${missing[*]}"
        return 0
    fi
    say "installing ${missing[*]}"
    apt-get -q update >&2
    DEBIAN_FRONTEND=noninteractive apt-get -qy install --no-install-recommends "${missing[@]}" >&2
}

# What builds and runs the tests, but for the free-threaded Python.
need_for_tests() {
    command -v cargo >/dev/null || die "needs Rust: cargo is not on the PATH"
    need gcc libc6-dev make git patch python3
    python3 -c 'import os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")' 2>/dev/null ||
        need python3-dev
    cargo nextest --version >/dev/null 2>&1 || cargo install --locked cargo-nextest
}
