package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"divisi/configs"
	"divisi/orchestrator"
)

// draft is a plan that a person edits, in a private file in the run's directory, outside the repository.
type draft struct {
	dir, name string
	// changed reports that the file has what the run has not.
	changed bool
}

// editorGrace is how long an editor may take to end after the run was stopped.
const editorGrace = 5 * time.Second

// edit opens the plan in the editor of the person and returns what was written. What is in the file already, after an error, is
// opened again as it is.
func (v *view) edit(ctx context.Context, plan orchestrator.File) (*orchestrator.File, error) {
	editor := cmp.Or(strings.TrimSpace(os.Getenv("VISUAL")), strings.TrimSpace(os.Getenv("EDITOR")))
	if editor == "" {
		return nil, errors.New("no editor is set: answer n, set VISUAL or EDITOR, such as EDITOR=nano, and continue with: " +
			"divisi resume")
	}
	d := &v.draft
	if d.name == "" {
		if err := d.begin(plan.Data); err != nil {
			return nil, fmt.Errorf("edit the plan: %w", err)
		}
	}
	failed := v.runEditor(ctx, editor)
	read, err := configs.Read(d.name)
	if err != nil {
		d.changed = true
		return nil, err
	}
	text := read[0].Text
	d.changed = d.changed || text != string(plan.Data)
	switch {
	case failed != nil:
		return nil, fmt.Errorf("the editor %q failed (%w), and the plan was not changed; e opens %s again",
			editor, failed, d.name)
	case text == string(plan.Data):
		return nil, errors.New("the file was not changed")
	}
	return &orchestrator.File{Name: d.name, Data: []byte(text)}, nil
}

// begin writes the file.
func (d *draft) begin(text []byte) error {
	f, err := os.CreateTemp(d.dir, "plan-*.yaml")
	if err != nil {
		return err
	}
	d.name = f.Name()
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// runEditor runs the editor, which may have arguments, on the terminal. A run that is stopped asks it to end.
func (v *view) runEditor(ctx context.Context, editor string) error {
	cmd := exec.CommandContext(ctx, "sh", "-c", editor+` "$1"`, "sh", v.draft.name) // the editor is the person's own
	cmd.Stdin, cmd.Stdout, cmd.Stderr = v.In, v.Out, v.Err
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = editorGrace
	return cmd.Run()
}
