package stats

import (
	"time"

	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/forecast"
	"divisi/orchestrator/run"
)

// Outlook is what a run used so far, and what the rest is likely to use.
type Outlook struct {
	Tokens int `json:"tokens"`
	// Cost is by what programs stated, else by the dated prices; Unpriced are the tokens that are not in it.
	Cost     spec.Money `json:"pico_usd,omitempty"`
	Unpriced int        `json:"unpriced,omitempty"`
	// Seconds are without those in which the run waited for a person.
	Seconds float64           `json:"seconds"`
	Left    forecast.Estimate `json:"left,omitzero"`
}

// OutlookOf returns the outlook of a run at a time.
func OutlookOf(s *run.State, now time.Time) Outlook { return OutlookWith(s, now, nil) }

// OutlookWith is OutlookOf where a plan, if there is one, is not yet in the state.
func OutlookWith(s *run.State, now time.Time, waiting *run.PlanData) Outlook {
	if s.Wait.For != "" || s.Status.Ended() {
		now = s.Time
	}
	o := Outlook{Tokens: s.Usage.Total(), Seconds: active(s, 0, s.Times.Clock(now)).Seconds()}
	o.Cost, o.Unpriced = Spent(s)
	if s.Status.Ended() && s.Status != run.Stopped {
		return o
	}
	bases := basesOf(&s.Agenda)
	var tasks []spec.Task
	for t := range s.Tasks.Open() {
		tasks = append(tasks, t.Task)
	}
	if waiting != nil {
		for i := range waiting.Tasks {
			if t := &waiting.Tasks[i]; s.Tasks.ByID[t.ID] == nil {
				tasks = append(tasks, *t)
				bases.add(waiting, i)
			}
		}
	}
	if len(tasks) > 0 {
		o.Left = Forecast(&s.Agenda, s.Works, tasks, bases)
	}
	return o
}

// Spent is what a run cost so far, and the tokens that are not in it.
func Spent(s *run.State) (sum spec.Money, unpriced int) {
	for _, w := range s.Works {
		for _, a := range w.Attempts {
			cost, not := Cost(&s.Spec.Project, a.Calls)
			sum, unpriced = sum.Plus(cost), spec.Plus(unpriced, not)
		}
	}
	return sum, unpriced
}

// Before is what the tasks of a run were estimated to use before they began.
func Before(s *run.State) (e forecast.Estimate) {
	for _, p := range s.Plans.All {
		if p.Likely != nil {
			e = e.Plus(*p.Likely)
		}
	}
	return e
}

// Bases are what tasks would use with a usual number of turns, by their ids.
type Bases map[string]int

func basesOf(s *run.Agenda) Bases {
	b := Bases{}
	for i := range s.Plans.All {
		for at := range s.Plans.All[i].Tasks {
			b.add(&s.Plans.All[i], at)
		}
	}
	return b
}

func (b Bases) add(p *run.PlanData, at int) {
	if p.Likely != nil && at < len(p.Likely.Bases) {
		b[p.Tasks[at].ID] = p.Likely.Bases[at]
	}
}

// Forecast estimates what tasks will use that have not ended, by the habits of earlier runs and by the tasks of this one that
// have ended.
func Forecast(s *run.Agenda, works run.Works, tasks []spec.Task, bases Bases) forecast.Estimate {
	var gates time.Duration
	for i := range s.Spec.Project.Gates {
		gates += longestOf(works, s.Spec.Project.Gates[i].Name)
	}
	at, all := map[string]int{}, make([]forecast.Task, len(tasks))
	for i := range tasks {
		t := &tasks[i]
		role := s.Spec.Roles[t.Role]
		f := forecast.Task{
			Role: t.Role, Model: modelOf(&s.Spec, t.Role), Base: bases[t.ID], Used: works.Used(t.ID).Total(),
			Most:    t.Limits.Or(role.Limits).Or(s.Spec.Project.Limits).Tokens * max(1, t.Attempts),
			Program: role.Usage != "", Maybe: len(role.Chain) > 0,
		}
		row := model.RowOf(&s.Spec.Project, s.Spec.Created, role.Model)
		if p, known := model.PriceOf(&s.Spec.Project, row); known && !f.Program {
			f.Price = float64(p.Cost(mix, role.Tier)) / float64(mix.Total())
		}
		for _, id := range t.DependsOn {
			if j, before := at[id]; before {
				f.After = append(f.After, j)
			}
		}
		at[t.ID], all[i] = i, f
	}
	return forecast.Of(forecast.Within(s.Spec.Habits, PastOf(s, works)), all, s.Spec.Parallel, gates)
}

// mix is about what types the tokens of a role have that was never measured.
var mix = spec.Usage{Calls: 100, Prompt: 900_000, Output: 100_000}

// longestOf is the longest run of a gate on a tree of the run's own.
func longestOf(works run.Works, gate string) (longest time.Duration) {
	for _, id := range []string{run.BaselineTask, run.FinalTask} {
		if a := works[id].Newest(); a != nil {
			for _, r := range a.Receipts {
				if r.Gate == gate {
					longest = max(longest, r.Duration)
				}
			}
		}
	}
	return longest
}

// modelOf is the model of a role; "" for a program, which chooses itself.
func modelOf(s *run.Spec, role string) string {
	r := s.Roles[role]
	if !r.Runs(spec.ExecutorModel) {
		return ""
	}
	return s.Project.ModelName(r.Model)
}

// PastOf are the tasks of a run that have ended, with what they used.
func PastOf(s *run.Agenda, works run.Works) (past []forecast.Past) {
	bases := basesOf(s)
	for t := range s.Tasks.All() {
		if !t.Ended() || t.Attempt == 0 {
			continue
		}
		p := forecast.Past{Run: s.Spec.Run, Role: t.Task.Role, Model: modelOf(&s.Spec, t.Task.Role), Base: bases[t.Task.ID]}
		for _, id := range []string{t.Task.ID, t.Task.ID + run.VerifySuffix} {
			if works[id] == nil {
				continue
			}
			for _, a := range works[id].Attempts {
				sum, unpriced := Cost(&s.Spec.Project, a.Calls)
				p.Cost, p.Unpriced = p.Cost.Plus(sum), spec.Plus(p.Unpriced, unpriced)
				p.Usage, p.Seconds = p.Usage.Add(a.Usage), p.Seconds+max(0, a.Life.Ended-a.Life.Began).Seconds()
			}
		}
		past = append(past, p)
	}
	return past
}

// active is the time between two times of the run's clock in which the run waited for no person.
func active(s *run.State, from, to time.Duration) time.Duration {
	took := to - from
	for _, p := range s.Times.Persons {
		took -= max(0, min(p.To, to)-max(p.From, from))
	}
	return max(0, took)
}

// Spent words what the tokens cost; "" where there are none.
func (o Outlook) Spent() string {
	if o.Tokens == 0 {
		return ""
	}
	return forecast.Cost(o.Cost, o.Unpriced)
}

// String is the outlook in a line.
func (o Outlook) String() string {
	words := "so far " + text.Tokens(o.Tokens) + " tokens"
	if cost := o.Spent(); cost != "" {
		words += ", " + cost
	}
	words += " and " + text.Span(seconds(o.Seconds))
	if left := o.Left.String(); left != "" {
		words += "; to go about " + left
	}
	return words
}
