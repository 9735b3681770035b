#!/bin/sh
# A demo worker: checks sales.csv. Its first attempt fails on purpose, as attempts do.
# Arguments: the absolute path of orca, and the brief that every worker gets.
set -eu
orca=$1
brief=$2
me="--from $ORCA_TERMINAL_HANDLE"
ids="--task-id $ORCA_TASK_ID --dispatch-id $ORCA_DISPATCH_ID"

printf '%s\n' "$brief" | sed -n '/^----- TASK -----$/,$p'
"$orca" orchestration send $me --type heartbeat --subject "Checking sales.csv" $ids --phase implementing

case $(basename "$PWD") in
    *again*) ;;
    *)
        echo "awk: no such field"
        "$orca" orchestration send $me --type worker_done --subject "The check could not be finished" \
            --body "Tried to read a third column. There is none. The check itself remains to be done." $ids --outcome failed
        exit 0
        ;;
esac

awk -F, 'NR > 1 && $2 !~ /^[0-9.]+$/ { print "line " NR ": " $0 }' sales.csv > check.txt
git add check.txt
git commit -qm "Check the sales for lines without a number"
git --no-pager log --oneline -1

"$orca" orchestration send $me --type worker_done --subject "The input has one bad line" \
    --body "Checked every line of sales.csv. One has no number: $(head -n 1 check.txt). Nothing remains." \
    $ids --outcome succeeded --files-modified check.txt
