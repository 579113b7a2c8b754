#!/bin/sh
# test_cli.sh ROOT CONVECT: the program's command line from outside. Exit codes, messages, streams, completion, manual page.
set -u
convect=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
n_failed=0

fail() {
    echo "FAIL: $*"
    n_failed=$((n_failed + 1))
}

# expect CODE TEXT-ON-STDERR ARGUMENTS...: also that stdout stays empty when something is wrong
expect() {
    code=$1 text=$2
    shift 2
    "$convect" "$@" >"$work/out" 2>"$work/err" </dev/null
    rc=$?
    [ "$rc" -eq "$code" ] || fail "convect $*: exit $rc, not $code"
    grep -qF -- "$text" "$work/err" || fail "convect $*: stderr lacks '$text': $(cat "$work/err")"
    if [ "$code" -ne 0 ] && [ -s "$work/out" ]; then fail "convect $*: an error wrote to stdout"; fi
}

# prints TEXT ARGUMENTS...: exit 0, text on stdout, nothing on stderr
prints() {
    text=$1
    shift
    "$convect" "$@" >"$work/out" 2>"$work/err" </dev/null || fail "convect $*: exit $?"
    grep -qF -- "$text" "$work/out" || fail "convect $*: stdout lacks '$text'"
    [ -s "$work/err" ] && fail "convect $*: wrote to stderr: $(cat "$work/err")"
}

expect 2 'usage: convect COMMAND'
expect 2 'there is no command "verison"; did you mean "version"?' verison
expect 2 'there is no command "x";' help x
expect 2 'has no option --jsn; did you mean --json?' version --jsn
expect 2 'has no option -Z' version -Z
expect 2 '--log-level must be one of error|warn|info|debug|trace, not "loud"' version --log-level=loud
expect 2 'does not know what to do with "extra"' version extra
expect 2 '"convect completion" needs more: bash|zsh|fish' completion
expect 2 'completion is for bash, zsh or fish, not "tcsh"' completion tcsh
CONVECT_LOG_LEVEL=loud expect 2 'CONVECT_LOG_LEVEL must be one of' version

prints 'usage: convect COMMAND' --help
prints 'usage: convect COMMAND' -h
prints 'usage: convect COMMAND' help
prints 'usage: convect version [options]' version --help
prints 'environment variable (--json: CONVECT_JSON)' version --help
prints 'usage: convect version [options]' help version
prints 'convect ' version
prints 'convect ' --version
prints '"commit"' version --json
CONVECT_JSON=1 prints '"commit"' version
CONVECT_LOG_LEVEL='' prints 'commit' version
CONVECT_JSON=1 prints 'commit  ' version --json=off

# every command answers --help, and the overview lists it
for command in $("$convect" --help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
    [ "$command" = help ] || prints "usage: convect $command" "$command" --help
done

# a stdout that cannot be written is an error, never silent
"$convect" version >/dev/full 2>"$work/err"
[ $? -eq 8 ] || fail "full stdout: not exit 8"
grep -q 'cannot write to standard output: No space left' "$work/err" || fail "full stdout: $(cat "$work/err")"
"$convect" version >&- 2>"$work/err"
[ $? -eq 8 ] || fail "closed stdout: not exit 8"
mkfifo "$work/pipe"
# shellcheck disable=SC2217 # only holds the reading end open
sleep 100 <"$work/pipe" &
reader=$!
exec 3>"$work/pipe"
kill "$reader"
wait "$reader" 2>/dev/null
"$convect" man >&3 2>"$work/err"
[ $? -eq 8 ] || fail "broken pipe: not exit 8"
exec 3>&-

for shell in bash zsh fish; do
    prints convect completion "$shell"
    if command -v "$shell" >/dev/null; then
        "$shell" -n "$work/out" || fail "completion script for $shell has a syntax error"
    fi
done
if command -v bash >/dev/null; then
    "$convect" completion bash >"$work/complete"
    "$convect" completion zsh >"$work/zsh"
    got=$(bash -c '. "$1"; COMP_WORDS=(convect version --log-level wa) COMP_CWORD=3; _convect; echo "${COMPREPLY[*]}"' - "$work/complete")
    [ "$got" = warn ] || fail "bash completes --log-level wa to '$got'"
    grep -q 'funcstack' "$work/zsh" || fail "the zsh script does not serve as an autoloaded function"
    got=$(bash -c '. "$1"; COMP_WORDS=(convect version --js) COMP_CWORD=2; _convect; echo "${COMPREPLY[*]}"' - "$work/complete")
    [ "$got" = --json ] || fail "bash completes --js to '$got'"
fi

prints '.TH convect 1' man
if command -v groff >/dev/null; then
    groff -man -ww -Tutf8 -z "$work/out" 2>"$work/err" || fail "groff fails on the manual page"
    [ -s "$work/err" ] && fail "groff warns: $(head -3 "$work/err")"
    groff -man -Tascii "$work/out" | grep -q 'damaged' || fail "manual page lacks the exit codes"
fi

[ "$n_failed" -eq 0 ] || exit 1
echo "command line: all passed"
