package tester

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/subagents/wire"
)

func TestRemade(t *testing.T) {
	t.Parallel()
	many := make([]string, maxWrote)
	for i := range many {
		many[i] = strconv.Itoa(i)
	}
	for name, c := range map[string]struct {
		wrote, before []string
		verdict       string
		want          bool
	}{
		"nothing":                  {nil, nil, spec.VerdictPass, false},
		"a file":                   {[]string{"a"}, nil, spec.VerdictPass, true},
		"as on the base":           {[]string{"a"}, []string{"a", "b"}, spec.VerdictPass, false},
		"as red as the base":       {[]string{"a"}, nil, spec.VerdictBaseline, true},
		"red":                      {[]string{"a"}, nil, spec.VerdictFail, false},
		"more than the list holds": {many, many, spec.VerdictPass, true},
	} {
		x := &Executor{Assignment: &wire.Assignment{}}
		r := &spec.Receipt{Verdict: c.verdict, Wrote: c.wrote}
		require.Equal(t, c.want, x.remade(r, &spec.Receipt{Wrote: c.before}), name)
		x.Assignment.Base = true
		require.False(t, x.remade(r, nil), name)
	}
}
