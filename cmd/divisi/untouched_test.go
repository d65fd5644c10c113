package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// snapshot: snapshot REPO FILE writes down every file of a repository, .git and all, byte for byte.
func snapshot(ts *testscript.TestScript, _ bool, args []string) {
	data, err := json.MarshalIndent(filesOf(ts, ts.MkAbs(args[0])), "", " ")
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), data, 0o600))
}

// filesOf maps each path to its mode and a digest of its content.
func filesOf(ts *testscript.TestScript, dir string) map[string]string {
	files := map[string]string{}
	ts.Check(filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		data := []byte("not regular")
		if info.Mode().IsRegular() {
			if data, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		files[rel] = fmt.Sprintf("%s %x", info.Mode(), sha256.Sum256(data))
		return nil
	}))
	return files
}

// untouched: untouched REPO FILE N compares a repository with its snapshot. It may have N new refs, all of them
// refs/heads/divisi/<run>, and with N > 0 new objects. Everything else is byte for byte as it was.
func untouched(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[2])
	ts.Check(err)
	var before map[string]string
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[1])), &before))
	after, refs := filesOf(ts, ts.MkAbs(args[0])), 0
	for _, path := range slices.Sorted(maps.Keys(after)) {
		old, was := before[path]
		delete(before, path)
		switch {
		case was && old == after[path]:
		case was:
			ts.Fatalf("%s was changed", path)
		case strings.HasPrefix(path, ".git/refs/heads/divisi/"):
			refs++
		case want > 0 && strings.HasPrefix(path, ".git/objects/"):
		default:
			ts.Fatalf("%s was added", path)
		}
	}
	for path := range before {
		ts.Fatalf("%s was removed", path)
	}
	if refs != want {
		ts.Fatalf("%d branches were published, not %d", refs, want)
	}
}

// landed: landed REPO TASK… reports that the branch of $RUN has one commit more than main for each of the tasks, and no other.
func landed(ts *testscript.TestScript, _ bool, args []string) {
	const format = "--format=%(trailers:key=Divisi-Task,valueonly,separator=%x20)"
	lines := strings.Fields(gitOut(ts, args[0], "log", format, "main..divisi/"+ts.Getenv("RUN")))
	slices.Sort(lines)
	if want := slices.Sorted(slices.Values(args[1:])); !slices.Equal(lines, want) {
		ts.Fatalf("landed %v, not %v", lines, want)
	}
}

// sameTree: sametree REPO REV REV reports that both revisions have the same files.
func sameTree(ts *testscript.TestScript, neg bool, args []string) {
	a, b := gitOut(ts, args[0], "rev-parse", args[1]+"^{tree}"), gitOut(ts, args[0], "rev-parse", args[2]+"^{tree}")
	if (a == b) == neg {
		ts.Fatalf("the trees are %s and %s", strings.TrimSpace(a), strings.TrimSpace(b))
	}
}

func gitOut(ts *testscript.TestScript, dir string, args ...string) string {
	cmd := exec.Command("git", append([]string{"-C", ts.MkAbs(dir)}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		ts.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// noProcess: noprocess reports that soon no process is left that was started for this script. Only Linux can tell.
func noProcess(ts *testscript.TestScript, _ bool, _ []string) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for left := time.After(20 * time.Second); ; {
		processes := processesOf(ts, ts.Getenv("WORK"))
		if len(processes) == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-left:
			ts.Fatalf("processes are left: %s", strings.Join(processes, "; "))
		}
	}
}

// process: process PATTERN waits until a process of this script has a command line that matches. Only Linux can tell.
func process(ts *testscript.TestScript, _ bool, args []string) {
	pattern, tick := regexp.MustCompile(args[0]), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	for timeout := time.After(patience); ; {
		if slices.ContainsFunc(processesOf(ts, ts.Getenv("WORK")), pattern.MatchString) {
			return
		}
		select {
		case <-tick.C:
		case <-timeout:
			ts.Fatalf("no process matches %q; there are %v", args[0], processesOf(ts, ts.Getenv("WORK")))
		}
	}
}

// atOnce: atonce FILE N reports that by the events of the file exactly N agents were at work at once, at most.
func atOnce(ts *testscript.TestScript, _ bool, args []string) {
	working, most := map[string]bool{}, 0
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		var e struct {
			Agent string `json:"agent"`
			Kind  string `json:"kind"`
		}
		ts.Check(json.Unmarshal([]byte(line), &e))
		switch e.Kind {
		case "started":
			if !strings.HasPrefix(e.Agent, "--") { // the gates on the base commit take no agent's place
				working[e.Agent] = true
			}
		case "result":
			delete(working, e.Agent)
		}
		most = max(most, len(working))
	}
	if strconv.Itoa(most) != args[1] {
		ts.Fatalf("%d agents were at work at once, not %s", most, args[1])
	}
}

// processesOf lists the processes whose environment names the directory.
func processesOf(ts *testscript.TestScript, dir string) []string {
	environs, err := filepath.Glob("/proc/[0-9]*/environ")
	ts.Check(err)
	within := regexp.MustCompile(regexp.QuoteMeta(dir) + `(?:[/:\x00]|$)`) // the name of another script may go on
	var out []string
	for _, path := range environs {
		data, err := os.ReadFile(path)
		if err != nil || !within.Match(data) {
			continue // it has ended
		}
		cmdline, err := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		if err == nil {
			out = append(out, path+": "+string(bytes.ReplaceAll(cmdline, []byte{0}, []byte(" "))))
		}
	}
	return out
}

// jsonEvents: events FILE|stdout [KIND…] reports whether every line is one event as the log has it, in the log's order, and
// the kinds are among them. The last line may be the list of what to do next.
func jsonEvents(ts *testscript.TestScript, _ bool, args []string) {
	kinds, last, run := map[string]bool{}, 0.0, ""
	lines := strings.Split(strings.TrimSuffix(ts.ReadFile(args[0]), "\n"), "\n")
	if end := lines[len(lines)-1]; strings.HasPrefix(end, `{"kind":"next","next":[{"command":"`) {
		lines = lines[:len(lines)-1]
	}
	for i, line := range lines {
		var e map[string]any
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			ts.Fatalf("line %d is not one JSON document: %v: %s", i+1, err, line)
		}
		for _, key := range []string{"v", "id", "run", "seq", "pos", "time", "kind", "author"} {
			if _, ok := e[key]; !ok {
				ts.Fatalf("line %d has no %s: %s", i+1, key, line)
			}
		}
		pos, _ := e["pos"].(float64)
		if pos < last || pos == 0 {
			ts.Fatalf("line %d has position %v after %v", i+1, pos, last)
		}
		if id := fmt.Sprint(e["run"]); run != "" && id != run {
			ts.Fatalf("line %d is of run %s, not %s", i+1, id, run)
		}
		kinds[fmt.Sprint(e["kind"])], last, run = true, pos, fmt.Sprint(e["run"])
	}
	for _, k := range args[1:] {
		if !kinds[k] {
			ts.Fatalf("there is no event of kind %s; there are %v", k, slices.Sorted(maps.Keys(kinds)))
		}
	}
}
