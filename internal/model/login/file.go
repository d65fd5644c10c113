package login

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"divisi/internal/model"
)

const (
	// clientID is the public name of Claude Code, whose login this is, at the endpoint.
	clientID = "9d1c250a-e61b-44d9-88ed-5944d1962f5e"
	origin   = "https://platform.claude.com"
	// early is how long before its end a token is refreshed, as its program does.
	early = 5 * time.Minute
	// maxAsk bounds one question to the endpoint.
	maxAsk = 30 * time.Second
)

// File is the login of Claude Code in a file. It is safe for concurrent use, also by several processes.
type File struct {
	path, endpoint string
	client         *http.Client
}

// Open returns the login in a file. Its tokens are refreshed at the address that its program uses.
func Open(path string) *File {
	at := strings.TrimRight(cmp.Or(os.Getenv("CLAUDE_CODE_CUSTOM_OAUTH_URL"), origin), "/")
	return &File{path, at + "/v1/oauth/token", &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// one holds the refreshes of this process: one refreshes, and the others read what it has got.
var one sync.Mutex

// Token is a token that is good for a call. refused is one that the service has refused, empty for none: it is not returned.
func (f *File) Token(ctx context.Context, refused string) (string, *model.Error) {
	d, err := read(f.path)
	if err == nil && d.good(refused, early) {
		return d.login.Access, nil
	}
	one.Lock()
	defer one.Unlock()
	// A program that gives up must not take the answer with it: the token in the file is used up then.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*maxAsk)
	defer cancel()
	if d, err = f.refreshed(ctx, refused); err == nil && d.good(refused, 0) {
		return d.login.Access, nil
	}
	if fault := new(model.Error); errors.As(err, &fault) {
		return "", fault
	}
	return "", &model.Error{Class: model.Auth, Message: f.over(err)}
}

// good reports whether the token can be used for so long.
func (d *document) good(refused string, rest time.Duration) bool {
	l := &d.login
	return l.Access != "" && l.Access != refused && (l.Expires == 0 || time.Now().Add(rest).UnixMilli() < l.Expires)
}

// over is why the login is no longer good: it could not be refreshed, or, without an error, the service refuses to.
func (f *File) over(err error) string {
	if err != nil {
		return fmt.Sprintf("the login in %s cannot be refreshed: %v", f.path, err)
	}
	return fmt.Sprintf("the login in %s has run out, or was withdrawn; log in again with claude", f.path)
}

// refreshed reads the file and refreshes its token, unless another process has done so.
func (f *File) refreshed(ctx context.Context, refused string) (*document, error) {
	path, err := filepath.EvalSymlinks(f.path) // a link stays one
	if err != nil {
		return nil, err
	}
	unlock, err := lock(ctx, filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := adopt(path); err != nil {
		return nil, err
	}
	d, err := read(path)
	if err != nil || d.good(refused, early) {
		return d, err
	}
	if d.login.Refresh == "" {
		return d, nil
	}
	got, asked := f.ask(ctx, &d.login)
	now, err := read(path) // with what its program has written since
	switch {
	case err != nil:
		return nil, err
	case asked != nil:
		if now.good(refused, 0) { // still, or because it logged in without a lock
			return now, nil
		}
		return nil, asked
	}
	if err = now.put(got, time.Now().Add(time.Duration(got.Seconds)*time.Second).UnixMilli()); err == nil {
		err = stage(path, now)
	}
	if err == nil {
		err = os.Rename(path+staged, path)
	}
	return now, err
}

// answer is that of the endpoint.
type answer struct {
	Access  string `json:"access_token"`
	Refresh string `json:"refresh_token"`
	Seconds int64  `json:"expires_in"`
	Scope   string `json:"scope"`
	Error   any    `json:"error"`
}

// ask exchanges the token of a login for the next one. The error is a *model.Error: of class Auth where the login is over.
func (f *File) ask(ctx context.Context, l *fields) (*answer, error) {
	ctx, cancel := context.WithTimeout(ctx, maxAsk)
	defer cancel()
	asks := map[string]string{"grant_type": "refresh_token", "refresh_token": l.Refresh, "client_id": cmp.Or(l.Client, clientID)}
	if len(l.Scopes) > 0 {
		asks["scope"] = strings.Join(l.Scopes, " ")
	}
	body, err := json.Marshal(asks)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := f.client.Do(req)
	if err != nil {
		return nil, model.AsError(err).Hide(l.Refresh)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxFile))
	if err != nil {
		return nil, model.AsError(err)
	}
	var a answer
	told := json.Unmarshal(data, &a)
	switch {
	case resp.StatusCode == http.StatusOK && told == nil && a.Access != "" && a.Seconds > 0:
		return &a, nil
	case resp.StatusCode == http.StatusBadRequest, resp.StatusCode == http.StatusUnauthorized:
		return nil, &model.Error{Class: model.Auth, Status: resp.StatusCode, Message: f.over(nil)}
	}
	return nil, model.FromStatus(max(resp.StatusCode, http.StatusInternalServerError), resp.Header, nil)
}

// staged ends the name of a new file beside the one whose place it takes.
const staged = ".divisi"

// stage writes a document beside its file.
func stage(path string, d *document) (err error) {
	data, err := json.Marshal(d.all)
	if err != nil {
		return err
	}
	out, err := os.OpenFile(path+staged, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("write the login: %w", err)
	}
	_, err = out.Write(data)
	return errors.Join(err, out.Sync(), out.Close())
}

// adopt puts in its place what a process has written that was killed before it could: the token that the file has is used up
// then. What is older than the file, or not whole, is removed.
func adopt(path string) error {
	left, err := read(path + staged)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	d, broken := read(path)
	if broken != nil || err != nil || left.login.Expires <= d.login.Expires || d.login.Refresh == "" {
		return os.Remove(path + staged)
	}
	d.all[member] = left.all[member]
	if err = stage(path, d); err == nil {
		err = os.Rename(path+staged, path)
	}
	return err
}
