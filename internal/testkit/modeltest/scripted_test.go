package modeltest

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"divisi/internal/model"
	"divisi/internal/testkit/geminitest"
)

// A dependency of the SDK starts a worker when it is loaded and never stops it.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

func TestScriptedConforms(t *testing.T) {
	t.Parallel()
	mk := func(t *testing.T, script string) model.Model {
		t.Helper()
		m, err := FromYAML(script)
		require.NoError(t, err)
		t.Cleanup(func() { require.Empty(t, m.Violations()) })
		return m
	}
	Conformance(t, mk)
	Signatures(t, mk)
}

func TestScriptedIsStrict(t *testing.T) {
	t.Parallel()
	m, err := FromYAML(`rules: [{steps: [{calls: [{name: read}]}, {text: done}]}]`)
	require.NoError(t, err)
	req := Ask("t", "go")
	res, fault := Collect(t.Context(), m, req)
	require.Nil(t, fault)
	res.Content.Parts[0].ThoughtSignature = nil
	req.Contents, req.Meta.Turn = append(req.Contents, res.Content, Respond(res.Content)), 2
	_, fault = Collect(t.Context(), m, req)
	require.Equal(t, model.Invalid, fault.Class)
	require.Len(t, m.Violations(), 1)
	require.Contains(t, m.Violations()[0].Reason, "missing a thought_signature")
}

func TestScriptedDelaysInABubble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := New(geminitest.Options{Delay: time.Hour, Handle: func(r geminitest.Request) geminitest.Answer {
			return geminitest.Answer{Text: "task " + r.Task}
		}})
		began := time.Now()
		res, err := Collect(t.Context(), m, Ask("x", "go"))
		require.Nil(t, err)
		require.Equal(t, "task x", res.Content.Parts[0].Text)
		require.Equal(t, time.Hour, time.Since(began))
		require.Len(t, m.Requests(), 1)
	})
}

func TestFromYAMLRefusesAFaultyScript(t *testing.T) {
	t.Parallel()
	_, err := FromYAML("rules: [{steps: [{txt: hi}]}]")
	require.ErrorContains(t, err, "txt")
}
