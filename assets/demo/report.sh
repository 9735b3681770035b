#!/bin/sh
# A demo worker: writes a report from what the workers before it found; their results came with its brief.
# Arguments: the absolute path of orca, and the brief that every worker gets.
set -eu
orca=$1
brief=$2
me="--from $ORCA_TERMINAL_HANDLE"
ids="--task-id $ORCA_TASK_ID --dispatch-id $ORCA_DISPATCH_ID"

printf '%s\n' "$brief" | sed -n '/^----- TASK -----$/,$p'
"$orca" orchestration send $me --type heartbeat --subject "Writing the report" $ids --phase implementing

{
    echo "# Daily sales"
    echo
    echo "What the other workers found:"
    echo
    printf '%s\n' "$brief" | grep -E "totals.csv|sales.csv|bad line|no number" | sed 's/^ *[-*]* */- /'
} > report.md
cat report.md
git add report.md
git commit -qm "Report the daily sales"

"$orca" orchestration send $me --type worker_done --subject "The report is written" \
    --body "Wrote report.md from both results. Found nothing new. Nothing remains." \
    $ids --outcome succeeded --files-modified report.md
