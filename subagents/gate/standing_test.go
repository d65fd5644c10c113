package gate

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
)

// In a round a new finding in a file that the batch changes waits for the next one only where its line stood there before.
func TestWhatARoundBringsToLight(t *testing.T) {
	t.Parallel()
	receipt := func(at ...string) spec.Receipt {
		r := kind(spec.KindFindings, red(at...))
		r.Paths = map[string][]string{}
		for _, signature := range at {
			file, _, _ := strings.Cut(signature, ":")
			r.Paths[signature] = []string{file}
		}
		return r
	}
	by := func(r spec.Receipt, command string) spec.Receipt { r.Command = strings.Fields(command); return r }
	is := func(signature, source string) spec.Finding {
		file, _, _ := strings.Cut(signature, ":")
		return spec.Finding{Signature: signature, File: file, Source: source}
	}
	two := receipt("a.x: old", "b.x: old")
	for name, c := range map[string]struct {
		receipt, before spec.Receipt
		all             []spec.Finding
		want            string
	}{
		"behind the first":       {receipt("a.x: next", "b.x: old"), two, []spec.Finding{is("a.x: next", "stood")}, spec.VerdictBetter},
		"on a new line":          {receipt("a.x: next", "b.x: old"), two, []spec.Finding{is("a.x: next", "came")}, spec.VerdictFail},
		"on no line":             {receipt("a.x: next", "b.x: old"), two, []spec.Finding{is("a.x: next", "")}, spec.VerdictFail},
		"at no place":            {receipt("a.x: next", "b.x: old"), two, nil, spec.VerdictFail},
		"in a file that is made": {receipt("new.x: next", "b.x: old"), hides(two, "*"), []spec.Finding{is("new.x: next", "stood")}, spec.VerdictFail},
		"in another file":        {receipt("b.x: next", "b.x: old"), two, nil, spec.VerdictBetter},
		"a broken file": {
			receipt("a.x: cannot be parsed", "b.x: old"), two, []spec.Finding{is("a.x: cannot be parsed", "stood")}, spec.VerdictFail,
		},
		"a destroyed file": {
			receipt("a.x: new 1", "a.x: new 2", "b.x: old"), two,
			[]spec.Finding{is("a.x: new 1", "("), is("a.x: new 2", "(")},
			spec.VerdictFail,
		},
		"a known tool that hid all": {
			by(receipt("a.x: next", "b.x: old"), "tsc"), hides(two, "*"), []spec.Finding{is("a.x: next", "came")}, spec.VerdictFail,
		},
		"a known tool behind all": {
			by(receipt("a.x: next"), "tsc"), hides(two, "*"), []spec.Finding{is("a.x: next", "stood")}, spec.VerdictBetter,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := Mending{
				Named: true, Round: true, all: c.all,
				Changed: func(context.Context) ([]string, error) { return []string{"a.x", "new.x"}, nil },
				Before: func(_ context.Context, file string) ([]byte, error) {
					return map[string][]byte{"a.x": []byte("first\n\tstood \r\n}\n")}[file], nil
				},
			}
			r := c.receipt
			r.Verdict = Judge(r, &c.before)
			require.NoError(t, m.judge(t.Context(), &r, &c.before))
			require.Equal(t, c.want, r.Verdict)
		})
	}
}
