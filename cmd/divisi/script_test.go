package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/rogpeppe/go-internal/testscript"

	"divisi/internal/testkit/chattest"
	"divisi/internal/testkit/geminitest"
)

// Every script is one thing that a person does with the command line. It has a state directory and a home of its own.
func TestScripts(t *testing.T) {
	t.Parallel()
	runScripts(t, "script")
}

// Every script here tries one harm that a hostile repository, a failing machine or a failing service can do to a person, with
// the whole program.
func TestHarms(t *testing.T) {
	t.Parallel()
	runScripts(t, "harm")
}

// Scripts and harms that take seconds of all cores each.
func TestSlowScripts(t *testing.T) {
	t.Parallel()
	runScripts(t, "slow")
}

func runScripts(t *testing.T, dir string) {
	t.Helper()
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", dir), RequireExplicitExec: true, RequireUniqueNames: true, Setup: setUp,
		Condition: condition,
		Cmds:      commands(),
	})
}

// commands are those of scripts.
func commands() map[string]func(*testscript.TestScript, bool, []string) {
	out := map[string]func(*testscript.TestScript, bool, []string){
		"exitcode": exitCodeCmd, "gitrepo": gitRepo, "fakegemini": fakeGemini, "fakechat": fakeChat, "fakeanthropic": fakeAnthropic, "github": fakeGitHub, "natsserver": natsServer, "nkey": newNKey, "exampleserver": exampleServer, "holdport": holdPort, "recorder": recorder, "fetch": fetch, "connectproxy": connectProxy,
		"spawn": spawn, "until": until, "signal": signalJob, "ended": ended,
		"snapshot": snapshot, "untouched": untouched, "landed": landed, "sametree": sameTree, "lastrun": lastRun,
		"noruns": noRuns, "killed": killed, "struck": struck, "served": served, "page": page, "tmpfs": tmpfs, "process": process,
		"appended": appended, "reformatted": reformatted, "atonce": atOnce, "noprocess": noProcess, "events": jsonEvents, "connect": connect, "ask": ask, "asked": asked, "gone": gone, "offered": offered, "leave": leave, "assent": asSent, "example": typeExample, "eachlines": typeEachLines,
	}
	maps.Copy(out, ttyCommands)
	return out
}

// setUp gives a script its environment: nothing of the user's, and no key.
func setUp(env *testscript.Env) error {
	for _, dir := range []string{"home", "state"} {
		if err := os.MkdirAll(filepath.Join(env.WorkDir, dir), 0o755); err != nil {
			return err
		}
	}
	for k, v := range map[string]string{
		"HOME": filepath.Join(env.WorkDir, "home"), "XDG_STATE_HOME": filepath.Join(env.WorkDir, "state"),
		"STATE": filepath.Join(env.WorkDir, "state", "divisi"), "HOLD": filepath.Join(env.WorkDir, "hold"),
		"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_NOSYSTEM": "1",
		"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "c", "GIT_COMMITTER_EMAIL": "c@d",
		"GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
		"USER_GOCACHE": userCache(), "NO_COLOR": "1", "TERM": "xterm", "RUSTUP_HOME": filepath.Join(os.Getenv("HOME"), ".rustup"),
		// Commands can see directories of PATH, and so the files that they are to wait for.
		"PATH": env.Getenv("PATH") + string(os.PathListSeparator) + filepath.Join(env.WorkDir, "hold"),
	} {
		env.Setenv(k, v)
	}
	env.Values[jobsKey{}] = map[string]*job{}
	testdata, err := filepath.Abs("testdata")
	if err != nil {
		return err
	}
	env.Setenv("TESTDATA", testdata)
	env.Setenv("EXAMPLES", filepath.Join(testdata, "../../../examples"))
	plan, err := os.ReadFile(filepath.Join(testdata, "plan.yaml"))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(env.WorkDir, "plan.yaml"), plan, 0o600)
}

// userCache is the build cache that these tests are built with. A script that compiles Go names it, so that gates borrow from it.
var userCache = sync.OnceValue(func() string {
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
})

// exitCodeCmd: exitcode N program args… runs a program in the foreground, which must end with code N.
func exitCodeCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exitcode N program [args...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	got := 0
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("%s ended with exit code %d, not %d", strings.Join(args[1:], " "), got, want)
	}
}

// gitRepo: gitrepo DIR makes a repository of testdata/repo and of the files in DIR, which win, in one commit on main.
func gitRepo(ts *testscript.TestScript, _ bool, args []string) {
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o755))
	ts.Check(addMissing(dir, ts.Getenv("TESTDATA")))
	for _, a := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"commit", "-q", "-m", "base"}} {
		ts.Check(ts.Exec("git", append([]string{"-C", dir}, a...)...))
	}
}

// addMissing copies the files of testdata/repo that the directory does not have.
func addMissing(dir, testdata string) error {
	sample := filepath.Join(testdata, "repo")
	return filepath.WalkDir(sample, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(sample, path)
		if err != nil {
			return err
		}
		to := filepath.Join(dir, rel)
		if _, err := os.Lstat(to); err == nil {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		return os.WriteFile(to, data, 0o600)
	})
}

// fakeGemini: fakegemini SCRIPT [KEY] serves a strict Gemini API for the rest of the script and points the program at it.
// With KEY it takes that key only.
func fakeGemini(ts *testscript.TestScript, _ bool, args []string) {
	script, err := geminitest.Load(ts.MkAbs(args[0]))
	ts.Check(err)
	api := geminitest.New(geminitest.Options{Script: script, Keys: args[1:]})
	h := httptest.NewServer(api)
	ts.Defer(func() {
		api.Close()
		h.CloseClientConnections()
		h.Close()
		for _, v := range api.Violations() {
			ts.Fatalf("the API's rules were broken: %+v", v)
		}
	})
	ts.Setenv("GOOGLE_GEMINI_BASE_URL", h.URL)
	ts.Setenv("GEMINI_API_KEY", "fake")
}

// fakeChat: fakechat SCRIPT REPO [KEY] serves strict Chat Completions for the rest of the script, and makes them the service of
// all models in the project file of REPO. With KEY it takes that key only, which the program looks for in CHAT_KEY.
func fakeChat(ts *testscript.TestScript, _ bool, args []string) {
	script, err := geminitest.Load(ts.MkAbs(args[0]))
	ts.Check(err)
	api := chattest.New(chattest.Options{Script: script, Style: chattest.Ollama, Keys: args[2:]})
	h := httptest.NewServer(api)
	ts.Defer(func() {
		api.Close()
		h.CloseClientConnections()
		h.Close()
		for _, v := range api.Violations() {
			ts.Fatalf("the API's rules were broken: %+v", v)
		}
	})
	service := fmt.Sprintf("provider: openai, name: local, window: 32768, base_url: '%s%s'", h.URL, chattest.Path)
	if len(args) > 2 {
		service += ", key_env: CHAT_KEY"
	}
	project := fmt.Sprintf("gates: [{name: ok, command: ['true']}]\nmodels:\n  default: {%s}\n  strong: {%s}\n  cheap: {%s}\n", service, service, service)
	dir := filepath.Join(ts.MkAbs(args[1]), ".divisi")
	ts.Check(os.MkdirAll(dir, 0o755))
	ts.Check(os.WriteFile(filepath.Join(dir, "divisi.yaml"), []byte(project), 0o600))
}

// natsServer: natsserver [CONF] starts a NATS server with JetStream, and what a file of configuration has, and sets NATS_URL.
func natsServer(ts *testscript.TestScript, _ bool, args []string) {
	o := &server.Options{}
	if len(args) > 0 {
		var err error
		o, err = server.ProcessConfigFile(ts.MkAbs(args[0]))
		ts.Check(err)
	}
	o.Host, o.Port, o.JetStream, o.StoreDir, o.NoLog, o.NoSigs = "127.0.0.1", server.RANDOM_PORT, true, ts.MkAbs("nats"), true, true
	srv, err := server.NewServer(o)
	ts.Check(err)
	srv.Start()
	ts.Defer(func() {
		srv.Shutdown()
		srv.WaitForShutdown()
	})
	if !srv.ReadyForConnections(10 * time.Second) {
		ts.Fatalf("the NATS server did not start")
	}
	ts.Setenv("NATS_URL", srv.ClientURL())
}

// holdPort: holdport takes a loopback port for the rest of the script and sets PORT.
func holdPort(ts *testscript.TestScript, _ bool, _ []string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { _ = l.Close() })
	ts.Setenv("PORT", strconv.Itoa(l.Addr().(*net.TCPAddr).Port))
}

// lastRun: lastrun sets RUN to the newest run's id.
func lastRun(ts *testscript.TestScript, _ bool, _ []string) {
	ids := runNames(ts)
	if len(ids) == 0 {
		ts.Fatalf("there is no run in %s", ts.Getenv("STATE"))
	}
	ts.Setenv("RUN", ids[len(ids)-1])
}

// noRuns: noruns fails when the state directory has a run.
func noRuns(ts *testscript.TestScript, _ bool, _ []string) {
	if ids := runNames(ts); len(ids) > 0 {
		ts.Fatalf("left behind: %s", strings.Join(ids, ", "))
	}
}

func runNames(ts *testscript.TestScript) []string {
	entries, err := os.ReadDir(filepath.Join(ts.Getenv("STATE"), "runs"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	ts.Check(err)
	var ids []string
	for _, e := range entries {
		ids = append(ids, e.Name())
	}
	return ids
}
