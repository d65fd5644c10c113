package host

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/orchestrator/audit"
	"divisi/orchestrator/call"
	"divisi/orchestrator/client"
)

// A call that comes over the bus and cannot be read is in the audit, by what it calls itself; one that can is there as what it
// asks for.
func TestACallThatCannotBeReadIsInTheAudit(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	kept, err := audit.Open(path, time.Now, func(err error) { t.Error(err) })
	require.NoError(t, err)
	defer kept.Close()
	s := newSubmitter(t)
	s.host.Stop()
	s.host, err = NewHost(Options{StateDir: s.hostDir, Server: s.at, Audit: kept, Notice: func(string, string) {}})
	require.NoError(t, err)
	require.NoError(t, s.host.Start(t.Context()))
	for _, sent := range []string{
		`{`, `{"call":"act\n","body":{}}`, `{"call":"act","run":"r1","body":{"act":1}}`, `{"call":"act","run":"r1","body":{"act":"pause"}}`,
	} {
		data, err := s.host.bus.Request(t.Context(), client.ServeSubject("eve"), []byte(sent))
		require.NoError(t, err)
		require.Contains(t, string(data), `"error"`)
	}
	var found []audit.Entry
	for e, err := range audit.Read(path, time.Time{}) {
		require.NoError(t, err)
		require.NotEmpty(t, e.Refused)
		e.Time, e.Refused = time.Time{}, ""
		found = append(found, e)
	}
	by := s.host.by(&call.In{From: "eve"})
	require.Equal(t, []audit.Entry{
		{By: by, What: audit.Misasked},
		{By: by, What: audit.Misasked, Verb: "act\n"},
		{By: by, What: audit.Misasked, Run: "r1", Verb: "act"},
		{By: by, What: audit.Asked, Run: "r1", Verb: "pause"},
	}, found)
}
