package compaction

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"divisi/contextscope"
	"divisi/contextscope/content"

	"google.golang.org/genai"
)

// maxPruneNotes is how many of the turns that a prune removes are told of, the newest.
const maxPruneNotes = 30

// PruneInput is the input of a prune, beside the session.
type PruneInput struct {
	// Target is the bound in estimated tokens for the shown history and the snapshot before it.
	Target  int
	Trigger string
	Facts   Facts
}

// ShownTokens estimates what of a session's history could be saved: the newest snapshot and everything after it, but for
// steering, which always stays.
func ShownTokens(events []contextscope.Event) int {
	l := openLedger(events)
	return l.total() + content.TokensOf(len(l.Snapshot))
}

// Prune shortens a session without a model: first large old results give way to their handles, oldest first, then old
// turns go as a whole, and a snapshot made by code reports which and keeps the pinned facts. The newest turn stays as it is.
// It does what it can where the target is out of reach, and is false when it can do nothing.
func Prune(events []contextscope.Event, in PruneInput) (contextscope.Compaction, bool) {
	l := openLedger(events)
	before := ShownTokens(events)
	if len(l.cuts) == 0 || before <= in.Target {
		return contextscope.Compaction{}, false
	}
	c := contextscope.Compaction{Method: contextscope.MethodPrune, Trigger: in.Trigger, Before: before}
	if l.Floor > 0 {
		c.From, c.To = l.events[l.Floor-1].Seq, l.events[l.Floor-1].Seq
	}
	c.Masked = l.mask(before - in.Target)
	c.After = l.total() + content.TokensOf(len(l.Snapshot))
	if c.After > in.Target {
		l.drop(&c, in)
	}
	if c.After >= c.Before {
		return contextscope.Compaction{}, false
	}
	return c, true
}

// mask puts handles in the place of large results before the newest turn, oldest first, until so much is saved.
func (l *ledger) mask(save int) []int {
	var seqs []int
	// The newest turn can begin before the horizon where a result came so late that the session cannot be cut behind its call.
	newest := l.cuts[len(l.cuts)-1]
	for i := min(newest, l.Floor); i < newest && save > 0; i++ {
		e := l.events[i]
		if e.Kind != contextscope.KindTool || e.Content == nil || l.Masked[i] {
			continue
		}
		if gain := content.Tokens(e.Content) - maskedTokens(e); gain > 0 {
			save -= gain
			l.Masked[i] = true
			seqs = append(seqs, e.Seq)
		}
	}
	l.shown = l.sums()
	return seqs
}

// drop moves the horizon forward by the fewest turns that reach the target; where none do, by all but the newest.
func (l *ledger) drop(c *contextscope.Compaction, in PruneInput) {
	cuts := l.cuts[l.firstCut():]
	if len(cuts) == 0 {
		return
	}
	left := func(n int) int { return l.total() - l.costOf(0, cuts[n]) }
	n := sort.Search(len(cuts)-1, func(n int) bool {
		return left(n) <= in.Target && left(n)+l.pruned(cuts[n], in.Facts).tokens() <= in.Target
	})
	s, live := l.pruned(cuts[n], in.Facts), l.Floor
	after := left(n) + s.tokens()
	if after >= c.After {
		return
	}
	c.From, c.To, c.Turns = l.events[live].Seq, l.events[cuts[n]-1].Seq, l.turns(live, cuts[n])
	c.Snapshot, c.After, c.Kept = s.Render(), after, keptWords(s.Pinned)
	c.Masked = slices.DeleteFunc(c.Masked, func(seq int) bool { return seq <= c.To })
}

// pruned is the snapshot that stands for everything before a place, to the extent that code can write one: the newest that
// a model wrote, and what was done since, by name.
func (l *ledger) pruned(cut int, facts Facts) Snapshot {
	s, err := ReadSnapshot(l.Written)
	if err != nil {
		s = Snapshot{OverallGoal: "As the task says."}
	}
	var notes []string
	for _, e := range l.events[l.Read:cut] {
		var names []string
		content.EachCall(e.Content, func(fc *genai.FunctionCall) { names = append(names, fc.Name) })
		if e.Kind == contextscope.KindTurn && len(names) > 0 {
			notes = append(notes, contextscope.EventHandle(e.Seq)+" "+strings.Join(names, ", "))
		}
	}
	if len(notes) > 0 {
		newest := notes[max(0, len(notes)-maxPruneNotes):]
		s.RecentActions = plainText(s.RecentActions + fmt.Sprintf("\n%d older turns with calls were removed without a summary; "+
			"these can be loaded by their handles, each with its results in the event after it:\n", len(notes)) +
			strings.Join(newest, "\n"))
	}
	s.Pinned = facts.pinned(gather(l.events, l.events[cut-1].Seq))
	return s
}
