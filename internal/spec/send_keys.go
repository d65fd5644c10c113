package spec

import (
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"
)

// SendKeysVar names the variable in which a person says which of their variables may go where: NAME=HOST, separated by commas.
// The files of a repository say where they want a key to go; only its owner says that it may.
const SendKeysVar = "DIVISI_SEND_KEYS"

// MaySend returns nil where the value of the variable name may go to a host, or to a program known as where. allowed is the value
// of SendKeysVar. This machine itself is no other place. A host is allowed with TLS; without, only as http://HOST.
func MaySend(allowed, name, where string) error {
	host := where
	if u, err := url.Parse(where); err == nil && u.Host != "" {
		host = u.Hostname()
		if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
			return nil
		}
		if u.Scheme == "http" {
			host = "http://" + host
		}
	}
	for entry := range strings.SplitSeq(allowed, ",") {
		if key, to, ok := strings.Cut(strings.TrimSpace(entry), "="); ok && key == name && strings.EqualFold(to, host) {
			return nil
		}
	}
	return fmt.Errorf("%s would go to %s because a file of the repository says so: if that is what you want, set %s=%s=%s",
		name, host, SendKeysVar, name, host)
}

// CheckSendKeys faults a value of SendKeysVar of which an entry could never allow anything. Entries are not shown: a key may
// stand where its name should.
func CheckSendKeys(allowed string) error {
	for i, entry := range strings.Split(allowed, ",") {
		entry = strings.TrimSpace(entry)
		name, to, _ := strings.Cut(entry, "=")
		if entry == "" || envName.MatchString(name) && sendPlace.MatchString(strings.TrimPrefix(to, "mcp:")) {
			continue
		}
		return fmt.Errorf("entry %d of %s is not of the form NAME=HOST, NAME=http://HOST (where it speaks no TLS) or "+
			"NAME=mcp:SERVER: write the name of a variable and where it may go, several separated by commas, or unset it",
			i+1, SendKeysVar)
	}
	return nil
}

// sendPlace is a host as MaySend compares it, or a program's name: no path, no user, no port, and no scheme but http. An address
// of IPv6 stands without brackets.
var sendPlace = regexp.MustCompile(`^(http://)?([^\s/=@:\[\]]+|[0-9A-Fa-f.]*:[0-9A-Fa-f.:]*:[0-9A-Fa-f.:]*)$`)
