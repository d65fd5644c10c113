package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPrinter(t *testing.T) {
	t.Parallel()
	for output, want := range map[string]struct{ out, err string }{
		"text": {"two <\nfor people\naside\n", "divisi: no\n  next\n"},
		"json": {"{\"a\":\"<\"}\n2\n", "aside\n{\"error\":\"no\\nnext\",\"exit_code\":4}\n"},
	} {
		var out, errs bytes.Buffer
		g := &globals{out: &out, err: &errs}
		newRoot(g)
		g.output = output
		require.NoError(t, g.print(say("two %s\n", "<"), map[string]string{"a": "<"}, 2))
		require.NoError(t, g.print(say("for people\n")))
		g.printer().aside("aside")
		g.printer().fail("no\nnext", codeMachine)
		require.Equal(t, want.out, out.String(), output)
		require.Equal(t, want.err, errs.String(), output)
		out.Reset()
		err := g.print(func(b *strings.Builder) error {
			b.WriteString("half")
			return errors.New("unreadable")
		})
		require.Equal(t, output == "text", err != nil)
		require.Empty(t, out.String())
	}
}
