package mutant

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What a brief asks for is no hidden change.
func TestWhatABriefNames(t *testing.T) {
	t.Parallel()
	const was = "func Trim() int { return 1 }\n\nfunc Load(name string) int { return 1 }\n"
	const now = "func Trim() int { return 2 }\n\nconst free = 3900\n\ntype TrimError struct{}\n\nfunc Load(names []string) int { return 1 }\n"
	for name, c := range map[string]struct {
		brief, before, after string
		want                 bool
	}{
		"both values":          {"Raise the limit from 10 to 25.", "if n != 10 {", "if n != 25 {", true},
		"one value":            {"Raise the limit to 25.", "if n != 10 {", "if n != 25 {", false},
		"a quoted value":       {`The "edge" key goes too.`, `want := []string{"old"}`, `want := []string{"edge", "old"}`, true},
		"words of a line":      {"Dead jobs may wait: revive them.", "", "\t\t{jobs.Dead, jobs.Wait}: true,", true},
		"the test":             {"Two names should be no error. Change TestOne.", "if err == nil {", "if err != nil {", true},
		"the test alone":       {"Tidy up TestOne.", "if err == nil {", "if err != nil {", false},
		"a changed function":   {"Trim must keep one blank.", "if len(got) != 0 {", "if len(got) != 1 {", true},
		"another function":     {"Add Reset, which must forget all.", "if len(got) != 0 {", "if len(got) != 1 {", false},
		"a new name":           {"Return a TrimError instead of text.", `if err.Error() != "no" {`, "if !errors.As(err, new(TrimError)) {", true},
		"a new name elsewhere": {"Return a TrimError instead of text.", `if err.Error() != "no" {`, `if err.Error() != "yes" {`, false},
		"a value in cents":     {"Shipping is free from now on at 39.00.", "if n != 4900 {", "if n != 3900 {", true},
		"numbers in words":     {"Raise the limit from ten to twelve.", "if n != 10 {", "if n != 12 {", true},
		"beside a limit":       {"Raise the limit from 10 to 25.", "if n != 11 {", "if n != 26 {", true},
		"far from a limit":     {"Raise the limit from 10 to 25.", "if n != 11 {", "if n != 27 {", false},
		"another form":         {"Simplify Trim, which must be easier to read.", "if Trim() != 0 {", "if Trim() != 1 {", false},
		"other parameters":     {"Tidy up.", "if Load(a) != b {", "if Load(list(a)) != b {", true},
		"other values too":     {"Tidy up.", "if Load(a) != 1 {", "if Load(list(a)) != 2 {", false},
		"nothing":              {"", "if len(got) != 0 {", "if len(got) == 0 {", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test := func(line string) []byte {
				return []byte("package p\n\nfunc TestOne(t *testing.T) {\n" + line + "\n" + map[bool]string{true: "}\n"}[line != "" && line[len(line)-1] == '{'] + "}\n")
			}
			if c.before == "" {
				test = func(line string) []byte {
					return []byte("package p\n\nfunc TestOne(t *testing.T) {\n\tx := map[k]bool{\n" + line + "\n}\n}\n")
				}
			}
			touched := &Touched{}
			require.NoError(t, touched.Add("p_test.go", test(c.before), test(c.after), nil))
			product := func(source string) map[string][]byte {
				return map[string][]byte{"p.go": []byte("package p\n\n" + source)}
			}
			touched.Brief, touched.Product, touched.Since = c.brief, product(was), product(now)
			require.Equal(t, c.want, touched.Named("TestOne/row"))
		})
	}
}
