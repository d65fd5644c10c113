package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"divisi/internal/testkit/githubtest"
)

// scripted lets a script stand for the test of a fake.
type scripted struct {
	testing.TB

	ts *testscript.TestScript
}

func (s scripted) Helper()                           {}
func (s scripted) Cleanup(f func())                  { s.ts.Defer(f) }
func (s scripted) Fatal(args ...any)                 { s.ts.Fatalf("%s", fmt.Sprint(args...)) }
func (s scripted) Errorf(format string, args ...any) { s.ts.Logf("FAIL "+format, args...) }
func (s scripted) FailNow()                          { s.ts.Fatalf("a check of the fake GitHub failed") }

func (s scripted) TempDir() string {
	dir, err := os.MkdirTemp(s.ts.MkAbs("."), "github")
	s.ts.Check(err)
	return dir
}

// hubs are the fake GitHubs of scripts, by the directory of the script.
var hubs sync.Map

// scriptHub is one with the calls at which it does something else.
type scriptHub struct {
	*githubtest.Hub

	mu     sync.Mutex
	fails  map[string]int
	calls  int
	at     int // the call at which strike is called; 0 for none
	strike func()
	token  githubtest.Token
}

// on is asked before and after each call.
func (h *scriptHub) on(when string) func(call string) int {
	return func(call string) int {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.calls++; h.calls == h.at {
			h.strike()
		}
		code := h.fails[when+" "+call]
		delete(h.fails, when+" "+call)
		return code
	}
}

const forgeToken = "ghp_0123456789secret"

// fakeGitHub: github start REPO makes a GitHub with the branch main of a repository, whose remote origin it becomes. github set WORD…
// changes it: archived, fork, auto, queue, readonly, workflows, silent. github protect PREFIX refuses pushes. github fail before|after
// CALL STATUS has the next such call fail. github merge N merges. github write BRANCH FILE TEXT is the commit of a person.
// github pulls writes pulls.json. github kills STEP COMMAND… kills that command at each call to
// the fake, or each second one and so on, and repeats it.
func fakeGitHub(ts *testscript.TestScript, _ bool, args []string) {
	at := ts.Getenv("WORK")
	if args[0] == "start" {
		hubs.Store(at, startHub(ts, args[1]))
		ts.Defer(func() { hubs.Delete(at) })
		return
	}
	known, _ := hubs.Load(at)
	h, _ := known.(*scriptHub)
	switch args[0] {
	case "set":
		h.set(args[1:])
	case "protect":
		h.Protect(args[1])
	case "fail":
		code, err := strconv.Atoi(args[len(args)-1])
		ts.Check(err)
		h.mu.Lock()
		h.fails[strings.Join(args[1:len(args)-1], " ")] = code
		h.mu.Unlock()
	case "merge":
		n, err := strconv.Atoi(args[1])
		ts.Check(err)
		if !h.Merge(n) {
			ts.Fatalf("pull request %d cannot be merged", n)
		}
	case "close":
		n, err := strconv.Atoi(args[1])
		ts.Check(err)
		h.Do(func() { h.Pulls[n-1].State = "closed" })
	case "write":
		h.Commit(args[1], "by a person", map[string]string{args[2]: args[3] + "\n"})
	case "pulls":
		h.write(ts)
	case "kills":
		h.kills(ts, args[1:])
	default:
		ts.Fatalf("unknown: github %s", args[0])
	}
}

func startHub(ts *testscript.TestScript, repo string) *scriptHub {
	h := &scriptHub{fails: map[string]int{}, token: githubtest.Token{Login: "bot", Push: true}}
	h.Hub = githubtest.New(scripted{ts: ts}, githubtest.Options{
		Owner: "acme", Name: "shop", Before: h.on("before"), After: h.on("after"), Writers: []string{"ann"},
		Tokens: map[string]githubtest.Token{forgeToken: h.token},
	})
	dir := ts.MkAbs(repo)
	ts.Check(ts.Exec("git", "-C", dir, "push", "-q", h.Dir, "main"))
	ts.Check(ts.Exec("git", "-C", dir, "remote", "add", "origin", h.Git))
	host := strings.TrimPrefix(h.Git, "http://")
	host, _, _ = strings.Cut(host, "/")
	ts.Setenv("DIVISI_FORGE_HOST", host)
	ts.Setenv("DIVISI_FORGE_TOKEN", forgeToken)
	ts.Setenv("HUB", h.Dir)
	return h
}

func (h *scriptHub) set(words []string) {
	h.Set(func(o *githubtest.Options) {
		o.Archived, o.Fork, o.AutoMerge, o.Queue, h.token = false, false, false, false, githubtest.Token{Login: "bot", Push: true}
		for _, w := range words {
			switch w {
			case "archived":
				o.Archived = true
			case "fork":
				o.Fork = true
			case "auto":
				o.AutoMerge, o.Required = true, []string{"build"}
			case "queue":
				o.Queue = true
			case "readonly":
				h.token.Push = false
			case "workflows":
				h.token.Workflows = true
			case "silent":
				h.token.Silent = true
			}
		}
		o.Tokens = map[string]githubtest.Token{forgeToken: h.token}
	})
}

func (h *scriptHub) write(ts *testscript.TestScript) {
	var out []byte
	h.Do(func() {
		for _, p := range h.Pulls {
			line, err := json.Marshal(p) //nolint:musttag // its fields as they are named
			ts.Check(err)
			out = append(append(out, line...), '\n')
		}
	})
	ts.Check(os.WriteFile(ts.MkAbs("pulls.json"), out, 0o600))
}

// kills runs a command with the state and the forge as they are now, killed at each call, and again to its end: the forge has the
// same as after a run that was not killed.
func (h *scriptHub) kills(ts *testscript.TestScript, args []string) {
	step, err := strconv.Atoi(args[0])
	ts.Check(err)
	args = args[1:]
	state, kept := ts.Getenv("STATE"), ts.MkAbs("kept")
	ts.Check(ts.Exec("cp", "-a", state, kept))
	want := ""
	again := func() {
		ts.Check(os.RemoveAll(state))
		ts.Check(ts.Exec("cp", "-a", kept, state))
		h.Do(func() { h.Pulls = nil })
		for _, ref := range h.Refs() {
			if ref != "main" {
				ts.Check(ts.Exec("git", "-C", h.Dir, "update-ref", "-d", "refs/heads/"+ref))
			}
		}
	}
	for n := 0; ; n += step {
		again()
		name := fmt.Sprintf("kill-%d", n)
		struck := make(chan struct{})
		h.mu.Lock()
		h.calls, h.at, h.strike = 0, n, func() { close(struck) }
		h.mu.Unlock()
		spawn(ts, false, append([]string{name}, args...))
		j := jobOf(ts, name)
		killed := false
		select {
		case <-struck:
			_ = j.cmd.Process.Kill()
			<-j.done
			killed = true
		case <-j.done:
		}
		if out, _ := j.output(); !killed && j.err != nil {
			ts.Fatalf("it ended with %v:\n%s", j.err, out)
		}
		if n > 0 && !killed {
			ts.Logf("%d kills, each at a call", (n-1)/step)
			break
		}
		if killed {
			ts.Check(ts.Exec(args[0], args[1:]...))
		}
		got := h.told()
		if n == 0 {
			want = got
		}
		if got != want {
			ts.Fatalf("after a kill at call %d:\n%s\nwant:\n%s", n, got, want)
		}
	}
	again()
	ts.Check(os.RemoveAll(kept))
}

// told lists the pull requests of the forge.
func (h *scriptHub) told() string {
	var b strings.Builder
	h.Do(func() {
		for _, p := range h.Pulls {
			fmt.Fprintf(&b, "%d %s %s %s %s %v %v\n", p.Number, p.Title, p.Head, p.Base, p.State, p.Labels, p.Reviewers)
		}
	})
	for _, ref := range h.Refs() {
		fmt.Fprintf(&b, "%s %s\n", ref, h.Head(ref))
	}
	return b.String() + filepath.Base(h.Dir)
}
