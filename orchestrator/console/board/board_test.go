package board

import (
	"context"
	"errors"
	"io"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/testkit/chantest"
	"divisi/orchestrator/act"
	"divisi/orchestrator/console"
	"divisi/orchestrator/run"
	"divisi/orchestrator/view"
)

// sgr are the sequences that colour and mark text: the only ones that a view may have.
var sgr = regexp.MustCompile("\x1b\\[[0-9;]*m")

// inBubble runs a test in time that passes at once.
func inBubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, test)
}

func TestKeysAnswerADecision(t *testing.T) {
	t.Parallel()
	answer := func(option, text string) []act.Args {
		return []act.Args{act.Decide{Decision: "a@9", Attempt: 2, Option: option, Text: text}}
	}
	for name, c := range map[string]struct {
		open Open
		keys []string
		want []act.Args
		took []string
	}{
		"accept":           {patch("a@9", "a"), []string{"1", "enter"}, answer(run.Accept, ""), nil},
		"by tab":           {patch("a@9", "a"), []string{"tab", "tab", "enter", "why", "enter"}, answer(run.Skip, "why"), nil},
		"reject":           {patch("a@9", "a"), []string{"2", "No q1", "backspace", "enter"}, answer(run.Reject, "No q"), nil},
		"nothing said":     {patch("a@9", "a"), []string{"2", " ", "enter"}, nil, nil},
		"accept, no words": {patch("a@9", "a"), []string{"1", "word", "enter"}, answer(run.Accept, ""), nil},
		"another time":     {patch("a@9", "a"), []string{"1", "esc", "7"}, nil, nil},
		"skip":             {patch("a@9", "a"), []string{"3", "enter"}, answer(run.Skip, ""), nil},
		"take":             {patch("a@9", "a"), []string{"4", "../fix", "enter"}, nil, []string{"a ../fix"}},
		"take, nowhere":    {patch("a@9", "a"), []string{"4", "enter"}, nil, nil},
		"cancel":           {patch("a@9", "a"), []string{"5", "enter"}, []act.Args{act.Cancel{Task: "a"}}, nil},
		"of several": {
			patch("a@9", "a", "b"),
			[]string{"2", "tab", "No", "enter"},
			[]act.Args{act.Decide{Decision: "a@9", Attempt: 2, Option: run.Reject, Text: "No", Task: "b"}},
			nil,
		},
		"all of a group": {
			group("b@9", "a", "b"),
			[]string{"2", "No", "enter"},
			[]act.Args{act.Decide{Decision: "b@9", Attempt: 2, Option: run.Reject, Text: "No"}},
			nil,
		},
		"one of a group": {
			group("b@9", "a", "b"),
			[]string{"2", "tab", "tab", "No", "enter"},
			[]act.Args{act.Decide{Decision: "b@9", Attempt: 2, Option: run.Reject, Text: "No", Task: "b"}},
			nil,
		},
		"a proposal":  {question(), []string{"2", "enter"}, []act.Args{act.Decide{Decision: "one@7", Attempt: 1, Option: run.Reply, Text: "That"}}, nil},
		"in words":    {question(), []string{"3", "Both", "enter"}, []act.Args{act.Decide{Decision: "one@7", Attempt: 1, Option: run.Reply, Text: "Both"}}, nil},
		"taken back":  {patch("a@9", "a"), []string{"1", "enter", "u"}, append(answer(run.Accept, ""), act.TakeBack{Decision: "a@9"}), nil},
		"none so far": {patch("a@9", "a"), []string{"u"}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				r := newRig(t, &fake{open: []Open{c.open}})
				r.press("n")
				r.press(c.keys...)
				require.Equal(t, c.want, r.controller.acts)
				require.Equal(t, c.took, r.controller.taken)
				require.False(t, r.quit)
			})
		})
	}
}

func TestADecisionIsShownWhole(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		d := patch("a@9", "a")
		d.Suggests, d.All = run.Reject, []view.Decision{
			{Patches: []view.Patch{{Task: "a", Files: []string{"x.go"}}}}, {Patches: []view.Patch{{Task: "b", Files: []string{"y.go"}}}},
		}
		r := newRig(t, &fake{open: []Open{d, question()}})
		r.press("n")
		for _, want := range []string{
			"Decision 1 of 2: a@9", "The run waits for a decision about the patch of a", "(blocks 3 tasks)",
			"- a test does not run any more", "2 are alike, and one answer is for all", "b: y.go", "+new of a",
			"  1 accept: it goes to the landing queue", "> 2 (suggested) reject: rejects it", "  4 take: fix it", "1-5 answer",
		} {
			require.Contains(t, r.screen(), want)
		}
		require.True(t, r.View().AltScreen)
		r.press("n")
		require.Contains(t, r.screen(), "Decision 2 of 2: one@7")
		require.Contains(t, r.screen(), "> 1 This")
		r.press("n", "esc")
		require.False(t, r.View().AltScreen)
	})
}

func TestAStaleAnswerNamesWhoAnswered(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, &fake{open: []Open{patch("a@9", "a")}, refusal: errors.New("a@9 has an answer: accept by user:bo")})
		r.press("n", "2", "No")
		r.controller.open = []Open{question()}
		r.press("enter")
		require.Contains(t, r.screen(), "a@9 has an answer: accept by user:bo")
		require.Contains(t, r.screen(), "one@7")
		require.False(t, r.quit)
	})
}

func TestAnAnswerFromElsewhereIsShown(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, &fake{open: []Open{patch("a@9", "a"), question()}})
		r.press("n")
		r.happens("a", contextscope.KindRun, run.Data{Decision: &run.Decided{
			Kind: run.DecidePatch, About: "a", Answer: run.Answer{ID: "a@9", Option: run.Skip, By: "user:bo"},
		}})
		r.controller.open = r.controller.open[1:]
		r.waits = []string{"a@9"} // so that it is another list
		r.tell(drawMsg{})
		require.Contains(t, r.screen(), "a@9: skip by user:bo")
		require.Contains(t, r.screen(), "Decision 1 of 1: one@7")
		r.controller.open = nil
		r.press("1", "enter")
		require.Contains(t, r.screen(), "Nothing is open.")
	})
}

func TestAListThatChangesWhileItIsReadIsReadAgain(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, &fake{})
		first := r.read()
		require.Nil(t, r.read())
		r.controller.open = []Open{question()}
		r.tell(openMsg{}) // what was read before
		require.NotNil(t, first)
		require.Len(t, r.decisions.list, 1)
	})
}

func TestTheTasks(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, &fake{text: "ok  all\n\tit passes"})
		r.press("l")
		all := len(r.tasks.rows)
		require.Greater(t, all, 5)
		require.Equal(t, 0, r.tasks.at())
		r.press("j", "down", "k", "G")
		require.Equal(t, all-1, r.tasks.at())
		r.press("j", "g", "k")
		require.Equal(t, 0, r.tasks.at())
		r.press("/", "LANDED q", "backspace", "backspace", "enter")
		require.Less(t, len(r.tasks.rows), all)
		for _, row := range r.tasks.rows {
			require.Contains(t, row.State+row.What, "landed")
		}
		id := r.tasks.chosen()
		r.press("enter")
		require.Contains(t, r.screen(), id+" · output")
		require.Contains(t, r.screen(), "    it passes")
		r.press("d", "i", "o")
		require.Equal(t, []string{"output " + id, "patch " + id, "report " + id, "output " + id}, r.controller.texts)
		r.press("s", "no use", "enter", "c", "enter", "t", "../fix", "enter")
		require.Equal(t, []act.Args{act.Skip{Tasks: []string{id}, Reason: "no use"}, act.Cancel{Task: id}}, r.controller.acts)
		require.Equal(t, []string{id + " ../fix"}, r.controller.taken)
		r.press("esc")
		require.Equal(t, id, r.tasks.chosen())
		r.press("/", "esc")
		require.Len(t, r.tasks.rows, all)
		r.press("/", "nothing has this", "enter", "enter")
		require.Equal(t, atTasks, r.at)
		require.Contains(t, r.screen(), "0 of ")
	})
}

func TestALateTextIsPassedOver(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, &fake{text: "newest"})
		r.press("l", "enter")
		r.tell(textMsg{task: "another", what: TextOutput, text: "late"})
		require.Contains(t, r.screen(), "newest")
		r.tell(textMsg{task: r.task.id, what: TextOutput, err: errors.New("it is\x1b[2J gone")})
		require.Contains(t, r.screen(), "gone")
	})
}

func TestTheLiveViewIsThatOfTheConsole(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, &fake{})
		for _, line := range r.Console.Status(80, 23) {
			require.Contains(t, r.screen(), sgr.ReplaceAllString(line, ""))
		}
		require.Contains(t, r.screen(), "? keys · l tasks · p pause · q leave")
		require.Contains(t, r.View().WindowTitle, "divisi 01KJPX3Q7R-slog")
		require.Contains(t, r.printed.String(), "did not pass its gates", "lines above were printed")
		_, _ = r.Console.Write([]byte("a line"))
		r.press("?")
		r.tell(drawMsg{})
		require.Contains(t, r.screen(), "Take the answer to a decision back")
		require.NotContains(t, r.printed.String(), "a line", "it would be lost on the other screen")
		r.press("x")
		require.Contains(t, r.printed.String(), "a line")
	})
}

func TestLeavingAsksNothingOfTheRun(t *testing.T) {
	t.Parallel()
	for _, keys := range [][]string{{"q"}, {"n", "q"}, {"l", "q"}, {"l", "enter", "q"}, {"n", "2", "ctrl+c"}, {"p", "ctrl+c"}} {
		t.Run(strings.Join(keys, " "), func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				r := newRig(t, &fake{open: []Open{patch("a@9", "a")}})
				r.press(keys...)
				require.True(t, r.quit)
				require.ErrorIs(t, r.err, context.Canceled)
				require.Empty(t, r.controller.acts)
				require.Empty(t, r.View().Content)
			})
		})
	}
}

func TestTheEndOfTheLog(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		state run.Status
		err   error
		keys  []string
		quit  bool
		shows string
	}{
		"done":          {run.Done, nil, nil, true, ""},
		"done, reading": {run.Parked, nil, []string{"l"}, false, "The run has ended."},
		"and back":      {run.Done, nil, []string{"l"}, false, ""},
		"stopped":       {run.Stopped, nil, nil, false, "r resumes it"},
		"killed":        {run.Running, nil, nil, false, "r resumes it"},
		"broken":        {run.Running, broken, []string{"l"}, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				r := newRig(t, &fake{})
				r.press(c.keys...)
				r.happens("", contextscope.KindRun, run.Data{State: c.state})
				r.tell(overMsg{c.err})
				require.Equal(t, c.quit, r.quit)
				require.Equal(t, c.err, r.err)
				if !c.quit {
					require.Contains(t, r.screen(), c.shows)
				}
				if name == "and back" {
					r.press("esc")
					require.True(t, r.quit)
					require.NoError(t, r.err)
				}
			})
		})
	}
}

func TestPauseAndResume(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, &fake{})
		r.press("r")
		require.Contains(t, r.screen(), "The run is active.")
		r.press("p", "esc", "p", "enter")
		require.Equal(t, []act.Args{act.Pause{}}, r.controller.acts)
		r.happens("", contextscope.KindRun, run.Data{State: run.Stopped})
		r.tell(overMsg{})
		follows := r.controller.follows
		r.press("r")
		require.Equal(t, act.Resume{}, r.controller.acts[1])
		require.Equal(t, follows+1, r.controller.follows, "the log is read again")
		r.controller.refusal = errors.New("viewer eve may not ask that of the host")
		r.press("r")
		require.Contains(t, r.screen(), "viewer eve may not ask that")
		require.False(t, r.quit)
	})
}

func TestHostileTextHarmsNoTerminal(t *testing.T) {
	t.Parallel()
	bad := "\x1b]0;owned\x07\x1b[2J\u202egnp.exe\r\n\u009b31m" + strings.Repeat("w\t\u6f22\u200b", 1<<17)
	for _, size := range [][2]int{{80, 24}, {20, 24}, {20, 6}, {1, 1}, {300, 60}} {
		inRig := func(t *testing.T) {
			d := patch("a@9"+bad, bad)
			d.Text, d.Note, d.Evidence, d.Choices = bad, bad, []string{bad}, []string{bad}
			d.All = append(d.All, view.Decision{Patches: []view.Patch{{Task: bad, Files: []string{bad}}}})
			d.Patches[0].Diff = "-old\n+new" // made safe by the controller, as a patch is
			r := newRig(t, &fake{open: []Open{d}, refusal: errors.New(bad)})
			r.tell(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
			r.happens("evil", contextscope.KindTask, run.TaskData{State: run.TaskParked, Reason: bad})
			for _, keys := range [][]string{{}, {"n"}, {"j"}, {"1"}, {"enter"}, {"3"}, {"esc", "esc", "l"}, {"/"}, {"enter"}, {"?"}} {
				r.press(keys...)
				if r.ask != nil || r.tasks.typing {
					r.tell(tea.PasteMsg{Content: bad})
				}
				lines := strings.Split(r.screen(), "\n")
				require.LessOrEqual(t, len(lines), max(size[1], 2*maxFew+3), keys)
				for _, line := range lines {
					require.LessOrEqual(t, lipgloss.Width(line), max(size[0], 2), "%q", line)
					require.NotContains(t, line, "\u202e")
					require.Equal(t, -1, strings.IndexFunc(line, unicode.IsControl), "%q", line)
				}
			}
		}
		t.Run("", func(t *testing.T) { inBubble(t, inRig) })
	}
}

func TestAnASCIITerminalGetsASCII(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, &fake{open: []Open{patch("a@9", "a")}})
		c := console.New(console.Options{Out: io.Discard, TTY: true, ASCII: true})
		defer func() { require.NoError(t, c.Close()) }()
		c.DrawBy(func(bool) {})
		r.Console = c
		for _, keys := range [][]string{{}, {"n"}, {"1"}, {"esc", "l"}, {"?"}} {
			r.press(keys...)
			require.Equal(t, -1, strings.IndexFunc(r.screen(), func(c rune) bool { return c > unicode.MaxASCII }), r.screen())
		}
	})
}

func TestTheProgram(t *testing.T) {
	t.Parallel()
	controller := &fake{open: []Open{patch("a@9", "a")}}
	c := console.New(console.Options{Out: io.Discard, TTY: true, ASCII: true})
	events := sample(t)
	keys, hand := io.Pipe()
	out := &seen{}
	ended := make(chan error, 1)
	go func() {
		ended <- Run(t.Context(), Options{
			In: keys, Out: out, Console: c, Controller: controller, more: []tea.ProgramOption{tea.WithWindowSize(80, 24)},
			Follow: func(ctx context.Context) error {
				c.Handle(events)
				<-ctx.Done()
				return ctx.Err()
			},
		})
	}()
	for _, step := range [][2]string{{"l tasks", "n"}, {"1-5 answer", "1"}, {"Enter: do it", "\r"}, {"it goes on", "q"}} {
		require.Eventually(t, func() bool { return out.has(step[0]) }, 20*time.Second, 10*time.Millisecond, step[0])
		_, err := io.WriteString(hand, step[1])
		require.NoError(t, err)
	}
	require.ErrorIs(t, chantest.Next(t, ended), context.Canceled)
	require.NoError(t, hand.Close())
	require.Len(t, controller.acts, 1)
	require.NoError(t, c.Close())
}

// seen is a terminal's output that a test waits for.
type seen struct {
	mu   sync.Mutex
	text string
}

// Write implements io.Writer.
func (s *seen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text += string(p)
	return len(p), nil
}

func (s *seen) has(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Contains(s.text, text)
}
