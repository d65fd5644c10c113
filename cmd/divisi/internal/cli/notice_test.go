package cli

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/orchestrator/console"
)

// failures collects reports.
type failures struct {
	mu  sync.Mutex
	all []string
}

func (r *failures) add(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, text)
}

func TestTheCommandOfNotifyGetsTheEventOneAtATime(t *testing.T) {
	t.Parallel()
	var r failures
	out := filepath.Join(t.TempDir(), "out")
	n := newNotices(`test ! -e '`+out+`.busy' && touch '`+out+`.busy' && `+
		`echo "$DIVISI_EVENT $DIVISI_RUN $DIVISI_DECISION $DIVISI_STATE $DIVISI_LANDED/$DIVISI_TASKS: $DIVISI_TEXT" >> '`+out+`'; `+
		`sleep 0.1; rm '`+out+`.busy'`, r.add)
	n.add(console.Notice{Run: "r1", Event: "decision", Decision: "x@7", State: "waiting", Landed: 1, Tasks: 3, Text: "a $(rm) 'b'"})
	n.add(console.Notice{Run: "r1", Event: "end", State: "done", Landed: 3, Tasks: 3, Text: "run is done"})
	n.close()
	n.close()
	n.add(console.Notice{Event: "late"})
	require.Empty(t, r.all)
	got, err := os.ReadFile(out)
	require.NoError(t, err)
	require.Equal(t, "decision r1 x@7 waiting 1/3: a $(rm) 'b'\nend r1  done 3/3: run is done\n", string(got))
}

func TestACommandOfNotifyThatFailsIsReportedOnce(t *testing.T) {
	t.Parallel()
	var r failures
	n := newNotices(`printf 'no \033[31mnet'; exit 3`, r.add)
	for range 3 {
		n.add(console.Notice{Event: "alarm"})
	}
	n.close()
	require.Equal(t, []string{"the command of --notify failed: exit status 3: no net; later failures are not reported"}, r.all)
}

// What the command leaves behind ends with it.
func TestACommandOfNotifyThatHangsIsKilled(t *testing.T) {
	t.Parallel()
	var r failures
	left := filepath.Join(t.TempDir(), "left")
	began := time.Now()
	n := newNotices(`(sleep 8; touch '`+left+`') & wait`, r.add)
	n.add(console.Notice{Event: "end"})
	n.close()
	require.Less(t, time.Since(began), noticeTime+4*time.Second)
	require.Len(t, r.all, 1)
	require.Contains(t, r.all[0], "failed: ended after 5s")
	require.Never(t, func() bool {
		_, err := os.Stat(left)
		return err == nil
	}, 4*time.Second, 500*time.Millisecond)
}

func TestTheLocaleIsReadAsPosixDoes(t *testing.T) {
	for _, c := range []struct {
		all, ctype, lang string
		want             bool
	}{
		{"", "", "", false},
		{"", "", "en_US.UTF-8", true},
		{"C", "", "en_US.UTF-8", false},
		{"", "C.utf8", "C", true},
		{"", "de_DE.ISO-8859-1", "de_DE.UTF-8", false},
	} {
		t.Setenv("LC_ALL", c.all)
		t.Setenv("LC_CTYPE", c.ctype)
		t.Setenv("LANG", c.lang)
		require.Equal(t, c.want, utf8Locale(), strings.Join([]string{c.all, c.ctype, c.lang}, "|"))
	}
}
