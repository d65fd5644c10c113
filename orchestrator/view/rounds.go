package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/round"
	"divisi/orchestrator/run"
)

// maxResists is how many codes a line names that most of the findings that are left have.
const maxResists = 3

// Rounds are those of a template by finding: what its gate found before each round, and what is left.
type Rounds struct {
	Task   string  `json:"task"`
	Gate   string  `json:"gate"`
	Rounds []Round `json:"rounds"`
	// Closed counts the findings that all rounds have closed, Left those that the gate has now, by their codes in Codes.
	Closed int          `json:"closed"`
	Left   int          `json:"left"`
	Codes  []round.Code `json:"codes,omitempty"`
	// Ended is why there are no more rounds; empty while there are.
	Ended string `json:"ended,omitempty"`
	// Tokens and Seconds are what a closed finding took, from the start of the first task to the end of the last.
	Tokens  int     `json:"tokens_per_finding,omitempty"`
	Seconds float64 `json:"seconds_per_finding,omitempty"`
	// Tried are the fixers of the rounds, each once. Baseline is the command that writes what is left into a file of the tool.
	Tried    []string `json:"tried,omitempty"`
	Baseline string   `json:"baseline,omitempty"`
}

// Round is one of them. Closed is how many of its findings it closed, Unmasked how many others came to light.
type Round struct {
	Number   int    `json:"number"`
	Found    int    `json:"found"`
	Closed   int    `json:"closed"`
	Unmasked int    `json:"unmasked,omitempty"`
	Tasks    int    `json:"tasks"`
	Fixer    string `json:"fixer"`
	Tokens   int    `json:"tokens,omitempty"`
	// Over reports that its outcome is known.
	Over bool `json:"over"`
}

// roundsOf are those of all templates by finding, in plan order.
func roundsOf(s *run.State) (all []Rounds) {
	for t := range s.Tasks.Templates() {
		if !t.Task.ByFindings() {
			continue
		}
		if _, ran := s.Proofs.Now(t.Task.Mends[0]); ran { // before that nothing is known to be left
			all = append(all, roundsIn(s, t))
		}
	}
	return all
}

func roundsIn(s *run.State, t *run.Task) Rounds {
	name := t.Task.Mends[0]
	r, ways := Rounds{Task: t.Task.ID, Gate: name}, t.Task.Ways()
	if t.Ended() {
		r.Ended = t.Reason
	}
	now, _ := s.Proofs.Now(name)
	if here := s.FoundOn(name, s.TreeOf(s.Tip(), name)); here != nil {
		now = *here
	}
	r.Left, r.Codes = now.Failures(), round.Codes(now)
	for i, one := range t.Rounds {
		shown := Round{Number: one.Number, Found: one.Left, Fixer: round.FixerWords(ways[min(one.Fixer, len(ways)-1)])}
		if one.Symbol != "" {
			shown.Fixer += ", at the definition of " + one.Symbol
		}
		if shown.Over = i+1 < len(t.Rounds); shown.Over {
			shown.Closed, shown.Unmasked = t.Rounds[i+1].Closed, t.Rounds[i+1].Unmasked
		} else if shown.Over = now.Tree != one.Tree || t.Ended(); shown.Over {
			shown.Closed, shown.Unmasked = round.Moved(s.FoundOn(name, one.Tree), now)
		}
		if r.Closed += shown.Closed; !slices.Contains(r.Tried, shown.Fixer) {
			r.Tried = append(r.Tried, shown.Fixer)
		}
		r.Rounds = append(r.Rounds, shown)
	}
	r.cost(s, t)
	if at := slices.IndexFunc(s.Spec.Project.Gates, func(g spec.Gate) bool { return g.Name == name }); at >= 0 && r.Left > 0 {
		r.Baseline = text.CommandLine(round.CheckerOf(s.Spec.Project.Gates[at].Command, nil).Baseline)
	}
	return r
}

// cost sums what the tasks of the rounds used.
func (r *Rounds) cost(s *run.State, t *run.Task) {
	began, ended, tokens := int64(0), int64(0), 0
	for _, id := range s.Tasks.Shards[t.Task.ID] {
		rule := s.Tasks.ByID[id].Task.Rule
		if rule == nil || s.Works[id] == nil {
			continue
		}
		used := 0
		for _, a := range s.Works[id].Attempts {
			used += a.Usage.Total()
			if ended = max(ended, a.Ended); a.Began > 0 && (began == 0 || a.Began < began) {
				began = a.Began
			}
		}
		tokens += used
		if n := rule.Round; n > 0 && n <= len(r.Rounds) {
			r.Rounds[n-1].Tasks++
			r.Rounds[n-1].Tokens += used
		}
	}
	if r.Closed > 0 {
		r.Tokens, r.Seconds = tokens/r.Closed, float64(max(0, ended-began))/1000/float64(r.Closed)
	}
}

// RoundLines are those of all templates by finding.
func RoundLines(s *run.State) (lines []string) {
	for _, r := range roundsOf(s) {
		lines = append(lines, r.String()+text.Because(r.Ended))
		for _, one := range r.Rounds {
			lines = append(lines, one.String())
		}
		if resist := r.Resist(); resist != "" && len(r.Rounds) > 0 {
			lines = append(lines, "left most: "+resist)
		}
	}
	return lines
}

// String is the line of all rounds.
func (r *Rounds) String() string {
	line := fmt.Sprintf("%s of gate %s left after %s, %d closed", text.Count(r.Left, "finding"), r.Gate,
		text.Count(len(r.Rounds), "round"), r.Closed)
	if r.Tokens > 0 {
		line += fmt.Sprintf(", %s tokens a finding", text.Tokens(r.Tokens))
	}
	if r.Closed > 0 {
		line += fmt.Sprintf(", %.1f s a finding", r.Seconds)
	}
	return line
}

// String is the line of a round.
func (r Round) String() string {
	line := fmt.Sprintf("round %d: %s, ", r.Number, text.Count(r.Found, "finding"))
	if r.Over {
		line += fmt.Sprintf("%d closed", r.Closed)
	} else {
		line += "active"
	}
	if r.Unmasked > 0 {
		line += fmt.Sprintf(", %d unmasked", r.Unmasked)
	}
	return line + fmt.Sprintf("; %s by %s", text.Count(r.Tasks, "task"), r.Fixer)
}

// Resist names the codes that most of what is left has; "" for none.
func (r *Rounds) Resist() string {
	var names []string
	for _, c := range r.Codes[:min(len(r.Codes), maxResists)] {
		names = append(names, fmt.Sprintf("%s %d", c.Code, c.Left))
	}
	return strings.Join(names, ", ")
}

// Rest names all codes of what is left, with what was tried.
func (r *Rounds) Rest() string {
	if r.Left == 0 || len(r.Rounds) == 0 {
		return ""
	}
	var names []string
	for _, c := range r.Codes {
		names = append(names, fmt.Sprintf("%s %d", c.Code, c.Left))
	}
	return text.Some(names, maxCodes) + "; tried: " + cmp.Or(strings.Join(r.Tried, ", then "), "nothing")
}

// maxCodes bounds the codes that a report names.
const maxCodes = 20
