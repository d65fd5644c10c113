package mcpserver

import (
	"context"
	"slices"

	"divisi/internal/usage"
	"divisi/orchestrator/act"
)

// done is the outcome of an act.
type done struct {
	Outcome string `json:"outcome"`
	Started bool   `json:"started,omitempty" jsonschema:"A process was started for it, which goes on without this server."`
}

// addAct adds the tool that does an act: its arguments are those of the act, and the run.
func (s *Server) addAct(e *act.Entry) {
	takes := arguments[ofRun](tool{name: e.Name})
	own := e.Schema()
	for name, p := range own.Properties {
		if p.Type == "array" { // models write null for none
			p.Type, p.Types = "", []string{"null", "array"}
		}
		if !slices.Contains(e.NoTool, name) {
			takes.Properties[name] = p
		}
	}
	takes.Required = append(takes.Required, own.Required...)
	does := e.Help + " " + e.Undone(func(u *act.Entry) string { return u.Name })
	t := tool{name: e.Name, does: does, acts: true, loses: e.Loses, takes: takes}
	add(s, t, func(ctx context.Context, by caller, in map[string]any) (done, error) {
		run, is := in["run"].(string)
		if !is {
			return done{}, usage.Errorf("run must be a text")
		}
		delete(in, "run")
		a, err := e.With(in)
		if err != nil {
			return done{}, usage.Errorf("%v", err)
		}
		return s.act(ctx, by.by, run, a)
	})
}

// act does something to a run for a client.
func (s *Server) act(ctx context.Context, by, run string, a act.Args) (done, error) {
	if err := s.known(ctx, run); err != nil {
		return done{}, err
	}
	out, err := s.opts.Controller.Act(ctx, run, by, a)
	s.opts.Logger.Info().Err(err).Str("run", run).Str("verb", a.Act()).Str("by", by).Msg("a client acted on a run")
	return done{out.Outcome, out.Started}, err
}
