package page

import (
	"time"

	"divisi/orchestrator/run"
)

// mostPoints bounds the points of a series, with that of now.
const mostPoints = 240

// Point is a time in unix milliseconds, how many tasks had landed by then, and how many tokens were used.
type Point [3]int64

// Series are points of a run, at least step milliseconds apart. When there are too many, every second one is dropped and the
// step doubles, so that a run of any length has between half of them and all.
type Series struct {
	points []Point
	step   int64
	last   Point
	// Added counts the points that were added ever.
	Added int64
}

// Add notes where a run is.
func (x *Series) Add(s *run.State) {
	if s.Time.IsZero() {
		return
	}
	x.last = Point{s.Time.UnixMilli(), int64(s.Tasks.Count(run.TaskLanded)), int64(s.Usage.Total())}
	if n := len(x.points); n > 0 && x.last[0]-x.points[n-1][0] < max(1, x.step) {
		return
	}
	x.Added++
	if x.points = append(x.points, x.last); len(x.points) < mostPoints {
		return
	}
	kept := x.points[:0]
	for i := 0; i < len(x.points); i += 2 {
		kept = append(kept, x.points[i])
	}
	x.points = kept
	x.step = max(2*x.step, 2*(kept[len(kept)-1][0]-kept[0][0])/mostPoints)
}

// Until returns the points up to a time, at which the run is as it was last; of a run that has ended up to its end.
func (x *Series) Until(s *run.State, now time.Time) []Point {
	out := append([]Point{}, x.points...)
	if len(out) == 0 {
		return out
	}
	end := x.last
	if !s.Status.Ended() {
		end[0] = max(end[0], now.UnixMilli())
	}
	if end[0] == out[len(out)-1][0] {
		out[len(out)-1] = end
		return out
	}
	return append(out, end)
}
