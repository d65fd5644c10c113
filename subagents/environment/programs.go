package environment

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"divisi/contextscope/artifact"
	"divisi/internal/shim"
)

// interpreters are the programs that decide what a setup makes and what a gate finds, beside the one that it names itself.
var interpreters = strings.Fields(`bash bun bundle cargo cc composer corepack deno dotnet gcc go gradle java javac make mvn
	node npm npx php pip pip3 pnpm poetry python python3 ruby rustc sh uv yarn`)

// families are the programs that decide where a command begins with one of them.
var families = [][]string{
	{"go", "gcc", "cc"},
	{"cargo", "rustc", "gcc", "cc"},
	{"node", "npm", "npx", "pnpm", "yarn", "corepack", "bun", "deno"},
}

// digested is the key for remembered digests of programs.
type digested struct {
	Size    int64     `json:"size"`
	Changed time.Time `json:"changed"`
	Digest  string    `json:"digest"`
}

// digests has those of all stores of this process, by file: a program of 100 MB is read once.
var digests sync.Map

// Programs returns the digests of the programs in a search path that the commands can depend on, by their names: what a command
// begins with, and the interpreters and package managers that belong to it, or all where it is none of them. Digests are
// remembered in the store while a file has the same size and time. A program that only passes on to another version of itself
// hides a change of that.
func (s *Store) Programs(search string, commands ...[]string) (map[string]string, error) {
	known := map[string]digested{}
	memo := filepath.Join(s.dir, "programs.json")
	if data, err := os.ReadFile(memo); err == nil {
		_ = json.Unmarshal(data, &known) // what is cut short is made again
	}
	found, fresh := map[string]string{}, false
	for _, name := range Names(commands) {
		at := shim.Find(search, name)
		if at == "" {
			continue
		}
		file, err := filepath.EvalSymlinks(at)
		if err != nil {
			return nil, fmt.Errorf("find %s: %w", at, err)
		}
		info, err := os.Stat(file)
		if err != nil {
			return nil, fmt.Errorf("inspect %s: %w", file, err)
		}
		had, ok := known[file]
		if !ok {
			other, _ := digests.Load(file)
			if had, ok = other.(digested); ok {
				known[file], fresh = had, true
			}
		}
		if !ok || had.Size != info.Size() || !had.Changed.Equal(info.ModTime()) {
			had = digested{Size: info.Size(), Changed: info.ModTime().UTC()}
			if had.Digest, err = digestOf(file); errors.Is(err, fs.ErrPermission) {
				// It may be run, not read.
				had.Digest = fmt.Sprintf("%d bytes of %s", had.Size, had.Changed.Format(time.RFC3339Nano))
			} else if err != nil {
				return nil, err
			}
			known[file], fresh = had, true
			digests.Store(file, had)
		}
		found[name] = had.Digest
	}
	if !fresh {
		return found, nil
	}
	data, err := json.Marshal(known)
	if err == nil {
		err = os.MkdirAll(s.dir, 0o700)
	}
	if err != nil {
		return nil, fmt.Errorf("remember the digests of programs: %w", err)
	}
	return found, replaceFile(memo, data)
}

// Digest names in receipts what commands run in: an environment, nil for none, the programs of a search path that they can depend
// on, how they are confined, and what lies beside the tree's own files; empty for nothing. derived are the project's globs.
func (s *Store) Digest(
	e *Environment, derived []string, search, level, beside string, commands ...[]string,
) (string, error) {
	r := Recipe{System: runtime.GOOS, Arch: runtime.GOARCH, Level: level}
	if e != nil {
		r.Env = e.told(derived)
	}
	var err error
	r.Programs, err = s.Programs(search, commands...)
	if beside == "" {
		return r.Digest(), err
	}
	return artifact.Digest([]byte(r.Digest() + beside)), err
}

// Names lists the programs that decide what commands do, each once: what they begin with, and the interpreters that belong to it.
func Names(commands [][]string) []string {
	var names []string
	for _, command := range commands {
		if len(command) == 0 {
			continue
		}
		first := filepath.Base(command[0])
		i := slices.IndexFunc(families, func(f []string) bool { return slices.Contains(f, first) })
		if names = append(names, first); i >= 0 {
			names = append(names, families[i]...)
		} else {
			names = append(names, interpreters...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// digestOf returns the digest of a file's content.
func digestOf(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", file, err)
	}
	defer f.Close() // a handle
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", fmt.Errorf("read %s: %w", file, err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// replaceFile writes a file that is never seen half written.
func replaceFile(name string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), "."+strings.TrimSuffix(filepath.Base(name), ".json")+"-")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // it is nothing but the beginning of the file
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}
