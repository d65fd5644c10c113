package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkStart measures how long a person waits for the shortest commands, with the program as it is published.
func BenchmarkStart(b *testing.B) {
	program := filepath.Join(b.TempDir(), "divisi")
	build := exec.Command("go", "build", "-trimpath", "-tags", "grpcnotrace", "-ldflags=-s -w", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(b, err, string(out))
	for name, args := range map[string][]string{
		"version": {"--version"}, "runs": {"runs", "--state-dir", b.TempDir()},
	} {
		b.Run(name, func(b *testing.B) {
			cpu := 0.0
			for b.Loop() {
				c := exec.Command(program, args...)
				require.NoError(b, c.Run())
				cpu += (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds()
			}
			b.ReportMetric(1000*cpu/float64(b.N), "cpu-ms/op")
		})
	}
}
