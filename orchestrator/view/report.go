package view

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/forecast"
	"divisi/orchestrator/proof"
	"divisi/orchestrator/recovery"
	"divisi/orchestrator/run"
	"divisi/orchestrator/view/advice"
	"divisi/orchestrator/view/result"
	"divisi/orchestrator/view/stats"
	"divisi/subagents/gate"
	"divisi/subagents/wire"
)

// executors counts the landed tasks of roles with a chain by the executor that made the change.
func executors(s *run.State) map[string]int {
	by := map[string]int{}
	for _, t := range s.Tasks.ByID {
		if name := executorOf(s, t); name != "" && t.State == run.TaskLanded {
			by[name]++
		}
	}
	return by
}

// Report is a run as `divisi show` prints it: everything in it was measured, nothing was claimed.
type Report struct {
	Run  string `json:"run"`
	Goal string `json:"goal,omitempty"`
	// Trial is a run that has only tried setup and gates.
	Trial  bool       `json:"trial,omitempty"`
	State  run.Status `json:"state"`
	Reason string     `json:"reason,omitempty"`
	// Unverified is why no landed change is proven, or which are not; empty when all are.
	Unverified string `json:"unverified,omitempty"`
	// Better is which landed tasks mend a gate that is not green yet, and what is left of its failures; empty for none.
	Better string `json:"better,omitempty"`
	// Unread are the files that landed and that no gate read as their kind needs. Told are those that ask for no proof, such as
	// prose: they make nothing unverified.
	Unread []UnreadFiles `json:"unread,omitempty"`
	Told   []UnreadFiles `json:"told,omitempty"`
	// CI tells how much of CI the gates run, and which landed files it checks by commands that no gate runs, a line each.
	CI []string `json:"ci,omitempty"`
	// NewGates are the gates that persons added to the run.
	NewGates []AddedGate `json:"added_gates,omitempty"`
	// OneWorker is the worker elsewhere on whose word alone the final gates stand; empty where another one has passed them too.
	OneWorker string `json:"one_worker,omitempty"`
	// Wait describes the person's task that the run waits for.
	Wait string `json:"wait,omitempty"`
	// Line is why a person stopped the line.
	Line    string    `json:"line,omitempty"`
	Repo    string    `json:"repo"`
	Base    string    `json:"base"`
	Head    string    `json:"head"`
	Ref     string    `json:"ref,omitempty"`
	Created time.Time `json:"created"`
	// Ended is when the run ended, Last the time of its newest event.
	Ended time.Time `json:"ended,omitzero"`
	Last  time.Time `json:"last,omitzero"`
	Tasks []Task    `json:"tasks"`
	Gates []Gate    `json:"gates,omitempty"`
	// FirstRed is the first landed batch after which a final gate is red.
	FirstRed *Batch     `json:"first_red,omitempty"`
	Usage    spec.Usage `json:"usage"`
	// Roles are the usage of each role, by name; all attempts count, failed ones too.
	Roles []Role `json:"roles,omitempty"`
	// Unmetered counts the attempts of coding agents whose use is not known: it is in no sum.
	Unmetered int         `json:"unmetered,omitempty"`
	Budget    spec.Budget `json:"budget,omitzero"`
	// Rounds are those of templates by finding.
	Rounds []Rounds `json:"rounds,omitempty"`
	// Unlike are landed edits that no other shard of their templates makes.
	Unlike []Unlike `json:"unlike,omitempty"`
	// Executors count the landed tasks of roles with a chain, by the executor that made the change.
	Executors map[string]int `json:"executors,omitempty"`
	// Matches are the expressions of the shard rules whose tasks have landed, each once.
	Matches []string `json:"matches,omitempty"`
	// Verdicts count those of judges, all attempts together.
	Verdicts map[string]int `json:"verdicts,omitempty"`
	Batches  int            `json:"batches"`
	// GateRuns counts the runs of gates on batches and on the final head; OneByOne is the least that one patch at a time takes.
	GateRuns int `json:"gate_runs"`
	OneByOne int `json:"one_by_one"`
	// Reproof is the result of second proofs of batches; nil where none were asked for.
	Reproof *Reproof `json:"reproof,omitempty"`
	// Quarantines are the workers in quarantine, by name.
	Quarantines []Quarantine `json:"quarantines,omitempty"`
	// Pulls are the pull requests of the run.
	Pulls []PullRequest `json:"pull_requests,omitempty"`
	Times stats.Times   `json:"times"`
	// Estimate is what its tasks were estimated to use before they began.
	Estimate forecast.Estimate `json:"estimate,omitzero"`
	// Outlook is what the run used so far, and what the rest is likely to use.
	Outlook stats.Outlook `json:"outlook,omitzero"`
	// Now lists the work of the agents and gates of an active run, the longest first.
	Now []string `json:"now,omitempty"`
	// Flakes are failures of gates on a tree that they passed on when they ran once more.
	Flakes  []string `json:"flakes,omitempty"`
	Notices []string `json:"notices,omitempty"`
	// Quotas are those that are used up now, by model.
	Quotas []spec.Wait `json:"quotas,omitempty"`
	// Decisions are those that are not closed.
	Decisions []Reported `json:"decisions,omitempty"`
	// Standing are the answers that stand for later decisions too.
	Standing []Standing `json:"standing,omitempty"`
	// Doubts are the patches that were held and are not any more, in plan order, with the decision about each.
	Doubts []string `json:"doubts,omitempty"`
	// Untried are the tasks whose changed tests no experiment has tried, a line for each reason.
	Untried []string `json:"untried,omitempty"`
	Added   int      `json:"added"`
	Deleted int      `json:"deleted"`
	// Files counts the files that landed patches changed, each patch on its own.
	Files int `json:"files"`
	// TokensPerLanded is the usage divided by the landed tasks, CostPerLanded the cost; 0 when nothing landed.
	TokensPerLanded int        `json:"tokens_per_landed,omitempty"`
	CostPerLanded   spec.Money `json:"pico_usd_per_landed,omitempty"`
	// Result is what a run that has ended has brought; nil before.
	Result *result.Result `json:"result,omitempty"`
	// Next are the commands that continue the run or use its result, the most useful first.
	Next []advice.Way `json:"next,omitempty"`
}

// Batch is a landed batch: its newest commit and its tasks.
type Batch struct {
	Batch  int      `json:"batch"`
	Commit string   `json:"commit"`
	Tasks  []string `json:"tasks"`
}

// Role is the cost of the model calls of one role, all its attempts together.
type Role struct {
	Role  string     `json:"role"`
	Usage spec.Usage `json:"usage"`
	// Reuse is the share of the prompts that the service had cached, from 0 to 1.
	Reuse float64 `json:"reuse"`
	// Cost is by the dated prices. Unpriced counts the tokens that are not in it, because no price is known for their model.
	Cost     spec.Money `json:"pico_usd"`
	Unpriced int        `json:"unpriced,omitempty"`
}

// Gate compares a final gate with the baseline.
type Gate struct {
	Gate    string   `json:"gate"`
	Verdict string   `json:"verdict"`
	New     []string `json:"new,omitempty"`
	Known   []string `json:"known,omitempty"`
	// Appeared fail, and did not run before a task mended the gate.
	Appeared []string `json:"appeared,omitempty"`
	Fixed    []string `json:"fixed,omitempty"`
	// Error is the first error of a red gate, Output the file with its whole output.
	Error   string  `json:"error,omitempty"`
	Output  string  `json:"output,omitempty"`
	Seconds float64 `json:"seconds"`
	// Programs are those that ran it.
	Programs []spec.Program `json:"programs,omitempty"`
}

// maxNow bounds the active agents that a report names.
const maxNow = 8

// Live makes the report of a run that continues, as it stands at a time.
func Live(s *run.State, now time.Time) Report {
	r := Of(s)
	if s.Status.Ended() {
		return r
	}
	r.Times, r.Outlook, r.Next = stats.TimesAt(s, now), stats.OutlookOf(s, now), advice.Live(s)
	for _, a := range Agents(s) {
		r.Now = append(r.Now, fmt.Sprintf("%s (%s) %s", a.ID, text.Span(now.Sub(time.UnixMilli(a.Since))), a.Doing))
	}
	r.Now = text.Few(r.Now, maxNow)
	return r
}

// Of makes the report of a run from its state.
func Of(s *run.State) Report {
	r := Report{
		Run: s.Spec.Run, Goal: s.Spec.Goal, Trial: s.Spec.Trial, State: s.Status, Reason: s.Reason,
		Wait: s.Wait.For, Line: s.Line,
		Unverified: proof.UnverifiedLanded(&s.Agenda, &s.Branch), Better: proof.BetterLanded(&s.Agenda, &s.Branch),
		OneWorker: s.OneWorker(),
		Unlike:    unlikeOthers(s),
		Rounds:    roundsOf(s),
		Repo:      s.Spec.Repo, Base: s.Spec.Base, Head: s.Head,
		Ref: s.Ref, Created: s.Spec.Created, Ended: s.Ended, Last: s.Time,
		Usage: s.Usage, Roles: roleReports(s), Unmetered: s.Unmetered(), Budget: s.Budget, Executors: executors(s),
		Verdicts: verdicts(s),
		Batches:  s.Batches.Count, GateRuns: s.Batches.GateRuns, OneByOne: s.Tasks.Queued,
		Flakes: s.Proofs.Flakes(), Times: stats.TimesOf(s), Outlook: stats.OutlookOf(s, s.Time), Estimate: stats.Before(s),
		Notices: s.Notices, Decisions: decisions(s), Standing: standings(s), Doubts: doubts(s),
		Untried: Untried(s, len(s.Tasks.Order)),
		Quotas:  s.Quotas.UsedUp(time.Now()),
	}
	r.Unread, r.Told = Unread(s)
	r.NewGates, r.CI = addedGates(s), CILines(s)
	r.Result, r.Pulls = result.Of(s), pullRequests(s)
	r.Reproof, r.Quarantines, r.Next = reproof(s), quarantines(s), advice.Next(s)
	landed := 0
	r.Tasks = Tasks(s)
	for _, t := range r.Tasks {
		if t.State == run.TaskLanded {
			landed++
			if rule := s.Tasks.ByID[t.ID].Task.Rule; rule != nil && rule.Match != "" && !slices.Contains(r.Matches, rule.Match) {
				r.Matches = append(r.Matches, rule.Match)
			}
			if len(s.Tasks.ByID[t.ID].Drops) == 0 { // one that takes others out leaves what was there before them
				r.Added, r.Deleted, r.Files = r.Added+t.Added, r.Deleted+t.Deleted, r.Files+t.Files
			}
		}
	}
	if w := s.Works[run.MasterTask]; w != nil {
		t := Task{ID: run.MasterTask, Title: "Plan the run", Role: spec.RoleMaster, State: run.TaskRunning, Attempts: w.Last}
		if s.Master.Done {
			t.State = run.TaskDone
		}
		if a := w.Attempts[w.Last]; a != nil {
			t.tellHandoff(a.Result, "")
		}
		spent(s, &t, run.MasterTask)
		r.Tasks = append([]Task{t}, r.Tasks...)
	}
	for _, f := range s.Final {
		r.Gates = append(r.Gates, compareGate(s, f, s.Proofs.Before(f)))
	}
	if first := s.Batches.FirstRed(); first != nil {
		r.FirstRed = &Batch{Batch: first.Batch, Commit: first.Head, Tasks: run.Names(first.Tasks)}
	}
	if landed > 0 {
		r.TokensPerLanded, r.CostPerLanded = s.Usage.Total()/landed, r.Outlook.Cost/spec.Money(landed)
	}
	return r
}

// verdictOf words a judge's verdict.
func verdictOf(r *spec.Result) string {
	switch class := run.FaultOf(r).Class; {
	case r.Status == spec.StatusDone:
		return "pass"
	case class == wire.FaultVerdict:
		return "fail"
	case class == wire.FaultConstraint:
		return "constraint not kept"
	}
	return "no verdict"
}

// verdicts counts the verdicts of judges.
func verdicts(s *run.State) map[string]int {
	by := map[string]int{}
	for id, w := range s.Works {
		for _, a := range w.Attempts {
			if a.Result != nil && strings.HasSuffix(id, run.VerifySuffix) {
				by[verdictOf(a.Result)]++
			}
		}
	}
	return by
}

// roleReports sums the usage by role, sorted by name.
func roleReports(s *run.State) []Role {
	byRole := map[string]*Role{}
	for _, w := range s.Works {
		for n, a := range w.Attempts {
			role := w.RoleAt(n)
			r := byRole[role]
			if r == nil {
				r = &Role{Role: role}
				byRole[role] = r
			}
			sum, unpriced := stats.Cost(&s.Spec.Project, a.Calls)
			r.Usage, r.Cost, r.Unpriced = r.Usage.Add(a.Usage), r.Cost.Plus(sum), spec.Plus(r.Unpriced, unpriced)
		}
	}
	var out []Role
	for _, role := range slices.Sorted(maps.Keys(byRole)) {
		r := byRole[role]
		if r.Usage.Prompt > 0 {
			r.Reuse = float64(r.Usage.Cached) / float64(r.Usage.Prompt)
		}
		if r.Usage != (spec.Usage{}) {
			out = append(out, *r)
		}
	}
	return out
}

func compareGate(s *run.State, final spec.Receipt, base *spec.Receipt) Gate {
	g := Gate{Gate: final.Gate, Verdict: final.Verdict, Seconds: final.Duration.Seconds(), Programs: final.Programs}
	if final.Verdict != spec.VerdictPass {
		g.Error, g.Output = gate.Reason(final, base), recovery.OutputFile(&s.Spec, final.Output)
	}
	g.New = gate.NewSignatures(final, base)
	appeared := s.Proofs.Appeared(final.Gate)
	if mended := s.Proofs.Mended[final.Gate]; len(mended) > 0 {
		first := s.Proofs.Baseline[final.Gate]
		base = &first
	}
	if base != nil {
		g.Fixed = gate.NewSignatures(*base, &final)
	}
	for _, sig := range final.Signatures {
		switch {
		case slices.Contains(g.New, sig):
		case slices.Contains(appeared, sig):
			g.Appeared = append(g.Appeared, sig)
		default:
			g.Known = append(g.Known, sig)
		}
	}
	return g
}

// What a run can wait for.
const (
	OnDecision = "decision"
	OnPerson   = "person"
	OnMachine  = "machine"
	OnQuota    = "quota"
)

// Awaits returns the kind of a run's wait, one of On…, and its subject; both are "" where it waits for nothing.
func (r *Report) Awaits() (on, what string) {
	if r.State.Ended() && r.State != run.Stopped {
		return "", ""
	}
	if r.Line != "" {
		return OnPerson, "the line is stopped: " + r.Line
	}
	for _, d := range r.Decisions {
		if d.Answer == nil && d.Decider == run.ByPerson {
			return OnDecision, d.Text
		}
	}
	why, waits := strings.CutPrefix(r.Reason, run.ReasonWaits)
	halted, paused := strings.CutPrefix(r.Reason, run.ReasonHalt)
	switch {
	case r.Wait != "":
		return OnDecision, r.Wait
	case r.State == run.Stopped && waits:
		return OnDecision, why
	case len(r.Quotas) > 0:
		var all []string
		for _, q := range r.Quotas {
			all = append(all, q.String())
		}
		return OnQuota, strings.Join(all, "; ")
	case r.State == run.Stopped:
		return OnPerson, r.Reason
	case paused:
		return OnMachine, halted
	}
	return "", ""
}

// Plus words the unknown use of attempts.
var Plus = run.Plus
