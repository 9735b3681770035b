#!/bin/sh
# The demo's coordinator: what a coordinating agent does, as a plain shell script. It uses nothing
# but the public commands. First argument: the absolute path of orca.
set -eu
orca=$1

say() { printf '\n\033[1;36m== %s\033[0m\n' "$*"; }

# The first id of one kind in a JSON document on standard input.
id_of() { sed -n 's/^ *"\(id\|dispatchId\|deliveryId\)": "\('"$1"'_[0-9a-f]*\)".*/\2/p' | head -n 1; }

task() { "$orca" orchestration task-create --task-title "$1" --spec "$2" --deps "${3:-[]}" --json | id_of task; }

start() { # task, agent, worktree name, and what else a start needs
    started=$1 agent=$2 name=$3
    shift 3
    "$orca" orchestration worker-start --task "$started" --worktree new-child --name "$name" --agent "$agent" "$@" --json \
        | id_of ctx
}

say "A run with two independent tasks and one that needs both"
"$orca" orchestration run-create --objective "Add up the shop's daily sales"

sums=$(task "sum the sales" "Add up each day of sales.csv into totals.csv. Ask how to round.")
check=$(task "check the input" "Check that each line of sales.csv has a date and a number; write check.txt.")
report=$(task "write the report" "Write report.md from the results of the other two tasks." "[\"$sums\", \"$check\"]")
"$orca" orchestration task-list

say "Two workers side by side, each in a worktree of its own"
sums_attempt=$(start "$sums" demo-sums sums)
check_attempt=$(start "$check" demo-check check)

# Waits for one batch of mail, prints it, remembers the batch and acknowledges the last one.
delivery=
mail() {
    set -- --wait --types worker_done,escalation,question --timeout-ms 900000 --json
    [ -z "$delivery" ] || set -- --ack "$delivery" "$@"
    # A waiting check says on standard error that it still waits; here nobody needs to know.
    batch=$("$orca" orchestration check "$@" 2>/dev/null)
    delivery=$(printf '%s\n' "$batch" | id_of delivery)
    printf '%s\n' "$batch" | sed -n 's/^ *"subject": "\(.*\)",\{0,1\}$/   mail: \1/p'
}

state() { "$orca" orchestration task-list --json | awk -v id="$1" '
    /^ *"id": / { seen = index($0, id) > 0 }
    /^ *"status": / && seen { gsub(/[",]/, ""); print $2; exit }'; }

is_retried=no
until [ "$(state "$sums")" = completed ] && [ "$(state "$check")" = completed ]; do
    mail
    if [ "$(state "$check")" = failed ] && [ "$is_retried" = no ]; then
        say "The check failed on its first try; a second attempt takes over"
        "$orca" orchestration worker-release --dispatch "$check_attempt"
        check_attempt=$(start "$check" demo-check check-again --retry-of "$check_attempt")
        is_retried=yes
    fi
done
"$orca" orchestration worker-release --dispatch "$sums_attempt"
"$orca" orchestration worker-release --dispatch "$check_attempt"

say "Both are done. The report waits for a person at a gate"
"$orca" orchestration gate-create --task "$report" --question "Both are done. Shall the report be written now?" --options '["go on"]'
while [ "$(state "$report")" = blocked ]; do
    mail_wait=$("$orca" orchestration check --wait --types status --timeout-ms 1000 --json) || true
done

say "The report's worker gets the results of both"
report_attempt=$(start "$report" demo-report report)
until [ "$(state "$report")" = completed ]; do
    mail
done
"$orca" orchestration worker-release --dispatch "$report_attempt"
[ -z "$delivery" ] || "$orca" orchestration check --ack "$delivery" >/dev/null

say "Everything is done"
"$orca" orchestration task-list
"$orca" worktree list
say "The report is in the worktree named report. Ctrl-b ? shows the keys; Ctrl-b d ends the demo and removes it."
