package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

var (
	// block is a fenced block of an example's README: commands to type, or what they print.
	block = regexp.MustCompile("(?ms)^```(sh|text)\n(.*?)^```$")
	// expected is the exit code that a comment behind a command names.
	expected = regexp.MustCompile(` +# exit code (\d)$`)
	// theRun is where a person types the id of the run.
	theRun = regexp.MustCompile(`\bRUN\b`)
	// varies is what differs from run to run: ids, and the time before a line.
	varies = regexp.MustCompile(`\d{8}-\d{6}-[0-9a-f]{4}|(?m:^\d\d:\d\d:\d\d )`)
)

// typeExample: example FOLDER types each command of the README of an example, in its folder, and finds what the README shows in
// what they print. Directories in /tmp are the script's instead. It sets REPO to the repository, with a snapshot of it in before,
// and RUN to the run.
func typeExample(ts *testscript.TestScript, _ bool, args []string) {
	folder, err := filepath.Abs(filepath.Join("../../examples", args[0]))
	ts.Check(err)
	readme, err := os.ReadFile(filepath.Join(folder, "README.md"))
	ts.Check(err)
	e := typist{ts: ts, folder: folder}
	for _, b := range block.FindAllStringSubmatch(string(readme), -1) {
		if b[1] == "text" {
			e.shows(b[2])
			continue
		}
		e.printed = ""
		for line := range strings.Lines(b[2]) {
			e.enter(strings.TrimSuffix(line, "\n"))
		}
	}
}

// typist types commands, one after the other.
type typist struct {
	ts     *testscript.TestScript
	folder string
	// printed is what the commands of the last block printed.
	printed string
}

func (e *typist) enter(line string) {
	code := 0
	if m := expected.FindStringSubmatch(line); m != nil {
		line = strings.TrimSuffix(line, m[0])
		code, _ = strconv.Atoi(m[1])
	}
	line = strings.ReplaceAll(line, "/tmp/", e.ts.Getenv("WORK")+"/")
	if script, ok := strings.CutPrefix(line, `eval "$(sh ../fake-model.sh `); ok { // the same server, in this process
		fakeGemini(e.ts, false, []string{filepath.Join(e.folder, strings.TrimSuffix(script, `)"`))})
		return
	}
	if strings.Contains(line, "$FAKE_MODEL") {
		return
	}
	if runs := runNames(e.ts); len(runs) > 0 {
		e.ts.Setenv("RUN", runs[len(runs)-1])
		line = theRun.ReplaceAllString(line, runs[len(runs)-1])
	}
	e.run(line, code)
	if repo, ok := strings.CutPrefix(line, "sh ../setup.sh "); ok {
		e.ts.Setenv("REPO", repo)
		snapshot(e.ts, false, []string{repo, "before"})
	}
}

// run runs a line of the shell, which must end with a code.
func (e *typist) run(line string, want int) {
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir = e.folder
	for _, name := range []string{
		"PATH", "HOME", "XDG_STATE_HOME", "TMPDIR", "GOCACHE", "GOMODCACHE", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "NO_COLOR",
		"TERM", "WORK", "GOOGLE_GEMINI_BASE_URL", "GEMINI_API_KEY", "ANTHROPIC_API_KEY",
	} {
		if value := e.ts.Getenv(name); value != "" {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	out, err := cmd.CombinedOutput()
	e.printed += string(out)
	got := 0
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		e.ts.Check(err)
	}
	e.ts.Logf("$ %s\n%s", line, out)
	if got != want {
		e.ts.Fatalf("%s ended with exit code %d, not %d", line, got, want)
	}
}

// shows fails unless the last commands printed each line.
func (e *typist) shows(text string) {
	printed := varies.ReplaceAllString(e.printed, "")
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(varies.ReplaceAllString(line, ""))
		if line != "[…]" && !strings.Contains(printed, line) {
			e.ts.Fatalf("the README shows a line that was not printed: %s", line)
		}
	}
}
