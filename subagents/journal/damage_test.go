package journal

import (
	"testing"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/testkit/journaltest"
	"divisi/subagents/wire"

	"github.com/stretchr/testify/require"
)

func TestGoesOnBehindWhatItCannotRead(t *testing.T) {
	t.Parallel()
	m, subject := journaltest.New(), bus.AttemptSubject("r1", "local", "generator", "t1", 1)
	_, err := openTest(t, m).Append(t.Context(), wire.Draft(contextscope.KindStarted, wire.Started{Delivery: 3}),
		usageEvent(spec.Usage{Prompt: 3}))
	require.NoError(t, err)
	pos, err := m.AppendFiltered(t.Context(), subject, subject, []byte("garbage"), 1)
	require.NoError(t, err)
	newer := []byte(`[{"v":1,"id":"a","seq":6,"kind":"usage","data":{"prompt":4}},{"v":9,"id":"b","seq":7,"kind":"result"}]`)
	_, err = m.AppendFiltered(t.Context(), subject, subject, newer, pos)
	require.NoError(t, err)

	j := openTest(t, m)
	var seqs []int
	var kinds []contextscope.Kind
	for _, e := range j.Events() {
		seqs, kinds = append(seqs, e.Seq), append(kinds, e.Kind)
	}
	require.Equal(t, []int{1, 2, 3, 6, 7}, seqs, "numbers do not shift")
	require.Equal(t, []contextscope.Kind{
		contextscope.KindStarted, contextscope.KindUsage, contextscope.KindUnreadable, contextscope.KindUsage,
		contextscope.KindUnreadable,
	}, kinds)
	usage, err := j.Usage()
	require.NoError(t, err)
	require.Equal(t, spec.Usage{Prompt: 7}, usage)
	result, err := j.Result()
	require.NoError(t, err)
	require.Nil(t, result, "a result that cannot be read is none")
	delivery, _, err := j.Deliveries()
	require.NoError(t, err)
	require.Equal(t, 3, delivery)

	stored, err := j.Append(t.Context(), usageEvent(spec.Usage{Prompt: 1}))
	require.NoError(t, err)
	require.Equal(t, 8, stored[0].Seq)
}
