package hub

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/bus/member"
)

// A member that names another version each time, and one that fits between them, is told of once a minute.
func TestWhoNamesAnyVersionIsToldOfOnce(t *testing.T) {
	t.Parallel()
	told := 0
	away := turned{notice: func(string) { told++ }, members: map[string]turnedMember{}}
	for i := range 2 * maxTurned {
		m := member.Member{Name: "liar", Role: member.Worker}
		away.met(m, bus.Version{Program: fmt.Sprint(i), Protocol: 1}, "it is old")
		away.met(m, bus.Version{Protocol: 4}, "")
	}
	require.Equal(t, 1, told)
	away.met(member.Member{Name: "other", Role: member.Worker}, bus.Version{Protocol: 1}, "it is old")
	require.Equal(t, 2, told)
}
