#!/bin/sh
# test_outputs.sh ROOT CONVECT: no command writes over a file that it reads, or over a device. Skipped (77) without the
# demo model.
set -u
root=$1
convect=$2
demo=$root/tools/demo/convect-demo.gguf
if [ ! -f "$demo" ]; then
    echo "skipped: no $demo"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
n_failed=0
cp "$demo" "$work/model.gguf"
ln -s model.gguf "$work/link.gguf"
seq 1 300 >"$work/text"
cp "$work/text" "$work/text.before"

# refuse CODE TEXT ARGUMENTS...: exit code, a part of the sentence, and the files are as before
refuse() {
    code=$1 text=$2
    shift 2
    (cd "$work" && timeout 60 "$convect" "$@") >"$work/out" 2>"$work/err" </dev/null
    rc=$?
    if [ $rc -ne "$code" ] || ! grep -qF -- "$text" "$work/err"; then
        echo "FAIL: $*: exit $rc, not $code with '$text': $(cat "$work/err")"
        n_failed=$((n_failed + 1))
    fi
    if ! cmp -s "$demo" "$work/model.gguf" || ! cmp -s "$work/text" "$work/text.before" || [ ! -L "$work/link.gguf" ]; then
        echo "FAIL: $*: changed a file that it read"
        exit 1
    fi
}

read_too='is the file being read'
refuse 2 "$read_too" run model.gguf Hello --stats-json model.gguf
refuse 2 "$read_too" run model.gguf Hello --stats-json link.gguf
refuse 2 "$read_too" run link.gguf Hello --stats-json model.gguf
refuse 2 "$read_too" ppl model.gguf -f text --save-logits model.gguf
refuse 2 "$read_too" ppl model.gguf -f text --save-logits text
refuse 2 "$read_too" ppl model.gguf -f text --kl text --save-logits text
refuse 2 "$read_too" doctor model.gguf --report link.gguf
refuse 2 "$read_too" quantize model.gguf link.gguf
refuse 2 "$read_too" synth text --like text

# a device stays one (as root a rename would replace it)
mkfifo "$work/pipe"
refuse 8 'it is no regular file' ppl model.gguf -f text --save-logits pipe
[ -p "$work/pipe" ] || { echo "FAIL: --save-logits replaced a pipe"; n_failed=$((n_failed + 1)); }

# names that are empty, found before any work
refuse 2 'the name of the file to write is empty' synth ''
refuse 2 'the name of the file to write is empty' quantize model.gguf ''
refuse 3 'the name of the file to read is empty' run '' Hello

# SIGTERM ends as ^C does: in order, with 130
"$convect" run "$demo" --greedy --ignore-eos Hello >"$work/out" 2>"$work/err" </dev/null &
pid=$!
while [ ! -s "$work/out" ] && kill -0 $pid 2>/dev/null; do sleep 0.05; done
kill -TERM $pid
wait $pid
rc=$?
if [ $rc -ne 130 ] || ! grep -q 'convect: interrupted' "$work/err"; then
    echo "FAIL: SIGTERM: exit $rc: $(cat "$work/err")"
    n_failed=$((n_failed + 1))
fi

# what the model cannot take is not promised by an option
seq 1 3000 | tr '\n' ' ' >"$work/long"
refuse 2 'the model takes 4096 at most' run model.gguf --raw -- "$(cat "$work/long")"

[ $n_failed -eq 0 ]
