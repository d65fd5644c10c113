package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
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

// BenchmarkTrue is what confinement costs per command: each round runs a program that does nothing, bare, confined, and confined by
// a stage that was started ahead, in turns. What runs before the last has time to start that: a command that thinks.
func BenchmarkTrue(b *testing.B) {
	place := Place{Tree: b.TempDir(), Home: b.TempDir(), Temp: b.TempDir()}
	c := Command{
		Args: []string{"true"}, Dir: place.Tree, Env: []string{"PATH=" + os.Getenv("PATH")}, Place: place,
		Writable: []string{b.TempDir()},
	}
	ahead := &Ahead{}
	defer ahead.Close()
	run := func(c Command) time.Duration {
		begin := time.Now()
		if out, err := Run(b.Context(), c); err != nil || !out.Success() {
			b.Fatal(err, out)
		}
		return time.Since(begin)
	}
	before, after := c, c
	before.Args, before.More = []string{"sleep", "0.05"}, true
	before.Place.Ahead, after.Place.Ahead = ahead, ahead
	var without, within, waited []time.Duration
	for b.Loop() {
		without = append(without, bare(b))
		within = append(within, run(c))
		run(before)
		waited = append(waited, run(after))
	}
	for name, times := range map[string][]time.Duration{"bare": without, "confined": within, "ahead": waited} {
		slices.Sort(times)
		b.ReportMetric(float64(times[0].Microseconds())/1000, name+"-min-ms")
		b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, name+"-median-ms")
	}
	b.ReportMetric(float64(within[len(within)/2])/float64(without[len(without)/2]), "times-bare")
	b.ReportMetric(float64(waited[len(waited)/2])/float64(within[len(within)/2]), "ahead-times-confined")
}

// BenchmarkLayers is how long a tree over an environment of 40,000 files takes until its first command has looked into it, one and
// sixteen at once, and what it takes of the disk; beside it the same command without a layer.
func BenchmarkLayers(b *testing.B) {
	lower := b.TempDir()
	for i := range 400 {
		dir := filepath.Join(lower, "package"+strconv.Itoa(i))
		if err := os.Mkdir(dir, 0o700); err != nil {
			b.Fatal(err)
		}
		for j := range 100 {
			name := filepath.Join(dir, "file"+strconv.Itoa(j))
			if err := errors.Join(os.WriteFile(name, nil, 0o600), os.Truncate(name, 10<<10)); err != nil {
				b.Fatal(err)
			}
		}
	}
	var bare, one, each []time.Duration
	var disk int64
	for b.Loop() {
		bare = append(bare, look(b, ""))
		one = append(one, look(b, lower))
		begin := time.Now()
		var all sync.WaitGroup
		for range 16 {
			all.Go(func() { look(b, lower) })
		}
		all.Wait()
		each = append(each, time.Since(begin)/16)
	}
	scratch := b.TempDir()
	lookIn(b, lower, scratch)
	_ = filepath.WalkDir(scratch, func(_ string, d fs.DirEntry, _ error) error {
		if info, err := d.Info(); err == nil {
			disk += info.Sys().(*syscall.Stat_t).Blocks * 512
		}
		return nil
	})
	for name, times := range map[string][]time.Duration{"without": bare, "with": one, "with-of-16": each} {
		slices.Sort(times)
		b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, name+"-median-ms")
	}
	b.ReportMetric(float64(disk)/1024, "disk-KiB")
	b.ReportMetric(float64(one[len(one)/2])/float64(bare[len(bare)/2]), "times-without")
}

func look(b *testing.B, lower string) time.Duration {
	b.Helper()
	return lookIn(b, lower, b.TempDir())
}

// lookIn is the time of a keeper's start and of a command that looks at a file of the layer; of the command alone without a layer.
func lookIn(b *testing.B, lower, scratch string) time.Duration {
	b.Helper()
	c := Command{Args: []string{"ls", "."}, Dir: b.TempDir(), Env: []string{"PATH=" + os.Getenv("PATH")}}
	c.Place.Tree = c.Dir
	if err := os.Mkdir(filepath.Join(c.Dir, "node_modules"), 0o700); err != nil {
		b.Error(err)
	}
	begin := time.Now()
	if lower != "" {
		c.Args[1] = "node_modules/package7/file7"
		c.Place.Layers = []Layer{{Path: "node_modules", Lower: lower}}
		k, err := StartKeeper(b.Context(), KeeperConfig{Place: c.Place, Scratch: scratch})
		if err != nil {
			b.Error(err)
			return 0
		}
		defer k.Close()
		c.Place.Keeper = k
	}
	if out, err := Run(b.Context(), c); err != nil || !out.Success() {
		b.Error(err, out)
	}
	return time.Since(begin)
}
