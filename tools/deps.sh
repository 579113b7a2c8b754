# Debian packages that Convect needs, and their installation. Sourced by quickstart.sh, check.sh and bundle.sh.
# In a list, "a|b" is satisfied by either; the first is what gets installed.
# shellcheck shell=sh disable=SC2034

deps_build='gcc libc6-dev cmake ninja-build pkgconf libjson-c-dev libutf8proc-dev libmd-dev libhwloc-dev liburing-dev libxxhash-dev
    libedit-dev libmimalloc-dev libopenblas-serial-dev|libopenblas-dev'
deps_test='libcmocka-dev libpcre2-dev shellcheck python3 python3-jinja2'
deps_all='clang libclang-rt-dev llvm clang-format clang-tidy cppcheck'

# The first name of each entry of "$@" that is not installed.
deps_missing() {
    for entry; do
        found=no
        for name in $(echo "$entry" | tr '|' ' '); do
            [ "$(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null)" != installed ] || found=yes
        done
        [ $found = yes ] || echo "${entry%%|*}"
    done
}

# Installs what is missing with one apt line. Without root: prints that line and stops the script.
deps_install() {
    if ! command -v dpkg-query >/dev/null; then
        echo "This is no Debian or Ubuntu: please make sure that your system has what these packages hold: $*" >&2
        return 0
    fi
    missing=$(deps_missing "$@" | tr '\n' ' ')
    missing=${missing% }
    [ -n "$missing" ] || return 0
    line="apt-get update && apt-get install -y --no-install-recommends $missing"
    if [ "$(id -u)" != 0 ]; then
        echo "Packages are missing and this user may not install them. Run this one line as root, then start again:" >&2
        echo "$line"
        exit 1
    fi
    echo "installing: $missing" >&2
    DEBIAN_FRONTEND=noninteractive sh -c "$line" </dev/null >&2
}

# CMake options that a script adds to every configuration.
deps_cmake_options() {
    if command -v ccache >/dev/null; then
        echo "-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CUDA_COMPILER_LAUNCHER=ccache"
    fi
}
