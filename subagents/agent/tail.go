package agent

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"divisi/contextscope"
	"divisi/contextscope/compile"
	"divisi/contextscope/memory"
	"divisi/internal/spec"
	"divisi/subagents/journal"
	"divisi/subagents/limit"
	"divisi/subagents/wire"

	"google.golang.org/genai"
)

// tail gathers what the next request has beyond everything that stays. All of it but the memory follows from the log.
func (a *Agent) tail(ctx context.Context) (compile.Tail, error) {
	t := tailOf(a.session, a.Bounds, a.named)
	var err error
	if t.Loaded, err = loaded(ctx, a.Journal.Objects(), a.session.loads); err != nil {
		return t, err
	}
	t.Recall = a.recall(ctx)
	return t, nil
}

// tailOf is the part of a tail that the session alone decides. named are the values that the instruction names.
func tailOf(s *session, b limit.Bounds, named []string) compile.Tail {
	t := compile.Tail{Artifacts: s.kept}
	turn := s.calls + 1
	values := []compile.Value{
		{Name: "turn", Text: strconv.Itoa(turn)}, {Name: "turns_left", Text: strconv.Itoa(max(0, b.Turns-turn))},
	}
	words := fmt.Sprintf("This is turn %d of at most %d.", turn, b.Turns)
	left := "no limit"
	if b.Tokens > 0 {
		left = strconv.Itoa(max(0, b.Tokens-s.usage.Total()))
		words += fmt.Sprintf(" %s of %d tokens are left.", left, b.Tokens)
	}
	for _, v := range append(values, compile.Value{Name: "tokens_left", Text: left}) {
		if slices.Contains(named, v.Name) {
			t.Values = append(t.Values, v)
		}
	}
	t.Reminders = []string{words}
	return t
}

// named lists what an instruction names.
func named(instruction string) []string {
	template, _ := spec.ParseTemplate(instruction) // its problems were told when the role was loaded
	var names []string
	for _, key := range template.Keys() {
		names = append(names, key.Name)
	}
	return names
}

// loaded fetches what the newest turn asked for with load_artifact.
func loaded(ctx context.Context, objects journal.Objects, loads []wire.Load) ([]compile.Loaded, error) {
	out := make([]compile.Loaded, 0, len(loads))
	for _, l := range loads {
		text, err := objects.Get(ctx, l.Object)
		if err != nil {
			return nil, fmt.Errorf("get %s, which was asked for: %w", l.Handle, err)
		}
		out = append(out, compile.Loaded{Handle: l.Handle, What: l.What, Text: string(text)})
	}
	return out, nil
}

// recall finds memory for the turn. What goes wrong is logged: no memory is no reason to stop.
func (a *Agent) recall(ctx context.Context) []contextscope.Recalled {
	most := a.Input.Role.Context.WithDefaults().RecallTokens
	if a.Memory == nil || most == 0 {
		return nil
	}
	query := memory.RecallQuery(a.Input.Brief, a.events, a.Input.Brief.Task.Files)
	notes, faults := a.Memory.Recall(ctx, query, most)
	for _, f := range faults {
		a.Log.Warn().Str("fault", f).Msg("memory could not be searched")
	}
	return notes
}

// declared are the declarations of the tools that can be used now. The tools of the memory are declared where there were
// notes when the delivery began. load_artifact is declared from the start where the agent begins with anything that can
// name a handle, else from the first event that does. Declarations begin every request, so that they change at no other
// point.
func declared(all []*genai.FunctionDeclaration, in *compile.Input, s *session) []*genai.FunctionDeclaration {
	return slices.DeleteFunc(slices.Clone(all), func(d *genai.FunctionDeclaration) bool {
		switch d.Name {
		case spec.ToolLoadMemory, spec.ToolSaveMemory:
			return !s.notes
		case spec.ToolLoadArtifact:
			return !s.handles && !beginsWithHandles(in)
		}
		return false
	})
}

// beginsWithHandles reports whether an agent's first requests can name handles: it inherits events, handoffs or earlier
// attempts, or its role replaces results by handles.
func beginsWithHandles(in *compile.Input) bool {
	b, rules := &in.Brief, &in.Role.Context
	return len(in.Events)+len(in.Slice.Events)+len(b.Inputs)+len(b.Prior)+len(rules.DropTools)+rules.DropAfter > 0
}
