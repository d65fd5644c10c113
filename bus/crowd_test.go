package bus

import (
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestCrowd: what each row's connections leave when they have come one after the other, and who went.
func TestCrowd(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		oldest bool
		come   string // one letter for each: its party
		gone   []int  // which of them went, in turn
	}{
		"room for all":                        {true, "abcde", nil},
		"the oldest of an address goes":       {true, "aaaaa", []int{0, 1}},
		"the newest of a member goes":         {false, "aaaaa", []int{3, 4}},
		"another address keeps its place":     {true, "baaaaaab", []int{1, 2, 3}},
		"the one with most makes room":        {true, "abbbcdefg", []int{1, 2, 0}},
		"of equals the oldest":                {true, "abcdefgh", []int{0, 1}},
		"a member with most makes room":       {false, "abbbcde", []int{3}},
		"the newest of a crowd is the newest": {false, "aaabbbb", []int{6}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := crowd{each: 3, most: 6, oldest: tt.oldest}
			all, gone := map[*guest]int{}, []int(nil)
			for i, party := range tt.come {
				g := &guest{party: string(party)}
				all[g] = i
				if went := c.enter(g); went != nil {
					gone = append(gone, all[went])
				}
			}
			require.Equal(t, tt.gone, gone)
			for g := range all {
				c.leave(g)
			}
			require.Zero(t, c.count)
			require.Empty(t, c.by)
		})
	}
}

// TestAddressOf: one machine that has a whole network of IPv6 counts once.
func TestAddressOf(t *testing.T) {
	t.Parallel()
	for of, want := range map[string]string{
		"127.0.0.2:80": "127.0.0.2", "[::ffff:10.1.2.3]:80": "10.1.2.3", "[2001:db8::1:2:3:4]:80": "2001:db8::/64",
		"[2001:db8::9]:80": "2001:db8::/64", "[fe80::1%lo]:80": "fe80::/64",
	} {
		at, err := net.ResolveTCPAddr("tcp", of)
		require.NoError(t, err)
		require.Equal(t, want, addressOf(at), of)
	}
}

// TestTally: a thousand times within a minute are one line, and the rest is told when the minute is over, or at the end.
func TestTally(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		told := make(chan string, 10)
		tally := tally{tell: func(times int, last string) { told <- fmt.Sprint(times, " ", last) }}
		for i := range 1000 {
			tally.add(fmt.Sprint("n", i))
		}
		require.Equal(t, "1 n0", <-told)
		require.Empty(t, told)
		<-time.After(tallyEvery + time.Second)
		require.Equal(t, "999 n999", <-told)
		tally.add("later")
		<-time.After(3 * tallyEvery)
		require.Equal(t, "1 later", <-told)
		tally.add("much later")
		tally.add("last")
		tally.close()
		tally.add("behind the end")
		require.Equal(t, "1 much later", <-told)
		require.Equal(t, "1 last", <-told)
		require.Empty(t, told)
	})
}
