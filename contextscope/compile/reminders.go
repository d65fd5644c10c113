package compile

import (
	"fmt"
	"strings"

	"divisi/contextscope"
	"divisi/contextscope/content"
	"divisi/contextscope/narrative"
)

// reminders writes the values that the instruction points to, and the runtime's words for this turn. They are the last thing
// that the model reads.
type reminders struct{}

// Name implements processor.
func (reminders) Name() string { return "reminders" }

// Process implements processor.
func (p reminders) Process(st *state) {
	values := st.changing()
	what := fmt.Sprintf("%d values, %d reminders", len(values), len(st.in.Tail.Reminders))
	t := contextscope.Trace{Processor: p.Name(), What: what}
	lines := make([]string, 0, len(values)+len(st.in.Tail.Reminders))
	for _, v := range values {
		if strings.HasPrefix(v.Name, artifactPrefix) { // another agent's words, which are no reminder
			st.tail.named = append(st.tail.named, st.narrator.Quoted(narrative.ElideName(v.Name), content.Valid(v.Text)))
			continue
		}
		lines = append(lines, narrative.ElideName(v.Name)+": "+narrative.Elide(content.Valid(v.Text)))
	}
	for _, name := range st.pointers {
		if _, given := valueOf(values, name); !given {
			t.Notes = append(t.Notes, fmt.Sprintf("the instruction names %s, which has no value in this request", name))
		}
	}
	if lines = append(lines, st.in.Tail.Reminders...); len(lines) > 0 {
		st.tail.reminder = strings.Join(lines, "\n")
		t.Parts = 1
	}
	t.Parts += len(st.tail.named)
	t.Tokens = content.TokensOf(len(st.tail.reminder) + content.Bytes(st.tail.named))
	st.trace(t)
}

// changing are the values of this request, and those of all requests that the instruction could not hold.
func (st *state) changing() []Value {
	values := st.in.Tail.Values[:len(st.in.Tail.Values):len(st.in.Tail.Values)]
	for _, name := range st.pointers {
		if _, told := valueOf(values, name); told {
			continue
		}
		if v, given := valueOf(st.in.Values, name); given {
			values = append(values, v)
		}
	}
	return values
}
