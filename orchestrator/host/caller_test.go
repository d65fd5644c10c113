package host

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/bus/member"
	"divisi/orchestrator/act"
	"divisi/orchestrator/call"
	"divisi/orchestrator/eventlog"
)

// What a person does through the host is told of the member that the server vouches for, whatever the request says; without
// members the request is believed, and nothing else is known.
func TestWhoAsksIsWhatTheServerVouchesFor(t *testing.T) {
	t.Parallel()
	s := newSubmitter(t)
	require.NoError(t, s.submit())
	s.pause()
	said := func(members bool, a act.Args) string {
		s.host.o.Members = nil
		if members {
			s.host.o.Members = &member.Registry{}
		}
		asked, err := act.NewRequest(a, "user:ann")
		require.NoError(t, err)
		data, err := s.host.answerer().Answer(t.Context(), bus.Message{
			Subject: "host.act.bob", Data: told(call.ConductorAct, call.Head{Run: s.last()}, asked),
		})
		require.NoError(t, err)
		require.NotContains(t, string(data), `"error"`)
		b, err := s.at.Open(t.Context(), s.last())
		require.NoError(t, err)
		defer func() { require.NoError(t, b.Close(t.Context())) }()
		last := ""
		for batch, err := range (eventlog.Log{Bus: b, Run: s.last()}).Read(t.Context(), 0) {
			require.NoError(t, err)
			for _, e := range batch.Events {
				if e.Task == "write" && strings.Contains(string(e.Data), `"by":`) {
					last = string(e.Data)
				}
			}
		}
		return last
	}
	for members, who := range map[bool]string{true: `"by":"user:bob"`, false: `"by":"user:ann"`} {
		said(members, act.Cancel{Task: "write"})
		require.Contains(t, said(members, act.Retry{Tasks: []string{"write"}}), who)
	}
}
