package twin

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"divisi/internal/sandbox"
	"divisi/internal/sandbox/stage"
	"divisi/internal/spec"
)

const (
	// maxProbed is the longest time of a gate that runs again to find a cause, and of all these runs; maxProbes is how many they
	// are.
	maxProbed = 2 * time.Minute
	maxProbes = 40
)

// apart are variables that the two sides cannot share.
var apart = strings.Fields(`PATH HOME TMPDIR PWD OLDPWD _ SHLVL DIVISI_TOOLS DIVISI_RUN DIVISI_WORKER`)

// confinedEnv is the environment of the sandbox, without places.
func (t *twin) confinedEnv() []string {
	env, err := sandbox.Env(sandbox.Settings{Base: t.environ, Extra: t.Env})
	if err != nil {
		return nil // the run in the sandbox has refused it
	}
	return env
}

// variables are those of the user that the sandbox does not pass on or sets otherwise, and those that it alone sets.
func (t *twin) variables() (own, added []string) {
	confined := t.confinedEnv()
	for _, side := range []struct {
		has, other []string
		names      *[]string
	}{{t.environ, confined, &own}, {confined, t.environ, &added}} {
		for _, kv := range side.has {
			name, _, _ := strings.Cut(kv, "=")
			value, _ := stage.Find(side.has, name)
			other, is := stage.Find(side.other, name)
			if (!is || value != other && side.names == &own) && !slices.Contains(apart, name) {
				*side.names = append(*side.names, name)
			}
		}
		slices.Sort(*side.names)
		*side.names = slices.Compact(*side.names)
	}
	return own, added
}

// alike finds variables with whose values of the sandbox the gate does what it does there: it runs again with
// fewer and fewer.
func (t *twin) alike(ctx context.Context, g spec.Gate, confined, own *Outcome) (names []string, err error) {
	home := filepath.Join(t.dir, "home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, err
	}
	values := append(t.confinedEnv(), "HOME="+home)
	runs, begin := 0, time.Now()
	same := func(names []string) bool {
		if runs++; runs > maxProbes || time.Since(begin) > maxProbed || err != nil || len(names) == 0 {
			return false
		}
		env := slices.DeleteFunc(slices.Clone(t.environ), func(kv string) bool {
			name, _, _ := strings.Cut(kv, "=")
			return slices.Contains(names, name)
		})
		for _, name := range names {
			if value, ok := stage.Find(values, name); ok {
				env = append(env, name+"="+value)
			}
		}
		var o Outcome
		o, _, err = t.gate(ctx, g, env)
		ends := confined.verdict() == o.verdict() && confined.verdict() != own.verdict() // words of git, say, can still differ
		return err == nil && (ends || differ(confined, &o) == "") && differ(own, &o) != ""
	}
	for _, names = range [][]string{slices.Concat(own.Variables, confined.Variables), {"HOME"}, nil} {
		if same(names) {
			break
		}
	}
	for size := len(names) / 2; size > 0; size /= 2 {
		for i := 0; i < len(names); {
			if fewer := slices.Delete(slices.Clone(names), i, min(i+size, len(names))); same(fewer) {
				names = fewer
			} else {
				i += size
			}
		}
	}
	return names, err
}
