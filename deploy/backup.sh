# /opt/privtally/backup.sh FOLDER: makes a copy of the store and deletes old ones. privtally-backup.service runs it.
set -eu
folder=$1
new=$(date +%Y-%m-%dT%H%M%S)

# A copy is written whole or not at all, and never over another one.
said=$(/opt/privtally/bin/privtally db backup --json --output "$folder/$new.db")

case $said in
*'"invitations": true'*)
    # Copies from before and after an answer differ by one spent invitation and one report, which belong together.
    # So while the store has a campaign with invitations, open or closed, there is one copy, and the next one replaces it.
    mv "$folder/$new.db" "$folder/$new.only.db"
    find "$folder" -name '*.db' ! -name "$new.only.db" -delete
    ;;
*)
    find "$folder" -name '*.only.db' -delete
    # Copies hold the reports. Deleting reports is over only once the last copy with them is gone: after 14 days.
    find "$folder" -name '*.db' -mtime +13 -delete
    ;;
esac
