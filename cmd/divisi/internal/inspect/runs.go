package inspect

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/cli"
	"divisi/internal/usage"
	"divisi/orchestrator"
	"divisi/orchestrator/console/display"
	"divisi/orchestrator/console/reports"
)

// NewRuns makes divisi runs.
func NewRuns(g *Globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "runs",
		Short: "List the runs",
		Long: `List the runs here, or on the server of --on, newest first: state, progress, age, tokens and time so far and
to go, repository, goal, and what a run waits for: a decision, a person, a machine or a quota. On a terminal the table fits
its width. With --output json each run is its report, with the same fields.`,
		Example: "  divisi runs\n  divisi runs --output json",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return g.listRuns(c.Context()) },
	}
	c.AddCommand(newRunsRm(g))
	return c
}

func (g *Globals) listRuns(ctx context.Context) error {
	ids, err := g.Runs().List(ctx)
	if err != nil {
		return err
	}
	var rows []reports.Row
	for _, id := range ids {
		row, v, err := g.runRow(ctx, id)
		if err == nil {
			err = g.Print(cli.Say(""), v)
		}
		if err != nil {
			return fmt.Errorf("print run %s: %w", id, err)
		}
		rows = append(rows, row)
	}
	if len(ids) == 0 {
		return g.Print(cli.Say("There are no runs %s. Start one with: divisi demo\n", g.Place()))
	}
	columns := wholeRow
	if cli.IsTerminal(g.Out) {
		columns = cli.Width(g.Out)
	}
	return g.Print(cli.Say("%s\n", strings.Join(reports.Runs(rows, columns), "\n")))
}

// wholeRow is a width at which nothing of a run's row is cut, for programs that read it.
const wholeRow = 10_000

// runRow returns the row of a run, and its report with the row's fields; also of one that cannot be read.
func (g *Globals) runRow(ctx context.Context, id string) (row reports.Row, v any, err error) {
	s, err := g.Runs().Summary(ctx, id)
	if err == nil {
		if row, err = reports.RowOf(id, unfetched(s), s.Report, cli.Now()); err != nil {
			return row, nil, err
		}
		called, err := g.CallsIn(s.Report)
		if err == nil {
			v, err = joined(called, row)
		}
		return row, v, err
	}
	row = reports.Row{Run: id, Status: "unreadable", Error: g.Calls(ErrorLine(err))}
	if code, _ := orchestrator.CodeOf(err); code == usage.Format {
		row.Status = "other format"
	}
	return row, map[string]string{"run": id, "state": row.Status, "error": g.Calls(cli.Worded(err))}, nil
}

// joined adds fields behind those of a JSON object.
func joined(object json.RawMessage, fields any) (json.RawMessage, error) {
	more, err := json.Marshal(fields)
	if err != nil {
		return nil, fmt.Errorf("encode the row of a run: %w", err)
	}
	out := bytes.TrimSuffix(bytes.TrimSpace(object), []byte("}"))
	return slices.Concat(out, []byte(","), more[1:]), nil
}

// unfetched is the state of a run, and whether its branch is in no repository yet.
func unfetched(s orchestrator.Summary) string {
	if s.Unfetched {
		return s.State + ", not fetched"
	}
	return s.State
}

// ErrorLine is an error with its advice in one line.
func ErrorLine(err error) string {
	return display.Sanitize(strings.ReplaceAll(cli.Worded(err), "\n", "; "))
}
