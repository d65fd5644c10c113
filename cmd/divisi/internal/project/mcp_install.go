package project

import (
	"bytes"
	"cmp"
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
	// here is the variable that the program replaces by its directory; "" where it starts servers there.
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

// path is the file of settings; of a link the target, so that the link stays.
func (c *client) path() (string, error) {
	dir, err := os.UserHomeDir()
	file := c.file
	if c.servers == "servers" {
		dir, err = os.UserConfigDir()
	}
	if at := os.Getenv(c.variable); at != "" {
		dir, file, err = at, strings.TrimPrefix(file, ".codex/"), nil // the variable of Codex names that directory
	}
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, filepath.FromSlash(file))
	if _, err = os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return path, nil
	}
	return filepath.EvalSymlinks(path)
}

// install writes the entry for this server, with the same flags, into the settings of a program.
func (s *mcpServer) install(ctx context.Context, name string, repoGiven, yes bool) error {
	c, known := clients[name]
	if !known {
		return usage.Errorf("--install must be one of %s, not %q", programs(), name)
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	path, err := c.path()
	if err != nil {
		return usage.Errorf("no settings of %s: %v", name, err)
	}
	had, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return usage.Errorf("%v", err)
	}
	entry := map[string]any{"command": self, "args": s.args(c.here, repoGiven)}
	maps.Copy(entry, c.more)
	into := c.intoJSON
	if filepath.Ext(path) == ".toml" {
		into = c.intoTOML
	}
	at, add, err := fitting(had, entry, into)
	place := fmt.Sprintf("%s:%d", display.Sanitize(path), 1+bytes.Count(had[:at], []byte("\n")))
	if err != nil {
		return usage.Errorf("%s: %v; nothing was changed", place, err)
	}
	if add == "" {
		_, err := fmt.Fprintln(s.Out, place+": this server is there already")
		return err
	}
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o200 == 0 {
		return usage.Errorf("%s is read-only, and stays as it is: allow it with chmod u+w %[1]s, or add the entry where that "+
			"file is made", text.Shell(path))
	}
	shown := strings.ReplaceAll(strings.Trim(add, "\r\n"), "\r", "")
	fmt.Fprintf(s.Out, "%s:\n+%s\n", place, strings.ReplaceAll(shown, "\n", "\n+"))
	switch {
	case yes:
	case !s.Interactive():
		return usage.Errorf("nothing was changed: write it with --yes")
	default:
		if err := s.Confirm(ctx, s.Out, "Write this?", "nothing was changed"); err != nil {
			return err
		}
	}
	if now, err := os.ReadFile(path); err != nil && !errors.Is(err, fs.ErrNotExist) || !bytes.Equal(now, had) {
		return usage.Errorf("%s has changed meanwhile, and stays as it is: try again", path)
	}
	if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
		err = maybe.WriteFile(path, slices.Concat(had[:at], []byte(add), had[at:]), 0o600) // a file that exists keeps its mode
	}
	if err != nil {
		return fmt.Errorf("write the settings: %w", err)
	}
	_, err = fmt.Fprintf(s.Out, "%s starts %s: restart it\n", name, self)
	return err
}

// args are the arguments with which a program starts this server; here is the variable for its directory.
func (s *mcpServer) args(here string, repoGiven bool) (args []any) {
	flag := func(name, value string) {
		if value != "" {
			args = append(args, name, value)
		}
	}
	flag("--state-dir", s.StateDir)
	flag("--on", s.On)
	if args = append(args, "mcp"); s.act {
		args = append(args, "--act")
	}
	if repoGiven {
		here = s.repo
	}
	flag("--repo", here)
	return args
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

// fitting returns the insertion into settings and its place, behind a mark of the byte order and with their ends of lines.
func fitting(
	had []byte, entry map[string]any, into func([]byte, map[string]any) (int, string, error),
) (at int, add string, err error) {
	plain := bytes.TrimPrefix(had, []byte("\ufeff"))
	at, add, err = into(plain, entry)
	if bytes.Contains(had, []byte("\r\n")) {
		add = strings.ReplaceAll(add, "\n", "\r\n")
	}
	return at + len(had) - len(plain), add, err
}

// intoTOML is the table to append, and where; "" where it is there. An error is about that place.
func (c *client) intoTOML(had []byte, entry map[string]any) (at int, add string, err error) {
	var settings map[string]any
	wrong := new(toml.DecodeError)
	if err = toml.Unmarshal(had, &settings); errors.As(err, &wrong) {
		row, _ := wrong.Position()
		return len(strings.Join(strings.SplitAfter(string(had), "\n")[:row-1], "")), "", err
	}
	at = max(0, bytes.Index(had, []byte(c.servers)))
	if is, err := c.standing(settings, entry); is || err != nil {
		return at, "", err
	}
	own, err := toml.Marshal(entry)
	add = "\n[" + c.servers + "." + ownName + "]\n" + string(own)
	if err = errors.Join(err, toml.Unmarshal(append(had, add...), &settings)); err != nil {
		return at, "", err // a table of servers in one line can have no others
	}
	return len(had), add, nil
}

// intoJSON is the entry as the first of the table of servers, and where; "" where it is there. An error is about that place.
func (c *client) intoJSON(had []byte, entry map[string]any) (at int, add string, err error) {
	plain := uncommented(had)
	if len(bytes.TrimSpace(plain)) == 0 {
		_, add, err = c.intoJSON([]byte("{}"), entry)
		if plain = bytes.TrimRight(had, " \t"); len(plain) > 0 && plain[len(plain)-1] != '\n' {
			add = "\n{" + add + "}\n" // below a comment
		} else {
			add = "{" + add + "}\n"
		}
		return len(had), add, err
	}
	var settings map[string]any
	wrong := new(json.SyntaxError)
	if err = json.Unmarshal(plain, &settings); err != nil || settings == nil {
		errors.As(err, &wrong)
		return max(0, int(wrong.Offset)-1), "", cmp.Or(err, errors.New("it must be an object"))
	}
	at = bytes.IndexByte(plain, '{')
	name, value, indent := c.servers, any(map[string]any{ownName: entry}), "  "
	if table := valueOf(plain, c.servers); table >= 0 {
		at, name, value, indent = table, ownName, entry, "    "
	}
	if is, err := c.standing(settings, entry); is || err != nil {
		return at, "", err
	}
	data, err := json.MarshalIndent(value, indent, "  ")
	end := ","
	if rest := bytes.TrimSpace(plain[at+1:]); rest[0] == '}' {
		end = "\n" + indent[2:]
	}
	return at + 1, fmt.Sprintf("\n%s%q: %s%s", indent, name, data, end), err
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
