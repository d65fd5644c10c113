package team

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLimitsOfWorkersAreToldOnce(t *testing.T) {
	t.Parallel()
	require.Empty(t, limitLines([]workerRow{{Worker: "w1"}}))
	at := time.Date(2026, 11, 28, 12, 30, 0, 0, time.Local)
	one := workerLimit{For: "quota", Model: "m\x07", Quota: "per day", Until: at, From: "w2"}
	later := one
	later.Until = at.Add(time.Second)
	require.Equal(t, `
limit "" of m, told by worker w1, holds until 2026-11-28 12:30:00 on w1
quota "per day" of m, told by worker w2, holds until 2026-11-28 12:30:01 on w1, w2
What a worker told that may lie ends with: divisi server workers quarantine WORKER --since TIME
`, limitLines([]workerRow{
		{Worker: "w1", Limits: []workerLimit{one, {For: "limit", Model: "m", Until: at, From: "w1"}}}, {Worker: "w2", Limits: []workerLimit{later}},
	}))
}

func TestARowTellsWhatAMachineIsShortOf(t *testing.T) {
	t.Parallel()
	r := workerRow{Worker: "w1", State: "lacking", Short: "no space left on device at /w\u202e (4 KiB more are needed)"}
	cells := r.cells()
	require.Equal(t, "no space left on device at /w (4 KiB more are needed)", cells[len(cells)-1])
}
