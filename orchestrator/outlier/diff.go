package outlier

import "slices"

// span is a part of two lists where they differ: a[a0:a1] became b[b0:b1].
type span struct{ a0, a1, b0, b1 int }

// pairs are the elements of a part one by one, where as many became as many.
func (s span) pairs() (out []span) {
	if s.a1-s.a0 != s.b1-s.b0 {
		return []span{s}
	}
	for i := range s.a1 - s.a0 {
		out = append(out, span{s.a0 + i, s.a0 + i + 1, s.b0 + i, s.b0 + i + 1})
	}
	return out
}

// diff finds where two lists differ, by the shortest list of steps from one to the other (Myers). Where that is longer than most,
// all between what both begin and end with is one part.
func diff(a, b []string, most int) []span {
	from := 0
	for from < min(len(a), len(b)) && a[from] == b[from] {
		from++
	}
	end := 0
	for end < min(len(a), len(b))-from && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	x, y := a[from:len(a)-end], b[from:len(b)-end]
	if len(x)+len(y) == 0 {
		return nil
	}
	all := []span{{0, len(x), 0, len(y)}}
	if len(x) > 0 && len(y) > 0 {
		if found, ok := shortest(x, y, most); ok {
			all = found
		}
	}
	for i := range all {
		all[i] = span{all[i].a0 + from, all[i].a1 + from, all[i].b0 + from, all[i].b1 + from}
	}
	return all
}

// shortest finds the parts, by the furthest places that each number of steps leads to: one for each diagonal, from -d-1 to d+1.
func shortest(a, b []string, most int) (out []span, ok bool) {
	most = min(most, len(a)+len(b))
	reach, zero := make([]int, 2*most+3), most+1
	var trace [][]int
	for d := range most + 1 {
		trace = append(trace, slices.Clone(reach[zero-d-1:zero+d+2]))
		for k := -d; k <= d; k += 2 {
			x := further(reach[zero-d-1:], k, d)
			y := x - k
			for x < len(a) && y < len(b) && a[x] == b[y] {
				x, y = x+1, y+1
			}
			if reach[zero+k] = x; x >= len(a) && y >= len(b) {
				return back(trace, len(a), len(b)), true
			}
		}
	}
	return nil, false
}

// further is where the step number d to a diagonal leads: down, or to the right.
func further(reach []int, k, d int) int {
	if isDown(reach, k, d) {
		return reach[k+1+d+1]
	}
	return reach[k-1+d+1] + 1
}

func isDown(reach []int, k, d int) bool { return k == -d || k != d && reach[k-1+d+1] < reach[k+1+d+1] }

// back follows the steps from the end, and joins those that lie side by side.
func back(trace [][]int, x, y int) (out []span) {
	var steps []span
	for d := len(trace) - 1; d > 0; d-- {
		reach, k := trace[d], x-y
		if isDown(reach, k, d) {
			x = reach[k+1+d+1]
			y = x - k - 1
			steps = append(steps, span{x, x, y, y + 1})
		} else {
			x = reach[k-1+d+1]
			y = x - k + 1
			steps = append(steps, span{x, x + 1, y, y})
		}
	}
	for i := len(steps) - 1; i >= 0; i-- {
		s, last := steps[i], len(out)-1
		if last >= 0 && out[last].a1 == s.a0 && out[last].b1 == s.b0 {
			out[last].a1, out[last].b1 = s.a1, s.b1
			continue
		}
		out = append(out, s)
	}
	return out
}
