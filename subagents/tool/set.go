package tool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sort"
	"strings"

	"divisi/internal/spec"

	"google.golang.org/genai"
)

// Set is the tools of one agent, ordered by name. It does not change, and may be used by several goroutines.
type Set struct {
	names []string
	tools map[string]Tool
	check map[string]*checker
	guard *Guard
}

// schemaTool is a Tool that checks its arguments against another schema than the one it shows.
type schemaTool interface{ argumentSchema() any }

// NewSet puts tools together. The guard bounds what they return; nil means one without a store. Two tools of one name or
// a schema that cannot be compiled are errors.
func NewSet(guard *Guard, tools ...Tool) (*Set, error) {
	if guard == nil {
		guard = &Guard{}
	}
	s := &Set{tools: map[string]Tool{}, check: map[string]*checker{}, guard: guard}
	for _, t := range tools {
		d := t.Declaration()
		if _, twice := s.tools[d.Name]; twice {
			return nil, fmt.Errorf("there are two tools %q", d.Name)
		}
		schema := d.ParametersJsonSchema
		if own, ok := t.(schemaTool); ok {
			schema = own.argumentSchema()
		}
		c, err := newChecker(d.Name, schema)
		if err != nil {
			return nil, err
		}
		s.names = append(s.names, d.Name)
		s.tools[d.Name], s.check[d.Name] = t, c
	}
	sort.Strings(s.names)
	return s, nil
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
		return nil, fmt.Errorf("there is no tool %q; the tools are %s", short(name, 64), strings.Join(s.names, ", "))
	}
	return nil, fmt.Errorf("there is no tool %q; did you mean %s?", short(name, 64), strings.Join(near, ", "))
}

// Refuse is the result of a call that is not carried out.
func (s *Set) Refuse(call Call, why string) Result {
	r := Failed("%s", why)
	r.Doing = s.Doing(call)
	return r
}

// Asks says whether a tool's calls wait for somebody's decision.
func (s *Set) Asks(name string) bool {
	_, asks := s.tools[name].(Asker)
	return asks
}

// Effect says what a call touches; a call that cannot be carried out touches nothing.
func (s *Set) Effect(call Call) Effect {
	call, err := s.checked(call)
	if err != nil {
		return Reads
	}
	return s.tools[call.Name].Effect(call)
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
		return call, errors.New(faultList(call.Name, faults))
	}
	call.Args = args
	return call, nil
}

func faultList(name string, faults []string) string {
	const most = 30
	head := fmt.Sprintf("the arguments of %s do not fit; put right:\n- ", name)
	if len(faults) > most {
		faults = append(faults[:most:most], fmt.Sprintf("and %d more", len(faults)-most))
	}
	return head + strings.Join(faults, "\n- ")
}

// Doing says in a few words what a call is going to do.
func (s *Set) Doing(call Call) string {
	if d, ok := s.tools[call.Name].(Doer); ok {
		if doing := d.Doing(call); doing != "" {
			return short(printable(doing), 120)
		}
	}
	return short(printable(call.Name), 64)
}

// Run checks and carries out one call. It never panics and never returns more than the guard lets through; every fault is
// a result.
func (s *Set) Run(ctx context.Context, call Call) (result Result) {
	doing := s.Doing(call)
	defer func() {
		if r := recover(); r != nil {
			result = Failed("the tool %s broke down: %v\n%s", call.Name, r, short(string(debug.Stack()), 2000))
		}
		result.Doing = cmp.Or(result.Doing, doing)
		result = s.guard.Bound(ctx, call, result)
	}()
	call, err := s.checked(call)
	if err != nil {
		return Failed("%s", err)
	}
	if err := ctx.Err(); err != nil {
		return Failed("the call was not carried out: %v", context.Cause(ctx))
	}
	return s.tools[call.Name].Run(ctx, call)
}
