package text

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// unclear are words without a subject, and metaphors that only this code base used.
var unclear = regexp.MustCompile(
	`(?i)\b(?:nobody|whoever|somebody|as far as|(?:is|are) looked at|for want of|of which|desks?|seats?|shelf|ladder|patients?|` +
		`lobby|doomed|stirred|untold|hollow|headless|hears|unheard)\b`)

// quoted are lines that need such a word: the name of a system's user, and quotations.
var quoted = regexp.MustCompile(`nobody:x:|what "nobody"|Shelf methods`)

func TestTextsArePlainEnglish(t *testing.T) {
	t.Parallel()
	for line, wrong := range map[string]bool{
		"// Nobody reads it.": true, "it waits for want of memory": true, "two files, of which one is gone": true,
		"the scheduler dispatches the task": false,
	} {
		require.Equal(t, wrong, unclear.MatchString(line), line)
	}
	read := 0
	root := os.DirFS("../..")
	require.NoError(t, fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		base := path.Base(name)
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (base == "testdata" || base == "node_modules" || strings.HasPrefix(base, ".") && name != "."):
			return fs.SkipDir
		case entry.IsDir() || strings.HasSuffix(base, "_test.go") ||
			path.Ext(base) != ".go" && path.Ext(base) != ".md":
			return nil
		}
		data, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		read++
		for i, line := range strings.Split(string(data), "\n") {
			if !quoted.MatchString(line) {
				require.Empty(t, unclear.FindString(line), "%s:%d: write it with a subject of the system: %s", name, i+1, line)
			}
		}
		return nil
	}))
	require.Greater(t, read, 200)
}
