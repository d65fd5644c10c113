package gate

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestNormalise(t *testing.T) {
	t.Parallel()
	n := newNormaliser("/state/slot-3/tree/", "/state/slot-3/home", "/state/slot-3/tmp", "/", "")
	for text, want := range map[string]string{
		"/state/slot-3/tree/pkg/a.go:12:3: undefined: X":           "pkg/a.go: undefined: X",
		"pkg/a.go:99: undefined: X":                                "pkg/a.go: undefined: X",
		"src/app.ts(12,5): error TS2322: no":                       "src/app.ts: error TS2322: no",
		"open /state/slot-3/tmp/x123: no":                          "open TMP/x123: no",
		"open /tmp/TestA123/001/f.txt: no such file":               "open TMP: no such file",
		"took 1.53s, then 2m3s, then 15ms":                         "took T, then T, then T",
		"at 0xc000123abc in goroutine 17 [running]":                "at X in goroutine N [running]",
		"got 3.14, want 42":                                        "got N, want N",
		"parseV1 is not parseV2":                                   "parseV1 is not parseV2",
		"id 123e4567-e89b-12d3-a456-426614174000 commit 3f2a9c1d8": "id X commit X",
		"at 2026-11-21T10:43:03.52Z: bad":                          "at T: bad",
		"\x1b[1;31merror\x1b[0m:\t two  spaces ":                   "error: two spaces",
		"deadbeef is a word, facade too":                           "deadbeef is a word, facade too",
		"in /state/slot-3/tree":                                    "in .",
		"bad \xff byte":                                            "bad \uFFFD byte",
	} {
		require.Equal(t, want, n.line(text))
	}
}

// The same failure seen from two slots, at two times, at two places gives one signature.
func TestSameFailureSameSignature(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		message := rapid.StringMatching(`[a-zA-Z_ ,'"()]{1,40}`).Draw(t, "message")
		file := rapid.StringMatching(`([a-z]{1,8}/){0,3}[a-z]{1,8}\.go`).Draw(t, "file")
		render := func(who string) string {
			slot := "/state/slot-" + rapid.StringMatching(`[0-9]{1,3}`).Draw(t, who+"slot")
			n := newNormaliser(slot+"/tree", slot+"/tmp")
			prefix := rapid.SampledFrom([]string{slot + "/tree/", "", "\x1b[31m"}).Draw(t, who+"prefix")
			return n.line(fmt.Sprintf("%s%s:%d:%d: %s %d after %.2fs at 0x%x in /tmp/go-build%d/b001 %s/tmp", prefix, file,
				rapid.IntRange(1, 9999).Draw(t, who+"line"), rapid.IntRange(1, 99).Draw(t, who+"column"), message,
				rapid.IntRange(0, 1e6).Draw(t, who+"number"), rapid.Float64Range(0, 99).Draw(t, who+"seconds"),
				rapid.Uint32().Draw(t, who+"address"), rapid.IntRange(0, 1e9).Draw(t, who+"temp"), slot))
		}
		require.Equal(t, render("a"), render("b"))
	})
}

func TestSignaturesAreCleanAndStable(t *testing.T) {
	t.Parallel()
	n := newNormaliser("/state/tree")
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[ -~\x1b\[0-9a-f:./]{0,300}`)).Draw(t, "text")
		signature := n.line(text)
		require.True(t, utf8.ValidString(signature))
		require.LessOrEqual(t, len(signature), maxSignature)
		require.NotContains(t, signature, "\x1b")
		require.NotContains(t, signature, "\n")
		require.Equal(t, strings.TrimSpace(signature), signature)
	})
}

func TestDifferentFailuresStayApart(t *testing.T) {
	t.Parallel()
	n := newNormaliser("/state/tree")
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.StringMatching(`[g-z]{1,12}`)
		a, b := words.Draw(t, "a"), words.Draw(t, "b")
		if a != b {
			require.NotEqual(t, n.line("a.go:1:1: undefined: "+a), n.line("a.go:1:1: undefined: "+b))
		}
	})
}

func FuzzNormalise(f *testing.F) {
	f.Add("a.go:1:2: \x1b[31mx\x1b[0m 0x12 1.5s /tmp/x")
	n := newNormaliser("/state/tree")
	f.Fuzz(func(t *testing.T, text string) {
		signature := n.line(text)
		require.True(t, utf8.ValidString(signature))
		require.LessOrEqual(t, len(signature), maxSignature)
		require.NotContains(t, signature, "\x1b")
	})
}
