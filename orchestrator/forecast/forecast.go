// Package forecast estimates what tasks will use: tokens, money and time, as the range that eight of ten runs are in. Its input
// is the sizes of the tasks and what tasks of their roles used before; it reads nothing, and is the same for the same input.
package forecast

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"divisi/internal/spec"
)

const (
	// draws is how many runs are drawn: a tenth of them is below the range, and a tenth above it.
	draws = 200
	// sampled bounds the tasks of one draw; of more each stands for several.
	sampled = 256
	// alike is how much of a task's luck its tokens and its time have in common.
	alike = 0.8
)

// Task is a task to estimate. Base is what it would use with a usual number of turns, by its sizes alone, and Price the cost of a
// token then, in pico-dollars; 0 where none is known.
type Task struct {
	Role, Model string
	Base        int
	Price       float64
	// Used are its tokens so far, Most is the most that it may use, 0 for no limit.
	Used, Most int
	// Maybe reports that its role calls a model only where a command fails, Program that it is a coding agent, whose tokens
	// nothing tells before one has ended. A task without a base calls no model.
	Maybe, Program bool
	// After are the tasks before it that it waits for, by their places.
	After []int
}

// Estimate is the range between the tenth and the ninetieth of a hundred such runs.
type Estimate struct {
	Low      int        `json:"low"`
	High     int        `json:"high"`
	LowCost  spec.Money `json:"low_pico_usd,omitempty"`
	HighCost spec.Money `json:"high_pico_usd,omitempty"`
	// Unpriced are the tokens, at the high end, of models whose price is not known: they are in the range of tokens alone.
	Unpriced int `json:"unpriced,omitempty"`
	// LowSeconds and HighSeconds are 0 where it is not known how long such tasks take.
	LowSeconds  float64 `json:"low_seconds,omitempty"`
	HighSeconds float64 `json:"high_seconds,omitempty"`
	// Past is how many ended tasks it is made of; Blind is how many tasks it has by their sizes alone.
	Past  int `json:"past,omitempty"`
	Blind int `json:"blind,omitempty"`
	// Bases are those of the tasks, in their order.
	Bases []int `json:"bases,omitempty"`
}

// Of estimates what tasks will use that run on so many places, and are proven by gates that take so long.
func Of(habits []Habit, tasks []Task, width int, gates time.Duration) (e Estimate) {
	d := dice{width: max(1, min(width, len(tasks))), gates: 2 * gates.Seconds()}
	d.Rand = rand.New(rand.NewPCG(1, 2)) //nolint:gosec // it keeps no secret
	known := map[[2]string]*Habit{}
	for i := range tasks {
		t := &tasks[i]
		key := [2]string{t.Role, t.Model}
		if known[key] == nil {
			known[key] = habitOf(habits, t)
			e.Past += known[key].Tasks
		}
		if known[key].Tasks == 0 && t.Base > 0 && !t.Program {
			e.Blind++
		}
		d.tasks, d.habits = append(d.tasks, t), append(d.habits, known[key])
	}
	var by [4][]float64
	for range draws {
		for i, x := range d.run() {
			by[i] = append(by[i], x)
		}
	}
	end := func(i, percent int) float64 { return by[i][(draws-1)*percent/100] }
	for i := range by {
		slices.Sort(by[i])
	}
	count := func(x float64) int { return int(min(x, spec.MaxCount)) }
	e.Low, e.High = count(end(0, 10)), count(end(0, 90))
	e.LowCost, e.HighCost, e.Unpriced = money(end(1, 10)), money(end(1, 90)), count(end(2, 90))
	e.LowSeconds, e.HighSeconds = end(3, 10), end(3, 90)
	return e
}

func money(pico float64) spec.Money { return spec.Money(min(pico, float64(spec.MaxMoney))) }

// dice draw runs of some tasks.
type dice struct {
	*rand.Rand

	tasks  []*Task
	habits []*Habit
	width  int
	gates  float64
	places []float64
	ends   []float64
}

// run draws one run: its tokens, its cost, its tokens without a price, and its time. All its tasks have the luck of the run in
// common.
func (d *dice) run() (sum [4]float64) {
	luck, pace, maybe := d.NormFloat64(), d.NormFloat64(), d.Float64()
	pace = alike*luck + math.Sqrt(1-alike*alike)*pace
	step := (len(d.tasks) + sampled - 1) / sampled
	d.places, d.ends = append(d.places[:0], make([]float64, d.width)...), append(d.ends[:0], make([]float64, len(d.tasks))...)
	var busy float64
	timed := len(d.tasks) > 0
	for from := 0; from < len(d.tasks); from += step {
		i := from + d.IntN(min(step, len(d.tasks)-from)) // tasks may take turns with others
		t, h := d.tasks[i], d.habits[i]
		own, other := d.NormFloat64(), d.NormFloat64()
		base := float64(max(1, t.Base))
		if drawn := base * math.Exp(h.Tokens.at(luck, own)); d.calls(t, h, maybe) {
			left := drawn
			if t.Most > 0 {
				left = min(left, float64(t.Most))
			}
			left = max(0, left-float64(t.Used))
			sum[0] += left * float64(step)
			switch {
			case h.Cost != Spread{}:
				sum[1] += left / drawn * base * math.Exp(h.Cost.at(luck, own)) * float64(step)
			case t.Price > 0:
				sum[1] += left * t.Price * float64(step)
			default:
				sum[2] += left * float64(step)
			}
		}
		if h.Seconds == (Spread{}) {
			timed = false
			continue
		}
		took := base * math.Exp(h.Seconds.at(pace, alike*own+math.Sqrt(1-alike*alike)*other))
		busy += took
		d.place(i, took)
	}
	if timed {
		share := busy / float64(d.width)
		sum[3] = share*float64(step) + max(0, slices.Max(d.ends)-share) + d.gates
	}
	return sum
}

// calls draws whether a task calls a model.
func (d *dice) calls(t *Task, h *Habit, maybe float64) bool {
	if h.Tasks == 0 {
		return t.Base > 0 && !t.Program && (!t.Maybe || maybe < 0.5)
	}
	return d.Float64() >= h.Idle
}

// place lets a task run at the first place that is free, once those before it have ended.
func (d *dice) place(i int, took float64) {
	at := 0
	for j, until := range d.places {
		if until < d.places[at] {
			at = j
		}
	}
	from := d.places[at]
	for _, j := range d.tasks[i].After {
		if j < i {
			from = max(from, d.ends[j])
		}
	}
	d.places[at], d.ends[i] = from+took, from+took
}

// habitOf is the habit of a task's role and model, else of its role with another model, whose tokens cost something else, else
// the assumption without any.
func habitOf(habits []Habit, t *Task) *Habit {
	best := &Habit{Tokens: unmeasured}
	for i := range habits {
		h := &habits[i]
		switch {
		case h.Role != t.Role:
		case h.Model == t.Model:
			return h
		case h.Tasks > best.Tasks:
			best = h
		}
	}
	other := *best
	other.Cost = Spread{}
	return &other
}

// Plus is the estimate of both, one after the other.
func (e Estimate) Plus(o Estimate) Estimate {
	return Estimate{
		Low: spec.Plus(e.Low, o.Low), High: spec.Plus(e.High, o.High), Unpriced: spec.Plus(e.Unpriced, o.Unpriced),
		LowCost: e.LowCost.Plus(o.LowCost), HighCost: e.HighCost.Plus(o.HighCost),
		LowSeconds: e.LowSeconds + o.LowSeconds, HighSeconds: e.HighSeconds + o.HighSeconds,
		Past: max(e.Past, o.Past), Blind: e.Blind + o.Blind, Bases: slices.Concat(e.Bases, o.Bases),
	}
}
