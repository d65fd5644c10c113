package orchestrator

import (
	"encoding"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/orchestrator/act"
	"divisi/orchestrator/call"
	"divisi/orchestrator/client"
	"divisi/orchestrator/conduct"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/host"
	"divisi/orchestrator/hub"
	"divisi/orchestrator/run"
	"divisi/orchestrator/station"
	"divisi/subagents/wire"
)

var crossing = flag.Bool("crossing", false, "write the fingerprint of what crosses anew, for another number of the protocol")

// crossingFile has what crosses between machines, and the number of the protocol that it is of.
var crossingFile = filepath.Join("..", "subagents", "wire", "testdata", "crossing.txt")

// TestWhatCrossesHasANumber: formats had changed and the number had not, so that a new worker at an older server was ready, and the
// run waited without a decision.
func TestWhatCrossesHasANumber(t *testing.T) {
	t.Parallel()
	have := fmt.Sprintf("protocol %d\nevents %d\n\n%s\n%s", wire.Protocol, contextscope.EventVersion, subjectsThatCross(),
		crossed(typesThatCross()...))
	want, err := os.ReadFile(crossingFile)
	require.NoError(t, err)
	number := fmt.Sprintf("protocol %d\n", wire.Protocol)
	if *crossing && !strings.HasPrefix(string(want), number) {
		require.NoError(t, os.WriteFile(crossingFile, []byte(have), 0o600))
		return
	}
	require.Empty(t, changed(string(want), have), "what crosses between machines has changed. Raise Protocol in subagents/wire/protocol.go (and oldest "+
		"there, unless a program of before reads what crosses now as it is meant), say there what has changed, keep a fixture of the "+
		"format before where the new program reads it, then: go test ./orchestrator -run TestWhatCrossesHasANumber -crossing")
}

// changed lists the parts that two fingerprints do not have in common.
func changed(before, after string) (parts []string) {
	was, is := strings.Split(before, "\n\n"), strings.Split(after, "\n\n")
	for _, part := range append(slices.Clone(was), is...) {
		if !slices.Contains(was, part) || !slices.Contains(is, part) {
			parts = append(parts, part)
		}
	}
	return parts
}

// typesThatCross are the messages, events and sealed objects that a process on another machine reads.
func typesThatCross() (all []any) {
	for _, e := range act.All() {
		all = append(all, e.Args)
	}
	return append(all, slices.Concat(bodies(conduct.ConductorCalls), bodies(host.Calls), bodies(hub.KeeperCalls), bodies(station.WorkerCalls), []any{
		call.In{},
		call.Answer{},
		depot.Order{},
		host.Known{},
		act.Changed{},
		run.Data{},
		wire.Assignment{},
		wire.Setup{},
		wire.Mandate{},
		wire.Control{},
		wire.Conducting{},
		wire.Presence{},
		contextscope.Event{},
		contextscope.Compaction{},
		spec.Plan{},
		wire.Baseline{},
		wire.Started{},
		wire.Turn{},
		wire.Tooled{},
		wire.Calls{},
		wire.Request{},
		wire.Answer{},
		wire.Steered{},
		wire.Nudge{},
		wire.ServerTools{},
		wire.Unanswered{},
		wire.Spent{},
		wire.Progress{},
		wire.Unreadable{},
		spec.Receipt{},
		spec.Result{},
		spec.Fault{},
	})...)
}

func subjectsThatCross() string {
	return strings.Join([]string{
		bus.TaskSubject("role", "run", "task"), bus.ConductorSubject("run", "kind"), bus.AttemptSubject("run", "worker", "role", "task", 1),
		bus.AttemptFilter("run", "role", "task", 1), bus.ControlSubject("run"), bus.RequestSubject("run", "who"), bus.ActiveSubject("run"),
		bus.WorkerPresence("worker"), bus.RunPresence("run"), bus.PresenceAsk(), bus.CallSubject("run", "worker"), bus.RecallSubject("run"),
		bus.LimitsSubject("worker"), bus.FreedSubject("worker"), bus.WorkerControl("worker"), client.ServeSubject("who"), client.ReadSubject("who"),
		client.ViewSubject("who"), hub.CredsSubject, "lease " + host.LeaseName, calls(conduct.ConductorCalls), calls(host.Calls), calls(hub.KeeperCalls),
		calls(station.WorkerCalls), "",
	}, "\n")
}

// bodies are the types of the bodies and results of a table.
func bodies[S any](t call.Table[S]) (types []any) {
	for _, e := range t {
		types = append(types, e.Body, e.Result)
	}
	return types
}

// calls describes the calls of a table.
func calls[S any](t call.Table[S]) string {
	text := ""
	for _, name := range slices.Sorted(maps.Keys(t)) {
		text += fmt.Sprintf("call %s %T %T\n", name, t[name].Body, t[name].Result)
	}
	return text
}

// crossed describes types as they are encoded, with all of this program that they are made of.
func crossed(roots ...any) string {
	c := crossings{}
	for _, root := range roots {
		c.name(reflect.TypeOf(root))
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(c)) {
		b.WriteString("\n" + name + " " + c[name] + "\n")
	}
	return b.String()
}

// crossings has a description for each named type.
type crossings map[string]string

// name returns what a type is called in a description, and describes it first where it is of this program.
func (c crossings) name(t reflect.Type) string {
	switch {
	case t.PkgPath() == "":
		return c.shape(t)
	case !strings.HasPrefix(t.PkgPath(), "divisi/"):
		return t.PkgPath() + "." + t.Name()
	}
	name := strings.TrimPrefix(t.PkgPath(), "divisi/") + "." + t.Name()
	if _, known := c[name]; known {
		return name
	}
	c[name] = "" // it may be made of itself
	for _, own := range []reflect.Type{reflect.TypeFor[json.Marshaler](), reflect.TypeFor[encoding.TextMarshaler]()} {
		if reflect.PointerTo(t).Implements(own) {
			c[name] = "as " + own.Name() + " of "
		}
	}
	c[name] += c.shape(t)
	return name
}

func (c crossings) shape(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return "*" + c.name(t.Elem())
	case reflect.Slice:
		return "[]" + c.name(t.Elem())
	case reflect.Array:
		return fmt.Sprintf("[%d]%s", t.Len(), c.name(t.Elem()))
	case reflect.Map:
		return "map[" + c.name(t.Key()) + "]" + c.name(t.Elem())
	case reflect.Struct:
		var fields []string
		for f := range t.Fields() {
			tag := f.Tag.Get("json")
			if tag == "-" || !f.IsExported() && !f.Anonymous {
				continue
			}
			fields = append(fields, "\t"+f.Name+" "+c.name(f.Type)+" "+tag)
		}
		return "{\n" + strings.Join(fields, "\n") + "\n}"
	default:
		return t.Kind().String()
	}
}

// A field, its tag, and what is behind a pointer are part of the fingerprint.
func TestAFingerprintChangesWithTheTypes(t *testing.T) {
	t.Parallel()
	type inner struct{ A int }
	type other struct{ B int }
	seen := map[string]any{}
	for _, v := range []any{
		struct{ X int }{},
		struct{ X string }{},
		struct{ Y int }{},
		struct {
			X int `json:"x"`
		}{},
		struct {
			X int `json:"x,omitempty"`
		}{},
		struct{ X *inner }{},
		struct{ X []inner }{},
		struct{ X map[string]inner }{},
		struct{ X map[string]other }{},
		struct{ X [2]int }{},
	} {
		c := crossings{}
		text := c.name(reflect.TypeOf(v)) + fmt.Sprint(map[string]string(c))
		require.Nil(t, seen[text], "%T is as %T", v, seen[text])
		seen[text] = v
	}
	require.Contains(t, crossed(wire.Assignment{}), "internal/spec.Task {")
	require.NotContains(t, crossed(call.In{}), "\tFrom ", "what is not sent is no part of it")
}
