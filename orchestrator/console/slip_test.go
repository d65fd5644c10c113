package console

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/orchestrator/act"
	"divisi/orchestrator/view"
)

// tty is a terminal that gives a line once it is there, as the system does.
type tty struct {
	mu    sync.Mutex
	more  sync.Cond
	typed []byte
}

func newTTY() *tty {
	t := &tty{}
	t.more.L = &t.mu
	return t
}

// Read implements io.Reader.
func (t *tty) Read(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		if end := bytes.IndexByte(t.typed, '\n'); end >= 0 {
			n := copy(p, t.typed[:end+1])
			t.typed = t.typed[n:]
			return n, nil
		}
		t.more.Wait()
	}
}

func (t *tty) types(keys string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.typed = append(t.typed, keys...)
	t.more.Broadcast()
}

func (t *tty) drop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.typed = nil
}

// TestNoSlipDecides has a person decide 300 times on the terminal of a run, with slips between: each answer is for what was asked, and
// none is a slip's.
func TestNoSlipDecides(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const all, slips = 300, 60
		dice := rand.New(rand.NewPCG(4, 8)) // the same slips each time
		hand, out := newTTY(), &bytes.Buffer{}
		c := New(Options{Out: out, Drop: hand.drop})
		elsewhere := errors.New("a@9 is answered: skip by user:bo")
		planted, wrong := 0, 0
		for i := range all {
			ctx, end := context.WithCancelCause(t.Context())
			said := make(chan act.Decide, 1)
			ask := func() {
				go func() {
					answer, err := c.Decide(ctx, hand, Asked{Decision: view.Decision{ID: strconv.Itoa(i), Options: []view.Option{
						{Name: "accept"}, {Name: "reject", NeedsText: true}, {Name: "skip"},
					}}})
					if err == nil {
						said <- answer
					}
				}()
			}
			ask()
			slip := -1
			if i%5 == 0 {
				planted++
				slip = dice.IntN(5)
			}
			if slip == 0 { // typed before the prompt, also in parts
				hand.types("1\n3\n1")
			}
			<-time.After(settle + time.Millisecond)
			synctest.Wait()
			switch slip {
			case 1:
				hand.types(pasteBegin + "1\n3\n" + pasteEnds)
			case 2:
				hand.types("11\n") // a double tap
			case 3:
				hand.types("1") // and another person is first
				end(elsewhere)
				synctest.Wait()
				hand.types("\n")
				ctx, end = context.WithCancelCause(t.Context())
				ask()
			}
			<-time.After(settle + time.Millisecond)
			synctest.Wait()
			wrong += len(said)
			want := act.Decide{Option: "skip"}
			hand.types("3\n")
			if slip == 4 {
				hand.types("\n") // a double tap of Enter: the next prompt does not read it
			}
			synctest.Wait()
			if len(said) != 1 || <-said != want {
				wrong++
			}
			end(nil)
		}
		require.Equal(t, slips, planted)
		require.Zero(t, wrong)
		require.Contains(t, out.String(), elsewhere.Error())
		t.Logf("%d answers, %d slips, %d wrong", all, planted, wrong)
		require.NoError(t, c.Close())
		hand.types("\n") // for a read that a question has left
	})
}

// A line that was pasted without its end is text, and Enter sends it.
func TestAPastedSentenceIsAnAnswer(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]struct {
		words string
		slip  bool
	}{
		"1": {"1", false}, pasteBegin + "no good" + pasteEnds: {"no good", false}, pasteBegin + "1": {"1", true},
		"a" + pasteBegin + "b" + pasteEnds + "c": {"abc", false}, pasteBegin + "a" + pasteEnds + pasteBegin + "b": {"ab", true}, pasteEnds: {"", false},
	} {
		words := line
		require.Equal(t, want.slip, pasted(&words), "%q", line)
		require.Equal(t, want.words, words)
	}
}

func TestWhatIsHeldBackIsAskedAbout(t *testing.T) {
	t.Parallel()
	for keys, want := range map[string]string{"\n": Now, "u\n": Undo, "UNDO\n": Undo, "x\n\n": Now, "": ""} {
		var out bytes.Buffer
		does, err := New(Options{Out: &out}).Held(t.Context(), bytes.NewBufferString(keys), time.Minute)
		require.NoError(t, err)
		require.Equal(t, want, does, "%q", keys)
	}
	synctest.Test(t, func(t *testing.T) {
		hand := newTTY()
		does, err := New(Options{Out: &bytes.Buffer{}, Drop: hand.drop}).Held(t.Context(), hand, time.Minute)
		require.NoError(t, err)
		require.Empty(t, does, "the time is over")
		hand.types("\n")
	})
}
