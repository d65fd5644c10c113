package feed

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"divisi/contextscope"
	"divisi/internal/text"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// maxNamed bounds the names in a line of Since.
const maxNamed = 5

// Since tells what has become of a run since a time, in at most eight lines: its state and its line, what landed, failed and was
// decided, what was spent, and which workers are gone; no line where nothing has. The events are all of the run's, in their
// order; unread are those that the fold cannot read.
func Since(events iter.Seq[contextscope.Event], since time.Time) (lines []string, unread []error) {
	s, c := run.NewState(), news{landed: map[string]int{}, red: map[int]bool{}, gone: map[string]bool{}}
	for e := range events {
		if e.Time.After(since) && c.before == nil {
			before := *s
			c.before = &before
		}
		crew := s.Crew
		if err := s.Apply(&e); err != nil {
			unread = append(unread, err)
		} else if e.Time.After(since) {
			c.take(s, crew, &e)
		}
	}
	if c.before == nil {
		return nil, unread
	}
	return c.lines(s), unread
}

// news is counted from a time on.
type news struct {
	// before is the state at that time, without the entries of its maps.
	before *run.State
	// landed are by template, "" for the tasks of none.
	landed       map[string]int
	done, failed int
	parked       []string
	decided      []string
	red          map[int]bool
	gone         map[string]bool
}

func (c *news) take(s *run.State, crew run.Crew, e *contextscope.Event) {
	switch e.Kind {
	case contextscope.KindLanding:
		c.landing(s, data[run.LandingData](e))
	case contextscope.KindTask:
		c.task(e, data[run.TaskData](e))
	case contextscope.KindAnswer:
		if a := data[wire.Answer](e); a.From != "" {
			if q := s.Requests.ByID[a.Request]; q != nil {
				c.decide("question", q.AskedBy(), run.Answer{Option: "answered", By: a.From})
			}
		}
	case contextscope.KindRun:
		if d := data[run.Data](e).Decision; d != nil && d.Closed {
			c.decide(string(d.Kind), d.About, d.Answer)
		}
		for name := range crew {
			if _, there := s.Crew[name]; !there && s.Crew != nil {
				c.gone[name] = true
			}
		}
		for name := range s.Crew {
			delete(c.gone, name) // it came back
		}
	}
}

func (c *news) landing(s *run.State, d run.LandingData) {
	switch d.State {
	case run.LandingRed, run.LandingSplit:
		c.red[d.Batch] = true
	case run.LandingLanded:
		for _, l := range d.Tasks {
			t := s.Tasks.ByID[l.Task]
			switch {
			case l.Commit == "":
				c.done++
			case t != nil:
				c.landed[t.Task.ShardOf]++
			}
		}
	}
}

func (c *news) task(e *contextscope.Event, d run.TaskData) {
	if d.Decision != nil && d.Decision.Closed {
		c.decide(string(d.Decision.Kind), e.Task, d.Decision.Answer)
	}
	if d.Fault != nil {
		c.failed++
	}
	switch d.State {
	case run.TaskDone:
		c.done++
	case run.TaskParked:
		c.parked = append(c.parked, e.Task)
	}
}

func (c *news) decide(kind, about string, a run.Answer) {
	what := strings.TrimSpace(kind + " " + about)
	c.decided = append(c.decided, fmt.Sprintf("%s: %s by %s", what, a.Option, cmp.Or(a.By, "the run")))
}

func (c *news) lines(s *run.State) (lines []string) {
	add := func(there bool, format string, args ...any) {
		if there {
			lines = append(lines, fmt.Sprintf(format, args...))
		}
	}
	add(s.Status != c.before.Status, "the run is %s%s", s.Status, text.Because(s.Reason))
	add(s.Line != c.before.Line && s.Line != "", "the line was stopped: %s", s.Line)
	add(s.Line != c.before.Line && s.Line == "", "the line goes on")
	add(len(c.landed)+c.done > 0, "%s", c.ended())
	add(len(c.parked)+c.failed > 0, "%s", c.failures())
	add(len(c.red) > 0, "%s failed: %s", text.Count(len(c.red), "batch"), named(slices.Sorted(maps.Keys(c.red))))
	add(len(c.decided) > 0, "decided: %s", named(c.decided))
	add(s.Usage.Total() > c.before.Usage.Total(), "%s tokens were used", text.Tokens(s.Usage.Total()-c.before.Usage.Total()))
	add(len(c.gone) > 0, "workers are gone: %s", named(slices.Sorted(maps.Keys(c.gone))))
	return lines
}

// ended counts the tasks that have ended well, by template, the most first.
func (c *news) ended() string {
	var say []string
	sum, others := 0, c.landed[""]
	for _, n := range c.landed {
		sum += n
	}
	delete(c.landed, "")
	for _, name := range slices.SortedFunc(maps.Keys(c.landed), func(a, b string) int {
		return cmp.Or(cmp.Compare(c.landed[b], c.landed[a]), cmp.Compare(a, b))
	}) {
		if len(say) < maxNamed {
			say = append(say, fmt.Sprintf("%d of %s", c.landed[name], name))
		} else {
			others += c.landed[name]
		}
	}
	if len(say) > 0 && others > 0 {
		say = append(say, fmt.Sprintf("%d more", others))
	}
	words := text.Count(sum, "task") + " landed" + text.Because(strings.Join(say, ", "))
	switch {
	case sum == 0:
		return text.Count(c.done, "task") + " ended without a patch"
	case c.done > 0:
		words += "; " + text.Count(c.done, "task") + " ended without a patch"
	}
	return words
}

func (c *news) failures() string {
	var say []string
	if len(c.parked) > 0 {
		say = append(say, fmt.Sprintf("%s parked: %s", text.Count(len(c.parked), "task"), named(c.parked)))
	}
	if c.failed > 0 {
		say = append(say, text.Count(c.failed, "attempt")+" failed")
	}
	return strings.Join(say, "; ")
}

// named lists the first few of some things.
func named[T any](list []T) string {
	words := make([]string, len(list))
	for i, one := range list {
		words[i] = fmt.Sprint(one)
	}
	return text.Some(words, maxNamed)
}
