// Package remote reads from the address of a git remote which forge has the repository.
package remote

import (
	"net/url"
	"regexp"
	"strings"

	"divisi/internal/usage"
	"divisi/orchestrator/forge/web"
)

// The kinds of forges.
const (
	GitHub  = "github"
	GitLab  = "gitlab"
	Command = "command"
)

// Remote is a repository at a forge.
type Remote struct {
	Kind string // "" where the address tells none
	// Host is that of its pages, with a port where one is named and the address is no ssh.
	Host        string
	Owner, Name string
	// HTTP is set where git reaches it by HTTP, so that a token gives access; Scheme is that of its pages.
	HTTP   bool
	Scheme string
}

var (
	// scp is the short form of ssh, such as git@host:owner/name.git.
	scp  = regexp.MustCompile(`^(?:[\w.-]+@)?([\w.-]+):([^/\\:][^\\:]*)$`)
	word = regexp.MustCompile(`^[\w.~-]+$`)
	// alias are hosts that forges have for ssh through port 443.
	alias = map[string]string{"ssh.github.com": "github.com", "altssh.gitlab.com": "gitlab.com"}
)

// Parse reads the address of a remote. An address without a host, such as a directory, is no forge: its Kind is empty. kind is
// what the person has said of the forge, "" for nothing.
func Parse(address, kind string) (Remote, error) {
	r := Remote{Scheme: "https"}
	var path string
	if m := scp.FindStringSubmatch(address); m != nil && !strings.Contains(address, "://") {
		r.Host, path = m[1], m[2]
	} else {
		at, err := url.Parse(address)
		if err != nil || at.Host == "" {
			return Remote{}, nil //nolint:nilerr // a path, or a form of git's own
		}
		switch at.Scheme {
		case "ssh", "git+ssh":
			r.Host = at.Hostname()
		case "https":
			r.Host, r.HTTP = at.Host, true
		case "http":
			if !web.Private(at) {
				return Remote{},
					usage.Errorf("the remote is reached by http, where anyone on the way reads a token: use https or ssh")
			}
			r.Host, r.HTTP, r.Scheme = at.Host, true, "http"
		default:
			return Remote{}, nil
		}
		path = at.Path
	}
	path = strings.TrimSuffix(strings.Trim(path, "/"), ".git")
	i := strings.LastIndex(path, "/")
	if i < 1 {
		return Remote{}, nil
	}
	r.Owner, r.Name, r.Host = path[:i], path[i+1:], strings.ToLower(r.Host)
	if name := alias[r.Host]; name != "" {
		r.Host = name
	}
	for _, part := range strings.Split(path, "/") {
		if !word.MatchString(part) || part == "." || part == ".." {
			return Remote{}, usage.Errorf("the path of the remote is not one of a forge: %q", path)
		}
	}
	r.Kind = kind
	if kind == "" {
		r.Kind = kindOf(r.Host)
	}
	if r.Kind == GitHub && strings.Contains(r.Owner, "/") {
		return Remote{}, usage.Errorf("the path of a repository at GitHub is OWNER/NAME, not %q", path)
	}
	return r, nil
}

func kindOf(host string) string {
	switch name, _, _ := strings.Cut(host, "."); {
	case name == "github" || strings.HasSuffix(host, ".ghe.com"):
		return GitHub
	case name == "gitlab":
		return GitLab
	}
	return ""
}

// API is the address of the forge's interface.
func (r Remote) API() string {
	switch {
	case r.Kind == GitLab:
		return r.Scheme + "://" + r.Host + "/api/v4"
	case r.Host == "github.com":
		return "https://api.github.com"
	case strings.HasSuffix(r.Host, ".ghe.com"):
		return "https://api." + r.Host
	}
	return r.Scheme + "://" + r.Host + "/api/v3"
}

// Path is OWNER/NAME.
func (r Remote) Path() string { return r.Owner + "/" + r.Name }
