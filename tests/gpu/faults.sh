#!/bin/sh
# What compute-sanitizer says of the faults that the emulator finds (tests/emulator/faults): on a machine with a GPU,
#     tests/gpu/faults.sh DIRECTORY RESULTS
# DIRECTORY: executables of `tests/emulator/faults/run --native DIRECTORY`. RESULTS gets sanitizer.txt, a line for each
# executable and tool, and logs.tar.gz. Each runs alone first; those that hang then come last, so that they do not take
# the GPU from the others. LIMIT: seconds a run; BUDGET: seconds in all, what does not fit is not run; JOBS at a time.
set -u
programs=$(cd "${1:?directory of executables}" && pwd) results=${2:?directory for results}
mkdir -p "$results"
results=$(cd "$results" && pwd)
: "${LIMIT:=20}" "${BUDGET:=330}" "${JOBS:=16}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
end=$(($(date +%s) + BUDGET))
export programs work sanitizer end LIMIT

cat > "$work/one" <<'SCRIPT'
#!/bin/sh
# one NAME TOOL: runs it and leaves a line in NAME.TOOL.verdict
name=$1 tool=$2 log=$work/$1.$2.log
say() { printf '%s %s %s\n' "$name" "$tool" "$*" > "$work/$name.$tool.verdict"; }
left=$((end - $(date +%s)))
[ "$left" -gt 2 ] || { say 'not run'; exit 0; }
[ "$left" -lt "$LIMIT" ] || left=$LIMIT
cd "$programs" || exit 0
if [ "$tool" = alone ]; then
    timeout -s KILL "$left" "./$name" > "$log" 2>&1
    case $? in
    0) say right ;;
    1) say 'wrong result' ;;
    2) say 'CUDA error' ;;
    137) say hang ;;
    *) say crash ;;
    esac
    exit 0
fi
timeout -s KILL "$left" "$sanitizer" --tool "$tool" --print-limit 8 "./$name" > "$log" 2>&1
status=$?
summary=$(grep -E '(ERROR|RACECHECK) SUMMARY' "$log" | tail -1 | sed 's/^=* *//; s/.*SUMMARY: //')
if [ "$status" = 137 ] && ! grep -qE '(Invalid|Uninitialized|Race reported|hazard|Barrier error|error detected)' "$log"; then
    say hang
elif [ "$status" = 137 ]; then
    say "found, then hang"
elif [ -z "$summary" ]; then
    say "no summary"
elif printf %s "$summary" | grep -q '^0 '; then
    say '-'
else
    say "found ($summary)"
fi
SCRIPT
chmod +x "$work/one"

names=$(cd "$programs" && for f in *; do [ -x "$f" ] && [ -f "$f" ] && case $f in *.so*|*.sh|READY) ;; *) echo "$f" ;; esac; done)
all() { # NAMES: every tool
    for name in $1; do
        for tool in racecheck memcheck synccheck initcheck; do echo "$name $tool"; done
    done | xargs -P "$JOBS" -L 1 "$work/one"
}
LIMIT=8
echo "$names" | sed 's/$/ alone/' | xargs -P "$JOBS" -L 1 "$work/one"
hanging=$(cat "$work"/*.alone.verdict | awk '$3 == "hang" {print $1}')
others=$(echo "$names" | grep -vxF -e "${hanging:-NONE}")
LIMIT=20
all "$others"
LIMIT=12
all "$hanging"
{
    echo "# executable, tool, verdict. $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -1)"
    "$sanitizer" --version | grep -i version | sed 's/^/# /'
    cat "$work"/*.verdict | sort
} > "$results/sanitizer.txt"
(cd "$work" && tar czf "$results/logs.tar.gz" --exclude=one -- *.log)
awk '!/^#/ {count[$2 " " $3]++} END {for (key in count) print key, count[key]}' "$results/sanitizer.txt" | sort
