package run

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/subagents/wire"
)

// The same mistake of three shards is one shape, whatever their paths, packages and names; another mistake is another one.
func TestTheSameFailureOfTwoShardsHasTheSameShape(t *testing.T) {
	t.Parallel()
	type shard struct {
		files      []string
		signatures []string
	}
	for name, c := range map[string]struct {
		shards []shard
		want   []string
	}{
		"go, what does not build": {[]shard{
			{[]string{"svc/orders/orders.go"}, []string{
				"build: build: svc/orders/orders.go: undefined: legacy.LoadRecord", "test: build: package example.com/m/svc/orders",
			}},
			{[]string{"svc/invoice/a.go", "svc/invoice/b.go"}, []string{
				"build: build: svc/invoice/b.go: undefined: legacy.LoadRecord", "test: FAIL example.com/m/svc/invoice [build failed]",
			}},
			{[]string{"legacyuser/u.go"}, []string{"build: build: legacyuser/u_test.go: undefined: legacy.LoadRecord"}},
		}, []string{"build: build: ·: undefined: legacy.LoadRecord"}},
		"go, a test named after its package": {[]shard{
			{[]string{"svc/orders/orders.go"}, []string{"test: test: example.com/m/svc/orders TestOrdersRoundTrip"}},
			{[]string{"svc/line_items/x.go"}, []string{"test: test: example.com/m/svc/line_items TestLineItemsRoundTrip"}},
		}, []string{"test: test: · Test·RoundTrip"}},
		"go, a test that all share": {[]shard{
			{[]string{"a/a.go"}, []string{"test: test: example.com/m/golden TestGolden"}},
			{[]string{"b/b.go"}, []string{"test: test: example.com/m/golden TestGolden"}},
		}, []string{"test: test: example.com/m/golden TestGolden"}},
		"typescript": {[]shard{
			{[]string{"src/orders/orderList.ts"}, []string{
				"tsc: src/orders/orderList.ts: error TS2305: Module '../legacy' has no exported member 'load'.",
			}},
			{[]string{"src/users/userCard.ts"}, []string{
				"tsc: src/users/userCard.ts: error TS2305: Module '../legacy' has no exported member 'load'.",
			}},
		}, []string{"tsc: ·: error TS2305: Module '../legacy' has no exported member 'load'."}},
		"vitest": {[]shard{
			{[]string{"src/order.ts"}, []string{"test: test: src/order.test.ts > Order > is loaded"}},
			{[]string{"src/user.ts"}, []string{"test: test: src/user.test.ts > User > is loaded"}},
		}, []string{"test: test: · > · > is loaded"}},
		"pytest": {[]shard{
			{[]string{"app/orders.py"}, []string{"test: test: tests/test_orders.py::test_load[N-x]"}},
			{[]string{"app/users.py"}, []string{"test: test: tests/test_users.py::test_load[N-x]"}},
		}, []string{"test: test: tests/test_·.py::test_load[N-x]"}},
		"what still matches": {[]shard{
			{[]string{"pkg/f10.txt"}, []string{"remaining: pkg/f10.txt"}}, {[]string{"pkg/f11.txt"}, []string{"remaining: pkg/f11.txt"}},
		}, []string{"remaining: ·"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, s := range c.shards {
				class := wire.FaultGate
				if strings.HasPrefix(s.signatures[0], wire.FaultRemaining) {
					class = wire.FaultRemaining
				}
				got := shapes(&spec.Task{Files: s.files}, spec.Fault{Class: class, Signatures: s.signatures})
				require.Equal(t, c.want, got)
			}
		})
	}
}

func TestAFaultWithoutSignaturesHasItsClassAndMessageAsShape(t *testing.T) {
	t.Parallel()
	of := func(file, class, message string) []string {
		return shapes(&spec.Task{Files: []string{file}}, spec.Fault{Class: class, Message: message})
	}
	require.Equal(t, of("a/one.go", wire.FaultWriteSet, "c/x.go is outside this task's write set: a/one.go (and 2 more of 3 changed files)"),
		of("b/two.go", wire.FaultWriteSet, "d/y.go is outside this task's write set: b/two.go"))
	require.Equal(t, of("svc/orders/one.go", wire.FaultRejected, "the patch was rejected: svc/orders/one.go has 1 test less"),
		of("svc/users/two.go", wire.FaultRejected, "the patch was rejected: svc/users/two.go has 3 test less"))
	require.NotEqual(t, of("a/one.go", wire.FaultRejected, "x"), of("a/one.go", wire.FaultVerdict, "x"))
	require.Empty(t, of("a/one.go", wire.FaultConflict, "met"), "it concerns one attempt")
	follows := spec.Fault{Class: wire.FaultGate, Signatures: []string{"test: build: package m/a"}}
	require.Empty(t, shapes(&spec.Task{Files: []string{"a/one.go"}}, follows))
}
