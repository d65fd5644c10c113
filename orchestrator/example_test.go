package orchestrator_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"divisi/orchestrator"
	"divisi/orchestrator/act"
)

// newRepository makes a repository of one file and one gate, and a place for runs beside it.
func newRepository() (repo, stateDir string, remove func()) {
	dir := must(os.MkdirTemp("", "divisi-example-"))
	repo = filepath.Join(dir, "repo")
	try(os.MkdirAll(filepath.Join(repo, ".divisi"), 0o700))
	try(os.WriteFile(filepath.Join(repo, "notes.txt"), []byte("a note\n"), 0o600))
	gates := "gates:\n  - {name: test, command: [grep, -iq, note, notes.txt]}\n"
	try(os.WriteFile(filepath.Join(repo, ".divisi", "divisi.yaml"), []byte(gates), 0o600))
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"},
		{"add", "-A"},
		{"-c", "user.name=a", "-c", "user.email=a@b.test", "commit", "-q", "-m", "Begin"},
	} {
		try(exec.Command("git", append([]string{"-C", repo}, args...)...).Run())
	}
	return repo, filepath.Join(dir, "state"), func() { try(os.RemoveAll(dir)) }
}

func try(err error) {
	if err != nil {
		panic(err)
	}
}

func must[T any](v T, err error) T {
	try(err)
	return v
}

// role is a role file whose command does the work.
func role(command string) orchestrator.File {
	text := "---\nname: editor\ndescription: Edits files\nexecutor: command\ncommand: " + command + "\n---\nThe command does the work.\n"
	return orchestrator.File{Name: "editor.md", Data: []byte(text)}
}

var plan = orchestrator.File{Name: "plan.yaml", Data: []byte(`
goal: Write the notes in capitals
tasks:
  - {id: capitals, role: editor, brief: Write the file in capitals., files: [notes.txt]}
`)}

func ExampleStart() {
	repo, stateDir, remove := newRepository()
	defer remove()
	ctx := context.Background()
	run := must(orchestrator.Start(ctx, orchestrator.Options{
		Machine: orchestrator.Machine{StateDir: stateDir}, Repo: repo, Plan: &plan,
		Roles: []orchestrator.File{role("[sed, -i, 's/.*/A NOTE/', '{files}']")},
	}))
	for line, err := range run.Events(ctx) {
		try(err)
		var event struct {
			Kind string `json:"kind"`
			Task string `json:"task"`
			Data struct {
				State string `json:"state"`
			} `json:"data"`
		}
		try(json.Unmarshal(line, &event))
		if event.Data.State != "" {
			fmt.Println(event.Kind, event.Task, event.Data.State)
		}
	}
	end := must(run.Wait(ctx))
	changed := must(exec.Command("git", "-C", repo, "show", end.Ref+":notes.txt").Output())
	fmt.Printf("%s: %s", end.State, changed)
	// Output:
	// run  created
	// run  preflight
	// run  running
	// task capitals running
	// task capitals accepted
	// landing  testing
	// landing  landed
	// run  final
	// run  done
	// done: A NOTE
}

// A program lists the runs, starts one, decides about its patch, and reads the report.
func Example() {
	repo, stateDir, remove := newRepository()
	defer remove()
	ctx := context.Background()
	runs := orchestrator.Local(stateDir)
	fmt.Println(len(must(runs.List(ctx))), "runs")
	run := must(orchestrator.Start(ctx, orchestrator.Options{
		Machine: orchestrator.Machine{
			StateDir: stateDir,
			Approve: func(context.Context, orchestrator.Approval) (orchestrator.Answer, error) {
				return orchestrator.Answer{Yes: true}, nil
			},
			Decide: func(_ context.Context, d orchestrator.Decision) (orchestrator.Choice, error) {
				fmt.Println(d.Kind, "of", d.About+":", d.Evidence[0])
				return orchestrator.Choice{Option: d.Options[0].Name}, nil
			},
		},
		Repo: repo, Plan: &plan, Roles: []orchestrator.File{role("[sed, -i, 's/.*/A NOTE/', '{files}']")}, Review: true,
	}))
	must(run.Wait(ctx))
	stands := must(runs.Summary(ctx, must(runs.List(ctx))[0]))
	var report struct {
		Tasks []struct {
			ID    string `json:"id"`
			State string `json:"state"`
		} `json:"tasks"`
	}
	try(json.Unmarshal(stands.Report, &report))
	fmt.Println(stands.State, report.Tasks)
	for removed, err := range orchestrator.Remove(ctx, stateDir, orchestrator.Removal{Runs: []string{run.ID()}}) {
		try(err)
		fmt.Println(removed.What == run.ID(), len(removed.Branches), "branch stays")
	}
	// Output:
	// 0 runs
	// patch of capitals: each patch waits for review by a person
	// done [{capitals landed}]
	// true 1 branch stays
}

func ExampleLocal() {
	repo, stateDir, remove := newRepository()
	defer remove()
	ctx := context.Background()
	run := must(orchestrator.Start(ctx, orchestrator.Options{
		Machine: orchestrator.Machine{StateDir: stateDir}, Repo: repo, Plan: &plan,
		Roles: []orchestrator.File{role("[sleep, '3600']")},
	}))
	for line, err := range run.Events(ctx) {
		try(err)
		var event struct {
			Kind string `json:"kind"`
		}
		if try(json.Unmarshal(line, &event)); event.Kind == "task" {
			break // the task is running
		}
	}
	try(run.Close()) // stops the run; Resume would go on with it

	attached := must(orchestrator.Local(stateDir).Open(ctx, run.ID()))
	_, err := attached.Act(ctx, act.Send{Task: "capitals", Text: "Leave the first line out"})
	fmt.Println(orchestrator.IsUsage(err), err)
	fmt.Println(must(attached.Act(ctx, act.Cancel{Reason: "not needed any more"})).Text)
	end := must(attached.Wait(ctx))
	fmt.Println(end.State+":", end.Reason)
	// Output:
	// true capitals runs a command, not a model: it cannot receive messages
	// the run is cancelled
	// cancelled: not needed any more
}
