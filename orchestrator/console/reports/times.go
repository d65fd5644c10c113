package reports

import (
	"encoding/json"
	"fmt"
	"strings"

	"divisi/orchestrator/console/display"
	"divisi/orchestrator/view"
)

// Times writes where the wall clock of a run went, from its report, given as JSON: the parts of its critical path, one a line,
// and the longest attempts on it.
func Times(b *strings.Builder, data json.RawMessage) error {
	return render(data, func(r *view.Report) {
		row := func(name string, s float64) {
			fmt.Fprintf(b, "%10.2f s %5.1f %%  %s\n", s, 100*s/max(r.Times.WallSeconds, 1e-9), display.Sanitize(name))
		}
		for _, p := range r.Times.Parts {
			row(p.Phase, p.Seconds)
		}
		row("wall clock", r.Times.WallSeconds)
		row("floor: the longest chain of the plan, by the times of models, commands and gates", r.Times.FloorSeconds)
		if len(r.Times.Path) > 0 {
			b.WriteString("\nThe longest attempts on the critical path:\n")
		}
		for _, p := range r.Times.Path {
			row(p.Agent, p.Seconds)
		}
	})
}
