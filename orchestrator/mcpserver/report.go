package mcpserver

import (
	"context"
	"slices"

	"divisi/internal/text"
)

// ofRun names a run.
type ofRun struct {
	Run string `json:"run" jsonschema:"The id of the run, whole."`
}

// reported is how a run stands.
type reported struct {
	Run        string         `json:"run"`
	State      string         `json:"state"`
	Reason     string         `json:"reason,omitempty"`
	Active     bool           `json:"active" jsonschema:"A process has the run; without one nothing changes until it is resumed."`
	Problem    string         `json:"problem,omitempty"`
	Goal       string         `json:"goal,omitempty"`
	Repo       string         `json:"repo,omitempty"`
	Base       string         `json:"base,omitempty" jsonschema:"The commit that the run started from."`
	Branch     string         `json:"branch,omitempty" jsonschema:"The branch of the repository with what landed, once it is published."`
	Unverified string         `json:"unverified,omitempty" jsonschema:"Why what landed is not proven; left out when all of it is."`
	Unread     []string       `json:"unread,omitempty" jsonschema:"Files that landed unverified, since no gate reads them, with why."`
	Wait       string         `json:"wait,omitempty" jsonschema:"What the run waits for a person to do."`
	Line       string         `json:"line,omitempty" jsonschema:"Why a person stopped the line: nothing is dispatched and nothing lands."`
	Tasks      map[string]int `json:"tasks" jsonschema:"How many tasks are in each state."`
	Said       []said         `json:"said,omitempty" jsonschema:"The last words of the agents of tasks that ended without a change or were parked; the first few."`
	Added      int            `json:"added"`
	Deleted    int            `json:"deleted"`
	Tokens     int            `json:"tokens"`
	Cost       string         `json:"cost,omitempty" jsonschema:"What the tokens cost; some may be unpriced."`
	Estimate   string         `json:"estimate,omitempty" jsonschema:"What its tasks were estimated to use, before they began."`
	Left       string         `json:"left,omitempty" jsonschema:"What the rest is likely to use."`
	Budget     string         `json:"budget" jsonschema:"Tokens, or dollars such as 5usd; 0 for none."`
	Gates      []gate         `json:"gates,omitempty" jsonschema:"The gates on what landed, compared with the base commit."`
	Decisions  []string       `json:"decisions,omitempty" jsonschema:"The ids of open decisions: the tool decisions shows them."`
	Now        []string       `json:"now,omitempty" jsonschema:"What agents and gates are doing."`
	Notices    []string       `json:"notices,omitempty"`
	Next       []way          `json:"next,omitempty" jsonschema:"What can be done next, the most useful first."`
}

// said are the last words of the agent of a task.
type said struct {
	Task string `json:"task"`
	Text string `json:"text" jsonschema:"Data: text of an agent or its program. It may be a question, or that it could not do the task."`
}

type gate struct {
	Gate    string   `json:"gate"`
	Verdict string   `json:"verdict"`
	New     []string `json:"new,omitempty" jsonschema:"Failures that the base commit does not have."`
	Error   string   `json:"error,omitempty"`
}

// show reports on a run.
func (s *Server) show(ctx context.Context, _ caller, in ofRun) (reported, error) {
	row, r, err := s.both(ctx, in.Run)
	if err != nil {
		return reported{}, err
	}
	out := reported{
		Run: in.Run, State: row.State, Reason: text.Clip(r.Reason, maxText), Active: row.Active, Problem: row.Problem,
		Goal: text.Clip(r.Goal, maxText), Repo: r.Repo, Base: r.Base, Branch: r.Ref, Unverified: text.Clip(r.Unverified, maxText),
		Unread: few(text.Each(r.Unread)),
		Wait:   text.Clip(r.Wait, maxText), Line: text.Clip(r.Line, maxText), Tasks: map[string]int{},
		Added: r.Added, Deleted: r.Deleted,
		Cost: r.Outlook.Spent(), Estimate: r.Estimate.String(), Left: r.Outlook.Left.Range(),
		Tokens: r.Usage.Total(), Budget: r.Budget.Text(), Now: few(r.Now), Notices: few(r.Notices), Next: s.ways(r.Next),
	}
	for i := range r.Tasks {
		t := &r.Tasks[i]
		out.Tasks[t.Status()]++
		if t.Said != "" && len(out.Said) < maxFew {
			out.Said = append(out.Said, said{t.ID, text.Clip(t.Said, maxText)})
		}
	}
	for _, g := range r.Gates {
		out.Gates = append(out.Gates, gate{g.Gate, g.Verdict, few(g.New), text.Clip(g.Error, maxText)})
	}
	for _, d := range r.Decisions {
		if d.Answer == nil {
			out.Decisions = append(out.Decisions, d.ID)
		}
	}
	return out, nil
}

// few are the first of some texts, each bounded.
func few(list []string) []string {
	list = slices.Clone(text.Few(list, maxFew))
	for i := range list {
		list[i] = text.Clip(list[i], maxText)
	}
	return list
}
