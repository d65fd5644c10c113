package reports

import (
	"cmp"
	"encoding/json"
	"path"
	"time"

	"divisi/internal/text"
	"divisi/orchestrator/console/display"
	"divisi/orchestrator/view"
)

// Row is a run in the list of runs, beside its report.
type Row struct {
	Run string `json:"-"`
	// Status is the state of the run and of its process; Error is why its log cannot be read.
	Status string `json:"status"`
	Error  string `json:"-"`
	// Progress counts its tasks.
	Progress string `json:"progress"`
	Age      int    `json:"age_seconds"`
	Tokens   int    `json:"tokens"`
	// Left is what its rest is likely to use; empty where nothing tells.
	Left string `json:"left,omitempty"`
	// WaitsOn is a decision, a person, a machine or a quota; WaitsFor is which. Both are empty where it waits for nothing.
	WaitsOn  string `json:"waits_on,omitempty"`
	WaitsFor string `json:"waits_for,omitempty"`

	repo, goal string
	took       time.Duration
}

// killed is the status of a run whose process has ended before it.
const killed = "killed"

// RowOf makes the row of a run with a status, from its report as JSON.
func RowOf(id, status string, data json.RawMessage, now time.Time) (row Row, err error) {
	return row, render(data, func(r *view.Report) {
		row = Row{
			Run: id, Status: status, Age: int(now.Sub(r.Created).Seconds()), Tokens: r.Usage.Total(),
			Left: r.Outlook.Left.Range(),
			repo: path.Base(r.Repo), goal: r.Goal,
			took: time.Duration(cmp.Or(r.Outlook.Seconds, r.Times.WallSeconds) * float64(time.Second)),
		}
		row.WaitsOn, row.WaitsFor = r.Awaits()
		if status == killed {
			row.WaitsOn, row.WaitsFor = view.OnPerson, "resume, as its process was killed"
		}
		bare := *r // what it waits for is a column of its own
		bare.Wait, bare.Quotas, bare.Reason = "", nil, ""
		row.Progress = display.Sanitize(bare.Progress())
	})
}

var runColumns = []column[Row]{
	{"run", 0, false, func(r *Row) string { return r.Run }},
	{"state", 0, false, func(r *Row) string { return r.Status }},
	{"progress", 50, false, func(r *Row) string { return r.Progress }},
	{"age", 60, true, func(r *Row) string {
		return unless0(r.Age, text.Age(time.Duration(r.Age)*time.Second))
	}},
	{"tokens", 90, true, func(r *Row) string { return unless0(r.Tokens, text.Tokens(r.Tokens)) }},
	{"took", 100, true, func(r *Row) string { return unless0(int(r.took.Seconds()), text.Span(r.took)) }},
	{"to go", 140, true, func(r *Row) string { return r.Left }},
	{"repository", 120, false, func(r *Row) string { return r.repo }},
	{"goal", 60, false, func(r *Row) string { return r.goal }},
	{"waits for", 0, false, func(r *Row) string {
		if r.WaitsOn == "" {
			return r.Error
		}
		return r.WaitsOn + ": " + r.WaitsFor
	}},
}

// Runs are the lines of a table of runs, at most width cells wide.
func Runs(rows []Row, width int) []string { return table(runColumns, rows, width) }

// Outlook is what a run used so far, and what the rest is likely to use, in a line, from its report as JSON.
func Outlook(data json.RawMessage) (line string, err error) {
	return line, render(data, func(r *view.Report) { line = r.Outlook.String() })
}
