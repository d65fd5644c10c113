package mcpserver

import (
	"context"
	"errors"
	"strings"

	"divisi/internal/usage"
)

// maxGoal bounds a goal, in bytes: it is one argument of a process.
const maxGoal = 64 << 10

// Work describes a new run: a goal for a master that plans, or a plan file, with role files of the repository and a coding agent
// that the client names. Zero numbers are the project's.
type Work struct {
	Plan, Goal, Agent string
	Roles             []string
	Base              string
	Budget            int
	Dollars           float64
	Parallel          int
}

type work struct {
	Plan     string   `json:"plan,omitempty" jsonschema:"A plan file (YAML), as a path in the repository. Either a plan or a goal is needed."`
	Goal     string   `json:"goal,omitempty" jsonschema:"The goal, in words: a master agent reads the code and plans, and the plan waits for approval."`
	Agent    string   `json:"agent,omitempty" jsonschema:"A coding agent of the person that plans and does the work in the place of models, with its own key."`
	Roles    []string `json:"roles,omitempty" jsonschema:"Role files of the repository, by their paths in it, which may have secrets and the network: a person must agree to them."`
	Base     string   `json:"base,omitempty" jsonschema:"The commit to start from, such as HEAD; left out, the commit that is checked out, and a checkout with changes that are not committed is refused."`
	Budget   int      `json:"budget,omitempty" jsonschema:"The run stops after this many tokens, and can be resumed; 0 for the project's."`
	Dollars  float64  `json:"budget_usd,omitempty" jsonschema:"The budget in dollars, in the place of one in tokens."`
	Parallel int      `json:"parallel,omitempty" jsonschema:"Agents at once; 0 for the project's."`
}

type started struct {
	Run string `json:"run" jsonschema:"The id of the run. Its process goes on without this server."`
}

// start begins a run.
func (s *Server) start(ctx context.Context, by caller, in work) (started, error) {
	if err := in.check(); err != nil {
		return started{}, err
	}
	run, err := s.opts.Start(ctx, Work(in))
	s.opts.Logger.Info().Err(err).Str("run", run).Str("by", by.by).Msg("a client started a run")
	return started{run}, err
}

func (w *work) check() error {
	for what, value := range map[string]string{"plan": w.Plan, "base": w.Base} {
		if err := within(what, value, maxName); err != nil {
			return err
		}
	}
	switch {
	case w.Goal == "" && w.Plan == "":
		return usage.Errorf("give a goal or a plan")
	case w.Goal != "" && w.Plan != "":
		return usage.Errorf("give a goal or a plan, and not both: a plan file names its own goal")
	case w.Budget < 0 || w.Dollars < 0 || w.Parallel < 0:
		return usage.Errorf("budget and parallel cannot be negative")
	}
	return errors.Join(within("goal", w.Goal, maxGoal), fewRoles(w.Roles))
}

// fewRoles refuses a list of role files that no form can show.
func fewRoles(names []string) error {
	if len(names) > maxFew {
		return usage.Errorf("roles has %d files; at most %d are allowed", len(names), maxFew)
	}
	return within("roles", strings.Join(names, " "), maxName)
}
