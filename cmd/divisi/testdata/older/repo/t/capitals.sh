for f in "$@"; do
	text=$(tr a-z A-Z <"$f")
	echo "$text" >"$f"
done
