package depot_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/run"
)

// clock is a clock that a test sets.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func noon() *clock { return &clock{now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.Local)} } //nolint:gosmopolitan // days are local

// budgetOf is the budget of a run's process: none of its own, and that of the day.
func budgetOf(t testing.TB, dir, holder string, limit spec.Budget, c *clock) *model.Budget {
	t.Helper()
	day, err := depot.CommonIn(dir).Day(holder, c.Now)
	require.NoError(t, err)
	return model.NewBudget(spec.Budget{}, 0, nil).Within(model.NewPooled(limit, nil, day))
}

func need(tokens int) model.Need {
	return model.Need{Model: "m", Body: make([]byte, tokens/2), Output: tokens - tokens/2}
}

func spent(t testing.TB, dir string, limit spec.Budget, c *clock) int64 {
	t.Helper()
	_, n, err := depot.CommonIn(dir).Today(limit, c.Now())
	require.NoError(t, err)
	return n
}

// Whatever runs in parallel, kills and resumes do, no day is above its budget, by what the calls of the day have cost.
func TestNoDayIsAboveItsBudget(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		dir, c, limit := t.TempDir(), noon(), spec.Tokens(4000)
		rnd := rand.New(rand.NewPCG(seed, 49))
		var wg sync.WaitGroup
		var mu sync.Mutex
		charged, refused := 0, 0
		for run := range 6 {
			calls, kill := 1+rnd.IntN(10), rnd.IntN(8)
			sizes := rnd.Perm(600)
			wg.Go(func() {
				b := budgetOf(t, dir, fmt.Sprint("run ", run), limit, c)
				for i := range calls {
					r, err := b.Reserve(t.Context(), need(100+sizes[i]), func(string) {})
					if err != nil {
						mu.Lock()
						refused++
						mu.Unlock()
						return
					}
					use := spec.Usage{Calls: 1, Prompt: r.Prompt, Output: r.Output * sizes[i+20] / 600}
					mu.Lock()
					charged += use.Total()
					mu.Unlock()
					if i == kill { // it is killed in the call, and resumed
						b = budgetOf(t, dir, fmt.Sprint("run ", run), limit, c)
						continue
					}
					b.Settle(&r, use, "", false)
				}
			})
		}
		wg.Wait()
		require.LessOrEqual(t, charged, int(limit.Amount), "seed %d", seed)
		require.LessOrEqual(t, spent(t, dir, limit, c), limit.Amount, "seed %d", seed)
		require.GreaterOrEqual(t, spent(t, dir, limit, c), int64(charged), "seed %d: less was booked than charged", seed)
		require.Positive(t, refused, "seed %d", seed)
	}
}

// Where no call is under way a call that does not fit is refused at once, in words; the next day has its own budget, and a call
// that began the day before is not booked on it. What a person raises counts for that day, for all runs.
func TestADayEnds(t *testing.T) {
	t.Parallel()
	dir, c, limit := t.TempDir(), noon(), spec.Tokens(1000)
	one, two := budgetOf(t, dir, "one", limit, c), budgetOf(t, dir, "two", limit, c)
	first, err := one.Reserve(t.Context(), need(900), nil)
	require.Nil(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	_, err = two.Reserve(ctx, need(200), func(why string) {
		require.Contains(t, why, "0 of "+spec.DayBudget+", 1000, are spent and 900 reserved for calls under way")
		cancel()
	})
	require.Equal(t, model.Cancelled, err.Class)
	one.Settle(&first, spec.Usage{Calls: 1, Prompt: 450, Output: 450}, "", false)
	_, err = two.Reserve(t.Context(), need(200), nil)
	require.Equal(t, model.OverBudget, err.Class)
	require.NoError(t, depot.CommonIn(dir).RaiseDay(spec.Tokens(1100), c.Now))
	require.NoError(t, depot.CommonIn(dir).RaiseDay(spec.Tokens(1050), c.Now)) // another run has asked at the same time
	over, err := two.Reserve(t.Context(), need(200), nil)
	require.Nil(t, err)

	c.add(12 * time.Hour)
	now, n, failed := depot.CommonIn(dir).Today(limit, c.Now())
	require.NoError(t, failed)
	require.Equal(t, run.Day{Date: "2026-12-01", Budget: limit}, now)
	require.Zero(t, n)
	next, err := one.Reserve(t.Context(), need(1000), nil)
	require.Nil(t, err)
	two.Settle(&over, spec.Usage{Calls: 1, Prompt: 100, Output: 100}, "", false)
	require.Zero(t, spent(t, dir, limit, c))
	one.Settle(&next, spec.Usage{Calls: 1, Prompt: 500, Output: 500}, "", false)
	require.EqualValues(t, 1000, spent(t, dir, limit, c))
}

// What a process that is gone has reserved counts as spent after a while, and what it books then all the same changes nothing but
// that.
func TestAProcessThatIsGoneHasSpentItsReservations(t *testing.T) {
	t.Parallel()
	dir, c, limit := t.TempDir(), noon(), spec.Tokens(1000)
	gone, other := budgetOf(t, dir, "gone", limit, c), budgetOf(t, dir, "other", limit, c)
	r, err := gone.Reserve(t.Context(), need(900), nil)
	require.Nil(t, err)
	c.add(time.Hour)
	_, err = other.Reserve(t.Context(), need(200), nil)
	require.Equal(t, model.OverBudget, err.Class)
	require.EqualValues(t, 900, spent(t, dir, limit, c))
	gone.Settle(&r, spec.Usage{Calls: 1, Prompt: 450, Output: 50}, "", false)
	require.EqualValues(t, 500, spent(t, dir, limit, c))
}

// The format of the ledger: a program reads what an earlier one has written on the same day.
func TestAnEarlierLedger(t *testing.T) {
	t.Parallel()
	dir, c := t.TempDir(), noon()
	data, err := os.ReadFile(filepath.Join("testdata", "day-1.json"))
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "common"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "common", "day.json"), data, 0o600))
	today, n, err := depot.CommonIn(dir).Today(spec.Tokens(1000), c.Now())
	require.NoError(t, err)
	require.Equal(t, spec.Tokens(5000), today.Budget)
	require.EqualValues(t, 700, n)
	b := budgetOf(t, dir, "01K one", spec.Tokens(1000), c) // it had reserved 250
	require.EqualValues(t, 950, spent(t, dir, spec.Tokens(1000), c))
	_, fault := b.Reserve(t.Context(), need(4051), nil)
	require.NotNil(t, fault)
	_, fault = b.Reserve(t.Context(), need(4050), nil)
	require.Nil(t, fault)

	require.NoError(t, os.WriteFile(filepath.Join(dir, "common", "day.json"), []byte("{"), 0o600))
	_, fault = b.Reserve(t.Context(), need(10), nil)
	require.ErrorContains(t, fault, "which all runs of this machine share", "a call that cannot be counted is not made")
}

// TestMain of this package has children that call without an end: see TestProcessesThatAreKilled.
const childDir = "DIVISI_TEST_DAY"

// child reserves and settles until it is killed; each line of its output is the cost of a call, before the call is settled.
func child(t *testing.T, dir string) {
	b, out := budgetOf(t, dir, os.Getenv("DIVISI_TEST_HOLDER"), spec.Tokens(40_000), noon()), bufio.NewWriter(os.Stdout)
	for {
		r, err := b.Reserve(t.Context(), need(100+rand.IntN(400)), func(string) {})
		if err != nil {
			return
		}
		use := spec.Usage{Calls: 1, Prompt: r.Prompt, Output: rand.IntN(r.Output)}
		fmt.Fprintf(out, "cost %d\n", use.Total())
		require.NoError(t, out.Flush())
		b.Settle(&r, use, "", false)
	}
}

// Processes that share a day and are killed at any time keep to it.
func TestProcessesThatAreKilled(t *testing.T) {
	if dir := os.Getenv(childDir); dir != "" {
		child(t, dir)
		return
	}
	t.Parallel()
	dir, charged := t.TempDir(), 0
	self, err := os.Executable()
	require.NoError(t, err)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for run := range 3 {
		wg.Go(func() {
			for life := range 3 {
				cmd := exec.Command(self, "-test.run", "TestProcessesThatAreKilled$")
				cmd.Env = append(os.Environ(), childDir+"="+dir, fmt.Sprint("DIVISI_TEST_HOLDER=run ", run))
				out, err := cmd.StdoutPipe()
				if err != nil || cmd.Start() != nil {
					t.Errorf("start a process: %v", err)
					return
				}
				lines, left := bufio.NewScanner(out), 5+10*run
				for lines.Scan() {
					if cost, is := strings.CutPrefix(lines.Text(), "cost "); is {
						n, _ := strconv.Atoi(cost)
						mu.Lock()
						charged += n
						mu.Unlock()
						if left--; left == 0 && life < 2 {
							_ = cmd.Process.Kill()
						}
					}
				}
				_ = cmd.Wait()
			}
		})
	}
	wg.Wait()
	require.LessOrEqual(t, charged, 40_000)
	require.Greater(t, charged, 30_000, "they go on until nothing more fits")
	require.GreaterOrEqual(t, spent(t, dir, spec.Tokens(1), noon()), int64(charged))
}

// refusing is a pool that fails once it is told to.
type refusing struct {
	model.Pool
	fails bool
}

func (r *refusing) Change(money bool, change func(*model.Pooled)) error {
	if r.fails {
		return syscall.ENOSPC
	}
	return r.Pool.Change(money, change)
}

// A settlement that the disk refuses is counted with the next call: none waits for it. The machine's fault is not the call's.
func TestARefusedSettlementIsCountedLater(t *testing.T) {
	t.Parallel()
	dir, c, limit := t.TempDir(), noon(), spec.Tokens(1000)
	day, err := depot.CommonIn(dir).Day("run", c.Now)
	require.NoError(t, err)
	pool := &refusing{Pool: day}
	b := model.NewPooled(limit, nil, pool)
	waits := func(why string) { t.Error("it waits: " + why) }
	r, fault := b.Reserve(t.Context(), need(600), waits)
	require.Nil(t, fault)
	pool.fails = true
	b.Settle(&r, spec.Usage{Calls: 1, Prompt: 295, Output: 300}, "", false)
	_, fault = b.Reserve(t.Context(), need(100), waits)
	require.NotNil(t, fault)
	require.Equal(t, model.Uncounted, fault.Class)
	pool.fails = false
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	_, fault = b.Reserve(ctx, need(600), waits)
	require.NotNil(t, fault)
	require.Equal(t, model.OverBudget, fault.Class, "no call is under way")
	require.EqualValues(t, 595, spent(t, dir, limit, c))
}

// What a program has used that reserves nothing counts when it is known, on the day of then.
func TestAReportedUseCounts(t *testing.T) {
	t.Parallel()
	dir, c, limit := t.TempDir(), noon(), spec.Tokens(1000)
	b := budgetOf(t, dir, "run", limit, c)
	b.Count(spec.Sum{Tokens: 700, Money: 5})
	require.EqualValues(t, 700, spent(t, dir, limit, c))
	_, fault := b.Reserve(t.Context(), need(400), nil)
	require.Equal(t, model.OverBudget, fault.Class)
	model.NewBudget(limit, 0, nil).Count(spec.Sum{Tokens: 1}) // no day has a budget
}
