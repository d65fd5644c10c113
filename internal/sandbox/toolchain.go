package sandbox

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"divisi/internal/sandbox/stage"
)

// goFlags is the variable with the flags of every go command.
const goFlags = "GOFLAGS"

// goToolchain is the variable that chooses the toolchain.
const goToolchain = "GOTOOLCHAIN"

// Toolchain is the self-description of the user's go command. Its zero value means that there is no go.
type Toolchain struct {
	Root       string `json:"GOROOT"`
	ModCache   string `json:"GOMODCACHE"`
	BuildCache string `json:"GOCACHE"`
	Flags      string `json:"GOFLAGS"`
	Proxy      string `json:"GOPROXY"`
	SumDB      string `json:"GOSUMDB"`
	NoSumDB    string `json:"GONOSUMDB"`
	NoProxy    string `json:"GONOPROXY"`
	// Choice is how the go command chooses the toolchain of a module: see "go help toolchain".
	Choice string `json:"GOTOOLCHAIN"`
}

// AskGo asks the go command on the PATH of an environment, once at the start of a run; without one it returns the zero value.
func AskGo(ctx context.Context, environ []string) (Toolchain, error) {
	var t Toolchain
	program := findGo(stage.Lookup(environ, "PATH"))
	if program == "" {
		return t, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	// This is the user's own continue their own settings; the root directory keeps any repository's go.mod out of it.
	// Of all its settings go would find some by running a compiler, which wants a build cache.
	cmd := exec.CommandContext(ctx, program, "env", "-json", "GOROOT", "GOMODCACHE", "GOCACHE", goFlags, "GOPROXY", "GOSUMDB",
		"GONOSUMDB", "GONOPROXY", goToolchain) // the program comes from the user's PATH
	cmd.Dir, cmd.WaitDelay, cmd.Env = string(filepath.Separator), time.Second, asksGo(environ)
	out, err := cmd.Output()
	if err != nil {
		return t, fmt.Errorf("run go env: %w%s", err, complaint(err))
	}
	if err := json.Unmarshal(out, &t); err != nil {
		return t, fmt.Errorf("read the output of go env: %w", err)
	}
	// A go that was switched to answers for itself.
	t.Choice = cmp.Or(stage.Lookup(environ, goToolchain), t.Choice)
	return t, nil
}

// findGo is the first go of a search path; "" for none.
func findGo(search string) string {
	for _, dir := range filepath.SplitList(search) {
		if program, err := exec.LookPath(filepath.Join(dir, "go")); err == nil && filepath.IsAbs(dir) {
			return program
		}
	}
	return ""
}

// asksGo is the environment in which go tells its settings: the given one without GOFLAGS, which are those of one shell
// and change what is built; what "go env -w" keeps counts. Without HOME go knows no caches and ends: it gets one that holds none.
func asksGo(environ []string) []string {
	env := slices.DeleteFunc(slices.Clone(environ), func(kv string) bool { return strings.HasPrefix(kv, goFlags+"=") })
	if stage.Lookup(env, "HOME") == "" {
		env = append(env, "HOME="+os.DevNull)
	}
	return env
}

// complaint is the first line that a failed program printed, to stand behind its error.
func complaint(err error) string {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return ""
	}
	words, _, _ := strings.Cut(strings.TrimSpace(string(exit.Stderr)), "\n")
	return ": " + words
}

// helper is the program that borrows from the user's build cache: this one. It is empty where a command could not start that,
// because it was replaced since it was started, or because others may not read it.
func helper() string {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return ""
	}
	if info, err := os.Stat(program); err != nil || info.Mode()&0o5 != 0o5 {
		return ""
	}
	return program
}

// flags keeps the user's flags and adds those that make the cache independent of a slot's path and removable.
func (t Toolchain) flags(trim bool) string {
	flags := []string{"-modcacherw", "-buildvcs=false"}
	if trim {
		flags = append([]string{"-trimpath"}, flags...)
	}
	theirs := strings.Fields(t.Flags) // only to find the names; values may be quoted
	flags = slices.DeleteFunc(flags, func(ours string) bool {
		name, _, _ := strings.Cut(ours, "=")
		return slices.ContainsFunc(theirs, func(their string) bool {
			their, _, _ = strings.Cut(their, "=")
			return strings.TrimLeft(their, "-") == strings.TrimLeft(name, "-")
		})
	})
	return strings.TrimSpace(strings.Join(flags, " ") + " " + strings.TrimSpace(t.Flags))
}

// proxy serves modules from what was downloaded already, then from the user's proxies. Proxies whose address holds
// a password are left out. With private modules there is nothing but the downloads: the name of a private
// module must not reach a proxy, and fetching it would need the user's credentials.
func (t Toolchain) proxy(downloads []string) string {
	files := make([]string, 0, len(downloads))
	for _, dir := range downloads {
		files = append(files, "file://"+(&url.URL{Path: filepath.ToSlash(dir)}).EscapedPath())
	}
	own := strings.Join(files, ",")
	if t.NoProxy != "" && t.NoProxy != "none" {
		return own + ",off"
	}
	list, separator := own, ","
	for rest := t.Proxy; rest != ""; {
		entry, next := rest, ""
		if end := strings.IndexAny(rest, ",|"); end >= 0 {
			entry, next, rest = rest[:end], rest[end:end+1], rest[end+1:]
		} else {
			rest = ""
		}
		if address, err := url.Parse(entry); err == nil && address.User == nil && entry != "" {
			list, separator = list+separator+entry, next
		}
	}
	return list
}
