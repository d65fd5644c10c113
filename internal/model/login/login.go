// Package login reads the login that the program of a coding agent keeps in a file, and refreshes it there in the way of that
// program. Its input is the file, its output a token for one call. It writes a token into that file alone, and shows none.
package login

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"divisi/internal/spec"
)

// Mark begins the value of a variable that names the file of a login in the place of a token.
const Mark = "file:"

// maxFile bounds a file with a login, in bytes.
const maxFile = 1 << 20

// Kept is what a coding agent keeps in a file: the variable that has it for the gateway, and its value.
type Kept struct{ Path, Name, Value string }

// Find returns what a coding agent keeps in a file that is as good as a key; nil where there is no such file. The error is of a
// file with which nothing can be called, and names what to do instead.
func Find(agent string) (*Kept, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, nil //nolint:nilerr // without a home there is no such file
	}
	switch agent {
	case spec.AgentClaude:
		path := filepath.Join(cmp.Or(os.Getenv("CLAUDE_CONFIG_DIR"), filepath.Join(home, ".claude")), ".credentials.json")
		doc, err := read(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err == nil && doc.login.Access+doc.login.Refresh == "" {
			err = fmt.Errorf("%s has no login: log in with claude", path)
		}
		return &Kept{path, spec.GatewayVarsOf(spec.GatewayAnthropic).Login, Mark + path}, err
	case spec.AgentCodex:
		path := filepath.Join(cmp.Or(os.Getenv("CODEX_HOME"), filepath.Join(home, ".codex")), "auth.json")
		return codexKey(path)
	case spec.AgentGemini:
		path := filepath.Join(home, ".gemini", "oauth_creds.json")
		if _, err := os.Stat(path); err != nil {
			return nil, nil //nolint:nilerr // there is none that can be used
		}
		return nil, fmt.Errorf("%s is a login of Code Assist, which is another service than the gateway calls: "+
			"export GEMINI_API_KEY", path)
	}
	return nil, nil
}

// codexKey is the key in the file of Codex.
func codexKey(path string) (*Kept, error) {
	data, err := contents(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var auth struct {
		Key string `json:"OPENAI_API_KEY"`
	}
	if err == nil {
		err = json.Unmarshal(data, &auth)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the key in %s: %w", path, err)
	case auth.Key == "":
		return nil, fmt.Errorf("%s is a login of ChatGPT, which is another service than the gateway calls: export "+
			"CODEX_API_KEY, or keep a key with codex login --with-api-key", path)
	}
	return &Kept{path, "CODEX_API_KEY", auth.Key}, nil
}

// document is the file of Claude Code, with all that is not the login as it is.
type document struct {
	all, fields map[string]json.RawMessage
	login       fields
}

// fields are those of a login that are read.
type fields struct {
	Access  string `json:"accessToken"`
	Refresh string `json:"refreshToken"`
	// Expires is in milliseconds since 1970.
	Expires int64    `json:"expiresAt"`
	Scopes  []string `json:"scopes"`
	Client  string   `json:"clientId"`
}

// member is the field of the file with the login.
const member = "claudeAiOauth"

func read(path string) (*document, error) {
	data, err := contents(path)
	if err != nil {
		return nil, err
	}
	var d document
	if err = json.Unmarshal(data, &d.all); err == nil && d.all[member] != nil {
		err = errors.Join(json.Unmarshal(d.all[member], &d.fields), json.Unmarshal(d.all[member], &d.login))
	}
	if err != nil {
		return nil, fmt.Errorf("read the login in %s: it is no JSON of a login", path) // the cause may show a part of a token
	}
	return &d, nil
}

func contents(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the login: %w", err)
	case !info.Mode().IsRegular() || info.Size() > maxFile:
		return nil, fmt.Errorf("read the login: %s is no file of a login", path)
	}
	return os.ReadFile(path)
}

// put sets what a refresh has given.
func (d *document) put(a *answer, expires int64) error {
	set := map[string]any{"accessToken": a.Access, "refreshToken": cmp.Or(a.Refresh, d.login.Refresh), "expiresAt": expires}
	if a.Scope != "" {
		set["scopes"] = strings.Fields(a.Scope)
	}
	for name, value := range set {
		raw, err := json.Marshal(value)
		if err != nil {
			return err
		}
		d.fields[name] = raw
	}
	raw, err := json.Marshal(d.fields)
	if err == nil {
		d.all[member] = raw
		err = json.Unmarshal(raw, &d.login)
	}
	return err
}
