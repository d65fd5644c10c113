package main

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

type jobsKey struct{}

// patience bounds every wait of a script; it is far above what is waited for.
const patience = 5 * time.Minute

// job is a program in the background whose output a script waits for.
type job struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error
	// hand writes on its terminal; nil where it has none.
	hand io.Writer
	// read is closed when all is read that it wrote on its terminal; nil where it has none.
	read chan struct{}

	mu      sync.Mutex
	out     bytes.Buffer
	changed chan struct{}
}

// Write implements io.Writer.
func (j *job) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	close(j.changed)
	j.changed = make(chan struct{})
	return j.out.Write(p)
}

// output returns what was written so far, and a channel that is closed when there is more.
func (j *job) output() ([]byte, <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return bytes.Clone(j.out.Bytes()), j.changed
}

func jobOf(ts *testscript.TestScript, name string) *job {
	j := ts.Value(jobsKey{}).(map[string]*job)[name]
	if j == nil {
		ts.Fatalf("nothing was spawned as %s", name)
	}
	return j
}

// spawn: spawn NAME program args… starts a program in the background. Both its streams go to one buffer.
func spawn(ts *testscript.TestScript, _ bool, args []string) {
	Begin(ts, args, func(j *job) { j.cmd.Stdout, j.cmd.Stderr = j, j })
}

// begin starts a program in the background once its streams are set.
func Begin(ts *testscript.TestScript, args []string, streams func(*job)) {
	path := args[1]
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if _, err := os.Stat(filepath.Join(dir, args[1])); err == nil {
			path = filepath.Join(dir, args[1])
			break
		}
	}
	j := &job{cmd: exec.Command(path, args[2:]...), done: make(chan struct{}), changed: make(chan struct{})}
	j.cmd.Dir = ts.MkAbs(".")
	streams(j)
	j.cmd.WaitDelay = time.Second // a child that outlives it must not hold the pipe
	j.cmd.Env = environment(ts)
	ts.Check(j.cmd.Start())
	go func() {
		defer close(j.done)
		if j.err = j.cmd.Wait(); j.read == nil {
			return
		}
		select {
		case <-j.read:
		case <-time.After(j.cmd.WaitDelay):
		}
	}()
	ts.Value(jobsKey{}).(map[string]*job)[args[0]] = j
	ts.Defer(func() {
		_ = j.cmd.Process.Kill()
		<-j.done
	})
}

// environment is that of a script, for a program in the background.
func environment(ts *testscript.TestScript) (env []string) {
	for _, k := range []string{
		"PATH", "HOME", "TMPDIR", "XDG_STATE_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GOOGLE_GEMINI_BASE_URL",
		"GEMINI_API_KEY", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "NO_COLOR", "TERM", "HOLD", "RUSTUP_HOME", "HTTPS_PROXY", protocolEnv,
		"DIVISI_FORGE_HOST", "DIVISI_FORGE_TOKEN",
	} {
		if v := ts.Getenv(k); v != "" {
			env = append(env, k+"="+v)
		}
	}
	return env
}

// until: until NAME PATTERN waits until the output of a spawned program matches.
func until(ts *testscript.TestScript, _ bool, args []string) {
	j, pattern := jobOf(ts, args[0]), regexp.MustCompile("(?m)"+args[1])
	timeout := time.After(patience)
	for {
		out, changed := j.output()
		if pattern.Match(out) {
			return
		}
		select {
		case <-changed:
		case <-j.done:
			if out, _ := j.output(); !pattern.Match(out) {
				ts.Fatalf("%s ended (%v) without %q:\n%s", args[0], j.err, args[1], out)
			}
			return
		case <-timeout:
			ts.Fatalf("%s did not write %q within %s:\n%s", args[0], args[1], patience, out)
		}
	}
}

// signalJob: signal NAME INT|TERM|HUP|KILL.
func signalJob(ts *testscript.TestScript, _ bool, args []string) {
	sig, ok := map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "KILL": syscall.SIGKILL, "HUP": syscall.SIGHUP}[args[1]]
	if !ok {
		ts.Fatalf("unknown signal %s", args[1])
	}
	ts.Check(jobOf(ts, args[0]).cmd.Process.Signal(sig))
}

// busy is how much longer than on an idle machine a program may take to end.
const busy = 4

// ended: ended NAME CODE [WITHIN] waits for a spawned program, which must end with the code (-1: by a signal) in about that time.
// Its output is written to NAME.out.
func ended(ts *testscript.TestScript, _ bool, args []string) {
	j, within := jobOf(ts, args[0]), patience
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	if len(args) > 2 {
		within, err = time.ParseDuration(args[2])
		ts.Check(err)
		within *= busy
	}
	select {
	case <-j.done:
	case <-time.After(within):
		out, _ := j.output()
		ts.Fatalf("%s did not end within %s:\n%s", args[0], within, out)
	}
	out, _ := j.output()
	ts.Logf("[%s]\n%s", args[0], out)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".out"), out, 0o600))
	var exit *exec.ExitError
	got := 0
	if errors.As(j.err, &exit) {
		got = exit.ExitCode()
	} else if !errors.Is(j.err, exec.ErrWaitDelay) {
		ts.Check(j.err)
	}
	if got != want {
		ts.Fatalf("%s ended with exit code %d, not %d", args[0], got, want)
	}
}

// killed: killed REPO SNAPSHOT PATTERN starts the plan, kills the process with no warning when its output matches, resumes,
// and compares with the branch $GOOD: the same files, each task landed once, the repository untouched but for the branch.
func killed(ts *testscript.TestScript, _ bool, args []string) {
	repo, before, pattern := args[0], args[1], args[2]
	n := strconv.Itoa(len(runNames(ts)) + 1)
	name := "killed-" + n
	spawn(ts, false, []string{name, "divisi", "run", "--plan", "plan.yaml", "--repo", repo, "--fresh-baseline"})
	until(ts, false, []string{name, pattern})
	signalJob(ts, false, []string{name, "KILL"})
	<-jobOf(ts, name).done
	lastRun(ts, false, nil)
	err := ts.Exec("divisi", "resume")
	if err != nil && !strings.Contains(ts.ReadFile("stderr"), "is over: done") { // killed after its end
		ts.Fatalf("resume after %q: %v", pattern, err)
	}
	landed(ts, false, []string{repo, "shout-001", "shout-002", "shout-003"})
	sameTree(ts, false, []string{repo, ts.Getenv("GOOD"), "divisi/" + ts.Getenv("RUN")})
	untouched(ts, false, []string{repo, before, n})
}

// struck: struck REPO SNAPSHOT GLOB [UNLESS] kills runs of job.yaml, which set up anew, with no warning once a new path below the
// state matches GLOB and none beside it is called UNLESS, or a little later; each is resumed and compared with the branch $GOOD. There
// is one such round, or as many as DIVISI_ROUNDS says.
func struck(ts *testscript.TestScript, _ bool, args []string) {
	repo, before := args[0], args[1]
	for round := range max(1, atoi(os.Getenv("DIVISI_ROUNDS"))) {
		n := strconv.Itoa(len(runNames(ts)) + 1)
		name := "struck-" + n
		ts.Check(ts.Exec("divisi", "env", "rm", "--all", "--repo", repo))
		old := glob(ts, args[2])
		spawn(ts, false, []string{
			name, "divisi", "run", "--plan", "job.yaml", "--role", "put.md", "--repo", repo, "--trust-repo", "--fresh-baseline",
		})
		await(ts, name, func() bool {
			return slices.ContainsFunc(glob(ts, args[2]), func(path string) bool {
				past := false
				if len(args) > 3 {
					_, err := os.Stat(filepath.Join(filepath.Dir(path), args[3]))
					past = err == nil
				}
				return !past && !slices.Contains(old, path)
			})
		})
		<-time.After(time.Duration(round) * 5 * time.Millisecond) // the rounds differ in the moment alone
		signalJob(ts, false, []string{name, "KILL"})
		<-jobOf(ts, name).done
		if err := ts.Exec("divisi", "resume"); err != nil {
			out, _ := jobOf(ts, name).output()
			ts.Fatalf("resume in round %d of %s: %v\n%s", round, args[2], err, out)
		}
		lastRun(ts, false, nil)
		sameTree(ts, false, []string{repo, ts.Getenv("GOOD"), "divisi/" + ts.Getenv("RUN")})
		untouched(ts, false, []string{repo, before, n})
		ts.Check(ts.Exec("divisi", "env", "show", "--repo", repo, "--verify", "--output", "json"))
		if shown := ts.ReadFile("stdout"); strings.Contains(shown, "damage") || strings.Count(shown, `"places"`) != 1 {
			ts.Fatalf("after round %d of %s there is not one whole environment: %s", round, args[2], shown)
		}
	}
}

func atoi(text string) int {
	n, _ := strconv.Atoi(text) // 0 for none
	return n
}

func glob(ts *testscript.TestScript, pattern string) []string {
	paths, err := filepath.Glob(filepath.Join(ts.Getenv("STATE"), pattern))
	ts.Check(err)
	return paths
}

// await looks again and again until something is so while a spawned program runs.
func await(ts *testscript.TestScript, name string, so func() bool) {
	tick, timeout := time.NewTicker(time.Millisecond), time.After(patience)
	defer tick.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-jobOf(ts, name).done:
			out, _ := jobOf(ts, name).output()
			ts.Fatalf("%s ended before it was there:\n%s", name, out)
		case <-timeout:
			ts.Fatalf("%s did not come so far within %s", name, patience)
		}
	}
}

// served: served NAME reports that the page whose address the spawned program told answers.
func served(ts *testscript.TestScript, _ bool, args []string) {
	out, _ := jobOf(ts, args[0]).output()
	m := regexp.MustCompile(`(?m)^dashboard: (\S+)$`).FindSubmatch(out)
	if m == nil {
		ts.Fatalf("%s told no address:\n%s", args[0], out)
	}
	bare, _, _ := strings.Cut(string(m[1]), "?")
	refused, err := (&http.Client{Timeout: time.Minute}).Get(bare)
	ts.Check(err)
	_ = refused.Body.Close()
	if refused.StatusCode != http.StatusUnauthorized {
		ts.Fatalf("%s answers %s without a token", bare, refused.Status)
	}
	jar, err := cookiejar.New(nil)
	ts.Check(err)
	r, err := (&http.Client{Jar: jar, Timeout: time.Minute}).Get(string(m[1]))
	ts.Check(err)
	defer func() { _ = r.Body.Close() }()
	http.DefaultClient.CloseIdleConnections()
	if r.StatusCode != http.StatusOK {
		ts.Fatalf("%s answers %s", m[1], r.Status)
	}
}
