package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// job is a repository, a plan for it, and what must become of both.
type job struct {
	repo, plan, role string
	files            map[string]string // of the base commit, by path
	tasks            []map[string]any
	want             map[string]string // the files when the run has ended
	landed, parked   []string          // tasks
	set              []string          // the files that land as one
}

const (
	// gate passes where no file is broken and all of the set say the same.
	gate = `sleep 0.1
cat "$DIVISI_TOOLS/made" || exit 1
if grep -n BROKEN src/*.txt; then echo "error: a file is broken"; exit 1; fi
[ "$(cat set/*.txt | sort -u | wc -l)" = 1 ] || { echo "set/a.txt:1: error: the files of the set differ"; exit 1; }
`
	roleFile = "---\nname: mod\ndescription: Makes one change.\nexecutor: command\ncommand: [\"true\"]\n---\nIt runs a script.\n"
)

// newJob draws a plan.
func newJob(rng *rand.Rand, dir string) *job {
	j := &job{
		repo: filepath.Join(dir, "repo"), plan: filepath.Join(dir, "plan.yaml"), role: filepath.Join(dir, "role.md"),
		files: map[string]string{"src/wrong.txt": "right\n", "testdata/seen.golden": "seen\n"},
	}
	j.files[".divisi/divisi.yaml"] = "setup: {command: [sh, -c, 'echo made > \"$DIVISI_TOOLS/made\"']}\n" +
		"gates:\n  - name: check\n    command: [sh, check.sh]\n"
	j.files["check.sh"] = gate
	for i := range 9 {
		j.files[fmt.Sprintf("src/%d.txt", i)] = fmt.Sprintf("file %d\n", i)
	}
	for _, name := range []string{"a", "b", "c"} {
		file := "set/" + name + ".txt"
		j.files[file], j.set = "old\n", append(j.set, file)
	}
	j.want = maps.Clone(j.files)
	pause := func() string { return fmt.Sprintf("sleep %.2f; ", 0.05+rng.Float64()*1.2) }
	for i := range 6 + rng.IntN(4) {
		j.adds(fmt.Sprintf("one-%d", i), fmt.Sprintf("src/%d.txt", i), pause())
	}
	for i := range 2 {
		id := fmt.Sprintf("then-%d", i)
		j.adds(id, fmt.Sprintf("src/%d.txt", i), pause())["depends_on"] = []string{fmt.Sprintf("one-%d", i)}
	}
	for i, file := range j.set {
		j.task(fmt.Sprintf("set-%d", i), file, pause()+`echo new > "$1"`)["change_set"] = "set"
		j.want[file] = "new\n"
		j.landed = append(j.landed, fmt.Sprintf("set-%d", i))
	}
	j.task("wrong", "src/wrong.txt", pause()+`echo BROKEN > "$1"`)
	j.task("after", "src/after.txt", `echo after > src/after.txt`)["depends_on"] = []string{"wrong"}
	j.parked = []string{"wrong", "after"}
	if rng.IntN(3) == 0 { // a person is asked about it: the file is guarded, and only a glob names it
		j.task("doubt", "testdata/*", `echo changed > testdata/seen.golden`)
		j.want["testdata/seen.golden"] = "changed\n"
		j.landed = append(j.landed, "doubt")
	}
	return j
}

// adds is a task that appends its name to a file, which shows when it lands twice.
func (j *job) adds(id, file, before string) map[string]any {
	j.want[file] += id + "\n"
	j.landed = append(j.landed, id)
	return j.task(id, file, before+fmt.Sprintf(`echo %s >> "$1"`, id))
}

func (j *job) task(id, file, script string) map[string]any {
	t := map[string]any{
		"id": id, "title": id, "role": "mod", "brief": "Run the script.", "files": []string{file},
		"command": []string{"sh", "-c", script, "sh", "{files}"},
	}
	j.tasks = append(j.tasks, t)
	return t
}

// write makes the repository, with a branch of its own, and the files of the plan.
func (j *job) write(ctx context.Context) error {
	for name, text := range j.files {
		if err := writeFile(filepath.Join(j.repo, name), text); err != nil {
			return err
		}
	}
	plan, err := json.Marshal(map[string]any{"goal": "Change everything", "tasks": j.tasks}) // JSON is YAML
	if err != nil {
		return err
	}
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"},
		{"add", "-A"},
		{"-c", "user.name=x", "-c", "user.email=x@localhost", "commit", "-qm", "base"},
		{"branch", "other"},
	} {
		if _, err := j.git(ctx, args...); err != nil {
			return err
		}
	}
	if err := writeFile(j.role, roleFile); err != nil {
		return err
	}
	return writeFile(j.plan, string(plan))
}

func writeFile(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

func (j *job) git(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "git", append([]string{"-C", j.repo}, args...)...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, out)
	}
	return strings.TrimSpace(string(out)), nil
}

// state must stay equal in every run: the refs that are not its own, the branch that is checked out, and the files.
func (j *job) state(ctx context.Context) (string, error) {
	refs, err := j.git(ctx, "for-each-ref", "--format=%(refname) %(objectname)")
	if err != nil {
		return "", err
	}
	own := func(l string) bool { return strings.HasPrefix(l, "refs/heads/divisi/") }
	lines := slices.DeleteFunc(strings.Split(refs, "\n"), own)
	for _, args := range [][]string{{"symbolic-ref", "HEAD"}, {"status", "--porcelain", "--ignored"}} {
		out, err := j.git(ctx, args...)
		if err != nil {
			return "", err
		}
		lines = append(lines, out)
	}
	return strings.Join(lines, "\n"), nil
}
