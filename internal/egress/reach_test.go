package egress

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What the owner of a machine names can be reached, in each protocol, and nothing else.
func TestReach(t *testing.T) {
	t.Parallel()
	names := map[string][]string{
		"a.example": {site}, "b.example": {site}, "x.c.example": {site}, "c.example": {site},
		"inside.example": {"10.2.3.4"}, "rebound.a.example": {site, "10.9.9.9"}, "localhost": {"127.0.0.1"}, "meta.example": {"169.254.169.254"},
	}
	for reach, want := range map[string]string{
		"":                            "",
		"a.example":                   "a.example A.Example. ",
		"*.c.example":                 "x.c.example ",
		"*":                           "a.example A.Example. b.example x.c.example c.example " + site + " ",
		"10.2.0.0/16":                 "inside.example 10.2.3.4 ",
		"10.2.3.4":                    "10.2.3.4 ",
		"inside.example":              "",
		"inside.example 10.2.0.0/16":  "inside.example 10.2.3.4 ",
		"localhost":                   "localhost 127.0.0.1 ",
		"169.254.0.0/16 meta.example": "",
	} {
		for _, way := range ways {
			w := start(t, true, hello(t), names)
			w.hosts = append(Reach{}, strings.Fields(reach)...)
			w.loopback = strings.Contains(reach, Localhost)
			got := ""
			for _, host := range []string{
				"a.example", "A.Example.", "b.example", "x.c.example", "c.example", "rebound.a.example", "inside.example", "meta.example",
				site, "10.2.3.4", "192.168.1.1", "[fd00::1]", "[::ffff:10.9.9.9]", "[64:ff9b::a09:909]", "169.254.169.254", "localhost", "127.0.0.1",
			} {
				w.names(host, names)
				if status, _, err := w.get(t, way, host); err == nil && status == http.StatusOK {
					got += host + " "
				}
			}
			require.Equal(t, want, got, "%q %s", reach, way)
		}
	}
}

// A role names some of the hosts that the owner grants; it never adds one.
func TestHostsOfARole(t *testing.T) {
	t.Parallel()
	names := map[string][]string{"a.example": {site}, "b.example": {site}, "inside.example": {"10.2.3.4"}, "localhost": {"127.0.0.1"}}
	for _, c := range []struct{ owner, role, want string }{
		{"any", "", "a.example b.example inside.example localhost 127.0.0.1 "},
		{"any", "a.example", "a.example "},
		{"any", "*.example", "a.example b.example inside.example "},
		{"any", "127.0.0.1", "127.0.0.1 "}, // a name that is not there is not looked up
		{"any", "10.0.0.0/8 localhost", "inside.example localhost 127.0.0.1 "},
		{"b.example", "a.example b.example", "b.example "},
		{"b.example", "a.example", ""},
	} {
		for _, way := range ways {
			w := start(t, true, hello(t), names)
			if c.owner != "any" {
				w.hosts = Reach{c.owner}
			}
			if c.role != "" {
				w.named = strings.Fields(c.role)
			}
			got := ""
			for _, host := range []string{"a.example", "b.example", "inside.example", "localhost", "127.0.0.1"} {
				if status, _, err := w.get(t, way, host); err == nil && status == http.StatusOK {
					got += host + " "
				}
			}
			require.Equal(t, c.want, got, "%+v %s", c, way)
		}
	}
	w := start(t, false, "", nil)
	w.named = Reach{"a.example"}
	_, err := w.check(t.Context(), "b.example")
	require.EqualError(t, err, "Divisi refuses b.example: it is not among the hosts that the role of this command names")
	require.NoError(t, w.mayForward(t.Context(), "a.example"), "your proxy may know it")
	require.Error(t, w.mayForward(t.Context(), "c.example"))
}

// names has a host of another spelling resolve as the resolver of a machine does.
func (w *world) names(host string, names map[string][]string) {
	plain := strings.ToLower(strings.TrimSuffix(host, "."))
	if list, known := names[plain]; known {
		names[host] = list
	}
}

func TestReachOfAddressesInOtherNotations(t *testing.T) {
	t.Parallel()
	r := Reach{"10.2.0.0/16", "*"}
	for a, allowed := range map[string]bool{
		"10.2.1.1": true, "::ffff:10.2.1.1": true, "64:ff9b::a02:101": true, "10.3.0.1": false, "::ffff:10.3.0.1": false,
		"64:ff9b::a03:1": false, "100.64.0.1": false, "172.31.0.1": false, "fd12::1": false, "198.51.100.7": true,
	} {
		require.Equal(t, allowed, r.refuses("h.example", []netip.Addr{netip.MustParseAddr(a)}) == "", a)
		require.Equal(t, allowed && a != "198.51.100.7", r.Names(a), a)
	}
	require.False(t, Reach{AnyHost}.Names("inside.example"), "its name may lead to a private address")
	require.True(t, Reach{"*.example"}.Names("inside.example"))
	for _, host := range []string{"169.254.169.254", "metadata.google.internal", "nas.localdomain", "127.0.0.1"} {
		require.False(t, Reach{"169.254.0.0/16", "*.internal", "*.localdomain", "*"}.Names(host), host)
	}
	require.NotEmpty(t, Reach{Localhost}.refuses("nas.localdomain", []netip.Addr{netip.MustParseAddr("192.168.1.5")}))
	require.Empty(t, Reach(nil).refuses("h", []netip.Addr{netip.MustParseAddr("10.3.0.1")}), "without a list nothing changes")
}

// A name that is not permitted is not looked up: the question alone would tell something to who answers it.
func TestNoNameIsLookedUpThatIsNotNamed(t *testing.T) {
	t.Parallel()
	w := start(t, false, hello(t), nil)
	w.hosts, w.resolve = Reach{"a.example"}, nil
	for _, way := range ways {
		status, _, err := w.get(t, way, "secret-of-the-repository.evil.example")
		require.True(t, err != nil || status == http.StatusForbidden)
	}
	require.Contains(t, w.Refused()[0].Why, "not among the hosts")
}
