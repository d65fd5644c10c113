package sandbox

import (
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"
)

func bare(b *testing.B) time.Duration {
	b.Helper()
	begin := time.Now()
	cmd := exec.CommandContext(b.Context(), "true")
	cmd.Env, cmd.Dir = []string{}, "/"
	if _, err := cmd.CombinedOutput(); err != nil {
		b.Fatal(err)
	}
	return time.Since(begin)
}

// BenchmarkTrue is what confinement costs per command: each round runs a program that does nothing, bare and confined, in turns.
func BenchmarkTrue(b *testing.B) {
	place := Place{Tree: b.TempDir(), Home: b.TempDir(), Temp: b.TempDir()}
	c := Command{
		Args: []string{"true"}, Dir: place.Tree, Env: []string{"PATH=" + os.Getenv("PATH")}, Place: place,
		Writable: []string{b.TempDir()},
	}
	var without, within []time.Duration
	for b.Loop() {
		without = append(without, bare(b))
		begin := time.Now()
		if out, err := Run(b.Context(), c); err != nil || !out.Success() {
			b.Fatal(err, out)
		}
		within = append(within, time.Since(begin))
	}
	for name, times := range map[string][]time.Duration{"bare": without, "confined": within} {
		slices.Sort(times)
		b.ReportMetric(float64(times[0].Microseconds())/1000, name+"-min-ms")
		b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, name+"-median-ms")
	}
	b.ReportMetric(float64(within[len(within)/2])/float64(without[len(without)/2]), "times-bare")
}
