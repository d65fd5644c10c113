package agent

import (
	"slices"

	"divisi/contextscope/compile"
	"divisi/internal/spec"

	"google.golang.org/genai"
)

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
