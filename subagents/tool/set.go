package tool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/internal/text"

	"google.golang.org/genai"
)

// Set is the tools of one agent, ordered by name. It does not change, and may be used by several goroutines.
type Set struct {
	names []string
	tools map[string]Tool
	check map[string]*checker
	guard *Guard
}

// NewSet makes a set of the tools that names choose, of all where names is nil. The guard bounds what they return; nil
// means one without a store. The error lists every name that no tool has; two tools of one name or a schema that cannot be
// compiled are errors too.
func NewSet(guard *Guard, names []string, tools ...Tool) (*Set, error) {
	if guard == nil {
		guard = &Guard{}
	}
	s := &Set{tools: map[string]Tool{}, check: map[string]*checker{}, guard: guard}
	for _, t := range tools {
		name := t.Declaration().Name
		if _, twice := s.tools[name]; twice {
			return nil, fmt.Errorf("there are two tools %q", name)
		}
		s.tools[name] = t
	}
	known := slices.Sorted(maps.Keys(s.tools))
	if names == nil {
		names = known
	}
	s.names = slices.Compact(slices.Sorted(slices.Values(names)))
	maps.DeleteFunc(s.tools, func(name string, _ Tool) bool { return !slices.Contains(s.names, name) })
	var errs []error
	for _, name := range s.names {
		var err error
		switch t, near := s.tools[name], spec.Nearest(name, known); {
		case t != nil:
			s.check[name], err = newChecker(t)
		case near != "":
			err = fmt.Errorf("there is no tool %q (did you mean %q?)", name, near)
		default:
			err = fmt.Errorf("there is no tool %q", name)
		}
		errs = append(errs, err)
	}
	return s, errors.Join(errs...)
}

// NamesOf are the names of tools.
func NamesOf(tools []Tool) []string {
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.Declaration().Name
	}
	return names
}

// Names returns the names, sorted.
func (s *Set) Names() []string { return slices.Clone(s.names) }

// Declarations returns what the model is told, sorted by name: the same tools always give the same bytes.
func (s *Set) Declarations() []*genai.FunctionDeclaration {
	list := make([]*genai.FunctionDeclaration, len(s.names))
	for i, name := range s.names {
		list[i] = s.tools[name].Declaration()
	}
	return list
}

// Lookup finds a tool. The error names the nearest ones.
func (s *Set) Lookup(name string) (Tool, error) {
	if t, ok := s.tools[name]; ok {
		return t, nil
	}
	near := spec.NearestAll(name, s.names, 3)
	if len(near) == 0 {
		return nil, fmt.Errorf("there is no tool %q; the tools are %s", text.Short(name, 64), strings.Join(s.names, ", "))
	}
	return nil, fmt.Errorf("there is no tool %q; did you mean %s?", text.Short(name, 64), strings.Join(near, ", "))
}

// Refuse is the result of a call that is not run.
func (s *Set) Refuse(call Call, why string) Result {
	r := Failed("%s", why)
	r.Doing = s.Doing(call)
	return r
}

// Effect is the effect of a call. A call of an unknown tool counts as one that writes: what it was meant to do is not known.
func (s *Set) Effect(call Call) Effect {
	t, ok := s.tools[call.Name]
	if !ok {
		return Writes
	}
	if fitting, err := s.checked(call); err == nil {
		call = fitting
	}
	return t.Effect(call)
}

// Check returns everything that is wrong with a call as one error, or nil.
func (s *Set) Check(call Call) error {
	_, err := s.checked(call)
	return err
}

func (s *Set) checked(call Call) (Call, error) {
	if _, err := s.Lookup(call.Name); err != nil {
		return call, err
	}
	args, faults := s.check[call.Name].check(call.Args)
	if len(faults) > 0 {
		return call, errors.New(misfit(call.Name, faults))
	}
	call.Args = args
	return call, nil
}

// misfit lists what is wrong with the arguments of a call.
func misfit(name string, faults []string) string {
	const most = 30
	return fmt.Sprintf("the arguments of %s do not fit; fix:\n- ", name) + strings.Join(text.Few(faults, most), "\n- ")
}

// maxDoing bounds what people are shown of a call, in characters.
const maxDoing = 120

// Doing describes in a few words what a call is going to do.
func (s *Set) Doing(call Call) string {
	if d, ok := s.tools[call.Name].(Doer); ok {
		if doing := d.Doing(call); doing != "" {
			return text.Short(text.OneLine(doing), maxDoing)
		}
	}
	return text.Short(text.OneLine(call.Name), 64)
}

// Run checks and runs one call. It never panics and never returns more than the guard lets through; every error is a result.
func (s *Set) Run(ctx context.Context, call Call) (result Result) {
	doing := s.Doing(call)
	defer func() {
		if r := recover(); r != nil {
			result = Failed("the tool %s broke down: %v\n%s", call.Name, r, text.Short(string(debug.Stack()), 2000))
		}
		result.Doing = cmp.Or(result.Doing, doing)
		result = s.guard.Bound(ctx, call, result)
	}()
	call, err := s.checked(call)
	if err != nil {
		return Failed("%s", err)
	}
	if err := ctx.Err(); err != nil {
		return Failed("the call was not run: %v", context.Cause(ctx))
	}
	return s.tools[call.Name].Run(ctx, call)
}
