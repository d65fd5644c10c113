package forecast

import (
	"cmp"
	"math"
	"slices"

	"divisi/internal/spec"
)

// Past is a task that has ended, with all its attempts and testers. Unpriced are the tokens that are not in its cost.
type Past struct {
	Run      string     `json:"run"`
	Role     string     `json:"role"`
	Model    string     `json:"model,omitempty"`
	Base     int        `json:"base,omitempty"`
	Usage    spec.Usage `json:"usage,omitzero"`
	Cost     spec.Money `json:"pico_usd,omitempty"`
	Unpriced int        `json:"unpriced,omitempty"`
	Seconds  float64    `json:"seconds"`
}

// Habit is what tasks of a role and a model used, as logarithms: tokens, seconds and pico-dollars for each token of their bases.
// Its zero spreads are not known. Idle is the share that called no model.
type Habit struct {
	Role    string  `json:"role"`
	Model   string  `json:"model,omitempty"`
	Tasks   int     `json:"tasks"`
	Idle    float64 `json:"idle,omitempty"`
	Tokens  Spread  `json:"tokens,omitzero"`
	Seconds Spread  `json:"seconds,omitzero"`
	Cost    Spread  `json:"cost,omitzero"`
}

// Spread is a mean, and how far tasks are from that of their run, and runs from each other.
type Spread struct {
	Mean    float64 `json:"mean"`
	Within  float64 `json:"within"`
	Between float64 `json:"between"`
}

func (s Spread) at(run, own float64) float64 { return s.Mean + s.Between*run + s.Within*own }

// unmeasured is what a role without a past may use: from four turns to sixteen, where a base has eight.
var unmeasured = Spread{Within: 0.5, Between: 0.7}

// What is assumed before much is measured, and how many tasks and runs that counts for.
const (
	tasksApart, runsApart = 0.7, 0.35
	asTasks, asRuns       = 4.0, 3.0
)

// Learn makes habits of tasks that have ended, sorted by role and model.
func Learn(past []Past) (habits []Habit) {
	past = slices.Clone(past)
	slices.SortStableFunc(past, func(a, b Past) int {
		return cmp.Or(cmp.Compare(a.Role, b.Role), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Run, b.Run))
	})
	for len(past) > 0 {
		n := slices.IndexFunc(past, func(p Past) bool { return p.Role != past[0].Role || p.Model != past[0].Model })
		if n < 0 {
			n = len(past)
		}
		habits = append(habits, learn(past[:n]))
		past = past[n:]
	}
	return habits
}

// learn makes the habit of tasks of one role and model, sorted by run.
func learn(past []Past) Habit {
	h := Habit{Role: past[0].Role, Model: past[0].Model, Tasks: len(past)}
	of := func(value func(*Past) float64) (runs [][]float64) {
		last := ""
		for i := range past {
			x := value(&past[i])
			if x <= 0 {
				continue
			}
			if len(runs) == 0 || past[i].Run != last {
				runs, last = append(runs, nil), past[i].Run
			}
			runs[len(runs)-1] = append(runs[len(runs)-1], math.Log(x))
		}
		return runs
	}
	called, priced := 0, 0
	for i := range past {
		if past[i].Usage.Total() > 0 {
			called++
		}
		if past[i].Cost > 0 && past[i].Unpriced == 0 {
			priced++
		}
	}
	h.Idle = 1 - float64(called)/float64(len(past))
	h.Tokens = spreadOf(of(func(p *Past) float64 { return float64(p.Usage.Total()) / float64(max(1, p.Base)) }))
	h.Seconds = spreadOf(of(func(p *Past) float64 { return p.Seconds / float64(max(1, p.Base)) }))
	if priced*2 > called {
		h.Cost = spreadOf(of(func(p *Past) float64 { return float64(p.Cost) / float64(max(1, p.Base)) }))
	}
	return h
}

// spreadOf is the spread of values by run. Assumptions weigh less the more is known; that the mean is not known exactly is in the
// distance between runs.
func spreadOf(runs [][]float64) (s Spread) {
	if len(runs) == 0 {
		return s
	}
	means := make([]float64, len(runs))
	squares, free, fewness := asTasks*tasksApart*tasksApart, asTasks, 0.0
	for j, run := range runs {
		means[j] = mean(run)
		squares, free = squares+apart(run, means[j]), free+float64(len(run)-1)
		fewness += 1 / float64(len(run)) / float64(len(runs))
	}
	own := squares / free
	k := float64(len(runs) - 1)
	far := asRuns * runsApart * runsApart
	if k > 0 {
		far += max(0, apart(means, mean(means))-k*own*fewness)
	}
	far /= asRuns + k
	var weights, sum float64
	for j, run := range runs {
		w := 1 / (far + own/float64(len(run)))
		weights, sum = weights+w, sum+w*means[j]
	}
	return Spread{Mean: sum / weights, Within: math.Sqrt(own), Between: math.Sqrt(far + 1/weights)}
}

func mean(xs []float64) (m float64) {
	for _, x := range xs {
		m += x / float64(len(xs))
	}
	return m
}

// apart is the sum of the squared distances from a mean.
func apart(xs []float64, m float64) (sum float64) {
	for _, x := range xs {
		sum += (x - m) * (x - m)
	}
	return sum
}

// Within are habits as a run has them in which some tasks have ended: the more of them, the more is known of the kind of the run.
func Within(habits []Habit, ended []Past) []Habit {
	habits = slices.Clone(habits)
	for _, now := range Learn(ended) {
		at := slices.IndexFunc(habits, func(h Habit) bool { return h.Role == now.Role && h.Model == now.Model })
		if at < 0 {
			habits = append(habits, now)
			continue
		}
		h := &habits[at]
		h.Tokens = h.Tokens.in(now.Tokens, now.Tasks)
		h.Seconds = h.Seconds.in(now.Seconds, now.Tasks)
		h.Cost = h.Cost.in(now.Cost, now.Tasks)
		h.Tasks += now.Tasks
	}
	return habits
}

// in is the spread in a run, once n of its tasks have ended.
func (s Spread) in(run Spread, n int) Spread {
	if s == (Spread{}) || run == (Spread{}) {
		return cmp.Or(s, run)
	}
	far, own := s.Between*s.Between, s.Within*s.Within/float64(n)
	if far > 0 {
		s.Mean += (run.Mean - s.Mean) * far / (far + own)
		s.Between = math.Sqrt(far * own / (far + own))
	}
	return s
}
