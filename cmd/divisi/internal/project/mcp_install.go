package project

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/google/renameio/v2/maybe"
	"github.com/pelletier/go-toml/v2"

	"divisi/internal/text"
	"divisi/internal/usage"
	"divisi/orchestrator/console/display"
)

// client is a program whose settings of a person name tool servers.
type client struct {
	// file is the file of settings below the person's home, or below the directory that a variable names.
	file, variable string
	// servers is the table with the servers.
	servers string
	// here is what the program puts its directory in the place of; "" where it starts servers there.
	here string
	// more are other fields of the entry.
	more map[string]any
}

// clients are those of --install. Codex gives a call one minute, where its entry does not say more, and a person may take five.
var clients = map[string]client{
	"claude": {".claude.json", "CLAUDE_CONFIG_DIR", "mcpServers", "", map[string]any{"type": "stdio"}},
	"codex":  {".codex/config.toml", "CODEX_HOME", "mcp_servers", "", map[string]any{"tool_timeout_sec": 360}},
	"cursor": {".cursor/mcp.json", "", "mcpServers", "${workspaceFolder}", nil},
	"gemini": {".gemini/settings.json", "GEMINI_CLI_HOME", "mcpServers", "", nil},
	"vscode": {"Code/User/mcp.json", "", "servers", "${workspaceFolder}", map[string]any{"type": "stdio"}},
}

func programs() string { return strings.Join(slices.Sorted(maps.Keys(clients)), ", ") }

// ownName is the name of this server in them.
const ownName = "divisi"

// path is the file of settings; where that is a link, what it leads to, so that the link stays.
func (c *client) path() (path string, err error) {
	dir, err := os.UserHomeDir()
	file := filepath.FromSlash(c.file)
	if c.servers == "servers" {
		dir, err = os.UserConfigDir()
	}
	if at := os.Getenv(c.variable); at != "" {
		dir, err = at, nil
		file = strings.TrimPrefix(file, filepath.FromSlash(".codex/")) // the variable of Codex names that directory
	}
	if err != nil {
		return "", usage.Errorf("the home directory is unknown: %v", err)
	}
	path = filepath.Join(dir, file)
	if _, err = os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return path, nil
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return "", usage.Errorf("%v", err)
	}
	return path, nil
}

// install writes the entry for this server, with the same flags, into the settings of a program.
func (s *mcpServer) install(ctx context.Context, name string, repoGiven, yes bool) error {
	c, known := clients[name]
	if !known {
		return usage.Errorf("--install must be one of %s, not %q", programs(), name)
	}
	entry, err := s.entry(&c, repoGiven)
	if err != nil {
		return err
	}
	path, err := c.path()
	if err != nil {
		return err
	}
	had, err := readSettings(path)
	if err != nil {
		return err
	}
	add := c.addJSON
	if filepath.Ext(path) == ".toml" {
		add = c.addTOML
	}
	has, line, err := add(had, entry)
	if err != nil {
		return usage.Errorf("%s:%d: %v; nothing was changed", path, line, err)
	}
	if bytes.Equal(has, had) {
		_, err := fmt.Fprintf(s.Out, "%s has this server already\n", display.Sanitize(path))
		return err
	}
	if _, err := fmt.Fprintf(s.Out, "%s\n%s", display.Sanitize(path), changed(string(had), string(has))); err != nil {
		return err
	}
	switch {
	case yes:
	case !s.Interactive():
		return usage.Errorf("nothing was changed: write it with --yes")
	default:
		if err := s.Confirm(ctx, s.Out, "Write this?", "nothing was changed"); err != nil {
			return err
		}
	}
	if now, err := readSettings(path); err != nil || !bytes.Equal(now, had) {
		return errors.Join(err, usage.Errorf("%s has changed meanwhile, and stays as it is: try again", path))
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make the directory of settings: %w", err)
	}
	if err := maybe.WriteFile(path, has, 0o600); err != nil { // a file that exists keeps its mode
		return fmt.Errorf("write the settings: %w", err)
	}
	_, err = fmt.Fprintf(s.Out, "%s starts %s: restart it\n", display.Sanitize(path), entry["command"])
	return err
}

// entry is what a program starts: this program by its absolute path.
func (s *mcpServer) entry(c *client, repoGiven bool) (map[string]any, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	args := []any{"--state-dir", s.StateDir}
	if s.On != "" {
		args = append(args, "--on", s.On)
	}
	args = append(args, "mcp")
	if s.act {
		args = append(args, "--act")
	}
	if repoGiven {
		args = append(args, "--repo", s.repo)
	} else if c.here != "" {
		args = append(args, "--repo", c.here)
	}
	entry := map[string]any{"command": self, "args": args}
	maps.Copy(entry, c.more)
	return entry, nil
}

// maxSettings bounds a file of settings, in bytes.
const maxSettings = 16 << 20

// readSettings reads a file of settings; it is empty where there is none.
func readSettings(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, usage.Errorf("%v", err)
	case !info.Mode().IsRegular() || info.Size() > maxSettings:
		return nil, usage.Errorf("%s is not a regular file, or too large", path)
	}
	return os.ReadFile(path)
}

// standing reports whether settings have the entry. An error is that they have another one, or no table of servers.
func (c *client) standing(settings, entry map[string]any) (has bool, err error) {
	table, there := settings[c.servers]
	servers, is := table.(map[string]any)
	if there && !is {
		return false, fmt.Errorf("%s must be a table of servers", c.servers)
	}
	other, there := servers[ownName]
	own, _ := other.(map[string]any)
	if has = reflect.DeepEqual([]any{own["command"], own["args"]}, []any{entry["command"], entry["args"]}); there && !has {
		err = fmt.Errorf("another server %s is in %s: remove it, or change it yourself", ownName, c.servers)
	}
	return has, err
}

// addTOML appends the table of the server. An error is about a line.
func (c *client) addTOML(had []byte, entry map[string]any) (has []byte, line int, err error) {
	var settings map[string]any
	if err = toml.Unmarshal(had, &settings); err != nil {
		if wrong := new(toml.DecodeError); errors.As(err, &wrong) {
			line, _ = wrong.Position()
		}
		return nil, line, err
	}
	line = 1 + bytes.Count(had[:max(0, bytes.Index(had, []byte(c.servers)))], []byte("\n"))
	if is, err := c.standing(settings, entry); is || err != nil {
		return had, line, err
	}
	own, err := toml.Marshal(entry)
	has = slices.Concat(had, []byte("\n["+c.servers+"."+ownName+"]\n"), own)
	return has, line, errors.Join(err, toml.Unmarshal(has, &settings)) // a table of servers in one line can have no others
}

// addJSON puts the entry first into the table of servers. Comments, order and space of all else stay. An error is about a line.
func (c *client) addJSON(had []byte, entry map[string]any) (has []byte, line int, err error) {
	has = had
	if len(bytes.TrimSpace(had)) == 0 {
		has = []byte("{}\n")
	}
	plain := uncommented(has)
	at := bytes.IndexByte(plain, '{')
	lineOf := func(at int) int { return 1 + bytes.Count(has[:max(0, min(at, len(has)))], []byte("\n")) }
	var settings map[string]any
	if err = json.Unmarshal(plain, &settings); err == nil && at < 0 {
		err = errors.New("it must be an object")
	}
	if err != nil {
		wrong := new(json.SyntaxError)
		errors.As(err, &wrong)
		return nil, lineOf(int(wrong.Offset) - 1), err
	}
	name, value, indent := c.servers, any(map[string]any{ownName: entry}), "  "
	if table := valueOf(plain, c.servers); table >= 0 {
		at, name, value, indent = table, ownName, entry, "    "
	}
	if is, err := c.standing(settings, entry); is || err != nil {
		return had, lineOf(at), err
	}
	data, err := json.MarshalIndent(value, indent, "  ")
	blank, _, _ := bytes.Cut(plain[at+1:], []byte("\n"))
	if rest := plain[at+1:]; len(bytes.TrimSpace(blank)) == 0 && len(blank) < len(rest) {
		at += len(blank) // behind a comment
	}
	end := ","
	if rest := bytes.TrimSpace(plain[at+1:]); rest[0] == '}' {
		end = "\n" + indent[2:]
	}
	return slices.Concat(has[:at+1], fmt.Appendf(nil, "\n%s%q: %s%s", indent, name, data, end), has[at+1:]), 0, err
}

// valueOf is where the value of a key of an object begins; -1 for none.
func valueOf(object []byte, key string) int {
	d, at := json.NewDecoder(bytes.NewReader(object)), -1
	_, err := d.Token()
	for err == nil && d.More() {
		var name json.Token
		var value json.RawMessage
		if name, err = d.Token(); err == nil {
			err = d.Decode(&value)
		}
		if name == key {
			at = int(d.InputOffset()) - len(value)
		}
	}
	return at
}

// uncommented is JSON with blanks in the place of comments, and of commas before a closing bracket.
func uncommented(data []byte) []byte {
	const str = `"(?:\\.|[^"\\])*"|`
	data = regexp.MustCompile(str+`//[^\n]*|(?s:/\*.*?\*/)`).ReplaceAllFunc(data, func(b []byte) []byte {
		if b[0] == '"' {
			return b
		}
		return regexp.MustCompile(`[^\n]`).ReplaceAll(b, []byte(" "))
	})
	return regexp.MustCompile(str+`,\s*[\]}]`).ReplaceAllFunc(data, func(b []byte) []byte {
		if b[0] == '"' {
			return b
		}
		return append([]byte(" "), b[1:]...)
	})
}

// changed shows the lines that a text has in the place of those of another one.
func changed(had, has string) string {
	a, b := strings.SplitAfter(had, "\n"), strings.SplitAfter(has, "\n")
	from, most := 0, min(len(a), len(b))
	for from < most && a[from] == b[from] {
		from++
	}
	end := 0
	for end < most-from && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	out := fmt.Sprintf("@@ line %d @@\n", from+1)
	for i, lines := range [][]string{a[from : len(a)-end], b[from : len(b)-end]} {
		for _, line := range lines {
			out += "-+"[i:i+1] + display.SanitizeLines(text.Clip(strings.TrimSuffix(line, "\n"), text.MaxLine)) + "\n"
		}
	}
	return out
}
