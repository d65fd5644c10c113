// Package orchestrator carries out runs for the program that embeds it: a goal or a plan on one repository, by agents in work
// trees of their own, proven by gates, landed on one new branch. It takes the documented formats as bytes (docs/plan.md,
// docs/roles.md) and yields the events of a run's log as the documented JSON (docs/log.md). It never changes the repository
// but for that branch, prints nothing, and logs to the zerolog logger of its context. It needs git in PATH, reads the keys of
// models from the environment, and on Linux starts this program again as the first process of each confined command; on other
// systems commands run with the rights of this process.
package orchestrator

import (
	"context"
	"iter"

	"github.com/rs/zerolog"

	"divisi/orchestrator/act"
	"divisi/orchestrator/client"
	"divisi/orchestrator/conduct"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/door"
	"divisi/orchestrator/twin"
)

// These describe a run, and its questions to the embedding program.
type (
	// Options describe a new run.
	Options = conduct.Options
	// ResumeOptions describe how a stopped or killed run goes on.
	ResumeOptions = conduct.ResumeOptions
	// Machine holds the resources of this process for both.
	Machine = conduct.Machine
	// File is a file in a documented format.
	File = conduct.File
	// PartialClone is a clone that lacks objects of the base commit: see Options.Fetch.
	PartialClone = conduct.PartialClone
	// Approval is a plan that a person is asked about.
	Approval = conduct.Approval
	// Answer is the person's reply.
	Answer = conduct.Answer
	// Decision must be answered before some of the work continues.
	Decision = client.Decision
	// Decisions are several, as JSON has them.
	Decisions = client.Decisions
	// Option is a way to answer a decision.
	Option = client.Option
	// Choice is the answer to a decision.
	Choice = client.Choice
	// Patch is the change of the newest attempt of a task.
	Patch = client.Patch
)

// These describe runs.
type (
	// Run is a run that this process carries out, or that it is attached to, here or on a server.
	Run = client.Run
	// Runs are the runs of one place.
	Runs = client.Runs
	// Server is a place on another machine.
	Server = depot.Server
	// Summary is how a run stands.
	Summary = client.Summary
	// Result is how a run ended.
	Result = client.Result
	// Change is how many lines of a file changed.
	Change = client.Change
	// Way is a command that continues a run or uses its result.
	Way = client.Way
	// ContextView chooses what Run.Context shows.
	ContextView = client.ContextView
	// Previewed is a plan as a run would carry it out.
	Previewed = conduct.Previewed
	// Removal says what to remove of a state directory.
	Removal = client.Removal
	// Removed is a run, or a directory, that was removed.
	Removed = client.Removed
)

// These act on a run.
type (
	// Act is one entry of the table of acts with its arguments: see Run.Act.
	Act = act.Args
	// Outcome is the result of an act.
	Outcome = act.Outcome
	// Retry is the act of that name, with what else is read here.
	Retry = conduct.Retry
)

type (
	// Page is a web page on which a person follows runs, decides and acts.
	Page = door.Page
	// PageOptions describe it.
	PageOptions = door.PageOptions
)

// Start begins a run. It returns once the run's first event is in the log; an error before leaves nothing behind. The run goes on
// until it ends or ctx does, which stops it in order. Without Wait or Close it keeps its log open until the process ends.
func Start(ctx context.Context, o Options) (*Run, error) {
	withTwin(ctx, &o.Machine)
	return conduct.Start(ctx, o)
}

// Startable reports what would keep Start from beginning a run.
func Startable(ctx context.Context, o Options) error { return conduct.Startable(ctx, o) }

// Preview expands a plan file as Start does, and reports what Start would refuse. It writes only to a temporary directory.
func Preview(ctx context.Context, o Options) (Previewed, error) { return conduct.Preview(ctx, o) }

// Resume goes on with a run, as Start does. Its state is computed from its log.
func Resume(ctx context.Context, o ResumeOptions) (*Run, error) {
	withTwin(ctx, &o.Machine)
	return conduct.Resume(ctx, o)
}

// withTwin lets a run be compared with the user's shell, and ends what a killed comparison left.
func withTwin(ctx context.Context, m *Machine) {
	m.ProveTwin = twin.Prove
	if err := twin.Clear(m.StateDir); err != nil {
		zerolog.Ctx(ctx).Warn().Err(err).Msg("a killed comparison with the shell was left")
	}
}

// Submit has the host on a server carry out a run of a repository of this machine.
func Submit(ctx context.Context, o Options, at Server) (*Run, error) {
	return conduct.Submit(ctx, o, at)
}

// ResumeOn has the host on a server go on with a run that was stopped. Of the options Budget, AllowUnverified and AllowUnread
// count.
func ResumeOn(ctx context.Context, at Server, o ResumeOptions) (*Run, error) {
	return conduct.ResumeOn(ctx, at, o)
}

// TryAgain opens tasks again that were given up. Roles and settings are read again from the files that they came from.
func TryAgain(ctx context.Context, r *Run, o Retry) (Outcome, error) {
	return conduct.TryAgain(ctx, r, o)
}

// Publish puts what has landed in a run that was stopped or cancelled into the repository, as its branch.
func Publish(ctx context.Context, r *Run) (Result, error) { return conduct.Publish(ctx, r) }

// PublishTo puts what has landed in a run that was submitted, and has ended, into a repository that has its base commit.
func PublishTo(ctx context.Context, r *Run, repo string) (Result, error) {
	return conduct.PublishTo(ctx, r, repo)
}

// Local returns the runs of a state directory on this machine.
func Local(stateDir string) Runs { return client.Local(stateDir) }

// On returns the runs of the host on a server.
func On(at Server) Runs { return client.On(at) }

// FindServer returns the server that a state directory knows under a name.
func FindServer(stateDir, name string) (Server, error) { return depot.FindServer(stateDir, name) }

// Remove removes runs of a state directory, one after the other, and yields each.
func Remove(ctx context.Context, stateDir string, what Removal) iter.Seq2[Removed, error] {
	return client.Remove(ctx, stateDir, what)
}

// RemoveOn has the host on a server remove a run that is not active. One whose branch no person has published is refused without
// unfetched.
func RemoveOn(ctx context.Context, at Server, id string, unfetched bool) (Removed, error) {
	return client.RemoveOn(ctx, at, id, unfetched)
}

// NewPage checks the options and returns a page that is not served yet.
func NewPage(ctx context.Context, o PageOptions) (*Page, error) { return door.NewPage(ctx, o) }
