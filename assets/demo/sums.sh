#!/bin/sh
# A demo worker: adds up sales.csv, after asking a person how to round.
# Arguments: the absolute path of orca, and the brief that every worker gets.
set -eu
orca=$1
brief=$2
me="--from $ORCA_TERMINAL_HANDLE"
ids="--task-id $ORCA_TASK_ID --dispatch-id $ORCA_DISPATCH_ID"

printf '%s\n' "$brief" | sed -n '/^----- TASK -----$/,$p'
"$orca" orchestration send $me --type heartbeat --subject "Reading sales.csv" $ids --phase investigating

rounding=$("$orca" orchestration ask $me --question "Round the totals to whole numbers or keep the cents?" \
    --options "whole numbers,keep the cents" --timeout-ms 600000)
echo "The answer: $rounding"
case $rounding in
    *whole*) format='%s,%.0f\n' ;;
    *) format='%s,%.2f\n' ;;
esac

awk -F, -v format="$format" 'NR > 1 && $2 ~ /^[0-9.]+$/ { sum[$1] += $2 } END { for (day in sum) printf format, day, sum[day] }' sales.csv \
    | sort > totals.csv
git add totals.csv
git commit -qm "Add up the sales of each day"
git --no-pager log --oneline -1

"$orca" orchestration send $me --type worker_done --subject "Totals are in totals.csv" \
    --body "Added up $(wc -l < totals.csv | tr -d ' ') days, $rounding. Found one line without a number. Nothing remains." \
    $ids --outcome succeeded --files-modified totals.csv
