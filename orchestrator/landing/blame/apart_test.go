package blame

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// One patch can make thousands of tests fail whose packages import hundreds.
func TestWhatManyFailuresAreNearTo(t *testing.T) {
	t.Parallel()
	c, all, imports := Changed{"pkg": {"other"}}, make([]Failure, 2000), make([]string, 200)
	for i := range imports {
		imports[i] = fmt.Sprintf("pkg/p%d", i)
	}
	c.add("core", []string{"pkg/p7/a.go"})
	for i := range all {
		all[i] = Failure{Paths: []string{fmt.Sprintf("tests/t%d", i)}, imports: imports, traced: true}
	}
	begin := time.Now()
	require.Equal(t, []string{"core"}, c.near(all))
	require.Less(t, time.Since(begin), 2*time.Second)
}
