package commands

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"

	"divisi/internal/testkit/tooltest"
)

func newBench(t testing.TB, change func(*Config)) *tooltest.Bench {
	t.Helper()
	c := Config{Runner: fakeRunner(nil), Gates: fakeGates{}}
	if change != nil {
		change(&c)
	}
	return (&tooltest.Bench{T: t}).Use(Tools(c)...)
}

// fakeRunner is a function as a Runner; nil answers with what it was asked.
type fakeRunner func(Command) (Output, error)

func (f fakeRunner) Run(_ context.Context, c Command) (Output, error) {
	if f == nil {
		return Output{Text: c.Shell}, nil
	}
	return f(c)
}

// fakeGates are gates by name.
type fakeGates map[string]GateRun

func (f fakeGates) Names() []string { return slices.Sorted(maps.Keys(f)) }

func (f fakeGates) Run(_ context.Context, name string) (GateRun, error) {
	r := f[name]
	if len(r.Command) == 0 {
		return r, errors.New("no such program")
	}
	r.Gate = name
	return r, nil
}
