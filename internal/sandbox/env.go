package sandbox

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/sandbox/stage"
	"divisi/internal/spec"
)

// ToolsVar names the directory that setup fills and that every later command can read.
const ToolsVar = "DIVISI_TOOLS"

// zone is the variable with the time zone.
const zone = "TZ"

// ErrSecretName reports that a variable was refused because its name looks like that of a secret.
var ErrSecretName = errors.New("looks like a secret")

var validName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Settings are the input of a command's environment.
type Settings struct {
	// Base is the environment that PATH and the Extra names are taken from, as os.Environ returns it. Nothing else of it
	// is passed on.
	Base []string
	// Tools is the tools directory; its bin and itself come first in PATH. Path follows, then the PATH of Base.
	Tools string
	Path  []string
	// Home and Temp are private directories of the slot.
	Home string
	Temp string
	// Defaults are set where Extra names nothing else.
	Defaults map[string]string
	// Extra names variables of Base that the project wants to be seen. A name that Base lacks is skipped.
	Extra []string
	// Vars are set last and win: a Cache's Env, DIVISI_RUN, DIVISI_TASK and the like. The GOFLAGS of Base come after theirs
	// where Extra names them.
	Vars map[string]string
	// Offline is set for a command without network: package managers fail at once in place of asking again and again. A variable
	// that Extra names is left as it is.
	Offline bool
}

// offline are the variables that keep package managers from the network.
var offline = map[string]string{
	"npm_config_offline": "true", "npm_config_fetch_retries": "0", "YARN_ENABLE_NETWORK": "0", "COREPACK_ENABLE_NETWORK": "0",
	"PIP_NO_INDEX": "1", "UV_OFFLINE": "1", "CARGO_NET_OFFLINE": "true",
}

// Env builds the environment of a command from an allow-list, sorted by name. It returns an error that wraps ErrSecretName
// for every name in Extra and Vars that looks like a secret's, and an error for names that are none.
func Env(s Settings) ([]string, error) {
	env := map[string]string{
		"HOME": s.Home, "TMPDIR": s.Temp, "PATH": searchPath(s), "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8",
		"TERM": "dumb", "CI": "1", "GIT_TERMINAL_PROMPT": "0",
	}
	if s.Tools != "" {
		env[ToolsVar] = s.Tools
	}
	if dir := rustup(s.Base); dir != "" {
		env["RUSTUP_HOME"] = dir
	}
	if value, ok := stage.Find(s.Base, zone); ok {
		env[zone] = value
	}
	maps.Copy(env, s.Defaults)
	if s.Offline {
		maps.Copy(env, offline)
		env["MAVEN_ARGS"] = strings.TrimSpace(s.Defaults["MAVEN_ARGS"] + " -o")
	}
	errs := make([]error, 0, len(s.Extra))
	for _, name := range s.Extra {
		errs = append(errs, checkName(name))
		if value, ok := stage.Find(s.Base, name); ok {
			env[name] = value
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Vars)) {
		errs = append(errs, checkName(name))
		env[name] = s.Vars[name]
	}
	if given := stage.Lookup(s.Base, goFlags); slices.Contains(s.Extra, goFlags) {
		env[goFlags] = strings.TrimSpace(s.Vars[goFlags] + " " + given) // of two values of a flag the last counts
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if proxies, ok := env["GOPROXY"]; ok && s.Offline && !slices.Contains(s.Extra, "GOPROXY") {
		env["GOPROXY"] = onlyFiles(proxies)
	}
	list := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	return list, nil
}

// onlyFiles leaves the proxies of GOPROXY that are directories; after them there is nothing to ask.
func onlyFiles(proxies string) string {
	files := strings.FieldsFunc(proxies, func(r rune) bool { return r == ',' || r == '|' })
	files = slices.DeleteFunc(files, func(p string) bool { return !strings.HasPrefix(p, "file://") })
	return strings.Join(append(files, "off"), ",")
}

func checkName(name string) error {
	if !validName.MatchString(name) {
		return fmt.Errorf("environment variable %q: not a name", name)
	}
	if spec.SecretName(name) {
		return fmt.Errorf("environment variable %s: %w: commands never see secrets; take it out of env", name, ErrSecretName)
	}
	return nil
}

// searchPath leaves relative entries out: they would run programs from a tree that agents write.
func searchPath(s Settings) string {
	var dirs []string
	if s.Tools != "" {
		dirs = append(dirs, filepath.Join(s.Tools, "bin"), s.Tools)
	}
	dirs = append(dirs, s.Path...)
	dirs = append(dirs, filepath.SplitList(stage.Lookup(s.Base, "PATH"))...)
	kept := make([]string, 0, len(dirs))
	for _, dir := range dirs {
		if filepath.IsAbs(dir) && !slices.Contains(kept, dir) {
			kept = append(kept, dir)
		}
	}
	return strings.Join(kept, string(filepath.ListSeparator))
}

// rustup finds the user's toolchains, which the cargo on PATH would look for below the private HOME otherwise.
func rustup(base []string) string {
	dir := stage.Lookup(base, "RUSTUP_HOME")
	if home := stage.Lookup(base, "HOME"); dir == "" && home != "" {
		dir = filepath.Join(home, ".rustup")
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return ""
	}
	return dir
}
