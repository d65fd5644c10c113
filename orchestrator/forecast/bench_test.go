package forecast_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"divisi/internal/spec"
	"divisi/orchestrator/forecast"
)

// A machine draws runs as they happen: turns that send again what came before, luck that a run has in common, attempts that fail,
// a few tasks that take ten times the turns, and a service that is slow for a while. It knows nothing of how Of computes.
type machine struct {
	*rand.Rand

	roles []role
	width int
	gates float64
}

type role struct {
	name                 string
	turns, spread, fails float64
	start                int
	cached, reads        float64
	in, out, hit         float64 // pico-dollars
	second               float64 // of one turn
	judged               bool
}

func machineOf(seed uint64) *machine {
	m := &machine{Rand: rand.New(rand.NewPCG(seed, 7)), width: 1 << (seed % 4)}
	m.gates = 20 * math.Exp(m.NormFloat64())
	for i := range 1 + m.IntN(3) {
		in := []float64{750_000, 2_000_000, 3_000_000, 5_000_000}[m.IntN(4)]
		m.roles = append(m.roles, role{
			name: fmt.Sprint("role", i), turns: 5 * math.Exp(0.5*m.NormFloat64()), spread: 0.3 + 0.4*m.Float64(), fails: 0.05 + 0.25*m.Float64(),
			start: 3000 + m.IntN(15_000), reads: math.Exp(-2.5 * m.Float64()), cached: 0.3 + 0.6*m.Float64(), in: in, out: 5 * in, hit: in / 10,
			second: 3 + 12*m.Float64(), judged: m.IntN(2) == 0,
		})
	}
	return m
}

// ran is a run: what was known before, and what it used.
type ran struct {
	tasks   []forecast.Task
	past    []forecast.Past
	gates   time.Duration
	tokens  float64
	money   float64
	seconds float64
}

func (m *machine) run(name string) (r ran) {
	hard, slow := math.Exp(0.2*m.NormFloat64()), math.Exp(0.2*m.NormFloat64())
	size, n := 6000*math.Exp(0.5*m.NormFloat64()), int(2+math.Exp(2.2+0.9*m.NormFloat64()))
	places := make([]float64, m.width)
	for range min(n, 200) {
		x := m.roles[m.IntN(len(m.roles))]
		files := int(size * math.Exp(0.8*m.NormFloat64()) / 4)
		brief := x.start - 2500 + m.IntN(600)
		base := 8*brief + 7*files + 800*8*7/2 + 8*400 + files
		tokens, money, seconds := m.task(&x, files, brief, hard, slow)
		r.tasks = append(r.tasks, forecast.Task{Role: x.name, Model: "m", Base: base, Price: x.in})
		r.past = append(r.past, forecast.Past{
			Run: name, Role: x.name, Model: "m", Base: base, Usage: spec.Usage{Prompt: int(tokens)}, Cost: spec.Money(money), Seconds: seconds,
		})
		r.tokens, r.money = r.tokens+tokens, r.money+money
		at := slices.Index(places, slices.Min(places))
		places[at] += seconds
	}
	r.gates = time.Duration(m.gates * float64(time.Second))
	r.seconds = slices.Max(places) + m.gates*slow*float64(2+m.IntN(2))
	return r
}

// task plays the attempts of a task.
func (m *machine) task(x *role, files, brief int, hard, slow float64) (tokens, money, seconds float64) {
	for range 5 {
		turns := 1 + x.turns*hard*math.Exp(x.spread*m.NormFloat64())
		if m.Float64() < 0.04 {
			turns *= 2 + 6*m.Float64() // it is lost
		}
		turns = min(turns, 60)
		tool := 500 * math.Exp(0.6*m.NormFloat64())
		context := float64(brief) + 1000
		share := min(0.98, x.cached*math.Exp(0.1*m.NormFloat64()))
		for t := range int(math.Ceil(turns)) {
			said := 150 * math.Exp(0.7*m.NormFloat64())
			if t == 1 {
				context += float64(files) * x.reads * (0.3 + 0.7*m.Float64())
			}
			if t == int(turns)-1 {
				said += float64(files) * x.reads * 0.4 * m.Float64()
			}
			hit := 0.0
			if t > 0 {
				hit = share * context
			}
			tokens += context + said
			money += (context-hit)*x.in + hit*x.hit + said*x.out
			seconds += slow * (x.second*math.Exp(0.4*m.NormFloat64()) + said/80)
			context += said + tool
		}
		seconds += m.gates * slow
		if x.judged {
			tokens += 2 * (float64(files) + 4000)
			money += 2*(float64(files)+4000)*x.in + 300*x.out
			seconds += 2 * slow * x.second
		}
		if m.Float64() >= x.fails {
			break
		}
	}
	return tokens, money, seconds
}

// BenchmarkEstimates prints, for 200 runs on 50 machines with one to twelve earlier runs each, how many were inside the range that was
// said before, and how wide that was; and the same for the rest of each run once half of its tasks have ended.
func BenchmarkEstimates(b *testing.B) {
	for range b.N {
		var all, rest figures
		for seed := range uint64(50) {
			m := machineOf(seed)
			var past []forecast.Past
			for i := range 16 {
				r := m.run(fmt.Sprint(i))
				if i >= 1 && i%4 == 0 || i == 13 {
					all.add(forecast.Of(forecast.Learn(past), r.tasks, m.width, r.gates), r.tokens, r.money, r.seconds)
				}
				half := len(r.tasks) / 2
				if i >= 1 && i%4 == 0 || i == 13 {
					var tokens, money float64
					for _, p := range r.past[half:] {
						tokens, money = tokens+float64(p.Usage.Prompt), money+float64(p.Cost)
					}
					rest.add(forecast.Of(forecast.Within(forecast.Learn(past), r.past[:half]), r.tasks[half:], m.width, r.gates), tokens, money, 0)
				}
				past = append(past, r.past...)
			}
		}
		all.report(b, "")
		rest.report(b, "-of-the-rest")
	}
}

type figures struct {
	n      int
	inside [3]int
	wide   [3][]float64
}

func (f *figures) add(e forecast.Estimate, tokens, money, seconds float64) {
	f.n++
	for i, c := range [3][3]float64{
		{float64(e.Low), float64(e.High), tokens}, {float64(e.LowCost), float64(e.HighCost), money}, {e.LowSeconds, e.HighSeconds, seconds},
	} {
		if c[0] <= c[2] && c[2] <= c[1] {
			f.inside[i]++
		}
		f.wide[i] = append(f.wide[i], c[1]/c[0])
	}
}

func (f *figures) report(b *testing.B, of string) {
	b.Helper()
	for i, name := range []string{"tokens", "money", "minutes"} {
		if f.inside[i] == 0 {
			continue // the time of the rest is not drawn
		}
		slices.Sort(f.wide[i])
		b.ReportMetric(100*float64(f.inside[i])/float64(f.n), "%-"+name+"-inside"+of)
		b.ReportMetric(f.wide[i][f.n/2], name+"-p90÷p10"+of)
	}
	b.ReportMetric(float64(f.n), "n"+of)
}
