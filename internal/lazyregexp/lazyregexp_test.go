package lazyregexp

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAWrongExpressionFailsEveryTest(t *testing.T) {
	t.Parallel()
	require.Panics(t, func() { New(`(`) })
}

func TestAnExpressionMatchesAsRegexpDoes(t *testing.T) {
	t.Parallel()
	r := New(`(?P<key>\w+)=(\d+)`)
	require.True(t, r.MatchString("a=1"))
	require.Equal(t, []string{"a=1", "a", "1"}, r.FindStringSubmatch("a=1 b=2"))
	require.Equal(t, 1, r.SubexpIndex("key"))
	require.Equal(t, "1=a", r.ReplaceAllString("a=1", "$2=$1"))
}
