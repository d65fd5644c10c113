package team

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/cli"
	"divisi/internal/usage"
	"divisi/orchestrator/console/display"
	"divisi/orchestrator/hub"
)

// workersCommand are the flags of workers and of what it can ask of them.
type workersCommand struct {
	*Globals

	call hub.WorkerCall
}

// newWorkers makes divisi server workers.
func newWorkers(g *Globals) *cobra.Command {
	w := &workersCommand{Globals: g}
	c := &cobra.Command{
		Use:   "workers",
		Short: "List the workers of a server (drain, pause, resume, quarantine)",
		Long: `List the workers of a server: what they are, how much they do at once, what they work on, and what they
lack for the runs that they know, and which limits of model services they keep to.`,
		Example: "  divisi server workers --on build.example.com\n" +
			"  divisi server workers pause --tag big --for 30m --on build.example.com",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return w.list(c.Context()) },
	}
	c.AddCommand(
		w.verb("drain", "Have a worker take nothing more, end its turns and leave"),
		w.verb("pause", "Have a worker take nothing more for a time"),
		w.verb("resume", "End the pause of a worker"),
		w.quarantine(),
	)
	return c
}

func (w *workersCommand) verb(name, short string) *cobra.Command {
	c := &cobra.Command{
		Use:     name + " [WORKER]",
		Short:   short,
		Long:    short + ".\nWithout WORKER, all workers with the tag of --tag.",
		Example: fmt.Sprintf("  divisi server workers %s build-7 --on build.example.com", name),
		RunE: func(c *cobra.Command, args []string) error {
			w.call.Verb, w.call.Name = name, strings.Join(args, "")
			return w.ask(c.Context())
		},
	}
	c.Flags().StringVar(&w.call.Tag, "tag", "", "all workers with this tag")
	if name == "pause" {
		c.Flags().DurationVar(&w.call.For, "for", 30*time.Minute, "length of the pause, which ends by itself")
	}
	return c
}

func (w *workersCommand) server() error {
	if w.At.URL == "" {
		return usage.Errorf("workers are those of a server: name it with --on")
	}
	return nil
}

func (w *workersCommand) ask(ctx context.Context) error {
	if err := w.server(); err != nil {
		return err
	}
	answers, err := hub.CallWorkers(w.Log.WithContext(ctx), w.At, w.call)
	for _, a := range answers {
		if err := w.Print(cli.Say("%s\n", display.Sanitize(a)), map[string]string{"answer": a}); err != nil {
			return err
		}
	}
	return err
}

func (w *workersCommand) list(ctx context.Context) error {
	if err := w.server(); err != nil {
		return err
	}
	data, err := hub.Workers(w.Log.WithContext(ctx), w.At)
	if err != nil {
		return err
	}
	var list []workerRow
	if err := json.Unmarshal(data, &list); err != nil {
		return fmt.Errorf("read the list of workers: %w", err)
	}
	if len(list) == 0 {
		return w.Print(cli.Say("There are no workers on %s. Start one on its machine with: divisi server worker --on NAME\n",
			w.At))
	}
	rows := [][]string{{"worker", "state", "agents", "gates", "at", "system", "version", "tags", "lacks"}}
	for i := range list {
		rows = append(rows, list[i].cells())
	}
	text := display.Table(rows)
	for i := range list {
		if why := list[i].Why; why != "" {
			text += fmt.Sprintf("\n%s.\n", display.Sanitize(why))
			if list[i].System != "" { // else the server speaks for it, and does not let it in
				text += w.Calls(fmt.Sprintf("It ends with: divisi server workers drain %s\n", list[i].Worker))
			}
		}
	}
	return w.Print(cli.Say("%s", text+w.Calls(limitLines(list))), cli.Anys(list)...)
}

// workerRow is a worker as it is shown.
type workerRow struct {
	Worker   string            `json:"worker"`
	State    string            `json:"state"`
	Why      string            `json:"incompatible,omitempty"`
	Until    time.Time         `json:"until,omitzero"`
	Short    string            `json:"short,omitempty"`
	Agents   int               `json:"agents"`
	Gates    int               `json:"gates"`
	Version  string            `json:"version"`
	Protocol int               `json:"protocol"`
	System   string            `json:"system"`
	Cores    int               `json:"cores"`
	Memory   uint64            `json:"memory,omitempty"`
	Disk     uint64            `json:"disk,omitempty"`
	Sandbox  string            `json:"sandbox"`
	Programs map[string]string `json:"programs,omitempty"`
	Tags     []string          `json:"tags,omitempty"`
	Since    time.Time         `json:"since"`
	// Limits are those of model services that it keeps to, From is the worker that told it.
	Limits []workerLimit `json:"limits,omitempty"`
	Runs   map[string]struct {
		Serves []string            `json:"serves,omitempty"`
		Lacks  map[string][]string `json:"lacks,omitempty"`
		Base   string              `json:"base,omitempty"`
		At     []string            `json:"at,omitempty"`
	} `json:"runs,omitempty"`
}

// workerLimit is a limit of a model's service.
type workerLimit struct {
	For     string    `json:"for"`
	Model   string    `json:"model,omitempty"`
	Quota   string    `json:"quota,omitempty"`
	Account string    `json:"account,omitempty"`
	Until   time.Time `json:"until"`
	From    string    `json:"from"`
}

// limitLines tells the limits that workers keep to, each once, with the worker that told it.
func limitLines(list []workerRow) string {
	lines, until, keep := []string{}, map[string]time.Time{}, map[string][]string{}
	for _, r := range list {
		for _, l := range r.Limits {
			line := fmt.Sprintf("%s %q of %s, told by worker %s", l.For, l.Quota, l.Model, l.From)
			if l.Until.After(until[line]) {
				until[line] = l.Until
			}
			keep[line] = append(keep[line], r.Worker)
		}
	}
	for line, workers := range keep {
		lines = append(lines, fmt.Sprintf("%s, holds until %s on %s\n", display.Sanitize(line),
			until[line].Local().Format(time.DateTime), display.Sanitize(strings.Join(slices.Compact(workers), ", "))))
	}
	if len(lines) == 0 {
		return ""
	}
	slices.Sort(lines)
	return "\n" + strings.Join(lines, "") +
		"What a worker told that may lie ends with: divisi server workers quarantine WORKER --since TIME\n"
}

func (r *workerRow) cells() []string {
	state, at, lacks := r.State, 0, []string{}
	if !r.Until.IsZero() {
		state += " until " + r.Until.Local().Format(time.TimeOnly)
	}
	for _, run := range r.Runs {
		at += len(run.At)
		for _, l := range run.Lacks {
			for _, what := range l {
				what, _, _ = strings.Cut(what, ":") // its reason is in the JSON
				if !slices.Contains(lacks, what) {
					lacks = append(lacks, what)
				}
			}
		}
	}
	slices.Sort(lacks)
	if r.Short != "" {
		lacks = append([]string{r.Short}, lacks...)
	}
	system := ""
	if r.System != "" {
		system = fmt.Sprintf("%s, %d cores", r.System, r.Cores)
	}
	cells := []string{
		r.Worker, state, fmt.Sprint(r.Agents), fmt.Sprint(r.Gates), fmt.Sprint(at), system, r.Version,
		strings.Join(r.Tags, " "), strings.Join(lacks, "; "),
	}
	for i := range cells {
		cells[i] = display.Sanitize(cells[i])
	}
	return cells
}
