package depot

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"divisi/bus"
	"divisi/bus/member"
	"divisi/internal/usage"
)

// maxLogin is more than a login takes, in bytes.
const maxLogin = 4096

// loginFile is where a state directory keeps how it logs in to a server.
func loginFile(stateDir, name string) string { return filepath.Join(stateDir, "servers", name+".json") }

// Join exchanges a token for a login, which is kept in the state directory under the name as; "" for the host of the server.
// me is the name of the member; "" for that of the token, or of the account and the machine. A token that gives a member another
// key replaces the login.
func Join(ctx context.Context, stateDir, token, as, me string) (string, Server, error) {
	t, err := member.ParseToken(token)
	if err != nil {
		return "", Server{}, err
	}
	if as == "" {
		as = serverName(t.URL)
	}
	if !bus.ValidToken(as) {
		return "", Server{}, usage.Errorf("%.80q is no name for a server: letters, digits, - and _", as)
	}
	path := loginFile(stateDir, as)
	if had, err := member.ReadLogin(path); err == nil && t.Replaces {
		if had.Role != t.Role || !ofServer(had, t) || me != "" && me != had.Name {
			return "", Server{}, usage.Errorf("the token gives a %s another key, and %s has the login of another member: name "+
				"the server as it was joined, or choose another name for it", t.Role, path)
		}
		me = had.Name // the token is not used up where it is for another member
	} else if _, err := os.Lstat(path); err == nil {
		return "", Server{}, usage.With(usage.Errorf("%s is joined already: to join it again, choose another name for it, or "+
			"remove its login, %s", as, path), usage.Joined, as)
	}
	if err := room(path); err != nil {
		return "", Server{}, err
	}
	login, err := bus.Join(ctx, token, me, usualName(t.Role))
	if err != nil {
		return "", Server{}, err
	}
	return as, Server{URL: login.URL, Login: path}, login.Write(path)
}

// Joined is the server of a token where a state directory has the login of a worker of it already; name is "" where it has none.
// A machine that is started again with a key for many is so the member that it was, and uses up nothing.
func Joined(stateDir, token string) (name string, at Server, err error) {
	t, err := member.ParseToken(token)
	if err != nil {
		return "", Server{}, err
	}
	name = serverName(t.URL)
	path := loginFile(stateDir, name)
	had, err := member.ReadLogin(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", Server{}, nil
	case err != nil:
		return "", Server{}, err
	case t.Replaces || t.Role != member.Worker || had.Role != t.Role || !ofServer(had, t):
		return "", Server{}, nil
	}
	return name, Server{URL: had.URL, Login: path}, nil
}

// ofServer reports whether a login and a token are of one server, which may have made another certificate in between.
func ofServer(had *member.Login, t member.Token) bool {
	return had.Certificate == t.Certificate || had.URL == t.URL
}

// TokenRole is the role that a token admits: worker, person or viewer. replaces reports that it gives a member another key.
func TokenRole(token string) (role string, replaces bool, err error) {
	t, err := member.ParseToken(token)
	return string(t.Role), t.Replaces, err
}

// room finds out whether a login can be kept, before a token is used up for it: no other login has its name then.
func room(path string) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the directory of logins: %w", err)
	}
	f, err := os.CreateTemp(dir, ".room-")
	if err != nil {
		return fmt.Errorf("keep a login: %w", err)
	}
	_, err = f.Write(make([]byte, maxLogin))
	if err = errors.Join(err, f.Close(), os.Remove(f.Name())); err != nil {
		return fmt.Errorf("keep a login: %w", err)
	}
	return nil
}

// serverName is the host of a URL, as a token of a subject.
func serverName(at string) string {
	u, err := url.Parse(at)
	if err != nil {
		return "server"
	}
	return TokenOf(u.Hostname(), "server")
}

// usualName is that of the account and the machine; of a worker the machine's, with a few letters of its own.
func usualName(role member.Role) string {
	host, _ := os.Hostname() // the name of the account, or letters, alone then
	if role == member.Worker {
		id := NewID()
		return TokenOf(host+"-"+strings.ToLower(id[len(id)-4:]), "worker")
	}
	return TokenOf(strings.TrimPrefix(Account(), "user:")+"-"+host, "member")
}

// TokenOf is a text with - for what no token of a subject has.
func TokenOf(text, without string) string {
	text = strings.Trim(strings.Map(func(r rune) rune {
		if bus.ValidToken(string(r)) {
			return r
		}
		return '-'
	}, text), "-_")
	if text == "" {
		return without
	}
	return text[:min(len(text), 60)]
}

// FindServer finds a server by what a person calls it: a name that was joined, a context of the nats command line, or a URL.
func FindServer(stateDir, name string) (Server, error) {
	if strings.Contains(name, "://") {
		return Server{URL: name}, nil
	}
	if !bus.ValidToken(name) && name != filepath.Base(name) {
		return Server{}, usage.Errorf("%.80q is no server: name one that was joined, a context of nats, or a URL", name)
	}
	path := loginFile(stateDir, name)
	if !bus.ValidToken(name) { // the host of a server, as Join names it
		path = loginFile(stateDir, TokenOf(name, "server"))
	}
	login, err := member.ReadLogin(path)
	if err == nil {
		return Server{URL: login.URL, Login: path}, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return Server{}, err
	}
	s, err := natsContext(name)
	if errors.Is(err, fs.ErrNotExist) {
		err = usage.Errorf("no server is known as %s: join it first, with a token that its operator makes", name)
	}
	return s, err
}

// natsContext reads a context of the nats command line: an address, credentials or the seed of an nkey, and the inbox that is the
// member's own.
func natsContext(name string) (Server, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return Server{}, fmt.Errorf("find the contexts of nats: %w", fs.ErrNotExist)
	}
	path := filepath.Join(dir, "nats", "context", name+".json")
	data, err := os.ReadFile(path)
	if err != nil {
		return Server{}, fmt.Errorf("read a context of nats: %w", err)
	}
	var c struct {
		URL   string `json:"url"`
		Creds string `json:"creds"`
		NKey  string `json:"nkey"`
		Inbox string `json:"inbox_prefix"`
	}
	if err := json.Unmarshal(data, &c); err != nil || c.URL == "" {
		return Server{}, usage.Errorf("%s names no url that can be used", path)
	}
	login := cmp.Or(c.Creds, c.NKey)
	if login != "" && !bus.IsCredentials(login) {
		return Server{}, usage.Errorf("%s: the file of credentials %s must end in .creds, or in .nk for a seed", path, login)
	}
	s := Server{URL: c.URL, Login: login}
	if me, own := strings.CutPrefix(c.Inbox, member.Inbox("")); own {
		if !bus.ValidToken(me) {
			return Server{}, usage.Errorf("%s: %.80q in its inbox_prefix is no name of a member", path, me)
		}
		s.Name = me
	}
	return s, nil
}
