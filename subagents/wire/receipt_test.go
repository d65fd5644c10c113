package wire

import (
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"divisi/internal/spec"

	"github.com/stretchr/testify/require"
)

func TestAReceiptIsWhatItsWorkerSigned(t *testing.T) {
	t.Parallel()
	public, key, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	other, _, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	keys := map[string][]byte{"a": public, "b": other, "short": public[:7]}
	r := spec.Receipt{Gate: "test", Tree: "t", Environment: "e", Verdict: spec.VerdictFail, Tail: "a\xff\u2028<b>", Signatures: []string{}}
	require.NoError(t, Sign("r1", "a", key, &r))
	require.NoError(t, Verify("r1", keys, r))
	data, err := json.Marshal(r)
	require.NoError(t, err)
	var read spec.Receipt
	require.NoError(t, json.Unmarshal(data, &read))
	require.NoError(t, Verify("r1", keys, read), "also as the log gives it back")

	for want, change := range map[string]func(*spec.Receipt){
		"it differs from the receipt that worker a signed in this run":               func(r *spec.Receipt) { r.Verdict = spec.VerdictPass },
		"it differs from the receipt that worker a signed in this run, another tree": func(r *spec.Receipt) { r.Tree = "u" },
		"it differs from the receipt that worker a signed in this run, a cut one":    func(r *spec.Receipt) { r.Signature = r.Signature[:9] },
		"it differs from the receipt that worker b signed in this run":               func(r *spec.Receipt) { r.Worker = "b" },
		`the run knows no key of worker "c"`:                                         func(r *spec.Receipt) { r.Worker = "c" },
		`the run knows no key of worker "short"`:                                     func(r *spec.Receipt) { r.Worker = "short" },
		"no worker has signed it":                                                    func(r *spec.Receipt) { r.Signature = nil },
		"no worker has signed it, and none is named":                                 func(r *spec.Receipt) { r.Worker = "" },
	} {
		forged := read
		change(&forged)
		err := Verify("r1", keys, forged)
		require.Error(t, err)
		require.Contains(t, want, err.Error())
	}
	require.Error(t, Verify("r2", keys, read), "a receipt of another run")
}

// The fixture is what a program has signed that did not count.
func TestReceiptsOfOtherVersions(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/receipt_version_0.json")
	require.NoError(t, err)
	var r spec.Receipt
	require.NoError(t, json.Unmarshal(data, &r))
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	require.NoError(t, Verify("r1", map[string][]byte{"a": key.Public().(ed25519.PublicKey)}, r))
	problems := func() []spec.Problem {
		result := spec.Result{Task: "--batch-1", Attempt: 1, Delivery: 1, Status: spec.StatusDone, Receipts: []spec.Receipt{r}}
		return result.Validate()
	}
	require.Empty(t, problems())
	r.Version = spec.ReceiptVersion + 1
	require.Contains(t, fmt.Sprint(problems()), "a newer program has made it: version 4, this program reads up to 3; update this program")
}

// The fixture is what a worker of protocol 13 has signed: it names no object with findings.
func TestAReceiptWithoutItsFindings(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/receipt-13.json")
	require.NoError(t, err)
	var r spec.Receipt
	require.NoError(t, json.Unmarshal(data, &r))
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	require.NoError(t, Verify("r1", map[string][]byte{"a": key.Public().(ed25519.PublicKey)}, r))
	require.Empty(t, r.Findings)
	r.Findings = "findings-x"
	require.Error(t, Verify("r1", map[string][]byte{"a": key.Public().(ed25519.PublicKey)}, r))
}
