package board

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/orchestrator/act"
	"divisi/orchestrator/console"
	"divisi/orchestrator/run"
	"divisi/orchestrator/view"
)

// fake is a controller that notes what is asked of it.
type fake struct {
	held    []string // by each act
	open    []Open
	text    string
	refusal error
	acts    []act.Args
	texts   []string
	taken   []string
	follows int
}

// Decisions implements Controller.
func (f *fake) Decisions(context.Context) ([]Open, error) { return f.open, nil }

// Text implements Controller.
func (f *fake) Text(_ context.Context, what, task string) (string, error) {
	f.texts = append(f.texts, what+" "+task)
	return f.text, f.refusal
}

// Do implements Controller.
func (f *fake) Do(_ context.Context, acts []act.Args) (act.Outcome, bool, error) {
	for i, a := range acts {
		if held, is := a.(act.Held); is {
			acts[i] = held.Args
		}
	}
	f.acts = append(f.acts, acts...)
	return act.Outcome{Text: "it goes on", Held: f.held}, acts[0] == act.Args(act.Resume{}), f.refusal
}

// Take implements Controller.
func (f *fake) Take(_ context.Context, task, dir string) (string, error) {
	f.taken = append(f.taken, task+" "+dir)
	return "it is there", f.refusal
}

// rig is a board without a terminal: commands run at once, and their messages come back.
type rig struct {
	*model

	t          *testing.T
	controller *fake
	quit       bool
	printed    strings.Builder
}

func newRig(t *testing.T, controller *fake) *rig {
	t.Helper()
	c := console.New(console.Options{
		Out: io.Discard, TTY: true, Zone: time.UTC, Now: func() time.Time { return time.Unix(1_800_000_000, 0) },
	})
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	c.DrawBy(func(bool) {})
	c.Handle(sample(t))
	r := &rig{t: t, controller: controller}
	follow := func(context.Context) error { controller.follows++; return nil }
	r.model = newModel(Options{Console: c, Controller: controller, Follow: follow}, func(j job) tea.Cmd {
		return func() tea.Msg { return j(t.Context()) }
	})
	r.tell(tea.WindowSizeMsg{Width: 80, Height: 24}, readyMsg{})
	return r
}

// sample is the beginning of the stored run, in which tasks are running.
func sample(t *testing.T) (events []contextscope.Event) {
	t.Helper()
	raw, err := os.ReadFile("../testdata/sample.jsonl")
	require.NoError(t, err)
	for line := range bytes.Lines(raw) {
		var e contextscope.Event
		require.NoError(t, json.Unmarshal(line, &e))
		events = append(events, e)
	}
	return events[:230]
}

// happens folds an event of the run.
func (r *rig) happens(task string, kind contextscope.Kind, data any) {
	r.t.Helper()
	raw, err := json.Marshal(data)
	require.NoError(r.t, err)
	r.Console.Handle([]contextscope.Event{{ID: "e", Run: "r", Kind: kind, Task: task, Pos: 1000, Data: raw}})
}

// tell has messages, and those of the commands that follow from them, come to the board.
func (r *rig) tell(list ...tea.Msg) {
	r.t.Helper()
	for _, msg := range list {
		switch v := reflect.ValueOf(msg); {
		case !v.IsValid():
		case v.Type() == reflect.TypeFor[tea.QuitMsg]():
			r.quit = true
		case v.Kind() == reflect.Slice && v.Type().Elem() == reflect.TypeFor[tea.Cmd]():
			for i := range v.Len() {
				r.runs(v.Index(i).Interface().(tea.Cmd))
			}
		default:
			if strings.Contains(v.Type().Name(), "printLine") {
				fmt.Fprintf(&r.printed, "%v\n", msg)
			}
			_, cmd := r.Update(msg)
			r.runs(cmd)
		}
	}
}

func (r *rig) runs(cmd tea.Cmd) {
	if cmd != nil {
		r.tell(cmd())
	}
}

// press presses keys, by their names; a text of several letters that is no name is typed.
func (r *rig) press(keys ...string) {
	r.t.Helper()
	special := map[string]rune{
		"enter": tea.KeyEnter, "esc": tea.KeyEscape, "tab": tea.KeyTab, "backspace": tea.KeyBackspace, "down": tea.KeyDown,
	}
	for _, k := range keys {
		switch {
		case k == "ctrl+c":
			r.tell(tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl})
		case special[k] != 0:
			r.tell(tea.KeyPressMsg{Code: special[k]})
		default:
			for _, letter := range k {
				r.tell(tea.KeyPressMsg{Code: letter, Text: string(letter)})
			}
		}
	}
}

// screen is what is drawn, without what colours and marks it.
func (r *rig) screen() string {
	return sgr.ReplaceAllString(r.View().Content, "")
}

func patch(id string, tasks ...string) Open {
	d := view.Decision{
		ID: id, Attempt: 2, About: tasks[0], Text: "a decision about the patch of " + tasks[0],
		Evidence: []string{"a test does not run any more"},
		Options: []view.Option{
			{Name: run.Accept, Does: "it goes to the landing queue"},
			{Name: run.Reject, Does: "rejects it", NeedsText: true},
			{Name: run.Skip, Does: "gives the task up"},
		},
	}
	for _, task := range tasks {
		d.Patches = append(d.Patches, view.Patch{Task: task, Diff: "-old\n+new of " + task})
	}
	return Open{All: []view.Decision{d}, Asked: console.Asked{
		Decision: d, Note: "blocks 3 tasks",
		Elsewhere: []console.Elsewhere{{Name: "take", Does: "fix it"}, {Name: "cancel", Does: "end the task"}},
	}}
}

// group is a decision about shards of a template with findings of the same kinds.
func group(id string, tasks ...string) Open {
	d := patch(id, tasks...)
	d.About, d.Template = "", "t"
	d.All[0].About, d.All[0].Template = "", "t"
	return d
}

func question() Open {
	d := view.Decision{
		ID: "one@7", Attempt: 1, Text: "an answer to one/1: Which?", Choices: []string{"This", "That"},
		Options: []view.Option{{Name: run.Reply, Does: "send your words to the agent", NeedsText: true}},
	}
	return Open{Asked: console.Asked{Decision: d}, All: []view.Decision{d}}
}

// taps has keys come at once, as from a double tap, a key that is held down, or a paste without its marks: nothing is drawn
// between them.
func (r *rig) taps(keys ...string) {
	var after []tea.Cmd
	for _, k := range keys {
		msg := tea.KeyPressMsg{Text: k}
		switch k {
		case "enter":
			msg = tea.KeyPressMsg{Code: tea.KeyEnter}
		default:
			msg.Code = []rune(k)[0]
		}
		_, cmd := r.Update(msg)
		after = append(after, cmd)
	}
	for _, cmd := range after {
		r.runs(cmd)
	}
}
