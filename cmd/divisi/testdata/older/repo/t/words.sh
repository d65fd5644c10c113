# Door and key fit, and one of left and right alone is taken.
read -r door <door.txt
read -r key <key.txt
read -r left <left.txt
read -r right <right.txt
[ "$door" = "$key" ] || { echo 'error: door.txt: does not fit key.txt'; red=1; }
[ "$left$right" != takentaken ] || { echo 'error: right.txt: left.txt is taken too'; red=1; }
[ -z "${red-}" ]
