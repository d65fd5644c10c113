package board

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/stretchr/testify/require"

	"divisi/orchestrator/act"
	"divisi/orchestrator/run"
)

func TestTapsAnswerNothing(t *testing.T) {
	t.Parallel()
	for name, slip := range map[string]func(r *rig){
		"a pasted answer":       func(r *rig) { r.taps("1", "enter") },
		"marked as pasted":      func(r *rig) { r.tell(tea.PasteMsg{Content: "1\r\n2\r\n"}) },
		"a double tap of Enter": func(r *rig) { r.taps("enter", "enter") },
		"Enter, held down":      held,
		"typed ahead":           func(r *rig) { r.press("esc"); r.taps("n", "1", "enter", "enter") },
		"for the one before":    func(r *rig) { r.taps("n", "1", "enter") },
		"a paste into a prompt": func(r *rig) { r.press("1"); r.tell(tea.PasteMsg{Content: "y\r\n"}) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				r := newRig(t, &fake{open: []Open{patch("a@9", "a"), patch("b@9", "b")}})
				r.press("n")
				slip(r)
				require.Empty(t, r.controller.acts)
				r.press("esc", "esc", "n", "1", "enter")
				require.Len(t, r.controller.acts, 1)
			})
		})
	}
}

// held is an Enter that is held down: it repeats after half a second.
func held(r *rig) {
	var after []tea.Cmd
	for i := range 40 {
		_, cmd := r.Update(tea.KeyPressMsg{Code: tea.KeyEnter})
		after = append(after, cmd)
		if <-time.After(30 * time.Millisecond); i == 0 {
			<-time.After(470 * time.Millisecond)
		}
	}
	for _, cmd := range after {
		r.runs(cmd)
	}
}

func TestWhatIsHeldBackIsUndoneOrDone(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, &fake{open: []Open{patch("a@9", "a")}, held: []string{"a@9"}})
		r.follows, r.over = true, false // a process has it
		r.press("n", "1", "enter")
		require.Contains(t, r.screen(), "a: now")
		r.taps("enter", "enter")
		r.press("esc", "u", "a")
		require.Equal(t, []act.Args{act.TakeBack{Decision: "a@9"}, act.Apply{Decision: "a@9"}}, r.controller.acts[1:])
		r.controller.held = []string{"held-7"}
		r.press("l", "enter", "s", "enter", "u")
		require.Equal(t, act.TakeBack{Decision: "held-7"}, r.controller.acts[4])
	})
}

// TestNoSlipDecides has a person decide 300 times, with slips between: each answer is for what was shown, and none is a slip's.
func TestNoSlipDecides(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		const all, slips = 300, 60
		dice := rand.New(rand.NewPCG(4, 8)) // the same slips each time
		open := make([]Open, all)
		for i := range open {
			open[i] = patch(fmt.Sprintf("t%d@9", i), fmt.Sprintf("t%d", i))
		}
		r := newRig(t, &fake{open: open})
		r.press("n")
		planted, wrong := 0, 0
		want := map[string]string{}
		for i := range all {
			id := r.decisions.now().ID
			before := len(r.controller.acts)
			if i%5 == 0 {
				switch planted++; dice.IntN(6) {
				case 0:
					r.taps("1", "enter")
				case 1:
					r.taps("enter", "enter")
				case 2:
					r.tell(tea.PasteMsg{Content: "1\r1\r"})
				case 3:
					held(r)
				case 4: // another person answers it while the prompt is open
					r.press("1")
					r.controller.refusal = errors.New(id + " has an answer: skip by user:bo")
					r.press("enter")
					r.controller.refusal = nil
					require.Contains(t, r.screen(), "skip by user:bo")
					before = len(r.controller.acts) // it was refused
				case 5: // the list moves under the hand
					r.controller.open = append(r.controller.open[1:], patch(fmt.Sprintf("x%d@9", i), "x"))
					_, cmd := r.Update(openMsg{list: r.controller.open})
					r.taps("1", "enter")
					r.runs(cmd)
				}
				wrong += len(r.controller.acts) - before
				r.press("esc")
				if r.at != atDecision {
					r.press("n")
				}
				if r.decisions.now() == nil {
					break
				}
				id = r.decisions.now().ID
			}
			option, keys := run.Accept, []string{"1", "enter"}
			if dice.IntN(2) == 0 {
				option, keys = run.Reject, []string{"2", "no", "enter"}
			}
			before = len(r.controller.acts)
			want[id] = option
			r.press(keys...)
			if len(r.controller.acts) != before+1 || r.controller.acts[before].(act.Decide).Decision != id || r.controller.acts[before].(act.Decide).Option != option {
				wrong++
			}
			if len(r.controller.open) < 2 {
				break
			}
			r.controller.open = r.controller.open[1:]
			r.tell(openMsg{list: r.controller.open})
		}
		require.Equal(t, slips, planted)
		require.Zero(t, wrong)
		t.Logf("%d answers, %d slips, %d wrong", len(want), planted, wrong)
	})
}
