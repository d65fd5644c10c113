package member

import (
	"fmt"
	"time"
)

// endsSoon is how long before its end a certificate is told to end.
const endsSoon = 14 * 24 * time.Hour

// Expiry is what a person should know of the end of a server's certificate; "" while that is far.
func Expiry(ends, now time.Time) string {
	left := ends.Sub(now)
	at := ends.UTC().Format(time.RFC3339)
	switch {
	case left > endsSoon:
		return ""
	case left <= 0:
		return fmt.Sprintf("the certificate of the server ended on %s, and no member can connect any more: start the server "+
			"again, which makes another one, and have each member join again", at)
	}
	return fmt.Sprintf("the certificate of the server ends on %s, in %d days. The server makes another one when it is started "+
		"after that, and each member joins again then", at, left/(24*time.Hour))
}
