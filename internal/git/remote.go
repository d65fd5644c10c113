package git

import (
	"path/filepath"
	"slices"
	"strings"
)

// addressOf is an address without what spellings of it differ in: the scheme, the user, the usual port, .git and slashes at the
// end. A path is relative to top.
func addressOf(address, top string) string {
	scheme, rest, isURL := strings.Cut(address, "://")
	host, path, _ := strings.Cut(rest, "/")
	if !isURL {
		before, after, isHost := strings.Cut(address, ":")
		switch {
		case address == "":
			return ""
		case !isHost || strings.Contains(before, "/"): // a path
			host, path = "", strings.TrimPrefix(filepath.ToSlash(resolve(top, address)), "/")
		default:
			host, path = before, after
		}
	}
	host = strings.ToLower(host[strings.LastIndexByte(host, '@')+1:])
	if name, port, found := strings.Cut(host, ":"); found && slices.Contains(usualPorts[strings.ToLower(scheme)], port) {
		host = name
	}
	path = strings.TrimRight(strings.TrimLeft(path, "/"), "/")
	return host + "/" + strings.TrimRight(strings.TrimSuffix(path, ".git"), "/")
}

// usualPorts are those that a scheme has where an address names none.
var usualPorts = map[string][]string{"ssh": {"22"}, "https": {"443"}, "http": {"80"}, "git": {"9418"}}
