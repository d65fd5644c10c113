package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/orchestrator"
)

func TestPrinter(t *testing.T) {
	t.Parallel()
	for output, want := range map[string]struct{ out, err string }{
		"text": {"two <\nfor people\naside\n", "divisi: no\n  next\n"},
		"json": {"{\"a\":\"<\"}\n2\n\"\\u009b31m\\u202e\"\n", "aside\n{\"error\":\"no\\nnext\",\"exit_code\":4}\n"},
	} {
		var out, errs bytes.Buffer
		g := globals(&out, &errs)
		g.Output = output
		require.NoError(t, g.Print(Say("two %s\n", "<"), map[string]string{"a": "<"}, 2))
		require.NoError(t, g.Print(Say("for people\n")))
		require.NoError(t, g.Print(Say(""), "\u009b31m\u202e"))
		g.Aside("aside")
		g.printer().fail("no\nnext", CodeMachine)
		require.Equal(t, want.out, out.String(), output)
		require.Equal(t, want.err, errs.String(), output)
		out.Reset()
		err := g.Print(func(b *strings.Builder) error {
			b.WriteString("half")
			return errors.New("unreadable")
		})
		require.Equal(t, output == "text", err != nil)
		require.Empty(t, out.String())
	}
}

// A program that types a next step finds the run that the step is about.
func TestTheNextStepsOfAReportNameItsPlace(t *testing.T) {
	t.Parallel()
	g := globals(nil, nil)
	g.StateDir, g.On = `/a "b"`, "host"
	called, err := g.CallsIn(json.RawMessage(`{"goal":"divisi run","next":[{"command":"divisi resume r1","why":"a <b>"}],"more":1}`))
	require.NoError(t, err)
	var r struct {
		Goal string             `json:"goal"`
		Next []orchestrator.Way `json:"next"`
		More int                `json:"more"`
	}
	require.NoError(t, json.Unmarshal(called, &r))
	require.Equal(t, []orchestrator.Way{{Command: `divisi --state-dir '/a "b"' --on host resume r1`, Why: "a <b>"}}, r.Next)
	require.Equal(t, "divisi run", r.Goal, "words of a person stay")
	require.Equal(t, 1, r.More)
	called, err = g.CallsIn(json.RawMessage(`{"goal":"g"}`))
	require.NoError(t, err)
	require.JSONEq(t, `{"goal":"g"}`, string(called))
}
