package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// together is the longest time between two answers that are one act: the page sends those for alike decisions at once.
// visit is the shortest pause after which a person is interrupted again.
const (
	together = time.Second
	visit    = 2 * time.Minute
)

// event is the part of a log event that is read.
type event struct {
	Task   string    `json:"task"`
	Pos    uint64    `json:"pos"`
	Time   time.Time `json:"time"`
	Kind   string    `json:"kind"`
	Author string    `json:"author"`
	Data   struct {
		Kind     string          `json:"kind"`
		State    string          `json:"state"`
		Doubt    json.RawMessage `json:"doubt"`
		Decision *decided        `json:"decision"`
		Request  string          `json:"request"`
		ID       string          `json:"id"`
		From     string          `json:"from"`
		Text     string          `json:"text"`
		Drop     json.RawMessage `json:"drop"`
		Dispatch struct {
			Task string `json:"task"`
		} `json:"dispatch"`
		Tasks []struct {
			ID    string   `json:"id"`
			Files []string `json:"files"`
		} `json:"tasks"`
	} `json:"data"`
}

type decided struct {
	About  string          `json:"about"`
	Hold   json.RawMessage `json:"hold"`
	Back   string          `json:"back"`
	Answer struct {
		ID     string `json:"id"`
		Option string `json:"option"`
		Text   string `json:"text"`
		By     string `json:"by"`
	} `json:"answer"`
}

// answer is an answer of a person to a decision, or another act.
type answer struct {
	at, opened time.Time
	what, task string
}

// record is the part of the log about the person.
type record struct {
	tasks    map[string]string // by path
	attempts map[string]int
	opened   map[string]time.Time // decisions
	requests map[string]string    // the decision that a request is
	answered map[string]answer    // by decision
	others   []answer             // acts that are no answers
	refused  []string             // tasks whose patch was rejected
}

func newRecord() *record {
	return &record{
		tasks: map[string]string{}, attempts: map[string]int{}, opened: map[string]time.Time{}, requests: map[string]string{},
		answered: map[string]answer{},
	}
}

func (r *record) add(line []byte) error {
	var kind struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(line, &kind); err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	if !slices.Contains([]string{"plan", "task", "run", "request", "answer"}, kind.Kind) {
		return nil
	}
	var e event
	if err := json.Unmarshal(line, &e); err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	r.fold(&e)
	return nil
}

func (r *record) fold(e *event) {
	d := &e.Data
	id := func(about string) string { return fmt.Sprintf("%s@%d", about, e.Pos) }
	switch {
	case e.Kind == "plan":
		for _, t := range d.Tasks {
			if len(t.Files) == 1 && r.tasks[t.Files[0]] == "" {
				r.tasks[t.Files[0]] = t.ID
			}
		}
		if d.Drop != nil {
			r.others = append(r.others, answer{at: e.Time, what: "drop"})
		}
	case e.Kind == "request" && (d.Kind == "ask" || d.Kind == "scope"):
		r.opened[id(e.Task)], r.requests[d.ID] = e.Time, id(e.Task)
	case e.Kind == "answer" && strings.HasPrefix(d.From, "user"):
		r.answer(r.requests[d.Request], answer{at: e.Time, what: "answer " + d.Text})
	case e.Kind == "task" && d.State == "held" && d.Doubt != nil:
		r.opened[id(e.Task)] = e.Time
	case d.Decision != nil && d.Decision.Hold != nil:
		r.opened[id(d.Decision.About)] = e.Time
	}
	if d.Dispatch.Task != "" && d.Dispatch.Task == e.Task {
		r.attempts[e.Task]++
	}
	if e.Kind == "task" && d.Decision == nil && strings.HasPrefix(e.Author, "user") {
		r.others = append(r.others, answer{at: e.Time, what: d.State})
	}
	if d.Decision != nil && d.Decision.Hold == nil {
		r.decide(e, d.Decision)
	}
}

// decide folds an answer, or that it was taken back.
func (r *record) decide(e *event, d *decided) {
	if d.Back != "" {
		delete(r.answered, d.Answer.ID)
		return
	}
	if !strings.HasPrefix(d.Answer.By, "user") {
		return
	}
	task, _, _ := strings.Cut(d.Answer.ID, "@")
	if d.Answer.Option == "reject" && !slices.Contains(r.refused, task) {
		r.refused = append(r.refused, task)
	}
	r.answer(d.Answer.ID, answer{at: e.Time, what: d.Answer.Option + " " + d.Answer.Text})
}

func (r *record) answer(id string, a answer) {
	if _, again := r.answered[id]; again || id == "" { // a second event tells that the run has acted on it
		return
	}
	a.task, _, _ = strings.Cut(id, "@")
	a.opened = r.opened[id]
	r.answered[id] = a
}

// acts are the answers and the other acts of the person in order, those that were given together as one.
func (r *record) acts() (acts []answer) {
	all := slices.Clone(r.others)
	for _, a := range r.answered {
		all = append(all, a)
	}
	slices.SortFunc(all, func(a, b answer) int { return a.at.Compare(b.at) })
	var last time.Time
	for _, a := range all {
		if n := len(acts); n > 0 && acts[n-1].what == a.what && a.at.Sub(last) <= together {
			if a.opened.After(acts[n-1].opened) {
				acts[n-1].opened = a.opened
			}
		} else {
			acts = append(acts, a)
		}
		last = a.at
	}
	return acts
}

// printAttention prints how often the person was asked, and how long the answers took.
func (r *record) printAttention(out io.Writer) {
	acts := r.acts()
	var waits, own []time.Duration
	for _, a := range r.answered {
		waits = append(waits, a.at.Sub(a.opened))
	}
	visits := 0
	var last time.Time
	for _, a := range acts {
		if last.IsZero() || a.at.Sub(last) > visit {
			visits++
		}
		// A person who works through a list begins with one when the one before is done.
		from := a.opened
		if last.After(from) {
			from = last
		}
		if !a.opened.IsZero() {
			own = append(own, a.at.Sub(from))
		}
		last = a.at
	}
	fmt.Fprintf(out, "\nDecisions that were opened: %d; a person answered %d\n", len(r.opened), len(r.answered))
	fmt.Fprintf(out, "Acts (those for alike decisions at once are one): %d, %d of them no answers: retry, skip and the like\n",
		len(acts), len(r.others))
	fmt.Fprintf(out, "Interruptions (acts with less than %s between them are one): %d\n", visit, visits)
	fmt.Fprintf(out, "From opened to answered, each decision: median %s, p90 %s\n", share(waits, 50), share(waits, 90))
	fmt.Fprintf(out, "From opened, or the act before, to the act: median %s, p90 %s\n", share(own, 50), share(own, 90))
}

// share is the value that so many percent are at most as large as.
func share(d []time.Duration, percent int) time.Duration {
	if len(d) == 0 {
		return 0
	}
	slices.Sort(d)
	return d[min(len(d)-1, len(d)*percent/100)].Round(100 * time.Millisecond)
}
